package published_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/sim"
	"github.com/mayfly-mcp/mayfly/sim/published"
)

// plain is a workload without troubles: turns of calls one after the other, listings, pauses in which
// peers are evicted.
func plain() *sim.Mix { return &sim.Mix{Shared: 550, Listing: 80} }

// healthy is a fleet of servers that do what they are asked.
func healthy() *sim.Faults { return &sim.Faults{Healthy: 1} }

func run(t *testing.T, seed uint64, opt published.Options, mix *sim.Mix, faults *sim.Faults) *sim.Result {
	t.Helper()
	cfg := lifecycle.DefaultConfig()
	cfg.CallTimeout = time.Minute // longer than any call of a healthy server
	res, err := sim.Run(sim.Options{Seed: seed, Tenants: 40, For: 12 * time.Hour, Config: cfg, Mix: mix, Faults: faults, Subject: published.New(opt)})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// The algorithm works: what is found of it is not an artefact of the way it is written here. On days
// without faults and races every check of the simulator holds, with the text's own order of things and
// with the clock's one exception, which is a finding.
func TestPlainDays(t *testing.T) {
	for seed := range uint64(10) {
		res := run(t, seed, published.Options{Clock: published.ClockFromAnswer}, plain(), healthy())
		if res.Violation != nil {
			t.Errorf("seed %d: %v", seed, res.Violation)
		}
		if res.Evictions == 0 || res.Replies[lifecycle.ReplyReady] == 0 {
			t.Errorf("seed %d: a day of %d calls and %d evictions shows nothing", seed, res.Replies[lifecycle.ReplyReady], res.Evictions)
		}
	}
}

// With the kindest reading of every step, and where the text decides a step a departure from it, every check
// holds on days full of trouble, too.
func TestMendedDays(t *testing.T) {
	for seed := range uint64(20) {
		if res := run(t, seed, published.Mended(), published.Mix(), nil); res.Violation != nil {
			t.Errorf("seed %d: %v", seed, res.Violation)
		}
	}
}

func TestOptionsAreText(t *testing.T) {
	for _, o := range []published.Options{{}, published.Kind(), published.Mended()} {
		again, err := published.Parse(o.String())
		if err != nil || again != o {
			t.Errorf("%q is read as %+v, %v: %s", o, again, err, cmp.Diff(o, again))
		}
	}
	if o, err := published.Parse("kind,clock=dispatch"); err != nil || o.Clock != published.ClockFromDispatch || o.Evict != published.EvictGated {
		t.Errorf("a later word does not override kind: %v, %v", o, err)
	}
	for text, want := range map[string]string{
		"clock=noon": "use dispatch, answer, in-flight",
		"hours=9":    "see -subject published:help",
	} {
		if _, err := published.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v; want one that says %q", text, err, want)
		}
	}
	for _, s := range published.Steps {
		if !strings.Contains(published.Help(), s.Name) {
			t.Errorf("the help does not name %s", s.Name)
		}
	}
}
