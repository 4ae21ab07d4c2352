package idle

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/sim"
	"github.com/mayfly-mcp/mayfly/sim/idle/traffic"
)

// engine is one run: the lifecycle under test, the callers before it and the servers behind it, in virtual
// time. It keeps books of what it did itself; it never asks the subject what to do next but for its
// deadline, and never decides when a process ends but through it.
type engine struct {
	cfg     Config
	subject sim.Subject
	auditor sim.Auditor // nil if the subject has none
	keeper  Keeper      // nil for the RFC's policy, which is never asked
	victims Victims
	watch   Watching
	retries Retrying

	now, warm, end int64
	steps          uint64
	agenda         agenda
	sources        []traffic.Stream
	streams        []stream
	open           bool
	whole          bool // one stream for all tenants

	tenants []tenant
	born    lifecycle.OwnerID
	spare   map[uint64]int32 // claims of peers with large numbers, by tenant and number
	shared  map[uint64]int32 // peers by group and number, if tenants share
	peers   []peer
	bySlot  []int32 // peers by lifecycle.PeerID
	classes []class
	weights []float64 // cumulated

	tickets lifecycle.Tickets
	flights []flight // by slot of the ticket
	effects []lifecycle.Effect
	replies []lifecycle.Reply
	due     []dueStop // what any call stops
	lost    []int32   // streams whose calls were cut
	pcg     rand.PCG
	rng     *rand.Rand
	asking  lifecycle.Ticket // whose dispatch is being settled

	live  int
	peak  int
	talks hist // by conversation
	over  []float64
	last  int64 // of the integral of over
	view  *foresight
	bound Clairvoyant
}

// stream is one source of calls and what it does now.
type stream struct {
	from traffic.Stream
	call traffic.Call // the next one, or the one under way
	next bool         // it is yet to come
	ends int64        // when the last one that was admitted ends
	talk talk
}

// talk is a conversation under way.
type talk struct {
	number  uint32
	counted bool
	wait    int64
}

// flight is an open ticket.
type flight struct {
	ticket   lifecycle.Ticket // 0: it has ended
	stream   int32            // of a call; -1 for a start without one
	tenant   uint32
	peer     int32
	counted  bool // began after the warm-up
	admitted bool
	at       int64
	takes    int64
}

// dueStop is an idle period that the next call ends, whoever makes it, unless it is over by then.
type dueStop struct {
	peer  int32
	token uint32
}

// Run plays one configuration.
func Run(c Config) (Result, error) { return run(context.Background(), c) }

// checkEvery is how many events pass between two looks at the context.
const checkEvery = 4096

func run(ctx context.Context, c Config) (Result, error) {
	if err := c.Validate(); err != nil {
		return Result{}, err
	}
	e := newEngine(c)
	err := errors.Join(e.play(ctx), traffic.Close(e.sources))
	if err != nil {
		return Result{}, err
	}
	if err := e.audit(); err != nil {
		return Result{}, err
	}
	return e.result(), nil
}

// play runs to the end.
func (e *engine) play(ctx context.Context) error {
	if err := e.setStreams(); err != nil {
		return err
	}
	for n := 0; ; n++ {
		if n%checkEvery == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if more, err := e.advance(); err != nil || !more {
			return err
		}
	}
}

func newEngine(c Config) *engine {
	if c.Policy == nil {
		c.Policy = RFC{}
	}
	if c.Subject == nil {
		c.Subject = sim.NewMachine
	}
	e := &engine{cfg: c, subject: c.Subject(c.Machine), warm: int64(c.WarmUp), end: int64(c.For), open: c.Traffic.Open(),
		spare: map[uint64]int32{}, shared: map[uint64]int32{}, bySlot: make([]int32, 1)}
	e.auditor, _ = e.subject.(sim.Auditor)
	e.rng = rand.New(&e.pcg)
	if c.Bucket > 0 {
		e.over = make([]float64, (c.For+c.Bucket-1)/c.Bucket)
	}
	e.bound.BreakEven = c.BreakEven.Seconds()
	e.setClasses()
	e.setPolicy()
	return e
}

func (e *engine) setPolicy() {
	if _, plain := e.cfg.Policy.(RFC); plain {
		return
	}
	env := Env{Seed: e.cfg.Seed, IdleTimeout: e.cfg.Machine.IdleTimeout, BreakEven: e.cfg.BreakEven, MaxLive: e.cfg.Machine.MaxLive}
	for i := range e.classes {
		s := e.cfg.Servers[i].Server
		mean, fails := s.Mean(e.cfg.Machine.ConnectTimeout)
		env.Classes = append(env.Classes, Class{Name: s.Name(), Connect: mean, RSS: s.RSS(), Fails: fails})
	}
	if _, ok := e.cfg.Policy.(Foreseeing); ok {
		e.view = &foresight{}
		env.Next = e.foresee
	}
	e.keeper = e.cfg.Policy.Start(env)
	e.victims, _ = e.keeper.(Victims)
	e.watch, _ = e.keeper.(Watching)
	e.retries, _ = e.keeper.(Retrying)
}

func (e *engine) setStreams() error {
	streams, err := e.cfg.Traffic.Streams(e.cfg.Seed)
	if err != nil {
		return fmt.Errorf("traffic %s: %w", e.cfg.Traffic.Name(), err)
	}
	e.sources = streams
	e.streams, e.whole = make([]stream, len(streams)), len(streams) == 1
	for i, s := range streams {
		e.streams[i].from = s
	}
	if e.view != nil {
		e.view.ahead = make([]lookahead, len(streams))
		if e.whole && e.open {
			e.view.ahead[0] = lookahead{coming: map[uint64]coming{}, gone: 1}
		}
	}
	for i := range e.streams {
		if err := e.draw(int32(i), 0); err != nil {
			return err
		}
	}
	return nil
}

// draw asks a stream for its next call, which is not before `after`.
func (e *engine) draw(i int32, after int64) error {
	s := &e.streams[i]
	c, ok, err := e.read(i, time.Duration(after))
	switch {
	case err != nil:
		return fmt.Errorf("traffic %s: %w", e.cfg.Traffic.Name(), err)
	case !ok:
		return nil
	case int64(c.At) < after:
		return fmt.Errorf("traffic %s: stream %d has a call at %v after one at %v; calls must be in order", e.cfg.Traffic.Name(), i, c.At, time.Duration(after))
	case c.Tenant >= traffic.MaxTenants:
		return fmt.Errorf("traffic %s: stream %d has a call of tenant %d; number them from 0, below %d", e.cfg.Traffic.Name(), i, c.Tenant, traffic.MaxTenants)
	case c.Takes < 0:
		return fmt.Errorf("traffic %s: stream %d has a call at %v that takes %v; use 0 or more", e.cfg.Traffic.Name(), i, c.At, c.Takes)
	}
	s.call, s.next = c, true
	if e.view != nil {
		e.view.note(c.Tenant, i)
	}
	if int64(c.At) < e.end {
		e.agenda.add(makeEvent(int64(c.At), evCall, i, 0))
	}
	return nil
}

// advance does whatever comes next, and says whether anything did. At one instant the world comes before the
// deadlines of the machine, as that wants it: a peer that is called at the end of its window stays.
func (e *engine) advance() (bool, error) {
	ev, ok := e.agenda.peek()
	due := e.subject.Deadline()
	if due != lifecycle.Never && (!ok || int64(due) < ev.at) {
		if int64(due) >= e.end {
			return false, nil
		}
		e.now = max(e.now, int64(due))
		e.step(lifecycle.TimeReached())
		return true, e.settle()
	}
	if !ok {
		return false, nil
	}
	e.agenda.drop()
	e.now = ev.at
	if ev.at >= e.end { // completions may lie beyond it
		return false, nil
	}
	return true, e.happen(ev)
}

func (e *engine) happen(ev event) error {
	switch ev.kind() {
	case evDone:
		return e.callDone(ev.ref(), ev.token())
	case evDialed:
		return e.dialed(ev.ref(), ev.token())
	case evDown:
		return e.goDown(ev.ref())
	case evDue:
		e.fallsDue(ev.ref())
	case evWake:
		return e.wake(ev.ref(), ev.token())
	case evRetry:
		return e.retry(ev.ref(), ev.token())
	case evCall:
		return e.called(ev.ref())
	}
	return nil
}

// step feeds the subject and keeps what it wants done, which settle does.
func (e *engine) step(in lifecycle.Input) {
	out := e.subject.Step(lifecycle.Instant(e.now), in)
	e.steps++
	for i := range out.Events {
		e.hear(&out.Events[i])
	}
	if len(out.Effects) > 0 {
		e.effects = append(e.effects, out.Effects...)
	}
	if len(out.Replies) > 0 {
		e.replies = append(e.replies, out.Replies...)
	}
}

// settle performs effects and takes answers until there are none. What it does may cause more of both.
func (e *engine) settle() error {
	for i, j := 0, 0; i < len(e.effects) || j < len(e.replies); {
		if i < len(e.effects) {
			effect := e.effects[i]
			i++
			e.perform(&effect)
			continue
		}
		reply := e.replies[j]
		j++
		if err := e.answered(&reply); err != nil {
			return err
		}
	}
	e.effects, e.replies = e.effects[:0], e.replies[:0]
	for _, i := range e.lost {
		if err := e.next(i); err != nil {
			return err
		}
	}
	e.lost = e.lost[:0]
	if n := e.cfg.AuditEvery; n > 0 && e.steps%uint64(n) == 0 {
		return e.audit()
	}
	return nil
}

func (e *engine) audit() error {
	if e.auditor == nil {
		return nil
	}
	if v := e.auditor.Audit(); v != nil {
		return fmt.Errorf("at %v: %w", time.Duration(e.now), v)
	}
	return nil
}

func (e *engine) counting() bool { return e.now >= e.warm }
