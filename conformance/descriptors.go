package conformance

import (
	"fmt"
	"syscall"
)

// minFiles is how many files the runner, and with it the daemon, must be allowed to open. With
// less a daemon may refuse what it owes, and nobody could tell why.
const minFiles = 1024

// enoughFiles refuses to judge anything under a limit on open files that is too low.
func enoughFiles() error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return nil //nolint:nilerr // a system without such a limit
	}
	if uint64(limit.Cur) < minFiles {
		return fmt.Errorf("this process may have %d files open, and the daemon as many; a run wants %d, else it would judge this limit: raise it with ulimit -n",
			limit.Cur, minFiles)
	}
	return nil
}
