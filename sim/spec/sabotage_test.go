package spec_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	lc "github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/sim/spec"
	"pgregory.net/rapid"
)

// sabotage is a machine that lies in one way, and the clauses under which that may come out.
type sabotage struct {
	name    string
	clauses string
	tamper  tamper
}

// symptoms are the clauses under which a machine comes out that lives in another world than the
// model, whatever led it there.
const symptoms = " ST-1 ST-2 ST-3 ST-5 DI-9 RE-9 PR-2 PR-6"

func eachEvent(f func(*lc.Event)) func(*lc.Output) {
	return func(o *lc.Output) {
		for i := range o.Events {
			f(&o.Events[i])
		}
	}
}

func dropEvents(which func(lc.Event) bool) func(*lc.Output) {
	return func(o *lc.Output) { o.Events = slices.DeleteFunc(o.Events, which) }
}

func eachReply(f func(*lc.Reply)) func(*lc.Output) {
	return func(o *lc.Output) {
		for i := range o.Replies {
			f(&o.Replies[i])
		}
	}
}

func dropReplies(which func(lc.Reply) bool) func(*lc.Output) {
	return func(o *lc.Output) { o.Replies = slices.DeleteFunc(o.Replies, which) }
}

func eachEffect(f func(*lc.Effect)) func(*lc.Output) {
	return func(o *lc.Output) {
		for i := range o.Effects {
			f(&o.Effects[i])
		}
	}
}

func dropEffects(kind lc.EffectKind, stage lc.Stage) func(*lc.Output) {
	return func(o *lc.Output) {
		o.Effects = slices.DeleteFunc(o.Effects, func(e lc.Effect) bool { return e.Kind == kind && e.Stage == stage })
	}
}

func swallow(kind lc.InputKind) func(*pair, *lc.Input) bool {
	return func(_ *pair, in *lc.Input) bool { return in.Kind == kind }
}

func alter(kind lc.InputKind, f func(*pair, *lc.Input)) func(*pair, *lc.Input) bool {
	return func(p *pair, in *lc.Input) bool {
		if in.Kind == kind {
			f(p, in)
		}
		return false
	}
}

// toNewest makes a late completion pass for one of the newest generation.
func toNewest(p *pair, in *lc.Input) { in.Gen = p.machine.View(in.Peer).Gen }

var sabotages = []sabotage{
	// Events.
	{"forgets replays", "CL-7 EV-2", tamper{out: dropEvents(func(e lc.Event) bool { return e.Replay })}},
	{"hides that it is a replay", "CL-7", tamper{out: eachEvent(func(e *lc.Event) { e.Replay = false })}},
	{"forgets the last event", "EV-2 ST-5 CL-9 CL-7", tamper{out: func(o *lc.Output) {
		if n := len(o.Events); n > 1 {
			o.Events = o.Events[:n-1]
		}
	}}},
	{"tells everything twice", "EV-2", tamper{out: func(o *lc.Output) { o.Events = append(o.Events, o.Events...) }}},
	{"tells others", "PC-8 ST-5 CL-9 CL-7", tamper{out: eachEvent(func(e *lc.Event) { e.Owner++ })}},
	{"tells under a wrong name", "ST-5 CL-9 CL-7", tamper{out: eachEvent(func(e *lc.Event) { e.Name++ })}},
	{"tells a wrong reason", "ST-5 CL-7", tamper{out: eachEvent(func(e *lc.Event) {
		if e.Reason == lc.ReasonTransport {
			e.Reason = lc.ReasonCallTimeout
		}
	})}},
	{"tells no tools", "ST-5 CL-7", tamper{out: eachEvent(func(e *lc.Event) { e.Tools = 0 })}},
	{"dates events at their delivery", "EV-2", tamper{out: eachEvent(func(e *lc.Event) { e.At++ })}},
	{"numbers events from nought", "EV-2", tamper{out: eachEvent(func(e *lc.Event) { e.Seq-- })}},
	{"says Connected for Connecting", "ST-5 CL-7", tamper{out: eachEvent(func(e *lc.Event) {
		if e.State == lc.Connecting {
			e.State = lc.Connected
		}
	})}},

	// Replies.
	{"serves last come first", "DI-9", tamper{out: func(o *lc.Output) { slices.Reverse(o.Replies) }}},
	{"forgets the refused", "DI-12 DI-9 PC-7 RC-4 SH-1 ST-9", tamper{out: dropReplies(func(r lc.Reply) bool { return r.Kind == lc.ReplyRefused })}},
	{"forgets the settled", "RC-2", tamper{out: dropReplies(func(r lc.Reply) bool { return r.Kind == lc.ReplySettled })}},
	{"answers twice", "DI-9", tamper{out: func(o *lc.Output) { o.Replies = append(o.Replies, o.Replies...) }}},
	{"admits onto an older generation", "DI-1", tamper{out: eachReply(func(r *lc.Reply) {
		if r.Kind == lc.ReplyReady {
			r.Gen--
		}
	})}},
	{"hides the cause", "DI-12", tamper{out: eachReply(func(r *lc.Reply) { r.Cause = lc.NoReason })}},
	{"promises a retry too early", "DI-12", tamper{out: eachReply(func(r *lc.Reply) {
		if r.Reason == lc.ReasonFailed && r.RetryAt != lc.Never {
			r.RetryAt -= 20
		}
	})}},
	{"counts no tools after a reconnect", "RC-2", tamper{out: eachReply(func(r *lc.Reply) { r.Tools = 0 })}},

	// Effects.
	{"forgets to stop", "PR-2", tamper{out: dropEffects(lc.EffectStop, lc.StageClose)}},
	{"never kills", "PR-2", tamper{out: dropEffects(lc.EffectStop, lc.StageKill)}},
	{"kills at once", "PR-2", tamper{out: eachEffect(func(e *lc.Effect) {
		if e.Stage == lc.StageClose {
			e.Stage = lc.StageKill
		}
	})}},
	{"stops an older incarnation", "PR-2", tamper{out: eachEffect(func(e *lc.Effect) {
		if e.Kind == lc.EffectStop {
			e.Gen--
		}
	})}},
	{"forgets to dial", "DI-1", tamper{out: dropEffects(lc.EffectDial, lc.NoStage)}},
	{"dials twice", "ST-3", tamper{out: func(o *lc.Output) {
		for _, e := range o.Effects {
			if e.Kind == lc.EffectDial {
				o.Effects = append(o.Effects, e)
				return
			}
		}
	}}},
	{"dials a used generation", "ST-2", tamper{out: eachEffect(func(e *lc.Effect) {
		if e.Kind == lc.EffectDial && e.Gen > 1 {
			e.Gen--
		}
	})}},
	{"forgets nothing", "CL-2", tamper{out: dropEffects(lc.EffectForget, lc.NoStage)}},
	{"leaves dials running", "CL-8", tamper{out: dropEffects(lc.EffectAbandonDial, lc.NoStage)}},
	{"leaves calls hanging", "CA-2 CA-4 CA-6 CA-8 CL-3 OL-46 RC-6 SH-1", tamper{out: dropEffects(lc.EffectAbandonCall, lc.NoStage)}},
	{"cuts calls for the wrong reason", "CA-2 CA-4 CA-8 CL-3 OL-46 RC-6 SH-1", tamper{out: eachEffect(func(e *lc.Effect) {
		if e.Kind == lc.EffectAbandonCall {
			e.Reason = lc.ReasonExited
		}
	})}},

	// Inputs.
	{"believes late exits", "ST-2 PR-2 ST-5 CA-6 DI-9", tamper{in: alter(lc.InExited, toNewest)}},
	{"believes late connects", "ST-2 ST-5 DI-9", tamper{in: alter(lc.InConnected, toNewest)}},
	{"overhears exits", "DI-1 ST-2 ST-5 CA-6 CL-2", tamper{in: swallow(lc.InExited)}},
	{"overhears cancels", "DI-9 CA-4 ST-2", tamper{in: swallow(lc.InCancel)}},
	{"overhears deaths", "CL-9 OL-46 PC-7 CL-3 CL-8 PR-2 CL-2 ST-1 ST-2 CL-4", tamper{in: swallow(lc.InOwnerDied)}},
	{"overhears releases", "CL-9 RC-4 PC-7 SH-1 DI-9 CL-2 CL-3 CL-8 PR-2 ST-1 CL-4", tamper{in: swallow(lc.InRelease)}},
	{"sleeps through everything", "RE-1 RE-4 RE-9 DI-4 CA-8 PR-2 CL-8 ST-1 ST-4 SH-1", tamper{in: swallow(lc.InTimeReached)}},
	{"does not drain", "SH-1 ST-5 PR-2 CL-8", tamper{in: swallow(lc.InDrain)}},
	{"reconnects by ensuring", "RC-6 ST-5 PR-2 DI-1 CL-8 RC-2 DI-9", tamper{in: alter(lc.InReconnect, func(_ *pair, in *lc.Input) { in.Kind = lc.InEnsure })}},
	{"reconnects upon ensure", "RC-6 RC-2 DI-9 ST-3 ST-5", tamper{in: alter(lc.InEnsure, func(_ *pair, in *lc.Input) { in.Kind = lc.InReconnect })}},
	{"fails upon rejection", "ST-5", tamper{in: alter(lc.InCallDone, func(_ *pair, in *lc.Input) {
		if in.Done == lc.DoneRejected {
			in.Done = lc.DoneTransport
		}
	})}},
	{"forgives transport", "ST-5", tamper{in: alter(lc.InCallDone, func(_ *pair, in *lc.Input) { in.Done = lc.DoneAnswered })}},
	{"shares one process among all", "CL-7 CL-9 ST-1 CL-2 CL-4", tamper{in: alter(lc.InDeclare, func(_ *pair, in *lc.Input) { in.FP = lc.Fingerprint{} })}},

	// Times and bounds.
	{"evicts early", "RE-1 RE-9 ST-4", tamper{cfg: func(c *lc.Config) { c.IdleTimeout -= c.IdleTimeout / 4 }}},
	{"evicts late", "RE-1 ST-4", tamper{cfg: func(c *lc.Config) { c.IdleTimeout += c.IdleTimeout / 2 }}},
	{"evicts although it must not", "RE-6 RE-9 RE-4", tamper{cfg: func(c *lc.Config) {
		if c.IdleTimeout == 0 {
			c.IdleTimeout = 10
		}
	}}},
	{"ages early", "RE-4 RE-9 ST-4 DI-12", tamper{cfg: func(c *lc.Config) { c.FailedRetry /= 2 }}},
	{"connects too long", "DI-4 CL-8 ST-4", tamper{cfg: func(c *lc.Config) { c.ConnectTimeout++ }}},
	{"connects too briefly", "ST-4 RE-9 ST-3", tamper{cfg: func(c *lc.Config) { c.ConnectTimeout-- }}},
	{"calls too long", "CA-8 ST-4", tamper{cfg: func(c *lc.Config) { c.CallTimeout++ }}},
	{"hurries the ladder", "PR-2 RE-9 ST-3", tamper{cfg: func(c *lc.Config) { c.TerminateGrace-- }}},
	{"lets too many wait", "DI-9", tamper{cfg: func(c *lc.Config) { c.MaxWaiters++ }}},

	// Policies, bounds and the queue.
	{"allows one incarnation too many", "PR-6", tamper{cfg: func(c *lc.Config) {
		if c.MaxLive > 0 {
			c.MaxLive++
		}
	}}},
	{"allows one attempt too many", "PR-6", tamper{cfg: func(c *lc.Config) {
		if c.MaxDialing > 0 {
			c.MaxDialing++
		}
	}}},
	{"allows one spawn too many", "PR-6", tamper{cfg: func(c *lc.Config) {
		if c.MaxSpawning > 0 {
			c.MaxSpawning++
		}
	}}},
	{"lets too many queue", "PR-6", tamper{cfg: func(c *lc.Config) {
		if c.MaxQueued > 0 {
			c.MaxQueued++
		}
	}}},
	{"has no room where there is some", "PR-6 ST-5 DI-1", tamper{cfg: func(c *lc.Config) {
		if c.MaxLive == 0 {
			c.MaxLive = 1
		}
	}}},
	{"lets them queue for ever", "PR-6 ST-4", tamper{cfg: func(c *lc.Config) { c.QueueTimeout = 10_000 }}},
	{"tires of the queue too early", "PR-6 RE-9 ST-4 ST-3 DI-9", tamper{cfg: func(c *lc.Config) {
		if c.QueueTimeout > 0 {
			c.QueueTimeout--
		}
	}}},
	{"serves the queue from its end", "PR-6", tamper{lie: dialLastQueued}},
	{"counts the wait against the connect budget", "DI-4 ST-5 DI-12", tamper{in: impatient()}},
	{"fails a peer for want of room", "ST-1 PR-6", tamper{look: func(_ *pair, v *lc.View) {
		if v.Queued && v.State == lc.Disconnected {
			v.State = lc.Failed
		}
	}}},
	{"tells of a failure for want of room", "ST-5 RE-4 CL-9", tamper{out: func(o *lc.Output) {
		for _, r := range o.Replies {
			if r.Reason == lc.ReasonOverloaded && len(o.Events) > 0 && o.Events[len(o.Events)-1].State == lc.Disconnected {
				o.Events[len(o.Events)-1].State = lc.Failed
			}
		}
	}}},
	{"forgets whom it has no room for", "PR-6 DI-9", tamper{out: dropReplies(func(r lc.Reply) bool { return r.Reason == lc.ReasonOverloaded })}},
	{"stops what is in use to make room", "RE-2", tamper{lie: stopBusy}},
	{"stops nothing to make room", "PR-6 RE-4", tamper{out: func(o *lc.Output) {
		for _, e := range o.Events {
			if e.State == lc.Disconnected {
				o.Effects = slices.DeleteFunc(o.Effects, func(e lc.Effect) bool { return e.Kind == lc.EffectStop })
				o.Events = slices.DeleteFunc(o.Events, func(e lc.Event) bool { return e.State == lc.Disconnected })
				return
			}
		}
	}}},
	{"forgets what was wished", "ST-1 RE-10 RE-1 RE-4", tamper{in: alter(lc.InDeclare, func(_ *pair, in *lc.Input) { in.Policy = nil })}},
	{"evicts what is pinned", "RE-10 RE-9", tamper{in: wishing(func(w *lc.Policy) { w.Pinned = false }), look: asWished}},
	{"evicts what is young", "RE-10 RE-9 PR-6", tamper{in: wishing(func(w *lc.Policy) { w.MinUptime = 0 }), look: asWished}},
	{"lets the shorter wish win", "RE-1 RE-4 RE-9 DI-12", tamper{look: asWished, in: wishing(func(w *lc.Policy) {
		w.IdleTimeout = min(w.IdleTimeout, 10)
	})}},
	{"stops without the wished graces", "PR-2 RE-9 ST-3 ST-4", tamper{look: asWished, in: wishing(func(w *lc.Policy) {
		w.CloseGrace, w.TerminateGrace = 0, 0
	})}},
	{"lists no wishes", "ST-1", tamper{look: func(_ *pair, v *lc.View) { v.Policy = lc.Policy{} }}},
	{"ignores start budgets", "ST-4 RE-9 DI-4 CL-8 ST-5", tamper{cfg: func(c *lc.Config) { c.StartTimeout = 0 }}},
	{"overhears starts", "ST-4 RE-9 DI-4 ST-5", tamper{in: swallow(lc.InStarted)}},
	{"overhears spawns", "PR-6", tamper{in: swallow(lc.InSpawned)}},
	{"writes nothing off", "ST-9 DI-1 ST-1 PR-6 ST-4", tamper{in: swallow(lc.InWriteOff)}},
	{"does not say that there is nothing to write off", "ST-9", tamper{out: dropReplies(func(r lc.Reply) bool { return r.Reason == lc.ReasonNotStuck })}},
	{"lists nothing that was written off", "ST-1", tamper{look: func(_ *pair, v *lc.View) { v.WrittenOff = 0 }}},
	{"overhears new lists", "CA-10", tamper{in: swallow(lc.InRelisted)}},
	{"takes a new list for a connect", "CA-10 CL-7", tamper{out: func(o *lc.Output) {
		for i := range o.Events {
			if len(o.Effects)+len(o.Replies) == 0 && o.Events[i].Replay && o.Events[i].State == lc.Connected {
				o.Events[i].Replay = false
			}
		}
	}}},
	{"fails what went in peace", "ST-5", tamper{in: alter(lc.InExited, func(_ *pair, in *lc.Input) { in.Clean = false })}},
	{"takes every exit for peaceful", "ST-5", tamper{in: alter(lc.InExited, func(_ *pair, in *lc.Input) { in.Clean = true })}},
	{"leaves the calls of the dead", "OL-46", tamper{out: func(o *lc.Output) {
		o.Effects = slices.DeleteFunc(o.Effects, func(e lc.Effect) bool { return e.Reason == lc.ReasonDeadOwner })
	}}},

	// Listings.
	{"lists tools of evicted peers", "ST-1", tamper{look: func(_ *pair, v *lc.View) { v.Tools++ }}},
	{"hides why it failed", "ST-1", tamper{look: func(_ *pair, v *lc.View) { v.Reason = lc.NoReason }}},
	{"hides a stop in progress", "ST-1", tamper{look: func(_ *pair, v *lc.View) {
		if v.Phase == lc.Stopping {
			v.Phase, v.Stage = lc.Absent, lc.NoStage
		}
	}}},
}

// dialLastQueued lets another one that queues have the turn.
func dialLastQueued(p *pair, o *lc.Output) {
	for i, e := range o.Effects {
		for id := lc.PeerID(p.machine.Slots() - 1); id > 0 && e.Kind == lc.EffectDial; id-- {
			if v := p.machine.View(id); v.Queued {
				fp := p.fps[id]
				o.Effects[i].Peer, o.Effects[i].Gen, o.Effects[i].FP = id, v.Gen+1, fp
				return
			}
		}
	}
}

// stopBusy says of a peer in use that it was stopped, when somebody queues.
func stopBusy(p *pair, o *lc.Output) {
	if p.machine.Load().Queued == 0 || len(o.Events) > 0 {
		return
	}
	for id := lc.PeerID(1); int(id) < p.machine.Slots(); id++ {
		if v := p.machine.View(id); v.State == lc.Connected && v.InFlight > 0 {
			o.Effects = append(o.Effects, lc.Effect{Kind: lc.EffectStop, Stage: lc.StageClose, Peer: id, Gen: v.Gen})
			for _, c := range p.claimsOf(id) {
				c.State, c.Peer, c.Gen = lc.Disconnected, id, v.Gen
				o.Events = append(o.Events, c)
			}
			return
		}
	}
}

// claimsOf returns an event for every claim on a peer.
func (p *pair) claimsOf(id lc.PeerID) []lc.Event {
	var all []lc.Event
	for o := lc.OwnerID(1); o <= p.born; o++ {
		for n := lc.NameID(1); n <= maxNames; n++ {
			if p.machine.Claimed(o, n) == id {
				all = append(all, lc.Event{Owner: o, Name: n, At: p.now})
			}
		}
	}
	return all
}

// wishing changes what declarations ask for.
func wishing(f func(*lc.Policy)) func(*pair, *lc.Input) bool {
	return alter(lc.InDeclare, func(_ *pair, in *lc.Input) {
		if in.Policy != nil {
			w := *in.Policy
			f(&w)
			in.Policy = &w
		}
	})
}

// asWished lists what the policies should be.
func asWished(p *pair, v *lc.View) {
	v.Policy = lc.Policy(p.model.Standing(p.agree.Word(v.Peer)).Policy)
}

// impatient fails an attempt whose wait for room and connect together took the connect timeout.
func impatient() func(*pair, *lc.Input) bool {
	type wait struct {
		p  *pair
		id lc.PeerID
	}
	since := map[wait]lc.Instant{}
	return func(p *pair, in *lc.Input) bool {
		for id := lc.PeerID(1); int(id) < p.machine.Slots(); id++ {
			v, w := p.machine.View(id), wait{p, id}
			at, waited := since[w]
			switch {
			case v.Queued && !waited:
				since[w] = p.now
			case !v.Queued && v.Phase != lc.Dialing:
				delete(since, w)
			case v.Phase == lc.Dialing && waited && in.Kind == lc.InTimeReached && p.now >= at+13:
				*in = lc.ConnectFailed(id, v.Gen)
			}
		}
		return false
	}
}

// outcome of one random run: what the checker said, if anything.
type outcome struct{ err error }

// stopped ends a run from within.
type stopped struct{ err error }

// runTampered makes one random run with a lying machine. A panic of the machine counts as caught:
// it has noticed the lie itself.
func runTampered(s sabotage) *rapid.Generator[outcome] {
	return rapid.Custom(func(t *rapid.T) (o outcome) {
		d := &driver{pair: newPair(drawConfig(t), s.tamper)}
		d.fail = func(_ *driver, err error) { panic(stopped{err}) }
		defer func() {
			switch r := recover().(type) {
			case nil:
			case stopped:
				o.err = r.err
			default:
				panic(r)
			}
		}()
		d.prepare()
		actions := d.actions(rapid.Bool().Draw(t, "drains"))
		names := slices.Sorted(maps.Keys(actions))
		for range 40 {
			actions[rapid.SampledFrom(names).Draw(t, "action")](t)
		}
		return o
	})
}

// TestCheckerCanFail lets machines lie and wants each of them caught within a bounded number of
// random runs, under a clause that it did break.
func TestCheckerCanFail(t *testing.T) {
	const runs = 3000
	for _, s := range sabotages {
		t.Run(strings.ReplaceAll(s.name, " ", "-"), func(t *testing.T) {
			g, clauses := runTampered(s), s.clauses
			if s.tamper.in != nil {
				clauses += symptoms
			}
			for seed := range runs {
				err := g.Example(seed).err
				if err == nil {
					continue
				}
				if !slices.Contains(strings.Fields(clauses), clauseOf(err)) {
					t.Fatalf("a machine that %s was caught, but as %v; expected one of %s", s.name, err, clauses)
				}
				return
			}
			t.Fatalf("a machine that %s was not caught in %d runs", s.name, runs)
		})
	}
}

func clauseOf(err error) string {
	var v *spec.Violation
	if errors.As(err, &v) {
		return v.Clause
	}
	clause, _, _ := strings.Cut(fmt.Sprint(err), ":")
	return clause
}

// TestHonestMachineIsNotAccused is the control of TestCheckerCanFail.
func TestHonestMachineIsNotAccused(t *testing.T) {
	g := runTampered(sabotage{})
	for seed := range 300 {
		if err := g.Example(seed).err; err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}
