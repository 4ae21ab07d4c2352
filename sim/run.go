package sim

import (
	"fmt"
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// Run simulates. The error is about the options, or about a subject that does not do the
// same twice; what the subject does wrong is the Violation of the result.
func Run(opt Options) (*Result, error) {
	opt = opt.WithDefaults()
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	res, err := simulate(opt, func(w *world) source { return newWorkload(w) })
	if err != nil || res.Violation == nil || opt.Record {
		return res, err
	}
	opt.Record = true
	taped, err := simulate(opt, func(w *world) source { return newWorkload(w) })
	if err != nil {
		return res, err
	}
	if taped.Hash != res.Hash {
		return res, fmt.Errorf("the subject is not deterministic: seed %d gave run %016x and then %016x: %w", opt.Seed, res.Hash, taped.Hash, Guard(opt))
	}
	return taped, nil
}

// Replay runs a tape. It gives the hash and the violation of the run that was recorded, as
// long as subject and program are the same. Of the options only Subject, Stop, Record and
// Observe are read; the rest is on the tape.
func Replay(t *Tape, o Options) (*Result, error) {
	opt := t.options()
	opt.Subject, opt.Stop, opt.Record, opt.Observe = o.Subject, o.Stop, o.Record, o.Observe
	opt.shape, opt.mute, opt.hasty = o.shape, o.mute, o.hasty
	opt = opt.WithDefaults()
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	return simulate(opt, func(*world) source { return newPlayer(t) })
}

// options returns the options under which a tape was recorded.
func (t *Tape) options() Options {
	return Options{Seed: t.Seed, Tenants: t.Tenants, For: t.For, AuditEvery: t.AuditEvery, Config: t.Config, Schedule: t.Schedule}
}

func simulate(opt Options, src func(*world) source) (*Result, error) {
	w := newWorld(opt)
	w.source = src(w)
	if opt.Record {
		w.tape = &Tape{Seed: opt.Seed, Tenants: opt.Tenants, For: opt.For, AuditEvery: opt.AuditEvery, Config: opt.Config, Schedule: opt.Schedule}
	}
	defer func() { w.served.leave() }() // whatever ends the run, nobody who served is left
	w.run()
	w.served.leave()
	if w.err != nil {
		return nil, w.err
	}
	r := w.result
	r.Hash, r.Violation, r.Tape = uint64(w.hash), w.violation, w.tape
	if r.Tape != nil {
		r.Tape.Hash = r.Hash
		if r.Violation != nil {
			r.Tape.Violation = r.Violation.ID
		}
	}
	return r, nil
}

// run is the whole life of the world: the workload, the time without faults until everybody who
// waited was answered, the recovery, a drain, and the time until everything has ended. A drain in
// the midst of the workload leaves out the second and the third.
func (w *world) run() {
	defer w.caught()
	end := lifecycle.Instant(w.opt.For)
	w.until(func() lifecycle.Instant { return end })
	w.calmDown()
	w.until(func() lifecycle.Instant {
		if w.draining && w.again == nil {
			return end
		}
		return end + lifecycle.Instant(w.patience()+w.outage())
	})
	if w.err != nil || w.violation != nil {
		return
	}
	if w.draining {
		w.excuseAll()
	} else {
		w.checkTickets()
		if !w.opt.hasty {
			w.recovery()
		}
	}
	w.drain()
	w.until(func() lifecycle.Instant {
		return w.drainedAt + lifecycle.Instant(w.cfg.DrainGrace+w.ladder()+time.Second)
	})
	if w.err == nil && w.violation == nil {
		w.checkTickets()
		w.checkEmpty()
		w.audit()
	}
}

// caught turns a panic of the subject into a violation. Others are bugs of the simulator.
func (w *world) caught() {
	r := recover()
	v, named := r.(*lifecycle.Violation)
	switch {
	case r == nil:
	case named:
		w.fail(v.ID, "%s (panic upon %s)", v.Detail, w.in.Kind)
	case w.inSubject:
		w.fail("PANIC", "%v (upon %s)", r, w.in.Kind)
	default:
		panic(r)
	}
}

// patience is how long a ticket may wait when nobody disturbs it any more: behind a stop, in
// an attempt, behind the stop of a failed one's successor, and in its call.
func (w *world) patience() time.Duration {
	attempt := w.queueTimeout() + w.cfg.StartTimeout + w.cfg.ConnectTimeout + w.maxBudget
	return 2*w.ladder() + 2*attempt + w.cfg.CallTimeout + w.maxBudget + time.Second + w.opt.Schedule.slack()
}

// ladder is the longest that a stop can take with the servers seen so far.
func (w *world) ladder() time.Duration {
	return w.cfg.CloseGrace + w.cfg.TerminateGrace + w.maxGrace + w.maxStop + w.opt.Schedule.slack()
}

// stopEvery is the number of turns after which Options.Stop is asked.
const stopEvery = 1 << 12

// until lets time pass to a limit, which may move as slower servers are met. The schedule orders
// what is due at one instant; a call at the very instant of a tick comes before it under every
// schedule, as the machine's contract asks.
func (w *world) until(limit func() lifecycle.Instant) {
	for turn := 0; w.violation == nil && w.err == nil; turn++ {
		if turn%stopEvery == 0 && w.opt.Stop != nil && w.opt.Stop() {
			w.err = ErrStopped
			return
		}
		at := min(w.source.at(), w.agenda.at(), w.deadline, w.sched.at())
		if at > limit() || at == lifecycle.Never {
			break
		}
		w.now = max(w.now, at)
		if w.sched != nil {
			w.sched.turn()
		} else {
			w.plainTurn()
		}
	}
	w.now = max(w.now, limit())
}

// plainTurn lets the first thing that is due now happen, in the order of FIFO.
func (w *world) plainTurn() {
	switch {
	case w.source.at() <= w.now:
		w.source.next(&w.entry)
		w.perform(&w.entry)
	case w.agenda.at() <= w.now:
		w.deliver(w.agenda.pop())
	default:
		w.tick()
	}
}

// maxIdleTicks bounds how often in a row a subject may ask to be woken and then do nothing.
// One that asks for every nanosecond would otherwise stop time.
const maxIdleTicks = 1000

// tick tells the subject that its deadline has come.
func (w *world) tick() {
	w.idleTicks++
	w.step(lifecycle.TimeReached())
	if w.idleTicks > maxIdleTicks {
		w.fail("PROGRESS", "the subject was woken %d times in a row and did nothing", w.idleTicks)
	}
	if w.deadline <= w.now && w.idleTicks > 0 && w.violation == nil { // a grace of 0 ends in the next wake
		w.fail("PROGRESS", "the deadline is still %v at %v", time.Duration(w.deadline), time.Duration(w.now))
	}
}

func (w *world) checkTickets() {
	for i := range w.tickets {
		if t := &w.tickets[i]; t.phase != ticketFree {
			w.fail("REPLY-LOST", "ticket %d, a %s of m%d by tenant t%d, is still open %v after the last action",
				t.id, t.op, t.name, t.tenant, since(lifecycle.Instant(w.opt.For), w.now))
			return
		}
	}
}

func (w *world) checkEmpty() {
	if n := len(w.buried); n > 0 {
		w.fail("LEAK", "%d incarnations that were written off live on after the drain", n)
	}
	for id := range w.peers {
		if w.peers[id].live {
			w.fail("LEAK", "%s lives on after the drain, at stage %s", w.name(lifecycle.PeerID(id)), w.peers[id].stage)
			return
		}
	}
}
