package sim

import (
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// class is how the servers of one program tend to be.
type class uint8

const (
	classHealthy  class = iota
	classSlow           // a launcher has to fetch the program first: connects take long, some for ever
	classFlaky          // connects fail often, in every way
	classCrashy         // processes die by themselves, calls fail
	classHanging        // connects and calls get no answer
	classStubborn       // stops take long, or need SIGKILL
	classFlapping       // now and then the whole server is down
)

// fleet draws how servers behave.
type fleet struct {
	faults  *Faults
	fault   *rng // stream faults
	latency *rng // stream latency
	classes []class
	starts  []quantiles // of the connect times
}

// tenantsPerServer says how many tenants there are for one server program.
const tenantsPerServer = 12

func newFleet(o *Options) *fleet {
	f := &fleet{faults: o.Faults, fault: newRand(o.Seed, "faults"), latency: newRand(o.Seed, "latency")}
	n := min(max(o.Tenants/tenantsPerServer, 6), MaxServers)
	f.classes = make([]class, n+1)
	x := o.Faults
	f.starts = make([]quantiles, n+1)
	weights := []int{x.Healthy, x.Slow, x.Flaky, x.Crashy, x.Hanging, x.Stubborn, x.Flapping}
	for i := 1; i <= n; i++ {
		f.classes[i] = class(f.fault.pick(weights))
		f.starts[i] = f.startsOf(f.classes[i])
	}
	return f
}

// startsOf draws how long the connects of a server take.
func (f *fleet) startsOf(c class) quantiles {
	switch {
	case c == classSlow:
		return launcherStarts
	case f.fault.chance(f.faults.Heavy):
		return heavyStarts
	}
	return []quantiles{nativeStarts, pythonStarts, nodeStarts}[f.fault.below(3)]
}

// any returns some server program.
func (f *fleet) any(r *rng) uint32 { return uint32(1 + r.below(len(f.classes)-1)) }

// dial draws the character of the next incarnation of a target.
func (f *fleet) dial(t Target) DialPlan {
	p := DialPlan{
		Outcome:   Connects,
		Spawns:    f.latency.between(time.Millisecond, 30*time.Millisecond),
		After:     f.starts[t.Server].wait(f.latency),
		Tools:     uint16(1 + f.latency.below(20)),
		Obeys:     lifecycle.StageClose,
		StopTakes: f.latency.between(0, 400*time.Millisecond),
		Late:      f.fault.chance(f.faults.Late),
		Twice:     f.fault.chance(f.faults.Twice),
	}
	switch f.classes[t.Server] {
	case classHealthy, classSlow, classFlapping:
	case classFlaky:
		if f.fault.chance(f.faults.Fail) {
			p.Outcome = []Outcome{Fails, Breaks, Exits}[f.fault.below(3)]
		}
	case classCrashy:
		p.Clean = f.fault.chance(f.faults.Clean)
		p.Lives = f.latency.between(time.Second, 40*time.Minute)
		p.LosesOnly = f.fault.chance(250)
	case classHanging:
		if f.fault.chance(f.faults.Hang) {
			p.Outcome = Hangs
		}
	case classStubborn:
		f.stubborn(&p)
	}
	if f.fault.chance(f.faults.Launch) {
		p.Starts = f.latency.between(p.Spawns, max(p.Spawns, p.After))
	}
	if f.fault.chance(f.faults.Relist) {
		p.Relists = f.latency.between(time.Second, 10*time.Minute)
		p.Retools = uint16(f.latency.below(20))
	}
	return p
}

func (f *fleet) stubborn(p *DialPlan) {
	if f.fault.chance(f.faults.Stick) {
		p.Obeys, p.StopTakes = lifecycle.StageStuck, f.latency.between(0, time.Minute)
		return
	}
	p.Obeys = []lifecycle.Stage{lifecycle.StageClose, lifecycle.StageTerminate, lifecycle.StageKill}[f.fault.below(3)]
	p.StopTakes = f.latency.between(0, 12*time.Second)
}

// call draws how a server takes a call. Server 0 is none: the call will be refused.
func (f *fleet) call(server uint32) CallPlan {
	p := CallPlan{End: EndAnswered, Takes: callTimes.wait(f.latency)}
	d := f.fault.below(1000)
	p.Late = d < f.faults.Late
	p.Twice = d < f.faults.Twice
	switch c := f.classes[server]; {
	case f.fault.chance(f.faults.Reject):
		p.End = EndRejected
	case (c == classCrashy || c == classHanging) && f.fault.chance(f.faults.Lose):
		p.End = EndTransport
	case c == classHanging && f.fault.chance(f.faults.Hang), c == classCrashy && f.fault.chance(f.faults.Lose):
		p.End = EndNever
	}
	return p
}
