package lifecycle

// InputKind says what happened.
type InputKind uint8

const (
	InOwnerBorn     InputKind = iota + 1 // Owner
	InOwnerDied                          // Owner
	InDeclare                            // Ticket (for a refusal), Owner, Name, FP, Policy (may be nil)
	InRelease                            // Ticket (for a refusal), Owner, Name
	InDispatch                           // Ticket, Owner, Name
	InEnsure                             // Ticket, Owner, Name
	InReconnect                          // Ticket, Owner, Name
	InCancel                             // Ticket
	InCallDone                           // Ticket, Done
	InConnected                          // Peer, Gen, Tools
	InConnectFailed                      // Peer, Gen
	InBroken                             // Peer, Gen
	InExited                             // Peer, Gen, Clean
	InTimeReached                        //
	InConfigure                          // Config
	InDrain                              //
	InStarted                            // Peer, Gen
	InRelisted                           // Peer, Gen, Tools
	InSpawned                            // Peer, Gen
	InWriteOff                           // Ticket (for a refusal), Owner, Name
	InRetain                             // Peer, Gen, Until

	inputKinds = int(InRetain) + 1
)

var inputNames = [...]string{"-", "owner-born", "owner-died", "declare", "release", "dispatch",
	"ensure", "reconnect", "cancel", "call-done", "connected", "connect-failed", "broken", "exited",
	"time-reached", "configure", "drain", "started", "relisted", "spawned", "write-off", "retain"}

// String returns the lower-case word used in tapes and reports.
func (k InputKind) String() string { return word(inputNames[:], uint8(k)) }

// Input is one thing that happened. Kind says which of the fields are read; the others are
// ignored. Build one with the function of the same name.
type Input struct {
	Kind   InputKind
	Done   DoneKind
	Clean  bool
	Owner  OwnerID
	Name   NameID
	Peer   PeerID
	Gen    Generation
	Tools  uint32
	Ticket Ticket
	FP     Fingerprint
	Config *Config
	Policy *Policy
	Until  Instant
}

// OwnerBorn introduces an owner. Ids must rise from one birth to the next.
func OwnerBorn(o OwnerID) Input { return Input{Kind: InOwnerBorn, Owner: o} }

// OwnerDied releases everything the owner holds in one step (SPEC CL-13). The death of an
// owner that is already dead is ignored.
func OwnerDied(o OwnerID) Input { return Input{Kind: InOwnerDied, Owner: o} }

// Declare claims the peer of a fingerprint under a name, or moves the claim of that name to
// it (SPEC CL-1, CL-4, CL-6). Nothing is started. The ticket is answered only when the
// request is refused; it may be 0. Set Policy on the result to give the claim one; declaring
// an unchanged claim with another policy changes the policy alone.
func Declare(t Ticket, o OwnerID, n NameID, fp Fingerprint) Input {
	return Input{Kind: InDeclare, Ticket: t, Owner: o, Name: n, FP: fp}
}

// Release gives a claim up (SPEC CL-3). The ticket is answered only when refused.
func Release(t Ticket, o OwnerID, n NameID) Input {
	return Input{Kind: InRelease, Ticket: t, Owner: o, Name: n}
}

// Dispatch asks to use the claimed peer, starting it if need be (SPEC DI-1). The reply is
// [ReplyReady], upon which the use has begun, or [ReplyRefused].
func Dispatch(t Ticket, o OwnerID, n NameID) Input {
	return Input{Kind: InDispatch, Ticket: t, Owner: o, Name: n}
}

// Ensure brings the peer up without using it, for an eager upsert (SPEC CF-1). The reply is
// [ReplySettled] with the state after the attempt, or [ReplyRefused].
func Ensure(t Ticket, o OwnerID, n NameID) Input {
	return Input{Kind: InEnsure, Ticket: t, Owner: o, Name: n}
}

// Reconnect replaces whatever runs by a new incarnation (SPEC section 7). The reply is
// [ReplySettled] with the state after the attempt, or [ReplyRefused].
func Reconnect(t Ticket, o OwnerID, n NameID) Input {
	return Input{Kind: InReconnect, Ticket: t, Owner: o, Name: n}
}

// Cancel ends a ticket on behalf of its caller, waiting or admitted (SPEC CA-4, DI-9).
func Cancel(t Ticket) Input { return Input{Kind: InCancel, Ticket: t} }

// CallDone ends an admitted ticket.
func CallDone(t Ticket, d DoneKind) Input { return Input{Kind: InCallDone, Ticket: t, Done: d} }

// InputConnected reports that a dial ended with a session that lists so many tools.
func InputConnected(p PeerID, g Generation, tools uint32) Input {
	return Input{Kind: InConnected, Peer: p, Gen: g, Tools: tools}
}

// ConnectFailed reports that a dial ended without a session.
func ConnectFailed(p PeerID, g Generation) Input {
	return Input{Kind: InConnectFailed, Peer: p, Gen: g}
}

// SessionBroken reports that the session can serve no more although its process may live.
func SessionBroken(p PeerID, g Generation) Input {
	return Input{Kind: InBroken, Peer: p, Gen: g}
}

// Exited reports that nothing of the incarnation is left. Set Clean on the result when it ended
// by itself with status 0: an unused peer that does so is not a failure.
func Exited(p PeerID, g Generation) Input { return Input{Kind: InExited, Peer: p, Gen: g} }

// TimeReached fires every deadline that is due.
func TimeReached() Input { return Input{Kind: InTimeReached} }

// Configure replaces the configuration; peers that run are not touched (SPEC CF-6).
func Configure(c *Config) Input { return Input{Kind: InConfigure, Config: c} }

// Drain begins the shutdown: no new tickets, calls in flight get a bounded grace, everything
// is stopped in parallel (SPEC SH-1).
func Drain() Input { return Input{Kind: InDrain} }

// Started reports the first valid message of an incarnation that is being dialed. With a start
// budget, the connect budget runs from here (SPEC DI-14).
func Started(p PeerID, g Generation) Input { return Input{Kind: InStarted, Peer: p, Gen: g} }

// Relisted reports that the session's tool list was read again, completely (SPEC CA-10).
func Relisted(p PeerID, g Generation, tools uint32) Input {
	return Input{Kind: InRelisted, Peer: p, Gen: g, Tools: tools}
}

// Spawned reports that the process of an incarnation that is being dialed exists, which gives
// its place among those being created to the next (SPEC PR-6).
func Spawned(p PeerID, g Generation) Input { return Input{Kind: InSpawned, Peer: p, Gen: g} }

// Retain has a Connected peer that nobody uses stopped at that instant, and at no reaper tick: at the
// next TimeReached if the instant has come, never if it is [Never]. It holds for this idle period, in which a
// later one replaces it; the next use ends it. What claims ask for is stronger (SPEC RE-10): a pinned
// peer stays, and none is stopped before its least uptime. For a peer that is in use, or not Connected,
// or of another generation it comes too late and is counted as stale.
func Retain(p PeerID, g Generation, until Instant) Input {
	return Input{Kind: InRetain, Peer: p, Gen: g, Until: until}
}

// WriteOff is an operator's word that the exit of an incarnation which outlived SIGKILL is not to
// be waited for (SPEC ST-9): its successor may begin, while it counts as live until its Exited
// comes, in whatever generation its peer is by then. The ticket is answered only when refused,
// with ReasonNotStuck where there is nothing to write off.
func WriteOff(t Ticket, o OwnerID, n NameID) Input {
	return Input{Kind: InWriteOff, Ticket: t, Owner: o, Name: n}
}
