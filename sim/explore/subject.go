package explore

import (
	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/sim"
	"github.com/mayfly-mcp/mayfly/sim/agree"
)

// Subject is a lifecycle that can be searched: one that can be copied, and whose state can be
// written under other names. A subject that keeps anything beside a [lifecycle.Machine] must
// copy and write that too, else states that differ in it are taken for one.
type Subject interface {
	sim.Subject
	sim.Auditor
	agree.Subject
	// Now is the instant of the last step.
	Now() lifecycle.Instant
	// AppendStateAs and AppendHeld are those of [lifecycle.Machine].
	AppendStateAs([]byte, *lifecycle.Naming) []byte
	AppendHeld([]byte, *lifecycle.Naming, []lifecycle.Incarnation) []byte
	// CopyTo makes another subject of the same kind the same as this one.
	CopyTo(Subject)
}

// machine is the project's own core.
type machine struct{ *lifecycle.Machine }

// NewMachine returns the project's own lifecycle core, the default subject.
func NewMachine(cfg lifecycle.Config) Subject { return machine{lifecycle.New(cfg)} }

// CopyTo implements Subject.
func (m machine) CopyTo(to Subject) { m.CopyInto(to.(machine).Machine) }
