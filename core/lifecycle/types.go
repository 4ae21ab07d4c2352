package lifecycle

// Instant is a moment, in nanoseconds since the machine's origin. It never runs backwards.
type Instant int64

// Never is later than every other Instant; Deadline returns it when nothing is due.
const Never = Instant(1<<63 - 1)

// PeerID names a peer's slot. Slots are dense and reused; 0 names none.
type PeerID int32

// OwnerID names one incarnation of an owner. Ids rise and are never reused; 0 names none.
type OwnerID uint32

// NameID is an owner's own name for a claim, interned by the caller. Any value is legal.
type NameID uint32

// Generation numbers the incarnations of a peer slot, from 1. It survives reuse of the slot.
type Generation uint32

// Fingerprint is the keyed hash of a peer's effective configuration (SPEC ID-1, ID-4).
type Fingerprint [32]byte

// State is what owners are told about a peer (SPEC section 4).
type State uint8

const (
	// NoState is the state of a peer that does not exist.
	NoState State = iota
	// Disconnected: nothing is running, or a stop is in progress (see [View.Stage]).
	Disconnected
	// Connecting: an attempt is under way.
	Connecting
	// Connected: a live, initialised session of the current generation.
	Connected
	// Failed: the last attempt or call failed; not retried by dispatches until aged.
	Failed
)

var stateNames = [...]string{"unknown", "disconnected", "connecting", "connected", "failed"}

// String returns the lower-case word used in tapes, scenarios and reports.
func (s State) String() string { return word(stateNames[:], uint8(s)) }

// Phase is what is known about the current incarnation of a peer.
type Phase uint8

const (
	// Absent: nothing runs.
	Absent Phase = iota
	// Dialing: started, not yet initialised.
	Dialing
	// Up: initialised and believed healthy.
	Up
	// Broken: running, but a call or the session failed; kept until the peer ages (SPEC RE-4).
	Broken
	// Stopping: on the stop ladder; its exit was not observed yet.
	Stopping
)

var phaseNames = [...]string{"absent", "dialing", "up", "broken", "stopping"}

// String returns the lower-case word used in tapes and reports.
func (p Phase) String() string { return word(phaseNames[:], uint8(p)) }

// Stage is a rung of the stop ladder (SPEC PR-2).
type Stage uint8

const (
	NoStage        Stage = iota
	StageClose           // input closed
	StageTerminate       // SIGTERM to the group
	StageKill            // SIGKILL to the group
	StageStuck           // survived SIGKILL; only an observed exit ends it (SPEC ST-9)
)

var stageNames = [...]string{"-", "close", "terminate", "kill", "stuck"}

// String returns the lower-case word used in tapes and reports.
func (s Stage) String() string { return word(stageNames[:], uint8(s)) }

// Reason says why a peer failed, a ticket was refused, or a call was abandoned.
type Reason uint8

const (
	NoReason Reason = iota

	// Why a peer is Failed.
	ReasonConnect        // the attempt failed; the caller knows the text
	ReasonConnectTimeout // the attempt outlived its bound (SPEC DI-4)
	ReasonExited         // the process ended by itself (SPEC CA-6)
	ReasonBroken         // the session ended while the process may live
	ReasonTransport      // a call failed in transport (SPEC CA-2)
	ReasonCallTimeout    // a call outlived its bound (SPEC CA-2)

	// Why a ticket was refused or a call abandoned.
	ReasonNoClaim    // the owner holds no claim of that name
	ReasonDeadOwner  // the owner is dead or was never born (SPEC PC-7)
	ReasonFailed     // the peer is Failed and has not aged (SPEC DI-5, DI-12)
	ReasonOverloaded // a waiter list or the dial queue is full, or a place in it did not come (SPEC DI-9, PR-6)
	ReasonReleased   // the claim went while the ticket was open
	ReasonCancelled  // the caller gave up (SPEC CA-4)
	ReasonReconnect  // the incarnation is being replaced (SPEC RC-6)
	ReasonDraining   // the machine is shutting down (SPEC SH-1)
	ReasonNotStuck   // nothing of the peer has outlived SIGKILL, so nothing is written off (SPEC ST-9)
)

var reasonNames = [...]string{"-", "connect", "connect-timeout", "exited", "broken", "transport",
	"call-timeout", "no-claim", "dead-owner", "failed", "overloaded", "released", "cancelled",
	"reconnect", "draining", "not-stuck"}

// String returns the lower-case word used in tapes and reports.
func (r Reason) String() string { return word(reasonNames[:], uint8(r)) }

// DoneKind is how an admitted call ended, as its transport classified it.
type DoneKind uint8

const (
	// DoneAnswered: a result, or a listing that was read.
	DoneAnswered DoneKind = iota + 1
	// DoneRejected: the far side said no; state untouched (SPEC CA-1, CA-14).
	DoneRejected
	// DoneTransport: no answer will come; the peer fails (SPEC CA-2).
	DoneTransport
	// DoneCancelled: the caller gave up; state untouched (SPEC CA-4).
	DoneCancelled
)

var doneNames = [...]string{"-", "answered", "rejected", "transport", "cancelled"}

// String returns the lower-case word used in tapes and reports.
func (d DoneKind) String() string { return word(doneNames[:], uint8(d)) }

// word looks a name up without a panic, so that a corrupt tape can still be printed.
func word(names []string, i uint8) string {
	if int(i) < len(names) {
		return names[i]
	}
	return "invalid"
}
