package sim

import (
	"testing"
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// swarmSeeds is a batch in which everything that can be drawn happens somewhere.
const swarmSeeds = 400

// TestFaultsFire: over a batch every kind of fault reaches the subject, and none does in a run
// that did not draw it.
func TestFaultsFire(t *testing.T) {
	var sum [nFaults]uint64
	for seed := uint64(1); seed <= swarmSeeds; seed++ {
		o := drawOptions(seed).WithDefaults()
		for _, c := range mustRun(t, o).Faults() {
			if sum[c.Fault] += c.Fired; c.Fired > 0 && !o.Faults.Draws(c.Fault) {
				t.Errorf("seed %d: %s fired %d times and was not drawn: %+v", seed, c.Fault, c.Fired, *o.Faults)
			}
		}
	}
	for _, f := range FaultKinds() {
		if sum[f] == 0 {
			t.Errorf("%s never fired in %d runs", f, swarmSeeds)
		}
	}
}

// faultFields are the fields without which a kind of fault cannot be, each set to 0 alone.
var faultFields = [nFaults]func(*Faults){
	SlowConnect:    func(f *Faults) { f.Slow, f.Heavy = 0, 0 },
	ConnectFails:   func(f *Faults) { f.Fail = 0 },
	ConnectBreaks:  func(f *Faults) { f.Fail = 0 },
	ConnectExits:   func(f *Faults) { f.Flaky = 0 },
	ConnectHangs:   func(f *Faults) { f.Hang = 0 },
	Crash:          func(f *Faults) { f.Crashy = 0 },
	CleanExit:      func(f *Faults) { f.Clean = 0 },
	SessionLost:    func(f *Faults) { f.Crashy = 0 },
	CallRejected:   func(f *Faults) { f.Reject = 0 },
	CallLost:       func(f *Faults) { f.Lose = 0 },
	CallHangs:      func(f *Faults) { f.Hang, f.Lose = 0, 0 },
	SlowStop:       func(f *Faults) { f.Stubborn = 0 },
	NeedsTerminate: func(f *Faults) { f.Stubborn = 0 },
	NeedsKill:      func(f *Faults) { f.Stubborn = 0 },
	Stuck:          func(f *Faults) { f.Stick = 0 },
	ToolsChange:    func(f *Faults) { f.Relist = 0 },
	LateCompletion: func(f *Faults) { f.Late = 0 },
	Duplicate:      func(f *Faults) { f.Twice = 0 },
	ExpiredConnect: func(f *Faults) { f.Expire = 0 },
	ExpiredCall:    func(f *Faults) { f.Expire = 0 },
	DownKills:      func(f *Faults) { f.Flapping = 0 },
	DownConnect:    func(f *Faults) { f.Flapping = 0 },
}

// faultyOptions has every fault, strong enough that a few runs hold them all.
func faultyOptions(seed uint64) Options {
	o := hardOptions(seed)
	o.Faults = &Faults{Healthy: 100, Slow: 100, Flaky: 100, Crashy: 100, Hanging: 100, Stubborn: 100, Flapping: 100,
		Heavy: 300, Hang: 300, Lose: 100, Fail: 500, Clean: 300, Stick: 200, Reject: 50, Expire: 500,
		Launch: 300, Relist: 300, Late: 500, Twice: 200}
	return o
}

// TestFaultCountsAreTrue: each count is positive with everything drawn and 0 without its own fault.
func TestFaultCountsAreTrue(t *testing.T) {
	fired := func(off func(*Faults)) (n [nFaults]uint64) {
		for seed := uint64(1); seed <= 6; seed++ {
			o := faultyOptions(seed)
			off(o.Faults)
			for f, x := range mustRun(t, o).Fired {
				n[f] += x
			}
		}
		return n
	}
	all := fired(func(*Faults) {})
	for _, kind := range FaultKinds() {
		if all[kind] == 0 {
			t.Errorf("%s never fired although everything was drawn", kind)
		}
		if n := fired(faultFields[kind])[kind]; n > 0 {
			t.Errorf("%s fired %d times without its cause", kind, n)
		}
		f := *faultyOptions(1).Faults
		if !f.Draws(kind) {
			t.Errorf("%s is said not to be drawn by %+v", kind, f)
		}
		if faultFields[kind](&f); f.Draws(kind) {
			t.Errorf("%s is said to be drawn by %+v", kind, f)
		}
	}
}

// TestFaultCountsAgree holds counts to what was fed, counted apart.
func TestFaultCountsAgree(t *testing.T) {
	o := Options{Seed: 5, Tenants: 40, For: 2 * time.Hour, Mix: &Mix{Human: 1, Shared: 500}, Faults: &Faults{Healthy: 1, Reject: 100, Expire: 500}}
	rejected, failed := uint64(0), uint64(0)
	o.Observe = func(s *Step) {
		switch {
		case s.In.Kind == lifecycle.InConnectFailed:
			failed++
		case s.In.Kind == lifecycle.InCallDone && s.In.Done != lifecycle.DoneAnswered:
			rejected++
		}
	}
	r := mustRun(t, o)
	if got := r.Fired[CallRejected] + r.Fired[ExpiredCall]; got != rejected || rejected == 0 {
		t.Errorf("%d calls were fed as not answered, %d counted", rejected, got)
	}
	if r.Fired[ExpiredConnect] != failed || failed == 0 {
		t.Errorf("%d connects were fed as failed, %d counted", failed, r.Fired[ExpiredConnect])
	}
}

// TestSwarmKeeps: what the caller set stays, whatever the seed draws, and does not change the rest.
func TestSwarmKeeps(t *testing.T) {
	c := lifecycle.DefaultConfig()
	c.CallTimeout = time.Hour
	free := Options{Seed: 9, Swarm: true}.WithDefaults()
	held := Options{Seed: 9, Swarm: true, Config: c, Tenants: 7, For: time.Hour}.WithDefaults()
	if held.Config != c || held.Tenants != 7 || held.For != time.Hour {
		t.Errorf("%+v was set and %d tenants for %v with %+v drawn", c, held.Tenants, held.For, held.Config)
	}
	if *free.Mix != *held.Mix || *free.Faults != *held.Faults {
		t.Errorf("what was set has changed what was drawn")
	}
	if again := held.WithDefaults(); *again.Mix != *held.Mix || again.Config != held.Config {
		t.Errorf("options that were drawn are drawn again")
	}
	absent := 0
	for seed := uint64(1); seed <= 50; seed++ {
		o := Options{Seed: seed, Swarm: true}.WithDefaults()
		for _, s := range append(o.Mix.Strengths(), o.Faults.Strengths()...) {
			if s.Value == 0 {
				absent++
			}
		}
	}
	if absent < 50*10 || absent > 50*25 {
		t.Errorf("%d parts of 50 draws are absent", absent)
	}
}
