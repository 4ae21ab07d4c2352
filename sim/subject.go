package sim

import "github.com/mayfly-mcp/mayfly/core/lifecycle"

// Subject is a lifecycle under test. *lifecycle.Machine is one; the contract is that
// package's: see its documentation for what each input means and what each effect asks for.
// A world of this package feeds every kind of input but lifecycle.InRetain, by which policies of
// sim/idle speak and of which no clause knows.
type Subject interface {
	// Step feeds one input. The slices of the output are valid until the next Step.
	Step(now lifecycle.Instant, in lifecycle.Input) lifecycle.Output
	// Deadline is when a TimeReached has something to do, lifecycle.Never if never.
	Deadline() lifecycle.Instant
	// View is what a listing shows of one peer.
	View(id lifecycle.PeerID) lifecycle.View
}

// Auditor is a Subject that can check its own state. Both methods return nil when all is well.
type Auditor interface {
	// AuditPeer checks one peer, in time independent of the size of the state.
	AuditPeer(id lifecycle.PeerID) *lifecycle.Violation
	// Audit checks everything.
	Audit() *lifecycle.Violation
}

// NewMachine returns the project's own lifecycle core, the default subject.
func NewMachine(cfg lifecycle.Config) Subject { return lifecycle.New(cfg) }
