package sim

import (
	"fmt"
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// Result is what a run did. It holds no wall-clock time: equal options give equal results.
type Result struct {
	Steps     uint64 // inputs fed
	Events    uint64 // events told
	Hash      uint64 // over every input and output
	Audits    uint64
	Evictions uint64
	CallsCut  uint64
	Actions   [ops]uint64
	Inputs    [nInputs]uint64
	Effects   [8]uint64  // by lifecycle.EffectKind
	Replies   [4]uint64  // by lifecycle.ReplyKind
	Refusals  [32]uint64 // by lifecycle.Reason
	Coverage  Coverage
	Violation *Violation // nil if every check held
	Tape      *Tape      // of a recorded run and of one that found a violation
}

// Run simulates. The error is about the options, or about a subject that does not do the
// same twice; what the subject does wrong is the Violation of the result.
func Run(opt Options) (*Result, error) {
	opt = opt.WithDefaults()
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	res := simulate(opt, func(w *world) source { return newWorkload(w) })
	if res.Violation == nil || opt.Record {
		return res, nil
	}
	opt.Record = true
	taped := simulate(opt, func(w *world) source { return newWorkload(w) })
	if taped.Hash != res.Hash {
		return res, fmt.Errorf("the subject is not deterministic: seed %d gave run %016x and then %016x", opt.Seed, res.Hash, taped.Hash)
	}
	return taped, nil
}

// Replay runs a tape. It gives the hash and the violation of the run that was recorded, as
// long as subject and program are the same. A nil subject means NewMachine.
func Replay(t *Tape, subject func(lifecycle.Config) Subject) (*Result, error) {
	opt := t.options()
	opt.Subject = subject
	opt = opt.WithDefaults()
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	return simulate(opt, func(*world) source { return newPlayer(t) }), nil
}

// options returns the options under which a tape was recorded.
func (t *Tape) options() Options {
	return Options{Seed: t.Seed, Tenants: t.Tenants, For: t.For, AuditEvery: t.AuditEvery, Config: t.Config}
}

func simulate(opt Options, src func(*world) source) *Result {
	w := newWorld(opt)
	w.source = src(w)
	if opt.Record {
		w.tape = &Tape{Seed: opt.Seed, Tenants: opt.Tenants, For: opt.For, AuditEvery: opt.AuditEvery, Config: opt.Config}
	}
	w.run()
	r := w.result
	r.Hash, r.Violation, r.Tape = uint64(w.hash), w.violation, w.tape
	if r.Tape != nil {
		r.Tape.Hash = r.Hash
		if r.Violation != nil {
			r.Tape.Violation = r.Violation.ID
		}
	}
	return r
}

// run is the whole life of the world: the workload, the time until everybody who waited was
// answered, a drain, and the time until everything has ended.
func (w *world) run() {
	defer w.caught()
	end := lifecycle.Instant(w.opt.For)
	w.until(func() lifecycle.Instant { return end + lifecycle.Instant(w.patience()) })
	w.checkTickets()
	w.draining = true
	drained := w.now
	w.step(lifecycle.Drain())
	w.until(func() lifecycle.Instant {
		return drained + lifecycle.Instant(w.cfg.DrainGrace+w.ladder()+time.Second)
	})
	w.checkEmpty()
	if w.violation == nil {
		w.audit()
	}
}

// caught turns a panic of the subject into a violation. Others are bugs of the simulator.
func (w *world) caught() {
	switch v := recover().(type) {
	case nil:
	case *lifecycle.Violation:
		w.fail(v.ID, "%s (panic upon %s)", v.Detail, w.in.Kind)
	default:
		panic(v)
	}
}

// patience is how long a ticket may wait when nobody disturbs it any more: behind a stop, in
// an attempt, behind the stop of a failed one's successor, and in its call.
func (w *world) patience() time.Duration {
	return 2*w.ladder() + 2*w.cfg.ConnectTimeout + w.cfg.CallTimeout + time.Second
}

// ladder is the longest that a stop can take with the servers seen so far.
func (w *world) ladder() time.Duration {
	return w.cfg.CloseGrace + w.cfg.TerminateGrace + w.maxStop
}

// until lets time pass to a limit, which may move as slower servers are met. Things of one
// instant happen in a fixed order: actions, completions, then the subject's deadlines. A call
// at the very instant of a tick therefore comes before it, as the machine's contract asks.
func (w *world) until(limit func() lifecycle.Instant) {
	for w.violation == nil {
		act, due, deadline := w.source.at(), w.agenda.at(), w.deadline
		at := min(act, due, deadline)
		if at > limit() || at == lifecycle.Never {
			break
		}
		w.now = max(w.now, at)
		switch at {
		case act:
			w.source.next(&w.entry)
			w.perform(&w.entry)
		case due:
			w.deliver(w.agenda.pop())
		default:
			w.tick()
		}
	}
	w.now = max(w.now, limit())
}

// tick tells the subject that its deadline has come.
func (w *world) tick() {
	w.step(lifecycle.TimeReached())
	if w.deadline <= w.now && w.violation == nil {
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
	for id := range w.peers {
		if w.peers[id].live {
			w.fail("LEAK", "%s lives on after the drain, at stage %s", w.name(lifecycle.PeerID(id)), w.peers[id].stage)
			return
		}
	}
}
