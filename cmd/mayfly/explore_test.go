package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/sim/explore"
)

// deaf is a machine that hears of no exit.
type deaf struct{ *lifecycle.Machine }

func (d deaf) CopyTo(to explore.Subject) { d.CopyInto(to.(deaf).Machine) }

func (d deaf) Step(now lifecycle.Instant, in lifecycle.Input) lifecycle.Output {
	if in.Kind == lifecycle.InExited {
		return lifecycle.Output{}
	}
	return d.Machine.Step(now, in)
}

// TestExploreShowsTheShortestWay to a broken rule, and exits with 1.
func TestExploreShowsTheShortestWay(t *testing.T) {
	for _, c := range []struct {
		args string
		want []string
	}{
		{"", []string{"ended at a broken rule", "VIOLATION PROC-CLAIM", "  after:\n    0s\ta1 born\n", "exits\n"}},
		{"-json", []string{`"id": "PROC-CLAIM"`, `"path": [`}},
	} {
		var out, err bytes.Buffer
		path := filepath.Join(t.TempDir(), "way.tape")
		code := runExplore(context.Background(), append(strings.Fields(c.args), "-record", path), &out, &err, func(cfg lifecycle.Config) explore.Subject { return deaf{lifecycle.New(cfg)} })
		if code != exitFailed {
			t.Errorf("%q: exit code %d: %s", c.args, code, err.String())
		}
		if tape, err := os.ReadFile(path); err != nil || !bytes.Contains(tape, []byte("t1 die")) {
			t.Errorf("%q: the tape is %q, %v", c.args, tape, err)
		}
		for _, want := range c.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%q: want %q in\n%s", c.args, want, out.String())
			}
		}
	}
}
