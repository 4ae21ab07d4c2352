package spec_test

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	lc "github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/sim/spec"
)

// pair drives a machine and the model with the same inputs. Between the two stands tamper, with
// which a test makes the machine lie.
type pair struct {
	machine *lc.Machine
	model   *spec.Model
	now     lc.Instant
	tamper  tamper

	fps     map[lc.PeerID]string
	runs    []lc.Effect // every dial
	written []lc.View   // what was written off, as it was, exited or not
	tickets lc.Tickets
	opened  []lc.Ticket // every ticket, the newest last
	open    map[lc.Ticket]bool
	born    lc.OwnerID
	log     []string
}

func newPair(cfg lc.Config, t tamper) *pair {
	p := &pair{model: spec.New(specConfig(cfg)), tamper: t,
		fps: map[lc.PeerID]string{}, open: map[lc.Ticket]bool{}}
	p.machine = lc.New(t.config(cfg))
	return p
}

// newTicket opens a ticket; its slot may have been another's.
func (p *pair) newTicket() lc.Ticket {
	t := p.tickets.New()
	p.opened = append(p.opened, t)
	p.open[t] = true
	return t
}

// step feeds both and returns their first disagreement.
func (p *pair) step(in lc.Input) error {
	p.log = append(p.log, fmt.Sprintf("%d %s", p.now, sayInput(in)))
	staleBefore, wake := p.machine.Stats().Stale, p.machine.Deadline()
	claimedBefore := p.machine.Claimed(in.Owner, in.Name)
	if v := p.machine.View(claimedBefore); in.Kind == lc.InWriteOff && v.Stage == lc.StageStuck {
		p.written = append(p.written, v)
	}
	given, swallowed := p.tamper.input(p, in)
	var out lc.Output
	if !swallowed {
		out = p.tamper.output(p, p.machine.Step(p.now, given))
	}
	p.learn(in, claimedBefore, out)
	seen := p.seen(out)
	seen.Stale = p.machine.Stats().Stale > staleBefore
	if err := p.model.Follow(spec.Time(p.now), p.specInput(in), seen); err != nil {
		return err
	}
	if idled := len(out.Effects)+len(out.Events) == 0 && p.machine.Deadline() == wake; idled &&
		in.Kind == lc.InTimeReached && wake <= p.now {
		return fmt.Errorf("RE-9: woken at %d as wanted, but nothing happened", p.now)
	}
	p.releaseEnded()
	return p.compare()
}

// learn notes which slot stands for which fingerprint, and which incarnations there were.
func (p *pair) learn(in lc.Input, before lc.PeerID, out lc.Output) {
	if id := p.machine.Claimed(in.Owner, in.Name); in.Kind == lc.InDeclare && id != before {
		p.fps[id] = fpWord(in.FP)
	}
	for _, e := range out.Effects {
		if e.Kind == lc.EffectDial {
			p.runs = append(p.runs, e)
		}
	}
}

// releaseEnded gives the slots of ended tickets back for reuse.
func (p *pair) releaseEnded() {
	waiting, admitted := p.model.Open()
	still := map[lc.Ticket]bool{}
	for _, id := range append(waiting, admitted...) {
		still[lc.Ticket(id)] = true
	}
	for _, t := range p.opened {
		if p.open[t] && !still[t] {
			delete(p.open, t)
			p.tickets.Release(t)
		}
	}
}

// compare compares everything that can be asked.
func (p *pair) compare() error {
	if v := p.machine.Audit(); v != nil {
		return v
	}
	if err := p.model.CheckWake(specTime(p.machine.Deadline())); err != nil {
		return err
	}
	if err := p.model.CheckLoad(loadOf(p.machine)); err != nil {
		return err
	}
	used := 0
	for id := lc.PeerID(1); int(id) < p.machine.Slots(); id++ {
		v := p.tamper.view(p, p.machine.View(id))
		if v.State == lc.NoState {
			continue
		}
		used++
		if err := p.model.CheckStanding(p.fps[id], standing(v)); err != nil {
			return err
		}
	}
	if used != len(p.model.Peers()) {
		return fmt.Errorf("CL-2: %d peers, should be %v", used, p.model.Peers())
	}
	return p.compareClaims()
}

func (p *pair) compareClaims() error {
	for o := lc.OwnerID(1); o <= p.born; o++ {
		for n := lc.NameID(1); n <= maxNames; n++ {
			got := p.fps[p.machine.Claimed(o, n)]
			if want := p.model.Claimed(word(o), word(n)); got != want {
				return fmt.Errorf("CL-4: claim (%d, %d) stands for %q, should for %q", o, n, got, want)
			}
		}
	}
	return nil
}

func standing(v lc.View) spec.Standing {
	s := spec.Standing{Status: spec.Status(v.State.String()), Phase: spec.Phase(v.Phase.String()),
		Stage: spec.Stage(v.Stage.String()), Reason: spec.Reason(v.Reason.String()), Tools: int(v.Tools),
		Claims: v.Claims, Waiters: v.Waiters, InFlight: v.InFlight, WrittenOff: v.WrittenOff, Queued: v.Queued, Policy: spec.Policy(v.Policy)}
	if v.Phase != lc.Absent {
		s.Run = runOf(v.Peer, v.Gen)
	}
	return s
}

var kinds = map[lc.InputKind]spec.Kind{
	lc.InOwnerBorn: spec.OwnerBorn, lc.InOwnerDied: spec.OwnerDied, lc.InDeclare: spec.Declare,
	lc.InRelease: spec.Release, lc.InDispatch: spec.Dispatch, lc.InEnsure: spec.Ensure,
	lc.InReconnect: spec.Reconnect, lc.InCancel: spec.Cancel, lc.InCallDone: spec.CallDone,
	lc.InConnected: spec.Initialised, lc.InConnectFailed: spec.ConnectFailed,
	lc.InBroken: spec.SessionBroken, lc.InExited: spec.Exited, lc.InTimeReached: spec.TimeReached,
	lc.InConfigure: spec.Configure, lc.InDrain: spec.Drain, lc.InStarted: spec.Started,
	lc.InRelisted: spec.Relisted, lc.InSpawned: spec.Spawned, lc.InWriteOff: spec.WriteOff,
}

func (p *pair) specInput(in lc.Input) spec.Input {
	s := spec.Input{Kind: kinds[in.Kind], Ticket: uint64(in.Ticket), Owner: word(in.Owner), Name: word(in.Name),
		Peer: fpWord(in.FP), Run: runOf(in.Peer, in.Gen), Tools: int(in.Tools), Transport: in.Done == lc.DoneTransport, Clean: in.Clean}
	if in.Policy != nil {
		s.Policy = spec.Policy(*in.Policy)
	}
	if in.Config != nil {
		s.Config = specConfig(*in.Config)
	}
	return s
}

func (p *pair) seen(out lc.Output) spec.Seen {
	var s spec.Seen
	for _, e := range out.Effects {
		fp := p.fps[e.Peer]
		if e.Kind == lc.EffectDial || e.Kind == lc.EffectForget {
			fp = fpWord(e.FP)
		}
		s.Effects = append(s.Effects, spec.Effect{Kind: spec.EffectKind(e.Kind.String()), Peer: fp,
			Run: runOf(e.Peer, e.Gen), Stage: spec.Stage(e.Stage.String()),
			Reason: spec.Reason(e.Reason.String()), Ticket: uint64(e.Ticket)})
	}
	for _, e := range out.Events {
		s.Events = append(s.Events, spec.Event{Seq: e.Seq, At: spec.Time(e.At), Owner: word(e.Owner), Name: word(e.Name),
			Peer: p.fps[e.Peer], Status: spec.Status(e.State.String()), Reason: spec.Reason(e.Reason.String()),
			Tools: int(e.Tools), Replay: e.Replay})
	}
	for _, r := range out.Replies {
		s.Replies = append(s.Replies, spec.Reply{Ticket: uint64(r.Ticket), Kind: spec.ReplyKind(r.Kind.String()),
			Status: spec.Status(r.State.String()), Reason: spec.Reason(r.Reason.String()),
			Cause: spec.Reason(r.Cause.String()), Run: runOf(r.Peer, r.Gen), Tools: int(r.Tools), RetryAt: specTime(r.RetryAt)})
	}
	return s
}

func specConfig(c lc.Config) spec.Config {
	s := spec.Config{IdleTimeout: c.IdleTimeout, FailedRetry: c.FailedRetry, StartTimeout: c.StartTimeout,
		ConnectTimeout: c.ConnectTimeout, CallTimeout: c.CallTimeout, CloseGrace: c.CloseGrace,
		TerminateGrace: c.TerminateGrace, KillGrace: c.KillGrace, DrainGrace: c.DrainGrace,
		MaxWaiters: c.MaxWaiters, MaxLive: c.MaxLive, MaxDialing: c.MaxDialing,
		MaxSpawning: c.MaxSpawning, MaxQueued: c.MaxQueued, QueueTimeout: c.QueueTimeout}
	if s.MaxQueued == 0 {
		s.MaxQueued = 65536
	}
	if s.QueueTimeout == 0 {
		s.QueueTimeout = time.Minute
	}
	return s
}

func loadOf(m *lc.Machine) spec.Load {
	l, s := m.Load(), m.Stats()
	return spec.Load{Live: l.Live, Dialing: l.Dialing, Spawning: l.Spawning, Stopping: l.Stopping, Stuck: l.Stuck, WrittenOff: l.WrittenOff,
		Queued: l.Queued, InFlight: l.InFlight, Overloaded: int(s.Overloaded), Unused: int(s.Reclaimed + s.Evicted)}
}

func runOf(p lc.PeerID, g lc.Generation) spec.Run { return spec.Run(p)<<32 | spec.Run(g) }

func specTime(t lc.Instant) spec.Time { return spec.Time(t) }

func word[T ~uint32](id T) string { return strconv.Itoa(int(id)) }

func fpWord(fp lc.Fingerprint) string { return string('A' + rune(fp[0])) }

// tamper makes a machine lie. The zero value is honest.
type tamper struct {
	cfg  func(*lc.Config)
	in   func(*pair, *lc.Input) (swallow bool)
	out  func(*lc.Output)
	lie  func(*pair, *lc.Output)
	look func(*pair, *lc.View)
}

func (t *tamper) config(c lc.Config) lc.Config {
	if t.cfg != nil {
		t.cfg(&c)
	}
	return c
}

func (t *tamper) input(p *pair, in lc.Input) (lc.Input, bool) {
	if t.in == nil {
		return in, false
	}
	swallow := t.in(p, &in)
	return in, swallow
}

func (t *tamper) output(p *pair, out lc.Output) lc.Output {
	if t.out == nil && t.lie == nil {
		return out
	}
	out.Effects, out.Events = slices.Clone(out.Effects), slices.Clone(out.Events)
	out.Replies = slices.Clone(out.Replies)
	if t.out != nil {
		t.out(&out)
	} else {
		t.lie(p, &out)
	}
	return out
}

func (t *tamper) view(p *pair, v lc.View) lc.View {
	if t.look != nil {
		t.look(p, &v)
	}
	return v
}

// sayInput prints the fields that a kind reads.
func sayInput(in lc.Input) string {
	switch in.Kind {
	case lc.InConnected, lc.InConnectFailed, lc.InBroken, lc.InExited, lc.InStarted, lc.InSpawned, lc.InRelisted:
		return fmt.Sprintf("%s peer %d run %d tools %d clean %t", in.Kind, in.Peer, in.Gen, in.Tools, in.Clean)
	case lc.InDeclare:
		return fmt.Sprintf("%s ticket %d owner %d name %d peer %s policy %+v", in.Kind, in.Ticket, in.Owner, in.Name, fpWord(in.FP), in.Policy)
	case lc.InCancel, lc.InCallDone:
		return fmt.Sprintf("%s %d %s", in.Kind, in.Ticket, in.Done)
	case lc.InTimeReached, lc.InDrain:
		return in.Kind.String()
	case lc.InConfigure:
		return fmt.Sprintf("%s %+v", in.Kind, *in.Config)
	}
	return fmt.Sprintf("%s ticket %d owner %d name %d peer %s", in.Kind, in.Ticket, in.Owner, in.Name, fpWord(in.FP))
}
