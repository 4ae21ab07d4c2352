package idle

import "time"

// Peer names one process slot to a policy. ID is dense, from 0, in the order in which peers were first
// called. Key depends on the seed, the tenant and its peer alone, so that whatever a policy draws from it is the
// same in every cell of a sweep.
type Peer struct {
	ID    int32
	Class uint16 // index into Env.Classes
	Key   uint64
}

// Env is what a policy may know before the first call.
type Env struct {
	Seed        uint64
	IdleTimeout time.Duration // T of the machine
	// BreakEven is B: how many process-seconds one cold start is worth. 0 when nobody said.
	BreakEven time.Duration
	MaxLive   int
	Classes   []Class // of the servers
	// Next tells when a peer is called next, if that is before `until`. It is set only for a policy that
	// implements [Foreseeing]; the answer assumes that nothing on the way is cold.
	Next func(p Peer, until time.Duration) (at time.Duration, ok bool)
}

// Class is what is known of a class of servers: what one start takes on average and what one process holds.
type Class struct {
	Name    string
	Connect time.Duration // mean of a connect, failures at the machine's bound included
	RSS     float64       // MiB
	Fails   float64       // share of connects that fail
}

// Policy says when unused peers are stopped. It is a value: Start makes what one run needs.
type Policy interface {
	Name() string
	Start(Env) Keeper
}

// Keeper is a policy at work in one run. It is told of every call and asked at the start of every idle period.
// All times are since the start of the run. It must decide from what it was told, Env.Seed and Peer.Key alone.
type Keeper interface {
	// Called tells that a call begins. gap is the time since the end of the last use, if there was one
	// and nothing was in flight.
	Called(p Peer, now, gap time.Duration, known bool)
	// Idle tells that a connected peer fell idle and asks what is to become of it. A peer that was woken
	// (see Decision.Wake) and fell idle without a call is not asked about again.
	Idle(p Peer, now time.Duration) Decision
}

// Rule says by what an idle period ends if no call ends it.
type Rule uint8

const (
	// ByTimeout leaves the peer to the machine: idle_timeout and the tick at a quarter of it.
	ByTimeout Rule = iota
	// At stops the peer at Decision.Stop, without waiting for a tick; a time that has passed means now.
	At
	// Forever keeps the peer.
	Forever
	// OnCall stops the peer when anybody calls anything at or after Decision.Stop.
	OnCall
)

// Decision is what becomes of an idle peer. The zero value leaves it to the machine.
type Decision struct {
	Rule Rule
	Stop time.Duration // absolute; for At and OnCall
	// Wake starts the peer again at that instant, if it was stopped and nobody called it before. 0 means never.
	Wake time.Duration
	// Until is when a peer that was woken is stopped again if nobody called it. 0 leaves it to the machine.
	Until time.Duration
}

// Victims is a Keeper that chooses who has to go when MaxLive is reached. Without it the machine
// stops the peer that was unused for longest.
type Victims interface {
	// Victim names the idle peer that is to be stopped for another; ok is false when it knows of none.
	// The engine calls Stopped for it afterwards.
	Victim(now time.Duration) (p Peer, ok bool)
}

// Watching is a Keeper that wants to know what comes of its peers.
type Watching interface {
	// Started tells that a connect succeeded and how long it took.
	Started(p Peer, now, took time.Duration)
	// Stopped tells that the peer runs no more, whatever stopped it.
	Stopped(p Peer, now time.Duration)
}

// Retrying is a Keeper that has failed peers tried again before they age.
type Retrying interface {
	// Retry is asked whenever a peer has failed, with the number of failures in a row. The engine issues
	// a reconnect at that instant if ok.
	Retry(p Peer, now time.Duration, failures int) (at time.Duration, ok bool)
}

// Foreseeing is a Policy that is told the future (Env.Next): a bound, not a proposal.
type Foreseeing interface{ Foresees() }

// RFC is the policy of RFC 0204: a peer that was unused for idle_timeout is stopped at the next tick, and ticks come at
// a quarter of it.
type RFC struct{}

// Name returns "rfc".
func (RFC) Name() string { return "rfc" }

// Start returns a keeper that leaves everything to the machine.
func (RFC) Start(Env) Keeper { return leave{} }

type leave struct{}

func (leave) Called(Peer, time.Duration, time.Duration, bool) {}
func (leave) Idle(Peer, time.Duration) Decision               { return Decision{} }
