package coord

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/jobs"
	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/queue"
)

const (
	samplesEvery = 5 // reports
	rateSpan     = 15 * time.Second
	rateMost     = 64
)

// report keeps progress in the queue now and then. That the queue does not take it is no reason to stop: whoever
// needs the queue notices.
func (c *coordinator) report(ctx context.Context) {
	t := time.NewTicker(c.cfg.Report)
	defer t.Stop()
	var samples []queue.Sample
	sent := map[string]bool{}
	failures := 0
	keep := func(ctx context.Context) {
		if len(samples) > 0 && c.cfg.Queue.AddSamples(ctx, c.cfg.Spec.ID, samples) == nil {
			samples = nil
		}
	}
	for n := 1; ; n++ {
		select {
		case <-t.C:
		case <-ctx.Done():
			const bound = 10 * time.Second
			end, cancel := context.WithTimeout(context.WithoutCancel(ctx), bound)
			defer cancel()
			samples = c.sample(samples)
			keep(end)
			return
		}
		if err := c.tell(ctx); err != nil && ctx.Err() == nil {
			c.cfg.Log("%v", err)
		}
		samples = c.sample(samples)
		if n%samplesEvery == 0 {
			keep(ctx)
		}
		if p := c.progressNow(); p.Failures > failures && c.keepNew(ctx, sent) == nil {
			failures = p.Failures
		}
	}
}

// sample adds a point of the course, if there is a new one.
func (c *coordinator) sample(all []queue.Sample) []queue.Sample {
	p := c.progressNow()
	if p.Seeds == 0 || len(all) > 0 && all[len(all)-1].Seeds == p.Seeds || len(all) >= queue.MaxSamples {
		return all
	}
	return append(all, queue.Sample{At: time.Now().UTC(), Seeds: p.Seeds, Steps: p.Steps, Cells: p.Cells, Reached: p.Reached, Failures: p.Failures})
}

// progressNow is how far the campaign is.
func (c *coordinator) progressNow() queue.Progress {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := &c.now
	return queue.Progress{Coordinator: c.cfg.Name, JobsDone: n.Jobs, Arrived: c.count, Jobs: c.cfg.Spec.Jobs, Seeds: n.Done, SeedsAll: n.All, Steps: n.Steps,
		Cells: n.Cells, Reached: n.Reached, Situations: n.Of, Failures: n.Failures, Rate: c.rate.now()}
}

// tell keeps progress, and shows it.
func (c *coordinator) tell(ctx context.Context) error {
	c.mu.Lock()
	c.rate.add(time.Now(), c.now.Done, c.began)
	c.mu.Unlock()
	p := c.progressNow()
	c.cfg.Progress(p)
	return c.cfg.Queue.Report(ctx, c.cfg.Spec.ID, p)
}

// rate is how fast something grows, of late.
type rate struct {
	at []time.Time
	n  []uint64
}

func (r *rate) add(at time.Time, n uint64, valid bool) {
	if !valid {
		return
	}
	r.at, r.n = append(r.at, at), append(r.n, n)
	for len(r.at) > 2 && (at.Sub(r.at[0]) > rateSpan || len(r.at) > rateMost) {
		r.at, r.n = r.at[1:], r.n[1:]
	}
}

func (r *rate) now() float64 {
	if len(r.at) < 2 {
		return 0
	}
	last := len(r.at) - 1
	return float64(r.n[last]-r.n[0]) / max(r.at[last].Sub(r.at[0]).Seconds(), 1e-3)
}

// keepFindings stores the files of all failures among the findings.
func (c *coordinator) keepFindings(ctx context.Context) error {
	return c.keepNew(ctx, map[string]bool{})
}

// keepNew stores those that were not sent yet.
func (c *coordinator) keepNew(ctx context.Context, sent map[string]bool) error {
	for _, dir := range []string{"", jobs.FindsDir} {
		if err := c.keepBelow(ctx, filepath.Join(c.cfg.Dir, dir, "failures"), sent); err != nil {
			return err
		}
	}
	return nil
}

func (c *coordinator) keepBelow(ctx context.Context, root string, sent map[string]bool) error {
	if _, err := os.Stat(root); err != nil {
		return nil // none was found
	}
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) == ".tmp" || sent[path] {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(c.cfg.Dir, path)
		if err == nil {
			err = c.cfg.Queue.Keep(ctx, c.cfg.Spec.ID, filepath.ToSlash(name), text)
		}
		sent[path] = err == nil
		return err
	})
}
