package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/jobs"
	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/queue"
	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/summary"
)

const (
	htmlHelp  = "`FILE` for the summary as a page, also of a campaign that stopped; it links to the results directory"
	htmlBound = 30 * time.Second
	crewEvery = 15 // looks at the workers
)

// writeHTML writes the page of a campaign, if one is asked for, also when the time of the command is over.
func writeHTML(ctx context.Context, q *queue.Queue, id, path, dir string, out *jobs.Outcome) error {
	if path == "" {
		return nil
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), htmlBound)
	defer cancel()
	s, err := summary.Gather(end, q, id, dir, out)
	if err != nil {
		return err
	}
	return summary.WriteFile(path, s)
}

// errPage is that a campaign did well and its page did not.
var errPage = errors.New("the campaign has its results and no page")

// andPage is the error of a campaign with that of its page.
func andPage(err, page error) error {
	if err == nil && page != nil {
		return fmt.Errorf("%w: %w", errPage, page)
	}
	return errors.Join(err, page)
}

// crew are the workers that were seen with jobs of a campaign.
type crew struct {
	q  *queue.Queue
	id string

	mu    sync.Mutex
	seen  map[string]bool // with a job of it, ever
	news  []queue.Member  // that are not kept yet
	looks int
}

// look takes up who works, and keeps it now and then.
func (c *crew) look(ctx context.Context, ws []queue.Worker) {
	for _, w := range ws {
		c.add(w, false)
	}
	c.mu.Lock()
	c.looks++
	due := c.looks%crewEvery == 0
	c.mu.Unlock()
	if due {
		_ = c.keep(ctx) // there is another time
	}
}

// add takes up one worker. One that is known to be of the campaign need not have a job of it now.
func (c *crew) add(w queue.Worker, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !known && !c.seen[w.ID] && !slices.ContainsFunc(w.Current, func(job string) bool { return strings.HasPrefix(job, c.id+"/") }) {
		return
	}
	if c.seen == nil {
		c.seen = map[string]bool{}
	}
	c.seen[w.ID] = true
	c.news = slices.DeleteFunc(c.news, func(m queue.Member) bool { return m.ID == w.ID })
	c.news = append(c.news, queue.Member{ID: w.ID, Host: w.Host, Build: w.Build, Slots: w.Slots, Jobs: w.Jobs, Seeds: w.Seeds, Last: w.At})
}

// keep stores what is new.
func (c *crew) keep(ctx context.Context) error {
	c.mu.Lock()
	news := c.news
	c.news = nil
	c.mu.Unlock()
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), htmlBound)
	defer cancel()
	return c.q.AddCrew(end, c.id, news)
}
