package sim

import (
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// Tape is a run as data: the options that the world needs and every decision that was made
// in it. The seed only finds a run; the tape is the run. Entries name tenants, claims and
// targets, never tickets, slots or generations, so that a tape from which entries were
// deleted still means something: what has lost its object does nothing, and a server whose
// behaviour was deleted is healthy.
type Tape struct {
	Name       string // the file in errors; not part of the text
	Seed       uint64 // where it was found, for people
	Tenants    int
	For        time.Duration
	AuditEvery int
	Config     lifecycle.Config
	Schedule   Schedule // with its seed
	Violation  string   // id of the check that it breaks; empty if none
	Hash       uint64   // of the run
	Entries    []Entry
}

// Op is what an entry does.
type Op uint8

const (
	OpBorn       Op = iota + 1 // a tenant starts, or starts again, as a new owner
	OpDie                      // its owner dies
	OpDeclare                  // it claims Target under Name, or moves that claim
	OpRelease                  // it gives Name up
	OpDispatch                 // it calls through Name; Call says how the server takes it
	OpEnsure                   // it connects Name eagerly
	OpReconnect                // it reconnects Name
	OpCancel                   // it gives up its oldest open ticket of Name
	OpWriteOff                 // an operator writes off what is stuck behind Name
	OpDial                     // how the next incarnation of Target behaves
	OpDrain                    // the daemon shuts down
	OpConfigure                // its configuration changes to Set
	OpRestart                  // it stops, by a kill if Kill, and starts again after Span
	OpReload                   // its agents' files are read again: what names Target's server now names To
	OpDown                     // Target's server goes down for Span, with all that runs of it
	OpExpire                   // Target's credential and the older ones of its tenant end
	OpRegister                 // a tenant serves the key Name; Serve says under which plan
	OpReady                    // it makes what it serves there visible
	OpUnregister               // it takes that out
	OpResolve                  // it looks for who serves Name, and keeps what it finds
	OpCall                     // it calls what it found, with the token of Target's tenant

	ops = int(OpCall) + 1
)

var opNames = [...]string{"-", "born", "die", "declare", "release", "dispatch", "ensure",
	"reconnect", "cancel", "write-off", "dial", "drain", "configure", "restart", "reload", "down", "expire",
	"register", "ready", "unregister", "resolve", "call"}

// String returns the word used on tapes.
func (o Op) String() string { return word(opNames[:], int(o)) }

// serves says that an operation is one of the registry, where Name is a key.
func (o Op) serves() bool { return o >= OpRegister }

// Serving is more about an operation of the registry.
type Serving uint8

const (
	ServeSecret Serving = iota + 1 // OpRegister: the plan asks for the token of its tenant; else it is public
	DieInPlan                      // OpCall: who serves dies while its plan is asked, if it is
	DieInBody                      // OpCall: it dies while its body runs

	servings = int(DieInBody) + 1
)

var servingNames = [...]string{"", "secret", "dies-in-plan", "dies-in-body"}

// Entry is one decision.
type Entry struct {
	At     lifecycle.Instant // when it was made; for OpDial of information only
	Op     Op
	Name   uint8 // from 1 to MaxNames, of the registry's to MaxKeys
	Kill   bool  // OpRestart
	Serve  Serving
	Tenant uint32 // from 1
	To     uint32 // OpReload: a server
	Target Target
	Span   time.Duration     // OpRestart, OpDown
	Call   CallPlan          // OpDispatch
	Policy *lifecycle.Policy // OpDeclare, nil if it asks for nothing
	Set    *Change           // OpConfigure
	Dial   *DialPlan         // OpDial
}

// Change is what a reconfiguration sets; the rest of the configuration stays.
type Change struct {
	IdleTimeout time.Duration
	MaxLive     int
}

// End is how a call ends by itself.
type End uint8

const (
	EndAnswered  End = iota + 1 // a result
	EndRejected                 // the server says no
	EndTransport                // it does not land
	EndNever                    // no answer

	ends = int(EndNever) + 1
)

var endNames = [...]string{"-", "answered", "rejected", "transport", "never"}

// String returns the word used on tapes.
func (e End) String() string { return word(endNames[:], int(e)) }

// CallPlan is how a server takes one call.
type CallPlan struct {
	Takes time.Duration
	End   End
	Late  bool // its completion arrives even after the call was abandoned
	Twice bool // its completion arrives twice
}

// Outcome is how an attempt goes.
type Outcome uint8

const (
	Connects Outcome = iota + 1 // a session, after After
	Fails                       // none, after After; the process remains until it is stopped
	Breaks                      // the session ends before it began; the process remains
	Exits                       // the process exits, after After
	Hangs                       // nothing happens

	outcomes = int(Hangs) + 1
)

var outcomeNames = [...]string{"-", "connects", "fails", "breaks", "exits", "hangs"}

// String returns the word used on tapes.
func (o Outcome) String() string { return word(outcomeNames[:], int(o)) }

// DialPlan is the character of one incarnation.
type DialPlan struct {
	Outcome   Outcome
	After     time.Duration
	Spawns    time.Duration // from the dial to the existence of its process
	Starts    time.Duration // from the dial to its first message; 0: only the session is heard of
	Tools     uint16
	Relists   time.Duration   // from its connect to a change of its tools; 0 for none
	Retools   uint16          // how many there are then
	Obeys     lifecycle.Stage // the first rung of the ladder that ends it; at stuck, none does
	StopTakes time.Duration   // from that rung, or from when it counts as stuck, to its exit
	Lives     time.Duration   // from its connect to a death of its own; 0 for none
	LosesOnly bool            // that death takes the session only; the process remains
	Clean     bool            // that death says that all was well
	Late      bool            // completions arrive even after they were abandoned
	Twice     bool            // completions arrive twice
}

// healthy is a plan for incarnations of which a tape says nothing.
var healthy = DialPlan{Outcome: Connects, After: 100 * time.Millisecond, Tools: 1,
	Obeys: lifecycle.StageClose, StopTakes: 10 * time.Millisecond}

// word looks a name up without a panic, so that anything can be printed.
func word(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return "invalid"
}
