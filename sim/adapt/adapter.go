package adapt

import (
	"fmt"
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// adapter is the host of a lifecycle, and both together a subject of the simulator.
type adapter struct {
	life       Lifecycle
	cfg        lifecycle.Config
	now        lifecycle.Instant
	out        lifecycle.Output
	replied    []Call // of each reply; 0 where there was none
	seq        uint64
	servers    []*server // by Server; nil at 0
	byFP       map[lifecycle.Fingerprint]*server
	owners     map[lifecycle.OwnerID]*owner
	runs       []*run            // by Run; nil at 0
	calls      []*call           // by Call; nil at 0
	open       []*call           // that wait or run, in the order in which they came
	claimed    int               // claims so far
	reconnects bool              // the lifecycle knows them
	draining   bool              // since when the lifecycle is not asked any more
	drainBy    lifecycle.Instant // when calls in flight have had their grace
}

// server is also a peer: its number is its slot.
type server struct {
	id       Server
	fp       lifecycle.Fingerprint
	declared bool
	claims   []*claim
	gen      lifecycle.Generation
	run      *run // the newest
	state    lifecycle.State
	reason   lifecycle.Reason
	since    lifecycle.Instant
	why      lifecycle.Reason     // if it fails, or has failed, in this step
	lost     bool                 // a call was, in a drain
	renewing bool                 // a reconnect is under way
	renewed  lifecycle.Generation // and the run that it replaces
}

type owner struct{ claims []*claim }

type claim struct {
	id    Claim
	owner lifecycle.OwnerID
	name  lifecycle.NameID
	on    *server
}

type run struct {
	id     Run
	on     *server
	gen    lifecycle.Generation
	live   bool
	up     bool
	failed bool
	stage  lifecycle.Stage
	due    lifecycle.Instant // of its connect, or of its next rung
	tools  uint32
}

type call struct {
	id     Call
	ticket lifecycle.Ticket
	by     *claim
	on     *server // where it was asked for, also after its claim has moved
	run    *run    // nil while it waits
	due    lifecycle.Instant

	settles bool                 // it wants to be told how a run went, and runs nothing
	after   lifecycle.Generation // of which run, if not of any: a newer one
}

func newAdapter(x Subject, cfg lifecycle.Config) *adapter {
	if x.New == nil {
		panic("adapt: Subject.New is nil; it makes the lifecycle that is judged")
	}
	a := &adapter{cfg: cfg, servers: make([]*server, 1), byFP: map[lifecycle.Fingerprint]*server{},
		owners: map[lifecycle.OwnerID]*owner{}, runs: make([]*run, 1), calls: make([]*call, 1), reconnects: x.Reconnects}
	a.life = x.New(a, cfg)
	return a
}

// Step implements sim.Subject.
func (a *adapter) Step(now lifecycle.Instant, in lifecycle.Input) lifecycle.Output {
	a.now = now
	a.out.Effects, a.out.Events, a.out.Replies = a.out.Effects[:0], a.out.Events[:0], a.out.Replies[:0]
	a.replied = a.replied[:0]
	a.handle(&in)
	a.settle()
	return a.out
}

func (a *adapter) handle(in *lifecycle.Input) {
	switch in.Kind {
	case lifecycle.InOwnerBorn:
		a.owners[in.Owner] = &owner{}
	case lifecycle.InOwnerDied:
		a.die(in.Owner)
	case lifecycle.InDeclare, lifecycle.InRelease, lifecycle.InDispatch, lifecycle.InEnsure, lifecycle.InReconnect, lifecycle.InWriteOff:
		a.ask(in)
	case lifecycle.InCancel:
		a.cancel(in.Ticket)
	case lifecycle.InCallDone:
		a.done(in.Ticket, in.Done)
	case lifecycle.InConnected, lifecycle.InConnectFailed, lifecycle.InBroken, lifecycle.InExited, lifecycle.InRelisted:
		if r := a.runOf(in.Peer, in.Gen); r != nil {
			a.completed(r, in)
		}
	case lifecycle.InTimeReached:
		a.timeReached()
	case lifecycle.InDrain:
		a.drain()
	case lifecycle.InStarted, lifecycle.InSpawned: // for budgets and bounds that there are none of
	default:
		panic(fmt.Sprintf("ADAPT-INPUT: an input of kind %s; run it through Fit", in.Kind))
	}
}

// runOf finds what a completion is about, also long after its end.
func (a *adapter) runOf(id lifecycle.PeerID, gen lifecycle.Generation) *run {
	for i := len(a.runs) - 1; i > 0; i-- {
		if r := a.runs[i]; r.gen == gen && r.on.id == Server(id) {
			return r
		}
	}
	return nil
}

// settle makes known what the step has changed.
func (a *adapter) settle() {
	for _, s := range a.servers[1:] {
		if !s.declared {
			continue
		}
		if now := a.standing(s); now != s.state {
			s.state, s.since = now, a.now
			if now == lifecycle.Failed {
				s.reason = s.why
			}
			for _, c := range s.claims {
				a.tell(c, lifecycle.Event{State: now})
			}
		}
		a.settled(s)
		if len(s.claims) == 0 && (s.run == nil || !s.run.live) {
			s.declared = false
			a.out.Effects = append(a.out.Effects, lifecycle.Effect{Kind: lifecycle.EffectForget, Peer: lifecycle.PeerID(s.id), Gen: s.gen, FP: s.fp})
		}
	}
}

// standing is the state of a server. In a drain it is the host's to say.
func (a *adapter) standing(s *server) lifecycle.State {
	switch {
	case !a.draining:
		return a.life.State(s.id)
	case a.busy(s) && s.lost:
		return lifecycle.Failed
	case a.busy(s):
		return s.state
	}
	return lifecycle.Disconnected
}

// busy says that calls run on the newest run of a server.
func (a *adapter) busy(s *server) bool {
	for _, c := range a.open {
		if c.run != nil && c.run == s.run {
			return true
		}
	}
	return false
}

// tell sends an event to one owner.
func (a *adapter) tell(c *claim, e lifecycle.Event) {
	s := c.on
	a.seq++
	e.Seq, e.At, e.Owner, e.Name, e.Peer, e.Gen = a.seq, a.now, c.owner, c.name, lifecycle.PeerID(s.id), s.gen
	switch e.State {
	case lifecycle.Connected:
		e.Tools = s.run.listed()
	case lifecycle.Failed:
		e.Reason = s.reason
	}
	a.out.Events = append(a.out.Events, e)
}

// listed is how many tools are shown of a run.
func (r *run) listed() uint32 {
	if r == nil || !r.up {
		return 0
	}
	return r.tools
}

// Deadline implements sim.Subject.
func (a *adapter) Deadline() lifecycle.Instant {
	at := lifecycle.Never
	for _, s := range a.servers[1:] {
		if r := s.run; r != nil && r.live {
			at = min(at, r.due)
		}
	}
	for _, c := range a.open {
		if c.run != nil {
			at = min(at, c.due)
		}
	}
	if !a.draining {
		return min(at, lifecycle.Instant(a.life.Next()))
	}
	for _, c := range a.open {
		if c.run != nil {
			return min(at, a.drainBy)
		}
	}
	return at
}

// View implements sim.Subject.
func (a *adapter) View(id lifecycle.PeerID) lifecycle.View {
	v := lifecycle.View{Peer: id, RetryAt: lifecycle.Never}
	if id <= 0 || int(id) >= len(a.servers) || !a.servers[id].declared {
		return v
	}
	s := a.servers[id]
	v.Gen, v.State, v.Reason, v.Claims, v.Since = s.gen, s.state, s.reason, len(s.claims), s.since
	if s.state == lifecycle.Connected || s.state == lifecycle.Failed {
		v.Tools = s.run.listed()
	}
	for _, c := range a.open {
		switch {
		case c.run == nil && c.on == s:
			v.Waiters++
		case c.run != nil && c.run == s.run:
			v.InFlight++
		}
	}
	if r := s.run; r != nil && r.live {
		v.Phase, v.Stage = r.phase(), r.stage
	}
	return v
}

func (r *run) phase() lifecycle.Phase {
	switch {
	case r.stage != lifecycle.NoStage:
		return lifecycle.Stopping
	case r.failed:
		return lifecycle.Broken
	case r.up:
		return lifecycle.Up
	}
	return lifecycle.Dialing
}

// Now implements Host.
func (a *adapter) Now() time.Duration { return time.Duration(a.now) }
