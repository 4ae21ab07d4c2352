package spec

import (
	"fmt"
	"time"
)

// Model is the state that SPEC.md prescribes, followed input by input. Create it with New.
type Model struct {
	cfg      Config
	now      Time
	step     int // inputs so far
	alive    map[string]bool
	wishes   map[claim]Policy
	peers    []*peer // in order of declaration; those forgotten are taken out
	queue    []*peer // whose attempts wait for room, in the order in which they came
	counts   Load    // only what happened ever
	tickets  []*ticket
	draining bool
	drainDue Time
	seq      uint64
	runs     map[Run]bool   // every number that was ever dialed
	written  map[Run]string // the fingerprints of those that were written off and have not exited
	exp      *Expectation   // of the input being applied
}

type claim struct{ owner, name string }

type peer struct {
	fp      string
	claims  []claim
	status  Status
	phase   Phase
	stage   Stage
	run     Run
	due     Time // of the attempt, of the rung or of the wait for room; Never if unbounded
	reason  Reason
	tools   int
	pending bool // an attempt begins when the stop has ended, or when there is room

	spawned  bool // the process being dialed exists
	heard    bool // and has said something
	budgeted bool // and had a start budget

	// fresh says that a reconnect asked for the attempt, so that another one joins it.
	fresh bool

	// lapsed says that the time to age came while calls were in flight.
	lapsed bool

	since       Time // of Failed
	idleSince   Time // of the last use of a Connected peer, or of its connect
	unused      int  // the step of it
	connectedAt Time
	parting     [2]time.Duration // its graces after the last step that left it a claim
	grace       time.Duration    // that its stop gives to SIGTERM, 0 for the Config's
	terms       terms
	termsSince  Time
}

// ticket is one that was not answered, or was admitted and has not ended.
type ticket struct {
	id       uint64
	call     bool // wants to be admitted, not just to be told the state
	by       claim
	peer     *peer
	admitted bool
	due      Time // of an admitted call
}

// New returns a model in which nothing has happened.
func New(cfg Config) *Model {
	return &Model{cfg: cfg, alive: map[string]bool{}, wishes: map[claim]Policy{}, runs: map[Run]bool{}, written: map[Run]string{}}
}

// Apply takes one input and returns what must be done upon it. An error means that the input
// was not allowed to happen at that moment: an eviction too early, or time that runs backwards.
func (m *Model) Apply(now Time, in Input) (*Expectation, error) {
	if now < m.now {
		return nil, broken("EV-2", "time runs backwards from %v to %v", m.now, now)
	}
	m.now = now
	m.step++
	m.exp = &Expectation{At: now}
	err := m.apply(in)
	m.serveQueue()
	m.noticeTerms()
	return m.exp, err
}

func (m *Model) apply(in Input) error {
	by := claim{in.Owner, in.Name}
	switch in.Kind {
	case OwnerBorn:
		m.alive[in.Owner] = true
	case OwnerDied:
		m.ownerDied(in.Owner)
	case Declare:
		m.declare(in.Ticket, by, in.Peer, in.Policy)
	case Release:
		m.release(in.Ticket, by)
	case Dispatch, Ensure, Reconnect:
		m.request(&ticket{id: in.Ticket, call: in.Kind == Dispatch, by: by}, in.Kind == Reconnect)
	case Cancel:
		m.cancel(in.Ticket)
	case CallDone:
		return m.callDone(in.Ticket, in.Transport)
	case Initialised, ConnectFailed, SessionBroken, Exited, Spawned, Started, Relisted:
		return m.completion(in)
	case WriteOff:
		m.writeOff(in.Ticket, by)
	case TimeReached:
		m.fireDue()
	case Configure:
		m.cfg = in.Config
	case Drain:
		m.drain()
	case Evict:
		return m.evict(m.find(in.Peer), in.Peer)
	case Age:
		return m.age(m.find(in.Peer), in.Peer)
	case Reclaim:
		return m.reclaim(m.find(in.Peer), in.Peer)
	default:
		return fmt.Errorf("input of unknown kind %q", in.Kind)
	}
	return nil
}

func (m *Model) find(fp string) *peer {
	for _, p := range m.peers {
		if p.fp == fp {
			return p
		}
	}
	return nil
}

// behind returns the peer that a claim stands for, or nil.
func (m *Model) behind(c claim) *peer {
	for _, p := range m.peers {
		for _, held := range p.claims {
			if held == c {
				return p
			}
		}
	}
	return nil
}

func (m *Model) waiting(p *peer) []*ticket { return m.ticketsOf(p, false) }
func (m *Model) calls(p *peer) []*ticket   { return m.ticketsOf(p, true) }

// ticketsOf returns tickets in order of arrival.
func (m *Model) ticketsOf(p *peer, admitted bool) []*ticket {
	var found []*ticket
	for _, t := range m.tickets {
		if t.peer == p && t.admitted == admitted {
			found = append(found, t)
		}
	}
	return found
}

func (m *Model) ticket(id uint64) *ticket {
	for _, t := range m.tickets {
		if t.id == id {
			return t
		}
	}
	return nil
}

func (m *Model) dropTicket(gone *ticket) {
	var kept []*ticket
	for _, t := range m.tickets {
		if t != gone {
			kept = append(kept, t)
		}
	}
	m.tickets = kept
}

// become is a transition: one event for each claim, in the order of the transitions.
func (m *Model) become(p *peer, s Status) {
	p.status = s
	for _, c := range p.claims {
		m.tell(p, c, "ST-5", false)
	}
}

// tell adds an event with the standing of p.
func (m *Model) tell(p *peer, c claim, clause string, replay bool) {
	e := Event{Clause: clause, At: m.now, Owner: c.owner, Name: c.name, Peer: p.fp,
		Status: p.status, Reason: NoReason, Replay: replay}
	switch p.status {
	case Connected:
		e.Tools = p.tools
	case Failed:
		e.Reason = p.reason
	}
	m.exp.Events = append(m.exp.Events, e)
}

func (m *Model) effect(e Effect) {
	if e.Reason == "" {
		e.Reason = NoReason
	}
	if e.Stage == "" {
		e.Stage = NoStage
	}
	m.exp.Effects = append(m.exp.Effects, e)
}

func (m *Model) reply(r Reply) {
	if r.Ticket == 0 {
		return
	}
	if r.Reason == "" {
		r.Reason = NoReason
	}
	if r.Cause == "" {
		r.Cause = NoReason
	}
	if r.Status == "" {
		r.Status = Unknown
	}
	m.exp.Replies = append(m.exp.Replies, r)
}

func (m *Model) refuse(clause string, id uint64, why Reason) {
	m.reply(Reply{Clause: clause, Ticket: id, Kind: Refused, Reason: why})
}

func (m *Model) stale() { m.exp.Stale = true }

func broken(clause, format string, args ...any) *Violation {
	return &Violation{Clause: clause, Detail: fmt.Sprintf(format, args...)}
}
