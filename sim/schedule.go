package sim

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// ScheduleKind says who comes first among things of one instant.
type ScheduleKind uint8

const (
	// FIFO: actions, then completions in the order in which they were scheduled, then deadlines.
	FIFO ScheduleKind = iota
	// Random: any order of actors, drawn anew for each instant.
	Random
	// PCT: every actor has a priority for the whole run, and at N−1 moments the one whose turn
	// it is falls behind all others. A bug that needs N ordering constraints is found with a
	// probability that does not vanish with the length of the run.
	PCT
	// Delay: the order of FIFO, but N completions come later than they should.
	Delay
)

const (
	maxDepth  = 64   // of PCT
	maxDelays = 1000 // of Delay
	// slot is what completions are rounded up to, and the waits of tenants, under Random and PCT:
	// what comes close together there is what a busy host may see in any order.
	slot = 100 * time.Millisecond
	// maxDelay bounds one delay of Delay.
	maxDelay = 3 * time.Second
)

// Schedule is a strategy for ties. The zero Schedule is FIFO.
//
// Its choices are functions of the seed and of who acts when, not of a stream that every
// choice advances: what is deleted from a tape changes the order of nothing else.
type Schedule struct {
	Kind ScheduleKind
	N    int    // depth of PCT, number of delays of Delay
	Seed uint64 // 0 means that of the run
}

// ParseSchedule reads fifo, random, pct:D or delay:K, the last three with @SEED behind them if
// the schedule is to have a seed of its own.
func ParseSchedule(s string) (Schedule, error) {
	text, seed, seeded := strings.Cut(s, "@")
	kind, count, counted := strings.Cut(text, ":")
	var x Schedule
	most := 0
	switch kind {
	case "fifo":
	case "random":
		x.Kind = Random
	case "pct":
		x.Kind, most = PCT, maxDepth
	case "delay":
		x.Kind, most = Delay, maxDelays
	default:
		return x, fmt.Errorf("schedule %q is unknown; use fifo, random, pct:D or delay:K", s)
	}
	if counted != (most > 0) {
		return x, fmt.Errorf("schedule %q: write fifo and random alone, pct:D and delay:K with a number", s)
	}
	if counted {
		n, err := strconv.Atoi(count)
		if err != nil || n < 1 || n > most {
			return x, fmt.Errorf("schedule %q: %q is not a number from 1 to %d", s, count, most)
		}
		x.N = n
	}
	if seeded {
		n, err := strconv.ParseUint(seed, 10, 64)
		if err != nil || n == 0 || x.Kind == FIFO {
			return x, fmt.Errorf("schedule %q: write a seed from 1 behind @, and none behind fifo", s)
		}
		x.Seed = n
	}
	return x, nil
}

// String is the inverse of ParseSchedule.
func (s Schedule) String() string {
	text := "fifo"
	switch s.Kind {
	case FIFO:
		return text
	case Random:
		text = "random"
	case PCT:
		text = fmt.Sprintf("pct:%d", s.N)
	case Delay:
		text = fmt.Sprintf("delay:%d", s.N)
	}
	if s.Seed != 0 {
		text += fmt.Sprintf("@%d", s.Seed)
	}
	return text
}

func (s Schedule) validate() error {
	_, err := ParseSchedule(s.String())
	return err
}

// slack is how much later than planned things may come under a schedule.
func (s Schedule) slack() time.Duration {
	switch s.Kind {
	case Random, PCT:
		return 20 * slot
	case Delay:
		return time.Duration(s.N) * maxDelay
	case FIFO:
	}
	return 0
}

// Actors of a schedule. What one actor does at an instant stays in its order.
const (
	actorDaemon  uint64 = iota << 60 // the operator
	actorTenant                      // what a tenant does
	actorSession                     // the progress of a target's session
	actorProcess                     // the end of its session or process
	actorCall                        // the ends of a tenant's calls to it
	actorTimer                       // the subject's deadlines
)

// scheduler decides ties for one run.
type scheduler struct {
	Schedule
	w       *world
	ready   agenda  // all of one instant; of actions the reference is an index of actions
	actions []Entry // of the instant
	open    int     // of them, those that were not performed
	serial  uint64
	choices uint64   // between several things of one instant, or of a completion to delay
	moments []uint64 // the choices at which something is changed or delayed, those to come
	behind  []uint64 // actors that have fallen behind, the first first
}

// newScheduler returns nil for FIFO, which needs none.
func newScheduler(w *world) *scheduler {
	s := &scheduler{Schedule: w.opt.Schedule, w: w}
	n := 0
	switch s.Kind {
	case FIFO:
		return nil
	case Random:
	case PCT:
		n = s.N - 1
	case Delay:
		n = s.N
	}
	for i := range n {
		s.moments = append(s.moments, s.moment(uint64(i)))
	}
	slices.Sort(s.moments)
	return s
}

// moment draws a number of a choice, as likely from 1 to 2 as from 1,000 to 2,000: how many
// choices a run will have is not known at its beginning, but that it is of the order of its
// tenants times its minutes.
func (s *scheduler) moment(i uint64) uint64 {
	minutes := uint64(s.w.opt.For/time.Minute + 1)
	width := bits.Len64(minutes*uint64(s.w.opt.Tenants)) + 1
	span := uint64(1) << (s.hash(1, i) % uint64(width))
	return span + s.hash(2, i)%span
}

// momentHasCome counts a choice and says whether one of the moments has come.
func (s *scheduler) momentHasCome() bool {
	s.choices++
	if len(s.moments) == 0 || s.moments[0] > s.choices {
		return false
	}
	s.moments = s.moments[1:]
	return true
}

func (s *scheduler) hash(a, b uint64) uint64 {
	_, x := splitmix(s.Seed ^ a)
	_, x = splitmix(x ^ b)
	return x
}

// slotted rounds an instant up to the grid of those schedules that have one.
func (w *world) slotted(at lifecycle.Instant) lifecycle.Instant {
	if w.sched == nil || w.sched.Kind == Delay {
		return at
	}
	const grid = lifecycle.Instant(slot)
	return (at + grid - 1) / grid * grid
}

// rank orders the actors of an instant, the lowest first.
func (s *scheduler) rank(actor uint64) uint64 {
	const width = 40 // of a rank, above the serial
	s.serial++
	low := s.serial & (1<<(64-width-1) - 1)
	if s.Kind == Random {
		return s.hash(actor, uint64(s.w.now))>>(64-width)<<(64-width-1) | low
	}
	for i, a := range s.behind {
		if a == actor {
			return 1<<63 | uint64(i)<<(64-width-1) | low
		}
	}
	return s.hash(actor, 0)>>(64-width)<<(64-width-1) | low
}

// at is when the next thing of a started instant is due: now, or Never.
func (s *scheduler) at() lifecycle.Instant {
	if s == nil || len(s.ready.heap) == 0 {
		return lifecycle.Never
	}
	return s.w.now
}

// turn lets the next thing of this instant happen.
func (s *scheduler) turn() {
	w := s.w
	if s.Kind == Delay {
		s.late()
		return
	}
	s.gather()
	switch {
	case len(s.ready.heap) == 0 && w.deadline > w.now:
		return
	case len(s.ready.heap) == 0:
		w.tick()
		return
	case w.deadline <= w.now && s.open == 0 && s.rank(actorTimer) < s.ready.heap[0].rank:
		w.tick() // before a completion, but never before a call (see package lifecycle)
		return
	}
	it := s.ready.pop()
	if it.kind != itemAction {
		w.deliver(it)
		return
	}
	s.open--
	w.entry = s.actions[it.ref]
	w.perform(&w.entry)
}

// gather puts everything that is due now into the order of the schedule.
func (s *scheduler) gather() {
	w := s.w
	if len(s.ready.heap) == 0 {
		s.actions, s.serial = s.actions[:0], 0
	}
	for w.source.at() <= w.now {
		var e Entry
		w.source.next(&e)
		if e.Op == 0 {
			continue // nobody does anything, of which a tape knows nothing either
		}
		s.actions = append(s.actions, e)
		s.open++
		s.ready.put(item{at: w.now, kind: itemAction, ref: uint64(len(s.actions) - 1), rank: s.rank(actorOf(&e))})
	}
	for w.agenda.at() <= w.now {
		it := w.agenda.pop()
		it.at, it.rank = w.now, s.rank(w.actor(&it))
		s.ready.put(it)
	}
	if s.Kind == PCT && len(s.ready.heap) > 1 && s.momentHasCome() {
		s.fallBehind()
	}
}

// fallBehind puts the actor whose turn it would be behind all others, for good.
func (s *scheduler) fallBehind() {
	s.behind = append(s.behind, s.actor(&s.ready.heap[0]))
	all := append([]item(nil), s.ready.heap...)
	s.ready.heap = s.ready.heap[:0]
	for i := range all {
		low := all[i].rank & (1<<23 - 1)
		all[i].rank = s.rank(s.actor(&all[i]))&^(1<<23-1) | low
		s.ready.put(all[i])
	}
}

// drop takes the completions of this instant back that nobody is left to hear of.
func (s *scheduler) drop() {
	if s == nil {
		return
	}
	all := append([]item(nil), s.ready.heap...)
	s.ready.heap = s.ready.heap[:0]
	for _, it := range all {
		if it.kind == itemAction {
			s.ready.put(it)
		}
	}
}

func (s *scheduler) actor(it *item) uint64 {
	if it.kind == itemAction {
		return actorOf(&s.actions[it.ref])
	}
	return s.w.actor(it)
}

// isCompletion tells what the subject is told apart from what becomes of its daemon.
func (it *item) isCompletion() bool {
	switch it.kind {
	case itemBound, itemOrphan, itemUp, itemAction:
		return false
	}
	return true
}

// actorOf returns who acts.
func actorOf(e *Entry) uint64 {
	if e.Tenant == 0 {
		return actorDaemon
	}
	return actorTenant | uint64(e.Tenant)
}

// actor returns whose completion an item is. Targets are named, not slots or generations, which
// depend on what came before.
func (w *world) actor(it *item) uint64 {
	if it.kind == itemDone {
		t := &w.tickets[slotOf(lifecycle.Ticket(it.ref))]
		return actorCall | targetHash(w.configs[t.config].target, uint32(t.tenant))
	}
	id := int(it.ref >> 32)
	if !it.isCompletion() || id >= len(w.peers) {
		return actorDaemon
	}
	target := targetHash(w.configs[w.peers[id].config].target, 0)
	if it.kind == itemExited || it.kind == itemBroken {
		return actorProcess | target
	}
	return actorSession | target
}

func targetHash(t Target, more uint32) uint64 {
	_, x := splitmix(pair(t.Server, t.Tenant))
	_, x = splitmix(x ^ pair(t.Token, more))
	return x >> 8
}

// late is the turn of the order of FIFO, in which some completions are put off. A delay is a
// fault: with short budgets it fails what it delays, and in the calm there are none.
func (s *scheduler) late() {
	w := s.w
	if w.calm || w.agenda.at() > w.now || w.source.at() <= w.now || !w.agenda.heap[0].isCompletion() || !s.momentHasCome() {
		w.plainTurn()
		return
	}
	d := 1 + s.hash(3, s.choices)%uint64(maxDelay/time.Millisecond)
	at := w.now + lifecycle.Instant(time.Duration(d)*time.Millisecond)
	if d%2 == 0 && w.deadline <= w.now+lifecycle.Instant(maxDelay) {
		at = max(w.deadline, w.now) // half of them try to come with a deadline
	}
	w.agenda.postpone(at)
}
