package main

import (
	"context"
	"fmt"
	"io"

	"github.com/mayfly-mcp/mayfly/cmd/internal/simflags"
	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/jobs"
	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/queue"
	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/view"
)

const statusUsage = `usage: mayfly-fleet status -nats ADDRESSES [flags] [CAMPAIGN]

Shows the campaigns of a cluster, and who works; of one campaign also what is in quarantine and what was
found.

`

// statusOf is what is known of a campaign.
type statusOf struct {
	Spec       queue.Spec         `json:"spec"`
	State      queue.State        `json:"state"`
	Queued     int                `json:"queued"`
	Progress   queue.Progress     `json:"progress"`
	Quarantine []queue.Quarantine `json:"quarantine"`
	Findings   []string           `json:"findings"`
	Samples    []queue.Sample     `json:"samples,omitempty"`
}

// fleetStatus is the JSON form.
type fleetStatus struct {
	Campaigns []statusOf     `json:"campaigns"`
	Workers   []queue.Worker `json:"workers"`
}

// runStatus is the subcommand status.
func runStatus(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var c connection
	fs := simflags.New("mayfly-fleet status", statusUsage, stderr)
	c.define(fs)
	asJSON := fs.Bool("json", false, "print one JSON object")
	if err := parse(fs, args, 1); err != nil {
		return misused(stderr, "status", err)
	}
	s, err := readStatus(ctx, &c, fs.Arg(0))
	if err != nil {
		return failed(stderr, "status", err)
	}
	if *asJSON {
		printJSON(stdout, s)
	} else {
		s.print(stdout, fs.NArg() > 0)
	}
	return exitOK
}

func readStatus(ctx context.Context, c *connection, only string) (*fleetStatus, error) {
	q, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	ids := []string{only}
	if only == "" {
		if ids, err = q.Campaigns(ctx); err != nil {
			return nil, err
		}
	}
	s := &fleetStatus{Campaigns: []statusOf{}}
	for _, id := range ids {
		one, err := statusOfOne(ctx, q, id, only != "")
		if err != nil {
			return nil, err
		}
		s.Campaigns = append(s.Campaigns, one)
	}
	s.Workers, err = q.Workers(ctx)
	return s, err
}

func statusOfOne(ctx context.Context, q *queue.Queue, id string, samples bool) (s statusOf, err error) {
	if s.Spec, err = q.Spec(ctx, id); err != nil {
		return s, err
	}
	for i := range s.Spec.Files {
		s.Spec.Files[i].Text = "" // whoever wants them has them
	}
	if s.State, err = q.State(ctx, id); err == nil {
		s.Progress, err = q.Progress(ctx, id)
	}
	if err == nil {
		s.Queued, err = q.Queued(ctx, id)
	}
	if err == nil {
		s.Quarantine, err = q.Quarantined(ctx, id)
	}
	if err == nil {
		s.Findings, err = q.Findings(ctx, id)
	}
	if err == nil && samples {
		s.Samples, err = q.Samples(ctx, id)
	}
	return s, err
}

func (s *fleetStatus) print(w io.Writer, all bool) {
	if len(s.Campaigns) == 0 {
		fmt.Fprintln(w, "no campaign is there")
	}
	for i := range s.Campaigns {
		s.Campaigns[i].print(w, all)
	}
	fmt.Fprintf(w, "%d workers\n", len(s.Workers))
	for _, x := range s.Workers {
		fmt.Fprintf(w, "  %s: %d of %d slots busy, %d jobs done, %.0f/s, build %s", x.ID, len(x.Current), x.Slots, x.Jobs, x.Rate, x.Build)
		if len(x.Refuses) > 0 {
			fmt.Fprintf(w, ", refuses %v, which are of another build", x.Refuses)
		}
		if x.Lost > 0 {
			fmt.Fprintf(w, ", %d jobs hung", x.Lost)
		}
		fmt.Fprintln(w)
	}
}

func (s *statusOf) print(w io.Writer, all bool) {
	unit := "jobs"
	if k, err := jobs.Find(s.Spec.Kind); err == nil {
		unit = k.Unit
	}
	p := &s.Progress
	fmt.Fprintf(w, "campaign %s: %s, kind %s %v\n", s.Spec.ID, s.State.State, s.Spec.Kind, s.Spec.Args)
	fmt.Fprintf(w, "  build %s\n", s.Spec.Build)
	fmt.Fprintf(w, "  jobs: %d, %d summed up, %d results there, %d queued or under way, %d in quarantine\n", s.Spec.Jobs, p.JobsDone, p.Arrived, s.Queued, len(s.Quarantine))
	if p.Jobs > 0 {
		fmt.Fprintf(w, "  %d of %d %s, %.0f %s/s, %d steps, %d unique failures, %d of %d situations, %d cells, %s (%s)\n", p.Seeds, p.SeedsAll, unit, p.Rate, unit,
			p.Steps, p.Failures, p.Reached, p.Situations, p.Cells, view.Left(*p), p.Coordinator)
	}
	fmt.Fprintf(w, "  %d findings\n", len(s.Findings))
	if !all {
		return
	}
	for i := range s.Quarantine {
		fmt.Fprintf(w, "  %s\n", s.Quarantine[i].String())
	}
	for _, f := range s.Findings {
		fmt.Fprintf(w, "  finding %s\n", f)
	}
}
