package adapt

import (
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/sim"
)

// Server names an effective configuration: the same program under another credential is another
// server. Numbers rise from 1 in the order in which servers are first claimed.
type Server int

// Claim is one user's hold on a server.
type Claim int

// Call is one request of a user; numbers never repeat.
type Call int

// Run is one process of a server, from its Start to its exit; numbers never repeat.
type Run int

// Never is later than every time; Next returns it when nothing is due.
const Never = time.Duration(lifecycle.Never)

// Lifecycle is what decides when servers run, in its own terms. It is told what happens, one
// thing at a time, and acts through its [Host] before it returns. It keeps no goroutine and no
// clock.
type Lifecycle interface {
	// Claim says that somebody wants to use a server. Nothing need run for that.
	Claim(Server, Claim)
	// Release takes that back. With its last claim a server must be stopped, and its failure be
	// forgotten; calls that wait for the claim are answered by the host.
	Release(Server, Claim)
	// Call asks to use a server, which must be started if need be. It is answered through
	// Host.Admit once it may run, or Host.Refuse if the server has failed.
	Call(Server, Call)
	// Ended is told of every call that was admitted. It is lost if no answer will come, which
	// fails its server.
	Ended(s Server, c Call, lost bool)
	// Connected says that a run has a session. It may come late, when nobody wants it any more,
	// or twice.
	Connected(Server, Run)
	// Failed says that a run could not be connected in time, or that its session is over. The host
	// stops it. It may come late or twice, too.
	Failed(Server, Run)
	// Exited says, once, that nothing of a run is left, whether it was stopped or not.
	Exited(Server, Run)
	// State is what a listing shows of a server.
	State(Server) lifecycle.State
	// Next is when Tick has something to do, Never if never.
	Next() time.Duration
	// Tick says that this time has come. It may come more often.
	Tick()
}

// Host does what a lifecycle decides.
type Host interface {
	// Now is the time since the host began.
	Now() time.Duration
	// Start begins a run of a server and connects it. The last one must have exited.
	Start(Server) Run
	// Stop begins the end of a run: its input is closed, then come signals. Exited follows. What is
	// being stopped already or has exited is left alone.
	Stop(Run)
	// Admit lets a call run. It returns false if the caller has gone meanwhile: then nothing runs.
	Admit(Call, Run) bool
	// Refuse answers a call that waits by the failure of its server.
	Refuse(Call)
}

// Subject is a lifecycle under test.
type Subject struct {
	// New makes the lifecycle; [Each] does of keepers. Of the configuration IdleTimeout is T, 0 for no eviction, and
	// FailedRetry is how long a failure lasts, 0 if it is T; the rest is for the host.
	New func(Host, lifecycle.Config) Lifecycle
	// Evicts says that it stops what was unused for T.
	Evicts bool
	// Reconnects says that it is a [Reconnecter], or that its keepers have a method Reconnect().
	Reconnects bool
}

// Make returns a maker of subjects, for sim.Property, sim.MakeFuzz and the like. Use [Subject.Fit]
// with it.
func (x Subject) Make() func(lifecycle.Config) sim.Subject {
	return func(cfg lifecycle.Config) sim.Subject { return newAdapter(x, cfg) }
}

// Check is sim.Check for a lifecycle of this kind. It logs which rules were not checked.
func Check[S sim.Runner[S]](t S, x Subject, opt sim.Options) {
	t.Helper()
	CheckSuite(t, sim.Suite{}, x, opt)
}

// CheckSuite is Check with a suite of one's own.
func CheckSuite[S sim.Runner[S]](t S, how sim.Suite, x Subject, opt sim.Options) {
	t.Helper()
	how.Fit = x.Fit
	how.Unchecked = append(how.Unchecked, x.Unchecked()...)
	sim.CheckSuite(t, how, x.Make(), opt)
}
