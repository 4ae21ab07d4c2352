package published_test

import (
	"slices"
	"testing"

	"github.com/mayfly-mcp/mayfly/scenarios"
	"github.com/mayfly-mcp/mayfly/sim"
)

// shown lists the scenarios that show a finding.
var shown = []struct {
	readings string
	fail     []string
}{
	{"machine", nil},
	{"mended", nil},
	{"kind", []string{"death-noticed-without-traffic"}},
	{"mended,mark=always", []string{"reconnect-of-a-hung-peer", "old-call-spares-newcomer"}},
	{"mended,teardown=running", []string{"claim-move-during-connect", "remove-during-connect", "unregister-during-connect"}},
	{"mended,evict=state-first,successor=at-once", []string{"call-meets-stopping-peer", "joins-dying-peer"}},
	{"mended,reconnect=ungated,successor=at-once", []string{"call-waits-for-reconnect", "joins-dying-peer"}},
	{"mended,successor=at-once", []string{"joins-dying-peer"}},
	{"mended,evict=process-first", []string{"call-meets-stopping-peer"}},
	{"mended,failed-call=use", []string{"refused-calls-are-not-use"}},
	{"mended,clock=answer", []string{"in-flight-outlives-t"}},
	{"mended,clock=dispatch", []string{"call-meets-stopping-peer", "in-flight-outlives-t", "reconnected-stays-for-t", "failed-reconnect-waits-for-t"}},
	{"mended,sweep=one-by-one", []string{"slow-stop-delays-nobody"}},
	{"mended,sweep=one-by-one,reaped=collected", []string{"slow-stop-spares-who-is-called", "slow-stop-delays-nobody"}},
	{"mended,caller=dropped", []string{"cancel-during-connect"}},
}

// The scenarios agree with the simulator: they hold with the mended algorithm and fail where a finding
// says so.
func TestScenariosShowTheFindings(t *testing.T) {
	all := scenarios.All()
	for _, s := range shown {
		var failed []string
		for _, f := range all {
			known := s.readings == "machine" || slices.Contains(f.Worlds(), scenarios.Live) // the RFC has no bounds, wishes, drains
			if known && f.RunsIn(scenarios.Machine) && !holds(t, f, s.readings) {
				failed = append(failed, f.ID())
			}
		}
		for _, id := range s.fail {
			if !slices.Contains(failed, id) {
				t.Errorf("published:%s passes %s, which shows a finding", s.readings, id)
			}
		}
		if len(s.fail) == 0 && len(failed) > 0 {
			t.Errorf("%s fails %v", s.readings, failed)
		}
	}
}

// holds runs a scenario. A server of which two processes run at a time is more than its world can
// say, and ends the scenario with an error.
func holds(t *testing.T, f *scenarios.File, readings string) bool {
	t.Helper()
	report, err := scenarios.Run(t.Context(), f, sim.NewScenarioWorldOf(subject(t, readings)))
	return err == nil && report.Err() == nil
}

// With late=by-id and a connect that waits for its predecessor's end, the orphan of a released declaration is
// waited for by whoever declares the same again, and never ends.
func TestOrphanIsWaitedForInVain(t *testing.T) {
	f, err := scenarios.Parse("vain.txtar", []byte("server S\nagent a\ndeclare a m1 S\nhold S initialize\nstart c1: call a echo\n"+
		"await S initialize\nremove a\nrelease S\nagent b\ndeclare b m1 S\nstart c2: call b echo\nadvance 1h\nexpect result c2 = ok\n"))
	if err != nil {
		t.Fatal(err)
	}
	for readings, want := range map[string]bool{"mended,teardown=running,late=by-id": false, "mended,teardown=running": true, "mended": true, "machine": true} {
		if got := holds(t, f, readings); got != want {
			t.Errorf("%s: b is served: %t; want %t", readings, got, want)
		}
	}
}
