package explore

import (
	"fmt"
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/sim"
)

// Tape turns a path into a tape of the simulator, which shrinks it, draws it and turns it into
// a scenario. On a tape what happens in one instant has an order of its own, so the moves of
// a path are spread a millisecond apart; where deadlines are raced that may tell another
// story. The tape is therefore played, and returned only if a rule breaks, which its
// Violation then names.
func Tape(opt Options, moves []Move) (*sim.Tape, error) {
	opt = opt.WithDefaults()
	for _, news := range [...]Op{0, opConnects, opFails, opBreaks} {
		tape := walkAsTape(&opt, moves, news)
		res, err := sim.Replay(tape, sim.Options{Subject: func(cfg lifecycle.Config) sim.Subject { return opt.Subject(cfg) }})
		if err != nil {
			return nil, fmt.Errorf("the path does not play as a tape: %w", err)
		}
		if res.Violation != nil {
			tape.Violation, tape.Hash = res.Violation.ID, res.Hash
			return tape, nil
		}
	}
	return nil, fmt.Errorf("the path breaks no rule when its moves are spread over time")
}

// walkAsTape walks a path. Where news of an incarnation that is over arrive, all kinds do on the
// path; on a tape it is one, as it was sent or as given.
func walkAsTape(opt *Options, moves []Move, news Op) *sim.Tape {
	w := newWorld(opt)
	w.quiet = true
	t := &taper{w: w, news: news, begun: map[lifecycle.Incarnation]*incarnation{}, calls: map[lifecycle.Ticket]*call{}}
	for _, m := range moves {
		t.make(m)
	}
	return t.tape()
}

// apart is the time between two moves, where none passes on the path.
const apart = lifecycle.Instant(time.Millisecond)

// taper walks a path and notes what each server did, for its plan.
type taper struct {
	w       *world
	news    Op   // of what is over, 0 as it was sent
	raced   bool // between the coming of a deadline and its telling, where no time passes
	entries []sim.Entry
	begun   map[lifecycle.Incarnation]*incarnation
	calls   map[lifecycle.Ticket]*call
}

// incarnation is a run of a server as far as it was seen.
type incarnation struct {
	plan   *sim.DialPlan
	dialed lifecycle.Instant
	upAt   lifecycle.Instant
	stage  lifecycle.Stage
	staged lifecycle.Instant // when it came to that rung
}

type call struct {
	entry    int
	admitted lifecycle.Instant
}

// endless is a plan of which nothing was seen: it hangs, and obeys SIGKILL late.
func endless() *sim.DialPlan {
	return &sim.DialPlan{Outcome: sim.Hangs, Tools: 1, Obeys: lifecycle.StageKill, StopTakes: time.Minute}
}

// make makes a move in a world in which time passes between two of them.
func (t *taper) make(m Move) {
	e := &t.w.env
	switch {
	case m.Op == opWait:
		e.now, t.raced = t.w.subject.Deadline(), true
		return
	case m.Op == opFire:
		t.fire()
		return
	case !t.raced:
		e.now += apart
	}
	t.before(m)
	t.w.apply(m)
	t.after()
}

// fire tells all the deadlines that were one on the path.
func (t *taper) fire() {
	t.raced = false
	for until := t.w.env.now + lifecycle.Instant(len(t.entries)+1)*apart; ; {
		t.w.apply(Move{Op: opFire})
		t.after()
		d := t.w.subject.Deadline()
		if d > until || d == lifecycle.Never || d <= t.w.env.now {
			return
		}
		t.w.env.now = d
	}
}

var asTape = map[Op]sim.Op{opBorn: sim.OpBorn, opDie: sim.OpDie, opDeclare: sim.OpDeclare, opRelease: sim.OpRelease, opDispatch: sim.OpDispatch,
	opEnsure: sim.OpEnsure, opReconnect: sim.OpReconnect, opCancel: sim.OpCancel, opDrain: sim.OpDrain}

// before notes what a move does while everything is still as it was.
func (t *taper) before(m Move) {
	e := sim.Entry{At: t.w.env.now, Op: asTape[m.Op], Tenant: uint32(m.who) + 1, Name: m.name}
	switch m.Op {
	case opDrain:
		e.Tenant = 0
	case opDeclare:
		e.Target = sim.Target{Server: uint32(m.conf)}
	case opDispatch:
		e.Call = sim.CallPlan{End: sim.EndNever}
	case opCancel:
		e.Name = t.w.env.agents[m.who].calls[m.name].name
	case opConnects, opFails, opBreaks, opExits, opClean:
		t.server(m)
	case opAnswered, opRejected, opTransport:
		t.ends(m.Op, t.w.env.agents[m.who].calls[m.name].id, m.as)
	case opDeliver:
		t.arrives(t.w.env.strays[m.who])
	}
	if e.Op != 0 {
		t.entries = append(t.entries, e)
	}
}

// server notes what an incarnation does.
func (t *taper) server(m Move) {
	p := &t.w.env.procs[m.conf-1]
	x := t.begun[lifecycle.Incarnation{Peer: p.peer, Gen: p.gen}]
	if x == nil {
		return
	}
	x.plan.Late, x.plan.Twice = x.plan.Late || m.as == late, x.plan.Twice || m.as == twice
	if m.as != late {
		t.does(x, p, m.Op)
	}
}

func (t *taper) does(x *incarnation, p *proc, op Op) {
	now := t.w.env.now
	switch {
	case op == opExits && p.stage != lifecycle.NoStage:
		x.plan.Obeys, x.plan.StopTakes = p.stage, time.Duration(now-x.staged)
	case p.up:
		x.plan.Lives, x.plan.LosesOnly, x.plan.Clean = time.Duration(now-x.upAt), op == opBreaks, op == opClean
	default:
		x.plan.Outcome = map[Op]sim.Outcome{opConnects: sim.Connects, opFails: sim.Fails, opBreaks: sim.Breaks, opExits: sim.Exits}[op]
		x.plan.After, x.upAt = time.Duration(now-x.dialed), now
	}
}

// ends notes how a call ends.
func (t *taper) ends(op Op, id lifecycle.Ticket, as manner) {
	c := t.calls[id]
	if c == nil {
		return
	}
	plan := &t.entries[c.entry].Call
	plan.Late, plan.Twice = plan.Late || as == late, plan.Twice || as == twice
	plan.End = map[Op]sim.End{opAnswered: sim.EndAnswered, opRejected: sim.EndRejected, opTransport: sim.EndTransport}[op]
	plan.Takes = time.Duration(t.w.env.now - c.admitted)
}

// arrives notes when what was late arrived. A copy comes when the simulator lets it.
func (t *taper) arrives(s stray) {
	if s.ticket != 0 {
		if c := t.calls[s.ticket]; c != nil && t.entries[c.entry].Call.Late {
			t.ends(s.kind, s.ticket, plain)
		}
		return
	}
	x := t.begun[s.of]
	if x == nil || !x.plan.Late || x.plan.Outcome != sim.Hangs {
		return
	}
	if t.news != 0 && t.w.outlived(s.of) {
		s.kind = t.news
	}
	t.does(x, &proc{}, s.kind)
}

// after notes what began with a move.
func (t *taper) after() {
	now := t.w.env.now
	for c := range t.w.procs() {
		p := &t.w.env.procs[c]
		of := lifecycle.Incarnation{Peer: p.peer, Gen: p.gen}
		if !p.live {
			continue
		}
		x := t.begun[of]
		if x == nil {
			x = &incarnation{plan: endless(), dialed: now}
			t.begun[of] = x
			t.entries = append(t.entries, sim.Entry{At: now, Op: sim.OpDial, Target: sim.Target{Server: uint32(c) + 1}, Dial: x.plan})
		}
		if p.stage != x.stage {
			x.stage, x.staged = p.stage, now
		}
	}
	t.admissions(now)
}

// admissions ties calls to the entries that asked for them.
func (t *taper) admissions(now lifecycle.Instant) {
	for a := range t.w.agents() {
		for k := range t.w.env.agents[a].calls[:t.w.opt.Calls] {
			c := &t.w.env.agents[a].calls[k]
			if c.phase == closed || c.op != opDispatch {
				continue
			}
			x := t.calls[c.id]
			if x == nil {
				x = &call{entry: t.lastDispatch(uint32(a) + 1)}
				t.calls[c.id] = x
			}
			if c.phase == admitted && x.admitted == 0 {
				x.admitted = now
			}
		}
	}
}

func (t *taper) lastDispatch(tenant uint32) int {
	for i := len(t.entries) - 1; i > 0; i-- {
		if e := &t.entries[i]; e.Op == sim.OpDispatch && e.Tenant == tenant {
			return i
		}
	}
	return 0
}

func (t *taper) tape() *sim.Tape {
	return &sim.Tape{Tenants: t.w.opt.Agents, For: max(time.Duration(t.w.env.now+apart), time.Second), AuditEvery: 1, Config: t.w.opt.Config, Entries: t.entries}
}
