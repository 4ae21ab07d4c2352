//go:build !linux

package stdio

import (
	"context"
	"errors"
	"os"
	"syscall"

	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/transport"
)

// process stands in for the Linux one where there is no /proc to observe a group by.
type process struct{ pid int }

// startProcess refuses: a tree whose end cannot be observed must not be started.
func startProcess(c command, _ [3]*os.File) (*process, error) {
	return nil, &callerr.Error{
		Kind:     callerr.Transport,
		Phase:    callerr.PhaseSpawn,
		Definite: true,
		Msg:      spawnFailed + ": stdio peers need Linux, where the end of a process tree can be observed",
		Hint:     "run the daemon on Linux, or configure the server by url",
	}
}

func (p *process) awaitExit() exitStatus { return exitStatus{} }
func (p *process) exiting() bool         { return true }
func (p *process) signal(syscall.Signal) {}
func (p *process) reap()                 {}
func (p *process) collect()              {}

func (p *process) signalStrays(transport.Stage)  {}
func (p *process) identify() (ident, int, error) { return ident{}, 0, os.ErrInvalid }

// ident names a process.
type ident struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"`
}

// scanner is never asked.
type scanner struct{}

func newScanner(bool) *scanner                  { return &scanner{} }
func (*scanner) remains(*process) (bool, error) { return false, nil }
func (*scanner) usage(*process) (transport.Usage, error) {
	return transport.Usage{}, errors.ErrUnsupported
}
func whereAndWho() (system, ident, error)                       { return system{}, ident{}, errors.ErrUnsupported }
func reap(context.Context, string, ReapOptions) (Report, error) { return Report{}, nil }
func subreaper() (string, func(), error)                        { return "", func() {}, errors.ErrUnsupported }
func zombies() int                                              { return 0 }

// readFD is never asked.
func readFD(uintptr, []byte) (int, error) { return 0, os.ErrInvalid }
