package sim

import (
	"slices"
	"testing"
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// corrupt is the machine with one thing wrong. Its hooks change what goes in or comes out.
type corrupt struct {
	*lifecycle.Machine
	input    func(*corrupt, *lifecycle.Input) (swallow bool)
	output   func(*corrupt, lifecycle.Input, *lifecycle.Output)
	view     func(*corrupt, *lifecycle.View)
	deadline func(*corrupt, lifecycle.Instant) lifecycle.Instant

	seq   uint64 // events are renumbered, so that a dropped one is not found by its number alone
	keep  bool   // but not if this is set
	fps   map[lifecycle.PeerID]lifecycle.Fingerprint
	ready lifecycle.Reply // an earlier one
	count int
}

func (c *corrupt) Step(now lifecycle.Instant, in lifecycle.Input) lifecycle.Output {
	var out lifecycle.Output
	if c.input == nil || !c.input(c, &in) {
		out = c.Machine.Step(now, in)
	}
	for _, e := range out.Effects {
		if e.Kind == lifecycle.EffectDial {
			c.fps[e.Peer] = e.FP
		}
	}
	if c.output != nil {
		c.output(c, in, &out)
	}
	for i := range out.Events {
		if c.seq++; !c.keep {
			out.Events[i].Seq = c.seq
		}
	}
	return out
}

func (c *corrupt) View(id lifecycle.PeerID) lifecycle.View {
	v := c.Machine.View(id)
	if c.view != nil && v.State != lifecycle.NoState {
		c.view(c, &v)
	}
	return v
}

func (c *corrupt) Deadline() lifecycle.Instant {
	if c.deadline != nil {
		return c.deadline(c, c.Machine.Deadline())
	}
	return c.Machine.Deadline()
}

// mutant is a way to be wrong and the checks of which one must notice.
type mutant struct {
	name   string
	want   []string
	config func(*lifecycle.Config) // of the machine inside, unknown to the world
	make   func(*corrupt)
	world  func(*lifecycle.Config) // of both
	mute   []string                // checks that would find it first
	mix    func(*Mix)
	keep   bool // the subject survives its daemon
}

func onOutput(f func(*corrupt, lifecycle.Input, *lifecycle.Output)) func(*corrupt) {
	return func(c *corrupt) { c.output = f }
}

func onInput(f func(*corrupt, *lifecycle.Input) bool) func(*corrupt) {
	return func(c *corrupt) { c.input = f }
}

func onView(f func(*corrupt, *lifecycle.View)) func(*corrupt) {
	return func(c *corrupt) { c.view = f }
}

func dropEffects(kind lifecycle.EffectKind, when func(lifecycle.Input, lifecycle.Effect) bool) func(*corrupt) {
	return onOutput(func(_ *corrupt, in lifecycle.Input, out *lifecycle.Output) {
		out.Effects = slices.DeleteFunc(out.Effects, func(e lifecycle.Effect) bool { return e.Kind == kind && when(in, e) })
	})
}

func dropReplies(why lifecycle.Reason) func(*corrupt) {
	return onOutput(func(_ *corrupt, _ lifecycle.Input, out *lifecycle.Output) {
		out.Replies = slices.DeleteFunc(out.Replies, func(r lifecycle.Reply) bool { return r.Reason == why })
	})
}

func dropEvents(when func(lifecycle.Input, lifecycle.Event) bool) func(*corrupt) {
	return onOutput(func(_ *corrupt, in lifecycle.Input, out *lifecycle.Output) {
		out.Events = slices.DeleteFunc(out.Events, func(e lifecycle.Event) bool { return when(in, e) })
	})
}

// dialAgain puts one more dial of the peer behind an input into the output.
func dialAgain(c *corrupt, in lifecycle.Input, out *lifecycle.Output, ahead lifecycle.Generation) {
	id := c.Claimed(in.Owner, in.Name)
	v := c.Machine.View(id)
	if fp, ok := c.fps[id]; ok && v.State != lifecycle.NoState {
		out.Effects = append(out.Effects, lifecycle.Effect{Kind: lifecycle.EffectDial, Peer: id, Gen: v.Gen + ahead, FP: fp})
	}
}

// ageing fixes the period of failures, so that a mutant of T is one of T alone.
func ageing(c *lifecycle.Config) { c.FailedRetry = 20 * time.Second }

var processMutants = []mutant{
	{name: "dials twice", want: []string{"PROC-ONE"}, make: onOutput(func(c *corrupt, in lifecycle.Input, out *lifecycle.Output) {
		for _, e := range out.Effects {
			if e.Kind == lifecycle.EffectDial {
				out.Effects = append(out.Effects, e)
				return
			}
		}
	})},
	{name: "stops the wrong generation", want: []string{"PROC-GEN"}, make: onOutput(func(c *corrupt, in lifecycle.Input, out *lifecycle.Output) {
		for i := range out.Effects {
			if out.Effects[i].Kind == lifecycle.EffectStop {
				out.Effects[i].Gen++
			}
		}
	})},
	{name: "never forgets", want: []string{"PROC-CLAIM", "TRANSITION"}, make: dropEffects(lifecycle.EffectForget, func(lifecycle.Input, lifecycle.Effect) bool { return true })},
	{name: "leaks the process of a dead owner", want: []string{"STATUS", "PROC-CLAIM"}, make: dropEffects(lifecycle.EffectStop, func(in lifecycle.Input, e lifecycle.Effect) bool { return in.Kind == lifecycle.InOwnerDied })},
	{name: "dials upon a declaration", want: []string{"SPAWN-UNASKED"}, make: onOutput(func(c *corrupt, in lifecycle.Input, out *lifecycle.Output) {
		if id := c.Claimed(in.Owner, in.Name); in.Kind == lifecycle.InDeclare && c.Machine.View(id).Phase == lifecycle.Absent && c.Machine.View(id).State == lifecycle.Disconnected {
			out.Effects = append(out.Effects, lifecycle.Effect{Kind: lifecycle.EffectDial, Peer: id, Gen: c.Machine.View(id).Gen + 1, FP: in.FP})
		}
	})},
	{name: "retries a failed peer at once", want: []string{"RETRY", "STATUS"}, make: onOutput(func(c *corrupt, in lifecycle.Input, out *lifecycle.Output) {
		v := c.Machine.View(c.Claimed(in.Owner, in.Name))
		if in.Kind == lifecycle.InDispatch && v.State == lifecycle.Failed && v.Phase == lifecycle.Absent {
			dialAgain(c, in, out, 1)
		}
	})},
	{name: "keeps waiting for what was written off", want: []string{"STATUS", "QUEUE-IDLE"}, make: onInput(func(_ *corrupt, in *lifecycle.Input) bool {
		return in.Kind == lifecycle.InWriteOff && in.Ticket == 0
	})},
	{name: "dials beside what is stuck", want: []string{"PROC-ONE"}, make: onOutput(func(c *corrupt, in lifecycle.Input, out *lifecycle.Output) {
		if v := c.Machine.View(c.Claimed(in.Owner, in.Name)); in.Kind == lifecycle.InWriteOff && v.Phase == lifecycle.Stopping {
			dialAgain(c, in, out, 1)
		}
	})},
	{name: "skips SIGTERM", want: []string{"LADDER"}, make: dropEffects(lifecycle.EffectStop, func(_ lifecycle.Input, e lifecycle.Effect) bool { return e.Stage == lifecycle.StageTerminate })},
	{name: "has a longer grace", want: []string{"LADDER"}, config: func(c *lifecycle.Config) { c.CloseGrace *= 2 }},
	{name: "forgets the graces that were wished", want: []string{"LADDER"}, make: onInput(func(c *corrupt, in *lifecycle.Input) bool {
		if in.Kind == lifecycle.InDeclare && in.Policy != nil {
			p := *in.Policy
			p.CloseGrace, p.TerminateGrace = 0, 0
			in.Policy = &p
		}
		return false
	})},
	{name: "only asks nicely in a drain", want: []string{"LEAK"}, world: func(c *lifecycle.Config) { c.IdleTimeout, c.FailedRetry = 0, 20*time.Second }, make: func(c *corrupt) {
		draining := false
		dropEffects(lifecycle.EffectStop, func(in lifecycle.Input, e lifecycle.Effect) bool {
			draining = draining || in.Kind == lifecycle.InDrain
			return draining && e.Stage > lifecycle.StageClose
		})(c)
	}},
	{name: "has a longer connect timeout", want: []string{"CONNECT-BOUND", "TRANSITION"}, config: func(c *lifecycle.Config) { c.ConnectTimeout *= 2 }},
	{name: "has a shorter connect timeout", want: []string{"CONNECT-CUT"}, config: func(c *lifecycle.Config) { c.ConnectTimeout /= 2 }},
	{name: "lets finished peers run on in a drain", want: []string{"DRAIN"}, make: func(c *corrupt) {
		draining := false
		c.output = func(c *corrupt, in lifecycle.Input, out *lifecycle.Output) {
			draining = draining || in.Kind == lifecycle.InDrain
			out.Effects = slices.DeleteFunc(out.Effects, func(e lifecycle.Effect) bool {
				return draining && e.Kind == lifecycle.EffectStop && e.Stage == lifecycle.StageClose
			})
		}
	}},
	{name: "wakes for nothing", want: []string{"PROGRESS"}, make: func(c *corrupt) {
		c.deadline = func(c *corrupt, d lifecycle.Instant) lifecycle.Instant { return min(d, c.Now()+1) }
	}},
	{name: "wakes for nothing after a drain", want: []string{"DRAIN"}, make: func(c *corrupt) {
		c.input = func(c *corrupt, in *lifecycle.Input) bool {
			if in.Kind == lifecycle.InDrain {
				c.count = 1
			}
			return false
		}
		c.deadline = func(c *corrupt, d lifecycle.Instant) lifecycle.Instant {
			if d == lifecycle.Never && c.Live() == 0 && c.count == 1 {
				return c.Now() + 1
			}
			return d
		}
	}},
	{name: "forgets a claimed peer", want: []string{"FORGET"}, make: onOutput(func(c *corrupt, in lifecycle.Input, out *lifecycle.Output) {
		if id := c.Claimed(in.Owner, in.Name); in.Kind == lifecycle.InDispatch && c.fps[id] != (lifecycle.Fingerprint{}) {
			out.Effects = append(out.Effects, lifecycle.Effect{Kind: lifecycle.EffectForget, Peer: id, FP: c.fps[id]})
		}
	})},
	{name: "panics without a name", want: []string{"PANIC"}, make: onInput(func(c *corrupt, in *lifecycle.Input) bool {
		if in.Kind == lifecycle.InReconnect {
			panic("index out of range")
		}
		return false
	})},
	{name: "panics with an invariant", want: []string{"TIMER"}, make: onInput(func(c *corrupt, in *lifecycle.Input) bool {
		if in.Kind == lifecycle.InReconnect {
			panic(&lifecycle.Violation{ID: "TIMER", Detail: "planted"})
		}
		return false
	})},
	{name: "reports its deadline for ever", want: []string{"PROGRESS"}, make: func(c *corrupt) {
		c.deadline = func(c *corrupt, d lifecycle.Instant) lifecycle.Instant {
			if c.Now() > lifecycle.Instant(time.Minute) {
				return c.Now()
			}
			return d
		}
	}},
}

var timeMutants = []mutant{
	{name: "evicts early", want: []string{"EVICT-EARLY"}, world: ageing, config: func(c *lifecycle.Config) { c.IdleTimeout = max(c.IdleTimeout-time.Second, 0) }},
	{name: "evicts late", want: []string{"EVICT-LATE"}, world: ageing, config: func(c *lifecycle.Config) { c.IdleTimeout += c.IdleTimeout / 2 }},
	{name: "never evicts", want: []string{"EVICT-LATE"}, world: ageing, config: func(c *lifecycle.Config) { c.IdleTimeout = 0 }},
	{name: "evicts in a call", want: []string{"EVICT-BUSY"}, make: onOutput(func(c *corrupt, in lifecycle.Input, out *lifecycle.Output) {
		for id := lifecycle.PeerID(1); in.Kind == lifecycle.InTimeReached && int(id) < c.Slots(); id++ {
			if v := c.Machine.View(id); v.State == lifecycle.Connected && v.InFlight > 0 {
				out.Effects = append(out.Effects, lifecycle.Effect{Kind: lifecycle.EffectStop, Stage: lifecycle.StageClose, Peer: id, Gen: v.Gen})
				return
			}
		}
	})},
	{name: "evicts with T = 0", want: []string{"EVICT-OFF"}, world: func(c *lifecycle.Config) { c.IdleTimeout, c.FailedRetry = 0, 20*time.Second },
		config: func(c *lifecycle.Config) { c.IdleTimeout = 20 * time.Second }},
	{name: "ages early", want: []string{"AGE-EARLY"}, config: func(c *lifecycle.Config) { c.FailedRetry = 15 * time.Second }},
	{name: "ages late", want: []string{"AGE-LATE"}, config: func(c *lifecycle.Config) { c.FailedRetry = 30 * time.Second }},
	{name: "cuts calls early", want: []string{"CALL-ABANDON"}, config: func(c *lifecycle.Config) { c.CallTimeout -= time.Second }},
	{name: "never times a call out", want: []string{"REPLY-LOST"}, config: func(c *lifecycle.Config) { c.CallTimeout = 1000 * time.Hour }},
}

// laterMutants are found by what looks at the whole of a run, when what looks at a step is mute.
var laterMutants = []mutant{
	{name: "never ages", want: []string{"FAILED-FOREVER"}, mute: []string{"AGE-LATE"}, world: ageing,
		config: func(c *lifecycle.Config) { c.FailedRetry = 1000 * time.Hour }},
	{name: "never evicts and nobody looks", want: []string{"NEVER-EVICTED"}, mute: []string{"EVICT-LATE"}, world: ageing,
		config: func(c *lifecycle.Config) { c.IdleTimeout = 0 }},
	{name: "never works again", want: []string{"RECOVER"}, mute: []string{"AGE-LATE", "FAILED-FOREVER"}, world: ageing,
		config: func(c *lifecycle.Config) { c.FailedRetry = 1000 * time.Hour }},
}

var callMutants = []mutant{
	{name: "mixes credentials", want: []string{"ISOLATION"}, make: onOutput(func(c *corrupt, in lifecycle.Input, out *lifecycle.Output) {
		for i := range out.Replies {
			r := &out.Replies[i]
			if r.Kind != lifecycle.ReplyReady {
				continue
			}
			v := c.Machine.View(c.ready.Peer)
			if v.State == lifecycle.Connected && v.Gen == c.ready.Gen && c.fps[r.Peer] != c.fps[c.ready.Peer] {
				r.Peer, r.Gen = c.ready.Peer, c.ready.Gen
				return
			}
			c.ready = *r
		}
	})},
	{name: "admits to an old generation", want: []string{"ADMIT-UP"}, make: onOutput(func(c *corrupt, in lifecycle.Input, out *lifecycle.Output) {
		for i := range out.Replies {
			if r := &out.Replies[i]; r.Kind == lifecycle.ReplyReady && r.Gen > 1 {
				r.Gen--
			}
		}
	})},
	{name: "lets too many wait", want: []string{"WAITERS"}, config: func(c *lifecycle.Config) { c.MaxWaiters = 100 },
		world: func(c *lifecycle.Config) { c.MaxWaiters = 2 }},
	{name: "serves the last to come first", want: []string{"WAIT-FIFO"}, make: onOutput(func(c *corrupt, in lifecycle.Input, out *lifecycle.Output) {
		slices.Reverse(out.Replies)
	})},
	{name: "refuses for another reason than it lists", want: []string{"REASON"}, make: onOutput(func(c *corrupt, in lifecycle.Input, out *lifecycle.Output) {
		for i := range out.Replies {
			if out.Replies[i].Cause == lifecycle.ReasonConnect {
				out.Replies[i].Cause = lifecycle.ReasonBroken
			}
		}
	})},
	{name: "promises a retry too early", want: []string{"RETRY-AT"}, make: onOutput(func(c *corrupt, in lifecycle.Input, out *lifecycle.Output) {
		for i := range out.Replies {
			if out.Replies[i].Reason == lifecycle.ReasonFailed {
				out.Replies[i].RetryAt = c.Now()
			}
		}
	})},
	{name: "answers twice", want: []string{"REPLY-ONCE"}, make: onOutput(func(c *corrupt, in lifecycle.Input, out *lifecycle.Output) {
		if len(out.Replies) > 0 {
			out.Replies = append(out.Replies, out.Replies[0])
		}
	})},
	{name: "does not refuse the claimless", want: []string{"REPLY-NOW"}, make: dropReplies(lifecycle.ReasonNoClaim)},
	{name: "accepts to write off what is not stuck", want: []string{"WRITE-OFF"}, make: dropReplies(lifecycle.ReasonNotStuck)},
	{name: "loses a waiter", want: []string{"LISTED"}, make: dropReplies(lifecycle.ReasonFailed)},
	{name: "leaves waiters of released claims", want: []string{"OWNER-TICKET", "LISTED"}, make: dropReplies(lifecycle.ReasonReleased)},
	{name: "leaves waiters of dead owners", want: []string{"OWNER-TICKET", "LISTED", "REPLY-NOW"}, make: dropReplies(lifecycle.ReasonDeadOwner)},
	{name: "refuses for a wrong reason", want: []string{"REPLY-CAUSE"}, make: onOutput(func(c *corrupt, in lifecycle.Input, out *lifecycle.Output) {
		for i := range out.Replies {
			if out.Replies[i].Reason == lifecycle.ReasonFailed && out.Replies[i].Kind == lifecycle.ReplyRefused {
				out.Replies[i].Reason = lifecycle.ReasonDraining
			}
		}
	})},
	{name: "settles before the outcome", want: []string{"SETTLED"}, make: onOutput(func(c *corrupt, in lifecycle.Input, out *lifecycle.Output) {
		for i := range out.Replies {
			if out.Replies[i].Kind == lifecycle.ReplySettled {
				out.Replies[i].State = lifecycle.Disconnected
			}
		}
	})},
	{name: "ignores cancellation", want: []string{"CANCEL"}, make: onInput(func(c *corrupt, in *lifecycle.Input) bool { return in.Kind == lifecycle.InCancel })},
	{name: "fails a peer for an answer", want: []string{"CALL-STATE"}, make: onInput(func(c *corrupt, in *lifecycle.Input) bool {
		if in.Kind == lifecycle.InCallDone && in.Done == lifecycle.DoneRejected {
			in.Done = lifecycle.DoneTransport
		}
		return false
	})},
	{name: "forgives a transport failure", want: []string{"CALL-FAILS"}, make: onInput(func(c *corrupt, in *lifecycle.Input) bool {
		if in.Kind == lifecycle.InCallDone && in.Done == lifecycle.DoneTransport {
			in.Done = lifecycle.DoneRejected
		}
		return false
	})},
	{name: "strands calls", want: []string{"CALL-STRANDED"}, make: dropEffects(lifecycle.EffectAbandonCall, func(in lifecycle.Input, _ lifecycle.Effect) bool { return in.Kind == lifecycle.InExited })},
}

var listingMutants = []mutant{
	{name: "fails a peer without a cause", want: []string{"TRANSITION"}, make: onInput(func(c *corrupt, in *lifecycle.Input) bool {
		if v := c.Machine.View(c.Claimed(in.Owner, in.Name)); in.Kind == lifecycle.InEnsure && v.State == lifecycle.Connected {
			c.Machine.Step(c.Now(), lifecycle.SessionBroken(v.Peer, v.Gen))
		}
		return false
	})},
	{name: "lists an old generation", want: []string{"STATUS"}, make: onView(func(_ *corrupt, v *lifecycle.View) { v.Gen-- })},
	{name: "lists a broken peer as connected", want: []string{"EVENT-MISSING", "STATUS", "CALL-FAILS"}, make: onView(func(_ *corrupt, v *lifecycle.View) {
		if v.Phase == lifecycle.Broken {
			v.State = lifecycle.Connected
		}
	})},
	{name: "hides what was written off", want: []string{"WRITE-OFF"}, make: onView(func(_ *corrupt, v *lifecycle.View) { v.WrittenOff = 0 })},
	{name: "miscounts claims", want: []string{"LISTED"}, make: onView(func(_ *corrupt, v *lifecycle.View) { v.Claims++ })},
	{name: "drops the tools of a failed peer", want: []string{"TOOLS"}, make: onView(func(_ *corrupt, v *lifecycle.View) {
		if v.State == lifecycle.Failed {
			v.Tools = 0
		}
	})},
	{name: "lists a failed peer as disconnected", want: []string{"REPLY-CAUSE", "TRANSITION"}, make: onView(func(_ *corrupt, v *lifecycle.View) {
		if v.State == lifecycle.Failed {
			v.State = lifecycle.Disconnected
		}
	})},
}

var eventMutants = []mutant{
	{name: "drops an event", want: []string{"EVENT-MISSING"}, make: dropEvents(func(_ lifecycle.Input, e lifecycle.Event) bool { return e.State == lifecycle.Failed })},
	{name: "drops the event of one owner of several", want: []string{"EVENT-MISSING"}, make: dropEvents(func(_ lifecycle.Input, e lifecycle.Event) bool {
		return e.State == lifecycle.Connected && e.Owner%7 == 0
	})},
	{name: "tells twice", want: []string{"EVENT-PATH"}, make: onOutput(func(c *corrupt, in lifecycle.Input, out *lifecycle.Output) {
		if len(out.Events) > 0 {
			out.Events = append(out.Events, out.Events[len(out.Events)-1])
		}
	})},
	{name: "tells the dead", want: []string{"EVENT-OWNER"}, make: onOutput(func(c *corrupt, in lifecycle.Input, out *lifecycle.Output) {
		if in.Kind == lifecycle.InOwnerDied {
			out.Events = append(out.Events, lifecycle.Event{At: c.Now(), Owner: in.Owner, Name: 1, Peer: 1, State: lifecycle.Disconnected})
		}
	})},
	{name: "marks transitions as replays", want: []string{"EVENT-REPLAY"}, make: onOutput(func(c *corrupt, in lifecycle.Input, out *lifecycle.Output) {
		for i := range out.Events {
			out.Events[i].Replay = true
		}
	})},
	{name: "leaves gaps in the numbers", want: []string{"EVENT-SEQ"}, make: func(c *corrupt) {
		c.keep = true
		c.output = func(_ *corrupt, _ lifecycle.Input, out *lifecycle.Output) {
			for i := range out.Events {
				out.Events[i].Seq *= 2
			}
		}
	}},
	{name: "bids no farewell", want: []string{"FAREWELL"}, make: dropEvents(func(in lifecycle.Input, _ lifecycle.Event) bool { return in.Kind == lifecycle.InRelease })},
	{name: "tells no reason", want: []string{"REASON"}, make: onOutput(func(c *corrupt, in lifecycle.Input, out *lifecycle.Output) {
		for i := range out.Events {
			out.Events[i].Reason = lifecycle.NoReason
		}
	})},
	{name: "tells a joining owner nothing", want: []string{"EVENT-MISSING"}, make: dropEvents(func(_ lifecycle.Input, e lifecycle.Event) bool { return e.Replay })},
}

// crowded has bounds that bite at 30 tenants.
func crowded(c *lifecycle.Config) {
	c.MaxLive, c.MaxDialing, c.MaxSpawning, c.MaxQueued, c.QueueTimeout = 6, 3, 2, 3, 10*time.Second
}

// hardConfig has short times, so that little virtual time holds much.
func hardConfig() lifecycle.Config {
	c := lifecycle.DefaultConfig()
	c.IdleTimeout, c.CallTimeout = 20*time.Second, 60*time.Second
	return c
}

func hardOptions(seed uint64) Options {
	m := DefaultMix()
	m.Shared, m.Parallel, m.Snipe = 800, 400, 200
	m.Die, m.DieInTurn, m.Cancel, m.Reconnect, m.Rotate, m.Move, m.Release = 60, 30, 60, 60, 60, 60, 60
	f := DefaultFaults()
	f.Slow, f.Flaky, f.Crashy, f.Hanging, f.Stubborn, f.Lose = 200, 200, 200, 200, 200, 60
	m.Policy, m.Configure, f.Relist = 100, 10, 200
	m.Restart = 0 // a run has one subject; see restarting
	return Options{Seed: seed, Tenants: 30, For: time.Hour, Config: hardConfig(), Mix: &m, Faults: &f, AuditEvery: 512}
}

// subject makes the corrupt machine.
func (m *mutant) subject() func(lifecycle.Config) Subject {
	var kept Subject
	return func(cfg lifecycle.Config) Subject {
		if m.keep && kept != nil {
			return kept
		}
		if m.config != nil {
			m.config(&cfg)
		}
		c := &corrupt{Machine: lifecycle.New(cfg), fps: map[lifecycle.PeerID]lifecycle.Fingerprint{}}
		if m.make != nil {
			m.make(c)
		}
		kept = c
		return c
	}
}

func (m *mutant) run(t *testing.T, seed uint64) *Violation {
	t.Helper()
	opt := hardOptions(seed)
	if m.world != nil {
		m.world(&opt.Config)
	}
	if m.mix != nil {
		m.mix(opt.Mix)
	}
	opt.Subject, opt.Record = m.subject(), m.keep // what is kept cannot be run again
	opt.mute = m.mute
	return mustRun(t, opt).Violation
}

// maxMutantSeeds bounds the seeds that a mutant is given to show itself.
const maxMutantSeeds = 12

// TestEveryCheckFails shows that each mutant is found by a check that is meant to find it,
// and that there is no check which no mutant can make fail.
func TestEveryCheckFails(t *testing.T) {
	failed := map[string]bool{}
	for _, group := range [][]mutant{processMutants, timeMutants, callMutants, laterMutants, listingMutants, eventMutants, roomMutants, daemonMutants} {
		for i := range group {
			m := &group[i]
			t.Run(m.name, func(t *testing.T) {
				for seed := uint64(1); seed <= maxMutantSeeds; seed++ {
					v := m.run(t, seed)
					if v == nil {
						continue
					}
					failed[v.ID] = true
					if !slices.Contains(m.want, v.ID) {
						t.Fatalf("seed %d: want one of %v, got %v", seed, m.want, v)
					}
					if v.ID == m.want[0] {
						return
					}
				}
				t.Errorf("no seed of %d broke %s", maxMutantSeeds, m.want[0])
			})
		}
	}
	for _, c := range Rules {
		if !failed[c.ID] {
			t.Errorf("no mutant makes %s fail", c.ID)
		}
	}
}

// TestHealthyMachine runs the same hard options on the machine as it is.
func TestHealthyMachine(t *testing.T) {
	for seed := uint64(1); seed <= 40; seed++ {
		opt := hardOptions(seed)
		opt.Config.FailedRetry = time.Duration(seed%3) * 10 * time.Second
		if seed%5 == 0 {
			opt.Config.IdleTimeout = 0
		}
		if seed%4 == 0 {
			opt.Config.MaxWaiters = 2
		}
		if seed%2 == 0 {
			crowded(&opt.Config)
		}
		if seed%3 == 0 {
			restarting(opt.Mix)
		}
		if res := mustRun(t, opt); res.Violation != nil {
			t.Errorf("seed %d: %v", seed, res.Violation)
		}
	}
}
