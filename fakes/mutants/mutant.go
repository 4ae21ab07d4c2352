package mutants

import (
	"slices"

	"github.com/jonboulle/clockwork"

	"github.com/mayfly-mcp/mayfly/core/daemon"
	"github.com/mayfly-mcp/mayfly/core/transport"
)

// Mutant is a daemon with one defect.
type Mutant struct {
	// Name is stable: kill matrices and command lines use it.
	Name string
	// Defect says what is wrong, in a few words.
	Defect string

	build func() defect
}

// defect is what is wrong with a mutant. The zero defect is nothing.
type defect struct {
	dialer func(transport.Dialer) transport.Dialer
	proxy  *hooks                              // between clients and daemon
	shelf  *shelf                              // instead of the daemon's registry of what consumers serve
	config func(string) string                 // the daemon's configuration is another one
	clock  clockwork.Clock                     // nil is the real one
	opened func(d *daemon.Daemon, home string) // when the daemon is open, with its own home
	before func(home string)                   // before the daemon opens
	after  func(home string, code int) int     // when it has ended
	abrupt bool                                // a signal ends the process, and nothing is put in order
}

// All returns the mutants in a fixed order.
func All() []Mutant {
	return slices.Concat(claimMutants(), deadMutants(), eventMutants(), connectMutants(), timeMutants(), callMutants(),
		processMutants(), secretMutants(), wireMutants(), homeMutants(), ownerMutants())
}

// find returns the mutant with a name. The empty name is the reference daemon.
func find(name string) (Mutant, bool) {
	switch name {
	case "":
		return Mutant{build: func() defect { return defect{} }}, true
	case shelfWord:
		return Mutant{build: shelved(wrongs{})}, true
	}
	all := All()
	i := slices.IndexFunc(all, func(m Mutant) bool { return m.Name == name })
	if i < 0 {
		return Mutant{}, false
	}
	return all[i], true
}

// fixed is a defect without a state of its own.
func fixed(d defect) func() defect { return func() defect { return d } }
