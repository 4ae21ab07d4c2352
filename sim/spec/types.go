package spec

import "time"

// Time is a moment, counted from an origin that the caller chooses.
type Time = time.Duration

// Never is later than every other Time.
const Never = Time(1<<63 - 1)

// Run identifies one incarnation of a peer. The subject chooses the number when it dials and
// never uses it again; 0 is none.
type Run uint64

// Status is what owners are told about a peer (SPEC section 4).
type Status string

// The four states, and the absence of one.
const (
	Unknown      Status = "unknown"
	Disconnected Status = "disconnected"
	Connecting   Status = "connecting"
	Connected    Status = "connected"
	Failed       Status = "failed"
)

// Phase is what runs behind a peer.
type Phase string

// Stopping lasts until the exit was observed; Broken is a process without a usable session.
const (
	Absent   Phase = "absent"
	Dialing  Phase = "dialing"
	Up       Phase = "up"
	Broken   Phase = "broken"
	Stopping Phase = "stopping"
)

// Stage is a rung of the stop ladder (SPEC PR-2).
type Stage string

// StageStuck is no rung: the process outlived the last one (SPEC ST-9).
const (
	NoStage        Stage = "-"
	StageClose     Stage = "close"
	StageTerminate Stage = "terminate"
	StageKill      Stage = "kill"
	StageStuck     Stage = "stuck"
)

// Reason says why a peer failed, a ticket was refused or a call was abandoned.
type Reason string

// The reasons; the first six are failures of a peer.
const (
	NoReason             Reason = "-"
	ReasonConnect        Reason = "connect"
	ReasonConnectTimeout Reason = "connect-timeout"
	ReasonExited         Reason = "exited"
	ReasonBroken         Reason = "broken"
	ReasonTransport      Reason = "transport"
	ReasonCallTimeout    Reason = "call-timeout"
	ReasonNoClaim        Reason = "no-claim"
	ReasonDeadOwner      Reason = "dead-owner"
	ReasonFailed         Reason = "failed"
	ReasonOverloaded     Reason = "overloaded"
	ReasonReleased       Reason = "released"
	ReasonCancelled      Reason = "cancelled"
	ReasonReconnect      Reason = "reconnect"
	ReasonDraining       Reason = "draining"
	ReasonNotStuck       Reason = "not-stuck"
)

// Kind is the kind of an input.
type Kind string

// What can happen. The comment names the fields that are read.
const (
	OwnerBorn     Kind = "owner-born"     // Owner
	OwnerDied     Kind = "owner-died"     // Owner
	Declare       Kind = "declare"        // Ticket (0: none), Owner, Name, Peer, Policy
	Release       Kind = "release"        // Ticket (0: none), Owner, Name
	Dispatch      Kind = "dispatch"       // Ticket, Owner, Name
	Ensure        Kind = "ensure"         // Ticket, Owner, Name
	Reconnect     Kind = "reconnect"      // Ticket, Owner, Name
	Cancel        Kind = "cancel"         // Ticket
	CallDone      Kind = "call-done"      // Ticket, Transport
	Initialised   Kind = "connected"      // Run, Tools
	ConnectFailed Kind = "connect-failed" // Run
	SessionBroken Kind = "broken"         // Run
	Exited        Kind = "exited"         // Run, Clean
	TimeReached   Kind = "time-reached"   //
	Configure     Kind = "configure"      // Config
	Drain         Kind = "drain"          //
	Spawned       Kind = "spawned"        // Run
	Started       Kind = "started"        // Run
	Relisted      Kind = "relisted"       // Run, Tools
	WriteOff      Kind = "write-off"      // Ticket (0: none), Owner, Name

	// Choices of the subject within a window, told to Apply.
	Evict   Kind = "evict"   // Peer
	Age     Kind = "age"     // Peer
	Reclaim Kind = "reclaim" // Peer
)

// Input is one thing that happened.
type Input struct {
	Kind      Kind
	Ticket    uint64
	Owner     string
	Name      string
	Peer      string // the fingerprint
	Run       Run
	Tools     int
	Transport bool // the call ended in transport, not with an answer (SPEC CA-2)
	Clean     bool // the process ended by itself and said that all was well
	Config    Config
	Policy    Policy
}

// Policy is what a claim asks for its peer (SPEC RE-10, DI-14). 0 leaves the matter to Config.
type Policy struct {
	IdleTimeout    time.Duration
	MinUptime      time.Duration
	StartTimeout   time.Duration
	ConnectTimeout time.Duration
	CallTimeout    time.Duration
	CloseGrace     time.Duration
	TerminateGrace time.Duration
	Pinned         bool
}

// Config holds the times and bounds that the clauses speak of.
type Config struct {
	IdleTimeout    time.Duration // T; 0: nothing is evicted (SPEC RE-6)
	FailedRetry    time.Duration // instead of T for Failed peers; 0: T
	StartTimeout   time.Duration // until the first message; 0: ConnectTimeout bounds both together
	ConnectTimeout time.Duration
	CallTimeout    time.Duration
	CloseGrace     time.Duration // close to terminate
	TerminateGrace time.Duration // terminate to kill
	KillGrace      time.Duration // kill to stuck
	DrainGrace     time.Duration // what calls in flight get at shutdown
	MaxWaiters     int           // for one peer
	MaxLive        int           // incarnations, 0: unbounded
	MaxDialing     int           // of them, attempts, 0: unbounded
	MaxSpawning    int           // of them, processes that do not exist yet, 0: unbounded
	MaxQueued      int           // attempts that wait for room
	QueueTimeout   time.Duration // of each of them
}

// EffectKind is what the subject does to a peer or a call.
type EffectKind string

// The effects.
const (
	Dial        EffectKind = "dial"
	AbandonDial EffectKind = "abandon-dial"
	Stop        EffectKind = "stop"
	AbandonCall EffectKind = "abandon-call"
	Forget      EffectKind = "forget"
)

// Effect is one thing done. An AbandonCall names its ticket and reason, a Stop its stage.
type Effect struct {
	Clause string // in an expectation: which clause demands it
	Kind   EffectKind
	Peer   string
	Run    Run // in an expected Dial 0: the subject chooses
	Stage  Stage
	Reason Reason
	Ticket uint64
}

// Event is one thing told to an owner about its claim.
type Event struct {
	Clause string // in an expectation: which clause demands it
	Seq    uint64 // in an expectation 0: only its rise by one is checked (SPEC EV-2)
	At     Time
	Owner  string
	Name   string
	Peer   string
	Status Status
	Reason Reason
	Tools  int
	Replay bool
}

// ReplyKind is how a ticket was answered.
type ReplyKind string

// The answers: admitted, the state after an attempt, and no.
const (
	Ready   ReplyKind = "ready"
	Settled ReplyKind = "settled"
	Refused ReplyKind = "refused"
)

// Reply answers one ticket.
type Reply struct {
	Clause  string // in an expectation: which clause demands it
	Ticket  uint64
	Kind    ReplyKind
	Status  Status // of a settled attempt
	Reason  Reason // of a refusal, or of the failure of a settled attempt
	Cause   Reason // the failure, when Reason is ReasonFailed
	Run     Run    // of a Ready
	Tools   int
	RetryAt Time // when Reason is ReasonFailed: when a dispatch may try again

	retryTo Time // in an expectation: RetryAt lies in [RetryAt, retryTo]
}

// Seen is what the subject did upon one input. Stale says that it counted the input as one
// that came too late and changed nothing (SPEC ST-2).
type Seen struct {
	Effects []Effect
	Events  []Event
	Replies []Reply
	Stale   bool
}

// Standing is what a listing says about a peer.
type Standing struct {
	Status   Status
	Phase    Phase
	Stage    Stage
	Reason   Reason // of the last failure, even after it aged (SPEC ST-8)
	Run      Run    // of the incarnation that is live, else 0
	Tools    int
	Claims   int
	Waiters  int
	InFlight int
	// WrittenOff counts earlier incarnations that outlived SIGKILL, were written off and have not
	// exited (SPEC ST-9).
	WrittenOff int
	Queued     bool   // an attempt waits for room (SPEC PR-6)
	Policy     Policy // where it differs from Config (SPEC RE-10)
}

// Load says how much is going on.
type Load struct {
	Live, Dialing, Spawning, Stopping, Stuck int // incarnations
	WrittenOff                               int // of those that live
	Queued                                   int // attempts
	InFlight                                 int // calls
	Overloaded, Unused                       int // attempts refused, and incarnations stopped for want of use, ever
}

// Violation says which clause a subject broke, and how.
type Violation struct {
	Clause string
	Detail string
}

// Error implements error.
func (v *Violation) Error() string { return v.Clause + ": " + v.Detail }
