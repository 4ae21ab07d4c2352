package sim

import (
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// source is where decisions come from: a workload that draws them, or a tape.
type source interface {
	// at is when the next action is due, Never if there is none.
	at() lifecycle.Instant
	// next writes the next action, which is not an OpDial, into e; one without an Op is none.
	next(e *Entry)
	// dial decides how the next incarnation of a target behaves.
	dial(t Target) DialPlan
}

// world is everything outside the subject: tenants, servers and time. It keeps books of its
// own about what must be true and never asks the subject what it should believe.
type world struct {
	opt     Options
	cfg     *lifecycle.Config
	subject Subject
	auditor Auditor // nil if the subject is none
	source  source
	tape    *Tape // nil unless the run is recorded

	now      lifecycle.Instant
	deadline lifecycle.Instant // of the subject, after the last step
	agenda   agenda
	sched    *scheduler      // nil for FIFO
	entry    Entry           // the action being performed
	in       lifecycle.Input // the input of the step under way

	tenants  []tenant // from 1
	byOwner  []int32  // tenant of an owner
	configs  []config // from 1
	servers  []server // by number
	byTarget map[Target]int32
	freeCfg  []int32
	peers    []peer // by PeerID

	numbers lifecycle.Tickets
	tickets []ticket // by slot

	touched  []lifecycle.PeerID // peers that the step has to do with
	lost     []int32            // configs that lost a claim in the step
	farewell farewell
	moving   moving  // the claim that the step declares
	queue    []turn  // configs whose attempts wait for room, with some that do no more
	queued   int     // of them, those that do
	asking   []int32 // configs that may begin to in this step
	retold   int32   // owners told of a new list in this step
	peaceful bool    // upon the exit of the step nothing fails

	epoch       uint64 // of the step under way, or the next one
	seq         uint64
	drainedAt   lifecycle.Instant
	draining    bool
	calm        bool          // all faults have ended
	prober      *prober       // of the recovery, while it lasts
	watches     agenda        // of peers that are hot
	again       *restart      // under way, nil if none is
	served      *served       // what owners serve, nil as long as nobody does
	err         error         // why the run was given up, which is nobody's fault
	inSubject   bool          // to know whose panic it is
	maxStop     time.Duration // the longest stop of any incarnation so far
	maxBudget   time.Duration // the longest that any claim asked for, for an attempt and a call
	maxGrace    time.Duration // and for the graces of a stop
	live        int           // incarnations that have not exited
	buried      []burial      // of them, those that were written off
	dialing     int           // of them, those being dialed
	spawning    int           // of them, those whose process does not exist
	idleTicks   int           // wakes of the subject since it last did something
	cutAt       uint64        // the last step that abandoned an attempt
	evictions   int           // peers evicted in this step
	ageings     int           // failures aged in it
	arrivals    uint64        // waits that began so far
	reclaimedAt uint64        // the last step in which something was stopped to make room

	result    *Result
	hash      digest
	violation *Violation
	seen      Step // what Options.Observe is shown
}

// tenant is one agent of the daemon, through all its incarnations.
type tenant struct {
	owner   lifecycle.OwnerID // of the newest incarnation, dead or alive; 0 before the first
	alive   bool
	nOpen   uint8
	expired uint32         // its tokens below have ended
	open    [MaxOpen]int32 // slots of its open tickets, oldest first
	claims  [MaxNames]claim
	diedAt  lifecycle.Instant
	_       [8]byte // two cache lines each
}

// claim is what a tenant holds under one name, and what it was told of it.
type claim struct {
	config int32 // 0 when not held
	told   lifecycle.State
	fresh  bool              // joined in this step: its standing may be replayed
	asks   *lifecycle.Policy // nil for nothing, as most do; see wish
}

// config is one target that somebody claims or that still runs. What every call reads and writes
// comes first: at ten thousand tenants a step costs what it touches of memory.
type config struct {
	target    Target
	claims    int32
	told      [5]int32 // claims by the state that they were told
	waiting   int32    // tickets
	peer      lifecycle.PeerID
	queued    bool             // its attempt waits for room, since queuedAt
	wanted    bool             // somebody asked for an attempt that has not begun
	reconnect bool             // a reconnect was asked for and its attempt has not ended
	failed    bool             // the last attempt or session failed, at failedAt
	cause     lifecycle.Reason // of the last failure, as listed
	terms     terms
	termsAt   lifecycle.Instant // when they last changed
	failedAt  lifecycle.Instant
	noRoomAt  lifecycle.Instant
	served    uint64 // the place of the wait that was answered last, in step servedAt
	servedAt  uint64
	noRoom    uint64             // the last step in which it was refused
	wishes    []lifecycle.Policy // of those of its claims that ask for something
	before    terms              // the step that last changed them, retuned, began with these
	retuned   uint64
	queuedAt  lifecycle.Instant
	turn      uint64   // the step in which it began to
	_         [24]byte // five cache lines each
}

// peer is the world's truth about the newest incarnation in a slot of the subject. What every
// call reads and writes comes first.
type peer struct {
	config    int32
	inFlight  int32
	gen       lifecycle.Generation
	live      bool // not exited
	up        bool // its connect was reported
	broken    bool // its session ended
	watched   bool
	exiting   bool // its exit is on the agenda
	stage     lifecycle.Stage
	state     lifecycle.State // as viewed after the last step that touched it
	phase     lifecycle.Phase
	dialing   bool   // being dialed
	spawned   bool   // its process exists
	heard     bool   // it has said something
	budgeted  bool   // it was dialed with a start budget
	cause     Fault  // why its attempt cannot succeed, noFault if it can
	tools     uint16 // that it lists now
	mark      uint64 // the last step that touched it
	idleSince lifecycle.Instant
	upAt      lifecycle.Instant
	timedOut  uint64            // the last step in which a call of it timed out
	due       lifecycle.Instant // of its attempt
	stagedAt  lifecycle.Instant
	graces    [2]time.Duration     // of its stop, for close and terminate
	reclaimed uint64               // the step in which it was stopped to make room
	dropped   uint64               // the step in which its attempt was abandoned
	lapsed    lifecycle.Generation // that was due to age while calls were in flight
	server    uint32               // and its place on the list of what runs of it
	place     int32
	met       met
	plan      DialPlan
	_         [16]byte // four cache lines each
}

type ticketPhase uint8

const (
	ticketFree ticketPhase = iota
	ticketWaiting
	ticketAdmitted
)

// ticket is one caller's wait as its caller sees it.
type ticket struct {
	id     lifecycle.Ticket
	phase  ticketPhase
	op     Op
	name   uint8
	joined bool   // a reconnect was under way when this one was asked for
	ghost  bool   // of an owner that was dead when it asked
	turn   uint64 // its place among all waits
	tenant int32
	config int32 // waited for, or admitted to; 0 when there was no claim
	peer   lifecycle.PeerID
	gen    lifecycle.Generation
	since  lifecycle.Instant // when it was admitted
	due    lifecycle.Instant // when it times out
	plan   CallPlan
}

// farewell is the claim that leaves its config in this step: its owner is to be told
// Disconnected once, unless that is what it knows.
type farewell struct {
	tenant int32
	name   uint8
	told   lifecycle.State
	peer   lifecycle.PeerID
}

func newWorld(opt Options) *world {
	w := &world{
		opt:      opt,
		subject:  opt.Subject(opt.Config),
		tenants:  make([]tenant, opt.Tenants+1),
		byOwner:  make([]int32, 1, opt.Tenants+1),
		configs:  make([]config, 1),
		byTarget: map[Target]int32{},
		peers:    make([]peer, 1),
		tickets:  make([]ticket, 1),
		deadline: lifecycle.Never,
		result:   &Result{},
		hash:     newDigest,
		epoch:    1,
	}
	w.cfg = &w.opt.Config
	w.agenda.shape = w.opt.shape
	w.sched = newScheduler(w)
	w.auditor, _ = w.subject.(Auditor)
	return w
}

// configOf finds the books of a target or opens them.
func (w *world) configOf(t Target) int32 {
	if i, ok := w.byTarget[t]; ok {
		return i
	}
	var i int32
	if n := len(w.freeCfg); n > 0 {
		i = w.freeCfg[n-1]
		w.freeCfg = w.freeCfg[:n-1]
	} else {
		w.configs = append(w.configs, config{})
		i = int32(len(w.configs) - 1)
	}
	w.configs[i] = config{target: t}
	w.byTarget[t] = i
	w.retune(i)
	return i
}

// closeConfig forgets a target that nobody claims and that does not run.
func (w *world) closeConfig(i int32) {
	w.unqueue(i)
	delete(w.byTarget, w.configs[i].target)
	w.configs[i] = config{}
	w.freeCfg = append(w.freeCfg, i)
}

// hold enters a claim into the books.
func (w *world) hold(c *claim, config int32) {
	*c = claim{config: config, told: lifecycle.Disconnected, fresh: true}
	w.configs[config].claims++
	w.configs[config].told[lifecycle.Disconnected]++
	w.retune(config)
}

// drop strikes a claim off the books.
func (w *world) drop(c *claim) {
	x := &w.configs[c.config]
	w.touch(x.peer)
	w.wish(c, lifecycle.Policy{})
	x.claims--
	w.retune(c.config)
	x.told[c.told]--
	w.lost = append(w.lost, c.config)
	if x.claims == 0 {
		x.wanted, x.reconnect, x.failed = false, false, false
		w.unqueue(c.config)
	}
	*c = claim{}
}

// touch puts a peer on the list of those that are checked after the step.
func (w *world) touch(id lifecycle.PeerID) {
	if id <= 0 {
		return
	}
	for int(id) >= len(w.peers) {
		w.peers = append(w.peers, peer{})
	}
	p := &w.peers[id]
	if p.mark == w.epoch {
		return
	}
	p.mark = w.epoch
	w.touched = append(w.touched, id)
	w.checkOverstay(id)
}

// openTicket begins a wait. The caller has made sure that the tenant may open one more.
func (w *world) openTicket(tenant int32, name uint8, op Op) int32 {
	id := w.numbers.New()
	slot := slotOf(id)
	for int(slot) >= len(w.tickets) {
		w.tickets = append(w.tickets, ticket{})
	}
	a := &w.tenants[tenant]
	a.open[a.nOpen] = slot
	a.nOpen++
	w.arrivals++
	if w.prober != nil {
		w.prober.opened(id, tenant, name)
	}
	w.tickets[slot] = ticket{id: id, phase: ticketWaiting, op: op, name: name, tenant: tenant, turn: w.arrivals,
		ghost: !a.alive, config: a.claims[name-1].config}
	if c := w.tickets[slot].config; c != 0 {
		w.configs[c].waiting++
	}
	return slot
}

// closeTicket ends a wait, however it ended.
func (w *world) closeTicket(slot int32) {
	t := &w.tickets[slot]
	if t.phase == ticketWaiting && t.config != 0 {
		w.configs[t.config].waiting--
	}
	t.phase = ticketFree
	a := &w.tenants[t.tenant]
	for i := range a.open[:a.nOpen] {
		if a.open[i] == slot {
			copy(a.open[i:], a.open[i+1:a.nOpen])
			a.nOpen--
			break
		}
	}
	w.numbers.Release(t.id)
}

// endCall takes a call off its incarnation; the idle clock starts when it was the last.
func (w *world) endCall(t *ticket) {
	p := &w.peers[t.peer]
	if p.gen != t.gen {
		return
	}
	p.inFlight--
	if p.inFlight == 0 {
		p.idleSince = w.now
	}
}

func slotOf(t lifecycle.Ticket) int32 { return int32(uint32(t)) }
