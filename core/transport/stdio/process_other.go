//go:build !linux

package stdio

import (
	"os"
	"syscall"

	"github.com/mayfly-mcp/mayfly/core/callerr"
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

func (p *process) awaitExit() string     { return "" }
func (p *process) exiting() bool         { return true }
func (p *process) signal(syscall.Signal) {}
func (p *process) reap()                 {}

// scanner is never asked.
type scanner struct{}

func (*scanner) live(int) (bool, error) { return false, nil }

// readFD is never asked.
func readFD(uintptr, []byte) (int, error) { return 0, os.ErrInvalid }
