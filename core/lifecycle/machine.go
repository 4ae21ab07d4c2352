package lifecycle

import "time"

// Machine is the lifecycle of every peer of one daemon. Create it with [New].
type Machine struct {
	cfg Config
	now Instant

	peers    []peer
	policies []merged        // of peers that are tuned, as far as there are any
	graces   []time.Duration // of stops that began with a wish for one, as far as there were any; else 0
	retained []Instant       // of peers that are kept, as far as there were any
	seats    []links         // of peers, see seatsPerPeer
	freePeer []int32
	byFP     map[Fingerprint]PeerID

	claims    []claim
	wishes    []Policy // of claims, as far as any asks for something
	freeClaim []int32
	byKey     claimIndex
	inPeer    []links // claims of a peer, in the order in which they joined
	inOwner   []links // claims of an owner, in the order in which they were made

	owners    map[OwnerID]int32 // the living
	holdings  []holdings
	freeOwner []int32
	lastOwner OwnerID

	tickets  []ticket
	inTicket []links // waiters of a peer, or its calls
	inCalls  []links // calls of an owner

	timers     timers
	drainTimer armed
	draining   bool

	expiry     [2]expiryClass
	unused     list    // incarnations that nobody uses, the longest unused first
	shelterEnd Instant // before which no search for one that may be stopped would find any
	queue      list    // attempts that wait for room

	written  []writtenOff
	seq      uint64
	live     int // incarnations that have not exited
	dialing  int // incarnations being dialed
	spawning int // of them, those whose process does not exist yet
	stopping int // incarnations on the stop ladder
	stuck    int // of them, those that outlived it
	inFlight int // calls of all peers
	stats    Stats
	out      Output
}

// peer is a slot: one fingerprint, its standing and its current incarnation. What a call reads
// and writes comes first; what only some peers have is in policies.
type peer struct {
	state       State
	phase       Phase
	stage       Stage
	reason      Reason // of the last failure; outlives ageing (SPEC ST-8)
	class       classID
	used        bool
	tuned       bool // its claims ask for a policy, see policies
	spare       bool // in the list of unused incarnations
	timed       bool // its expiry is a timer, not a place in a class
	kept        bool // it expires as retained says, not at a tick
	overdue     bool // aged while calls were in flight; ages when they end
	again       bool // an attempt is pending: behind a stop in progress, or in the queue
	queued      bool // in the queue of attempts
	byReconnect bool // the pending or running attempt belongs to a reconnect
	spawned     bool // the process being dialed exists
	heard       bool // the incarnation being dialed has said something
	budgeted    bool // it was dialed with a start budget
	gen         Generation
	tools       uint32
	timer       armed // of its attempt, its rung or its wait for room
	expires     armed // of its expiry, if that is a timer
	calls       list
	waiters     list
	claims      list
	stamp       Instant // start of idleness, or time of failure
	since       Instant // last transition
	upSince     Instant // when the current incarnation connected
	fp          Fingerprint
}

type claimKey struct {
	owner OwnerID
	name  NameID
}

type claim struct {
	claimKey
	peer PeerID
	home int32 // its owner's holdings
}

// holdings is what a live owner has: claims, and calls in flight wherever they were admitted.
type holdings struct{ claims, calls list }

type ticketPhase uint8

const (
	ticketFree ticketPhase = iota
	ticketWaiting
	ticketAdmitted
)

// ticketMode says what its caller wants once the attempt has ended.
type ticketMode uint8

const (
	modeCall   ticketMode = iota // to be admitted
	modeSettle                   // to be told the state
)

type ticket struct {
	id    Ticket
	owner OwnerID
	name  NameID
	home  int32 // its owner's holdings, while it is admitted
	peer  PeerID
	gen   Generation
	phase ticketPhase
	mode  ticketMode
	timer armed
}

// Stats counts what a caller may want to watch.
type Stats struct {
	Spawns  uint64 // Dial effects
	Stale   uint64 // completions that changed nothing (SPEC ST-2)
	Evicted uint64 // idle peers stopped by the reaper
	Aged    uint64 // Failed peers that became Disconnected
	Stuck   uint64 // incarnations that outlived SIGKILL's grace (SPEC ST-9)
	// WrittenOff counts those of them for whose exit nobody waits any more.
	WrittenOff uint64
	// Reclaimed counts unused incarnations that were stopped early to make room, Overloaded the
	// attempts that were refused for want of it (SPEC PR-6).
	Reclaimed  uint64
	Overloaded uint64
}

// New returns a machine at instant 0. It panics on a configuration that does not validate.
func New(cfg Config) *Machine {
	if err := cfg.Validate(); err != nil {
		panic(bug("CONFIG", "%v", err))
	}
	m := &Machine{
		cfg:      cfg.complete(),
		byFP:     map[Fingerprint]PeerID{},
		byKey:    claimIndex{places: make([]int32, leastPlaces)},
		owners:   map[OwnerID]int32{},
		holdings: make([]holdings, 1),
		peers:    make([]peer, 1),
		seats:    make([]links, seatsPerPeer),
		claims:   make([]claim, 1),
		tickets:  make([]ticket, 1),
		inPeer:   make([]links, 1),
		inOwner:  make([]links, 1),
		inTicket: make([]links, 1),
		inCalls:  make([]links, 1),
	}
	m.setPeriods()
	return m
}

// Step feeds one input at the instant now, which must not be before the last one.
func (m *Machine) Step(now Instant, in Input) Output {
	if now < m.now {
		panic(bug("TIME", "step at %d after one at %d", now, m.now))
	}
	m.now = now
	m.out.Effects = m.out.Effects[:0]
	m.out.Events = m.out.Events[:0]
	m.out.Replies = m.out.Replies[:0]
	m.out.Reclaimed = m.out.Reclaimed[:0]
	m.handle(&in)
	if m.queue.n > 0 {
		m.pump()
	}
	return m.out
}

func (m *Machine) handle(in *Input) {
	switch in.Kind {
	case InOwnerBorn:
		m.ownerBorn(in.Owner)
	case InOwnerDied:
		m.ownerDied(in.Owner)
	case InDeclare:
		m.declare(in)
	case InRelease:
		m.release(in)
	case InDispatch, InEnsure, InReconnect:
		m.open(in)
	case InCancel:
		m.cancel(in.Ticket)
	case InCallDone:
		m.callDone(in.Ticket, in.Done)
	case InConnected:
		m.connected(in.Peer, in.Gen, in.Tools)
	case InConnectFailed:
		m.connectFailed(in.Peer, in.Gen)
	case InBroken:
		m.broken(in.Peer, in.Gen)
	case InExited:
		m.exited(in.Peer, in.Gen, in.Clean)
	case InStarted:
		m.started(in.Peer, in.Gen)
	case InSpawned:
		m.spawnedNow(in.Peer, in.Gen)
	case InRelisted:
		m.relisted(in.Peer, in.Gen, in.Tools)
	case InWriteOff:
		m.writeOff(in)
	case InRetain:
		m.retain(in.Peer, in.Gen, in.Until)
	case InTimeReached:
		m.timeReached()
	case InConfigure:
		m.configure(in.Config)
	case InDrain:
		m.drain()
	default:
		panic(bug("INPUT", "input of kind %d", in.Kind))
	}
}

// Deadline returns the instant at which TimeReached has something to do, or Never. Reaper
// ticks that would find nothing expired are not deadlines: an idle machine never wakes.
func (m *Machine) Deadline() Instant {
	at := Never
	if len(m.timers.heap) > 0 {
		at = m.timers.heap[0].at
	}
	for i := range m.expiry {
		at = m.tickBefore(classID(i+1), at)
	}
	if m.queue.n > 0 && m.shortage() > 0 {
		at = min(at, m.shelterEnd) // until then all that could make room are protected
	}
	return at
}

// Now returns the instant of the last step.
func (m *Machine) Now() Instant { return m.now }

// Live returns the number of incarnations whose exit was not observed yet.
func (m *Machine) Live() int { return m.live }

// Load says how much is going on now.
type Load struct {
	Live     int // incarnations that have not exited
	Dialing  int // of them, those being dialed
	Stopping int // of them, those on the stop ladder
	Stuck    int // of them, those that outlived it (SPEC ST-9)
	// WrittenOff are those of the live ones that an operator has written off: none is dialing,
	// stopping or stuck, but their processes exist and count against MaxLive.
	WrittenOff int
	Spawning   int // of those being dialed, the ones whose process does not exist yet
	Queued     int // attempts that wait for room
	InFlight   int // calls admitted and not ended
}

// Load returns the gauges that go with Stats.
func (m *Machine) Load() Load {
	return Load{Live: m.live, Dialing: m.dialing, Stopping: m.stopping,
		Stuck: m.stuck, WrittenOff: len(m.written), Spawning: m.spawning, Queued: int(m.queue.n), InFlight: m.inFlight}
}

// Stats returns the counters.
func (m *Machine) Stats() Stats { return m.stats }

func (m *Machine) after(d time.Duration) Instant { return later(m.now, d) }

// later adds without running over: what is too far away to be an Instant is just before Never.
func later(from Instant, d time.Duration) Instant {
	if at := from + Instant(d); at >= from && at < Never {
		return at
	}
	return Never - 1
}

func (m *Machine) effect(e Effect) { m.out.Effects = append(m.out.Effects, e) }

func (m *Machine) reply(r Reply) { m.out.Replies = append(m.out.Replies, r) }
