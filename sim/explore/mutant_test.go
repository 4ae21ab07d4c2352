package explore

import (
	"slices"
	"testing"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// mutant is the machine with one thing wrong. It keeps nothing beside the machine.
type mutant struct {
	*lifecycle.Machine
	in   func(*lifecycle.Machine, *lifecycle.Input) (swallow bool)
	out  func(*lifecycle.Machine, lifecycle.Input, *lifecycle.Output)
	view func(*lifecycle.View)
	wake func(*lifecycle.Machine, lifecycle.Instant) lifecycle.Instant
}

func (m *mutant) Step(now lifecycle.Instant, in lifecycle.Input) (out lifecycle.Output) {
	if m.in == nil || !m.in(m.Machine, &in) {
		out = m.Machine.Step(now, in)
	}
	if m.out != nil {
		m.out(m.Machine, in, &out)
	}
	return out
}

func (m *mutant) View(id lifecycle.PeerID) lifecycle.View {
	v := m.Machine.View(id)
	if m.view != nil {
		m.view(&v)
	}
	return v
}

func (m *mutant) Deadline() lifecycle.Instant {
	if m.wake != nil {
		return m.wake(m.Machine, m.Machine.Deadline())
	}
	return m.Machine.Deadline()
}

func (m *mutant) CopyTo(to Subject) { m.CopyInto(to.(*mutant).Machine) }

// planted is a mutant, the faults that it takes to see it, and what sees it.
type planted struct {
	name   string
	want   string
	faults string
	m      mutant
	config func(*lifecycle.Config)
	world  func(*lifecycle.Config) // of both
}

func (p *planted) options(t testing.TB) Options {
	c := DefaultConfig()
	if p.world != nil {
		p.world(&c)
	}
	return Options{Config: c, Agents: 2, Configs: 2, Faults: faultsOf(t, p.faults), Drain: true, States: 300_000, Subject: func(cfg lifecycle.Config) Subject {
		if p.config != nil {
			p.config(&cfg)
		}
		x := p.m
		x.Machine = lifecycle.New(cfg)
		return &x
	}}
}

// ofNow takes a completion of any generation for one of the newest.
func ofNow(m *lifecycle.Machine, in *lifecycle.Input) bool {
	if v := m.View(in.Peer); in.Peer != 0 && v.State != lifecycle.NoState && in.Gen < v.Gen {
		in.Gen = v.Gen
	}
	return false
}

func without[E any](list []E, drop func(E) bool) []E { return slices.DeleteFunc(list, drop) }

var mutants = []planted{
	{name: "ignores generations", want: "PROC-GEN STALE STATUS GEN", faults: "late", m: mutant{in: ofNow}},
	{name: "ignores generations of copies", want: "STALE STATUS", faults: "twice", m: mutant{in: ofNow}},
	{name: "lets old news of a failure end a new attempt", want: "STALE", faults: "late", m: mutant{in: func(m *lifecycle.Machine, in *lifecycle.Input) bool {
		return in.Kind == lifecycle.InConnectFailed && ofNow(m, in)
	}}},
	{name: "loses the waiters of a failed attempt", want: "LISTED", faults: "fail", m: mutant{out: func(_ *lifecycle.Machine, _ lifecycle.Input, out *lifecycle.Output) {
		out.Replies = without(out.Replies, func(r lifecycle.Reply) bool {
			return r.Reason == lifecycle.ReasonFailed && r.Cause == lifecycle.ReasonConnect
		})
	}}},
	{name: "tells nobody of a broken session", want: "EVENT-MISSING", faults: "break", m: mutant{out: func(_ *lifecycle.Machine, in lifecycle.Input, out *lifecycle.Output) {
		if in.Kind == lifecycle.InBroken {
			out.Events = nil
		}
	}}},
	{name: "forgets to stop what nobody claims", want: "PROC-CLAIM", faults: "none", m: mutant{out: func(_ *lifecycle.Machine, in lifecycle.Input, out *lifecycle.Output) {
		if in.Kind == lifecycle.InRelease {
			out.Effects = without(out.Effects, func(e lifecycle.Effect) bool { return e.Kind == lifecycle.EffectStop })
		}
	}}},
	{name: "never hears of an exit", want: "PROC-CLAIM", faults: "none", m: mutant{in: func(_ *lifecycle.Machine, in *lifecycle.Input) bool { return in.Kind == lifecycle.InExited }}},
	{name: "skips a rung", want: "LADDER", faults: "stubborn", m: mutant{out: func(_ *lifecycle.Machine, _ lifecycle.Input, out *lifecycle.Output) {
		out.Effects = without(out.Effects, func(e lifecycle.Effect) bool {
			return e.Kind == lifecycle.EffectStop && e.Stage == lifecycle.StageTerminate
		})
	}}},
	{name: "evicts too early", want: "EVICT-EARLY", faults: "none", config: func(c *lifecycle.Config) { c.IdleTimeout /= 2 }},
	{name: "evicts too late", want: "EVICT-LATE", faults: "none", config: func(c *lifecycle.Config) { c.IdleTimeout *= 3 }},
	{name: "forgives a call that did not land", want: "CALL-FAILS", faults: "transport", m: mutant{in: func(_ *lifecycle.Machine, in *lifecycle.Input) bool {
		if in.Done == lifecycle.DoneTransport {
			in.Done = lifecycle.DoneAnswered
		}
		return false
	}}},
	{name: "does not care about cancels", want: "CANCEL", faults: "none", m: mutant{in: func(_ *lifecycle.Machine, in *lifecycle.Input) bool { return in.Kind == lifecycle.InCancel }}},
	{name: "admits to another's peer", want: "ISOLATION ADMIT-UP", faults: "none", m: mutant{out: func(m *lifecycle.Machine, _ lifecycle.Input, out *lifecycle.Output) {
		for i := range out.Replies {
			other := m.View(3 - out.Replies[i].Peer)
			if out.Replies[i].Kind == lifecycle.ReplyReady && other.State == lifecycle.Connected {
				out.Replies[i].Peer, out.Replies[i].Gen = other.Peer, other.Gen
			}
		}
	}}},
	{name: "panics", want: "PANIC", faults: "none", m: mutant{in: func(_ *lifecycle.Machine, in *lifecycle.Input) bool {
		if in.Kind == lifecycle.InReconnect {
			panic("index out of range")
		}
		return false
	}}},
	{name: "tells twice", want: "EVENT-PATH", faults: "none", m: mutant{out: func(_ *lifecycle.Machine, _ lifecycle.Input, out *lifecycle.Output) {
		if n := len(out.Events); n > 0 {
			out.Events = append(out.Events, out.Events[n-1])
		}
	}}},
	{name: "tells the dead", want: "EVENT-OWNER", faults: "none", m: mutant{out: func(_ *lifecycle.Machine, in lifecycle.Input, out *lifecycle.Output) {
		if in.Kind == lifecycle.InOwnerDied {
			out.Events = append(out.Events, lifecycle.Event{Owner: in.Owner, Name: 1, State: lifecycle.Disconnected})
		}
	}}},
	{name: "marks a transition as a replay", want: "EVENT-REPLAY", faults: "none", m: mutant{out: func(_ *lifecycle.Machine, _ lifecycle.Input, out *lifecycle.Output) {
		for i := range out.Events {
			out.Events[i].Replay = true
		}
	}}},
	{name: "bids no farewell", want: "FAREWELL", faults: "none", m: mutant{out: func(_ *lifecycle.Machine, in lifecycle.Input, out *lifecycle.Output) {
		if in.Kind == lifecycle.InRelease {
			out.Events = nil
		}
	}}},
	{name: "answers twice", want: "REPLY-ONCE", faults: "none", m: mutant{out: func(_ *lifecycle.Machine, _ lifecycle.Input, out *lifecycle.Output) {
		if len(out.Replies) > 0 {
			out.Replies = append(out.Replies, out.Replies[0])
		}
	}}},
	{name: "refuses for a wrong reason", want: "REPLY-CAUSE", faults: "none", m: mutant{out: func(_ *lifecycle.Machine, _ lifecycle.Input, out *lifecycle.Output) {
		for i := range out.Replies {
			if out.Replies[i].Reason == lifecycle.ReasonReleased {
				out.Replies[i].Reason = lifecycle.ReasonDraining
			}
		}
	}}},
	{name: "settles with nothing", want: "SETTLED", faults: "none", m: mutant{out: func(_ *lifecycle.Machine, _ lifecycle.Input, out *lifecycle.Output) {
		for i := range out.Replies {
			out.Replies[i].State = lifecycle.Disconnected
		}
	}}},
	{name: "lets peers run on in a drain", want: "DRAIN STATUS", faults: "none", m: mutant{out: func(_ *lifecycle.Machine, in lifecycle.Input, out *lifecycle.Output) {
		if in.Kind == lifecycle.InDrain {
			out.Effects = nil
		}
	}}},
	{name: "dials upon a declaration", want: "SPAWN-UNASKED", faults: "none", m: mutant{out: func(m *lifecycle.Machine, in lifecycle.Input, out *lifecycle.Output) {
		if id := m.Claimed(in.Owner, in.Name); in.Kind == lifecycle.InDeclare {
			out.Effects = append(out.Effects, lifecycle.Effect{Kind: lifecycle.EffectDial, Peer: id, Gen: m.View(id).Gen + 1, FP: in.FP})
		}
	}}},
	{name: "dials twice", want: "PROC-ONE", faults: "none", m: mutant{out: func(_ *lifecycle.Machine, _ lifecycle.Input, out *lifecycle.Output) {
		for _, e := range out.Effects {
			if e.Kind == lifecycle.EffectDial {
				out.Effects = append(out.Effects, e)
			}
		}
	}}},
	{name: "stops another generation", want: "PROC-GEN", faults: "none", m: mutant{out: func(_ *lifecycle.Machine, _ lifecycle.Input, out *lifecycle.Output) {
		for i := range out.Effects {
			out.Effects[i].Gen += 1 - min(1, lifecycle.Generation(out.Effects[i].Kind)&1)
		}
	}}},
	{name: "strands calls", want: "CALL-STRANDED", faults: "exit", m: mutant{out: func(_ *lifecycle.Machine, in lifecycle.Input, out *lifecycle.Output) {
		if in.Kind == lifecycle.InExited {
			out.Effects = without(out.Effects, func(e lifecycle.Effect) bool { return e.Kind == lifecycle.EffectAbandonCall })
		}
	}}},
	{name: "abandons a call twice", want: "CALL-ABANDON", faults: "none", m: mutant{out: func(_ *lifecycle.Machine, _ lifecycle.Input, out *lifecycle.Output) {
		for _, e := range out.Effects {
			if e.Kind == lifecycle.EffectAbandonCall {
				out.Effects = append(out.Effects, e)
			}
		}
	}}},
	{name: "fails a peer for a no", want: "CALL-STATE", faults: "none", m: mutant{in: func(_ *lifecycle.Machine, in *lifecycle.Input) bool {
		if in.Done == lifecycle.DoneRejected {
			in.Done = lifecycle.DoneTransport
		}
		return false
	}}},
	{name: "forgets a claimed peer", want: "FORGET", faults: "none", m: mutant{out: func(m *lifecycle.Machine, in lifecycle.Input, out *lifecycle.Output) {
		if id := m.Claimed(in.Owner, in.Name); in.Kind == lifecycle.InCancel || in.Kind == lifecycle.InReconnect {
			out.Effects = append(out.Effects, lifecycle.Effect{Kind: lifecycle.EffectForget, Peer: id, FP: fingerprintOf(1)})
		}
	}}},
	{name: "lists no tools", want: "TOOLS", faults: "none", m: mutant{view: func(v *lifecycle.View) { v.Tools = 0 }}},
	{name: "evicts in a call", want: "EVICT-BUSY", faults: "never", m: mutant{out: func(m *lifecycle.Machine, in lifecycle.Input, out *lifecycle.Output) {
		for id := lifecycle.PeerID(1); in.Kind == lifecycle.InTimeReached && int(id) < m.Slots(); id++ {
			if v := m.View(id); v.InFlight > 0 {
				out.Effects = append(out.Effects, lifecycle.Effect{Kind: lifecycle.EffectStop, Stage: lifecycle.StageClose, Peer: id, Gen: v.Gen})
			}
		}
	}}},
	{name: "wakes for nothing", want: "PROGRESS", faults: "none", m: mutant{wake: func(m *lifecycle.Machine, at lifecycle.Instant) lifecycle.Instant { return min(at, m.Now()) }}},
	{name: "has a longer connect timeout", want: "CONNECT-BOUND", faults: "hang", config: func(c *lifecycle.Config) { c.ConnectTimeout *= 2 }},
	{name: "ignores the bound", want: "CAP-LIVE", faults: "none", world: func(c *lifecycle.Config) { c.MaxLive = 1 }, config: func(c *lifecycle.Config) { c.MaxLive = 0 }},
	{name: "waits for a miracle", want: "SETTLES LISTED", faults: "none", m: mutant{in: func(_ *lifecycle.Machine, in *lifecycle.Input) bool {
		return in.Kind == lifecycle.InEnsure
	}}},
}
