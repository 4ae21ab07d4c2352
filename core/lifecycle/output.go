package lifecycle

// Output is what a step wants done. Its slices are the machine's own and are valid until
// the next Step.
type Output struct {
	Effects []Effect // to perform, in this order
	Events  []Event  // for owners, in order of Seq
	Replies []Reply  // to tickets
	// Reclaimed are peers whose incarnations this step stopped early, to make room for others
	// (SPEC PR-6). Their stops are among Effects.
	Reclaimed []PeerID
}

// EffectKind says what to do.
type EffectKind uint8

const (
	EffectDial        EffectKind = iota + 1 // start incarnation Gen of Peer with the configuration of FP
	EffectAbandonDial                       // its result is no longer wanted; a stop follows
	EffectStop                              // perform rung Stage on incarnation Gen of Peer
	EffectAbandonCall                       // the admitted call Ticket ended with Reason; its answer is discarded
	EffectForget                            // the declaration of FP is gone; Peer's slot is free
)

var effectNames = [...]string{"-", "dial", "abandon-dial", "stop", "abandon-call", "forget"}

// String returns the lower-case word used in tapes and reports.
func (k EffectKind) String() string { return word(effectNames[:], uint8(k)) }

// Effect is one thing to do.
type Effect struct {
	Kind   EffectKind
	Stage  Stage
	Reason Reason
	Peer   PeerID
	Gen    Generation
	Ticket Ticket
	FP     Fingerprint // EffectDial and EffectForget
}

// Event tells one owner, under its own name, that its peer changed state (SPEC EV-1).
type Event struct {
	Seq    uint64 // rises by one over all events of the machine (SPEC EV-2)
	At     Instant
	Owner  OwnerID
	Name   NameID
	Peer   PeerID
	Gen    Generation
	State  State
	Reason Reason // why, when State is Failed
	Tools  uint32 // when State is Connected
	Replay bool   // standing told again, not a transition (SPEC CL-7)
	// Relisted tells such a replay apart from that of an owner that joined: the peer has read
	// its tool list again (SPEC CA-10).
	Relisted bool
}

// ReplyKind says how a ticket was answered.
type ReplyKind uint8

const (
	// ReplyReady: the call is admitted on (Peer, Gen); its use has begun (SPEC RE-2).
	ReplyReady ReplyKind = iota + 1
	// ReplySettled: the attempt ended; State says how.
	ReplySettled
	// ReplyRefused: Reason says why; for ReasonFailed, Cause and RetryAt say more (SPEC DI-12).
	ReplyRefused
)

var replyNames = [...]string{"-", "ready", "settled", "refused"}

// String returns the lower-case word used in tapes and reports.
func (k ReplyKind) String() string { return word(replyNames[:], uint8(k)) }

// Reply answers one ticket.
type Reply struct {
	Kind    ReplyKind
	State   State  // ReplySettled
	Reason  Reason // ReplyRefused; the failure when ReplySettled with Failed
	Cause   Reason // the peer's failure, when Reason is ReasonFailed
	Ticket  Ticket
	Peer    PeerID
	Gen     Generation
	Tools   uint32
	RetryAt Instant // when a dispatch may try again; Never if only a reconnect helps
}
