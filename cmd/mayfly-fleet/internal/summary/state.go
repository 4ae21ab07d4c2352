package summary

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/jobs"
	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/queue"
)

// The bounds of a page.
const (
	MaxFailures   = 200
	MaxQuarantine = 50
	MaxText       = 32 << 10 // of one tape, scenario or log
	maxReport     = 1 << 20
)

// State is all that a page shows, but for the files in Dir.
type State struct {
	Spec       queue.Spec
	State      queue.State
	Progress   queue.Progress
	Samples    []queue.Sample
	Quarantine []queue.Quarantine
	Crew       []queue.Member
	Unit       string // what the kind counts
	Dir        string // of the results

	// Outcome is nil of a campaign that ended with an error.
	Outcome *jobs.Outcome
}

// Gather reads what is known of a campaign.
func Gather(ctx context.Context, q *queue.Queue, id, dir string, out *jobs.Outcome) (*State, error) {
	s := &State{Dir: dir, Outcome: out, Unit: "jobs"}
	for _, read := range []func() error{
		func() (err error) { s.Spec, err = q.Spec(ctx, id); return err },
		func() (err error) { s.State, err = q.State(ctx, id); return err },
		func() (err error) { s.Progress, err = q.Progress(ctx, id); return err },
		func() (err error) { s.Samples, err = q.Samples(ctx, id); return err },
		func() (err error) { s.Quarantine, err = q.Quarantined(ctx, id); return err },
		func() (err error) { s.Crew, err = q.Crew(ctx, id); return err },
	} {
		if err := read(); err != nil {
			return nil, fmt.Errorf("the summary of %s cannot be made: %w", id, err)
		}
	}
	if k, err := jobs.Find(s.Spec.Kind); err == nil {
		s.Unit = k.Unit
	}
	return s, nil
}

// report is what the kinds' reports have for a page; each kind has its own part.
type report struct {
	Settings  []string   `json:"settings"`
	Unreached []string   `json:"unreached"`
	Grown     uint64     `json:"nothingNewFrom"`
	Failures  []failure  `json:"failures"`
	Bad       []scenario `json:"bad"`       // of scenarios
	Violation *violation `json:"violation"` // of explore
}

type scenario struct {
	File     string   `json:"file"`
	Verdict  string   `json:"verdict"`
	Failures []string `json:"failures"`
}

type violation struct {
	ID     string   `json:"id"`
	Clause string   `json:"clause"`
	Text   string   `json:"text"`
	Detail string   `json:"detail"`
	Path   []string `json:"path"`
}

// report reads what the outcome reports, as it shows it to programs.
func (s *State) report() (r report, err error) {
	if s.Outcome == nil {
		return r, nil
	}
	text, err := json.Marshal(s.Outcome.Report)
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		return r, fmt.Errorf("the report of %s cannot be read: %w", s.Spec.ID, err)
	}
	return r, nil
}

// text is the report for people.
func (s *State) text() string {
	if s.Outcome == nil || s.Outcome.Write == nil {
		return ""
	}
	var b bytes.Buffer
	s.Outcome.Write(&b)
	return cut(b.String(), maxReport)
}

// cut shortens a text, and says so.
func cut(s string, most int) string {
	if len(s) <= most {
		return strings.ToValidUTF8(s, "?")
	}
	return strings.ToValidUTF8(s[:most], "?") + fmt.Sprintf("\n[%d more bytes are left out]\n", len(s)-most)
}
