package sim

import (
	"testing"
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// TestRecovery shows that the machine recovers from every kind of run, and that every excuse is
// needed by some.
func TestRecovery(t *testing.T) {
	var excused [nExcuses]uint64
	recovered := uint64(0)
	for seed := uint64(1); seed <= 150; seed++ {
		for _, o := range []Options{Hunt(seed), drawOptions(seed)} {
			res := mustRun(t, o)
			if res.Violation != nil {
				t.Fatalf("seed %d: %v", seed, res.Violation)
			}
			recovered += res.Recovered
			for i, n := range res.Excused {
				excused[i] += n
			}
		}
	}
	for i, x := range Excuses() {
		if excused[i+1] == 0 {
			t.Errorf("nothing was excused by %s: %s", x.ID, x.Text)
		}
	}
	if recovered < 1000 {
		t.Errorf("only %d claims recovered", recovered)
	}
}

// TestRecoveryIsHealthy shows that all faults have ended when the recovery begins: without bounds,
// with ageing and with tokens that last, nothing is excused, and every claim works.
func TestRecoveryIsHealthy(t *testing.T) {
	for seed := uint64(1); seed <= 20; seed++ {
		o := hardOptions(seed)
		o.Mix.Abrupt, o.Faults.Expire = 0, 0
		res := mustRun(t, o)
		if res.Excused != [nExcuses]uint64{} || res.Recovered == 0 || res.Violation != nil {
			t.Errorf("seed %d: %d claims recovered, excused %v, %v", seed, res.Recovered, res.Excused, res.Violation)
		}
	}
}

// quietTape is one call by t1, and much later one by t2 to another server.
func quietTape() *Tape {
	call := CallPlan{End: EndAnswered, Takes: time.Second}
	at := func(d time.Duration) lifecycle.Instant { return lifecycle.Instant(d) }
	return &Tape{Seed: 1, Tenants: 2, For: 10 * time.Hour, AuditEvery: 1 << 30, Config: hardConfig(), Entries: []Entry{
		{At: 0, Op: OpBorn, Tenant: 1},
		{At: 0, Op: OpBorn, Tenant: 2},
		{At: 0, Op: OpDeclare, Tenant: 1, Name: 1, Target: Target{Server: 1}},
		{At: 0, Op: OpDeclare, Tenant: 2, Name: 1, Target: Target{Server: 2}},
		{At: at(time.Second), Op: OpDispatch, Tenant: 1, Name: 1, Call: call},
		{At: at(5 * time.Hour), Op: OpDispatch, Tenant: 2, Name: 1, Call: call},
	}}
}

// TestWatches shows that a watch finds what nothing touches, at the next step of anybody.
func TestWatches(t *testing.T) {
	for id, m := range map[string]struct {
		config func(*lifecycle.Config)
		end    End
	}{
		"NEVER-EVICTED":  {func(c *lifecycle.Config) { c.IdleTimeout = 0 }, EndAnswered},
		"FAILED-FOREVER": {func(c *lifecycle.Config) { c.FailedRetry = 1000 * time.Hour }, EndTransport},
	} {
		tape := quietTape()
		tape.Entries[4].Call.End = m.end
		healthy, err := Replay(tape, Options{})
		if err != nil || healthy.Violation != nil {
			t.Fatal(err, healthy.Violation)
		}
		broken := mutant{config: m.config}
		res, err := Replay(tape, Options{Subject: broken.subject()})
		if err != nil {
			t.Fatal(err)
		}
		if v := res.Violation; v == nil || v.ID != id || v.At != tape.Entries[5].At {
			t.Errorf("want %s at %v, got %v", id, time.Duration(tape.Entries[5].At), v)
		}
	}
}

// TestNoDelaysInTheCalm runs a day whose short call timeout would be outlived by whatever is
// delayed: the recovery must not be.
func TestNoDelaysInTheCalm(t *testing.T) {
	o := Options{Seed: 8281, Swarm: true, Schedule: mustParseSchedule(t, "delay:60@8282")}
	if res := mustRun(t, o); res.Violation != nil || res.Recovered == 0 {
		t.Errorf("%d claims worked again: %v", res.Recovered, res.Violation)
	}
}
