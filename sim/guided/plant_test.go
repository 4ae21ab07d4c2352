package guided

import (
	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/sim"
)

// plant is a machine with a bug that a rare conjunction wakes: then it panics. It keeps the books
// that triggers need, from what goes in and comes out.
type plant struct {
	*lifecycle.Machine
	trigger  func(*plant, *lifecycle.Input) bool
	draining bool
	abandons map[lifecycle.PeerID]lifecycle.Generation // the newest incarnation whose connect was abandoned
}

func planted(trigger func(*plant, *lifecycle.Input) bool) func(lifecycle.Config) sim.Subject {
	return func(c lifecycle.Config) sim.Subject {
		return &plant{Machine: lifecycle.New(c), trigger: trigger, abandons: map[lifecycle.PeerID]lifecycle.Generation{}}
	}
}

func (p *plant) Step(now lifecycle.Instant, in lifecycle.Input) lifecycle.Output {
	if p.trigger(p, &in) {
		panic(&lifecycle.Violation{ID: "PLANTED", Detail: "the planted bug woke"})
	}
	p.draining = p.draining || in.Kind == lifecycle.InDrain
	out := p.Machine.Step(now, in)
	for i := range out.Effects {
		if e := &out.Effects[i]; e.Kind == lifecycle.EffectAbandonDial {
			p.abandons[e.Peer] = e.Gen
		}
	}
	return out
}

// claims returns the views of what an owner claims.
func (p *plant) claims(o lifecycle.OwnerID) (out []lifecycle.View) {
	for n := lifecycle.NameID(1); n <= sim.MaxNames; n++ {
		if id := p.Claimed(o, n); id > 0 {
			out = append(out, p.View(id))
		}
	}
	return out
}

// abandoned: the exit of an incarnation is pending whose connect was abandoned.
func (p *plant) abandoned(v lifecycle.View) bool {
	return v.Phase == lifecycle.Stopping && p.abandons[v.Peer] == v.Gen
}

func (p *plant) abandonedAndKilled(v lifecycle.View) bool {
	return p.abandoned(v) && v.Stage >= lifecycle.StageKill
}

func queued(v lifecycle.View) bool { return v.Queued }
func busy(v lifecycle.View) bool   { return v.InFlight > 0 }

func count(vs []lifecycle.View, is func(lifecycle.View) bool) (n int) {
	for _, v := range vs {
		if is(v) {
			n++
		}
	}
	return n
}

// bug is a bug that is planted in the machine.
type bug struct {
	name    string
	wakes   string // when
	trigger func(*plant, *lifecycle.Input) bool
}

var bugs = []bug{
	{"drain", "an owner dies in a drain while the process of a connect that was abandoned, of one of its claims, has been sent SIGKILL and has not exited",
		func(p *plant, in *lifecycle.Input) bool {
			return in.Kind == lifecycle.InOwnerDied && p.draining && count(p.claims(in.Owner), p.abandonedAndKilled) > 0
		}},
	{"stuck", "a reconnect finds an incarnation that has outlived SIGKILL and at least three callers who wait for its exit",
		func(p *plant, in *lifecycle.Input) bool {
			if in.Kind != lifecycle.InReconnect {
				return false
			}
			v := p.View(p.Claimed(in.Owner, in.Name))
			return v.Phase == lifecycle.Stopping && v.Stage == lifecycle.StageStuck && v.Waiters >= 3
		}},
	{"house", "an owner dies while of its claims one's abandoned connect has not exited, another's attempt waits for room, and a third has a call in flight",
		func(p *plant, in *lifecycle.Input) bool {
			vs := p.claims(in.Owner)
			return in.Kind == lifecycle.InOwnerDied && count(vs, p.abandoned) > 0 && count(vs, queued) > 0 && count(vs, busy) > 0
		}},
}
