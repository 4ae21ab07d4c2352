package conformance

import (
	"fmt"
	"os"
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

// minRoom is what must be free where homes and sockets are made, in bytes. A run takes a few
// megabytes; a daemon that cannot write its store fails clauses that have nothing to do with it.
const minRoom = 64 << 20

// enoughRoom refuses to judge anything where nothing can be written.
func enoughRoom() error {
	var st syscall.Statfs_t
	dir := os.TempDir()
	if err := syscall.Statfs(dir, &st); err != nil {
		return nil //nolint:nilerr // what makes the directory says more
	}
	return roomFor(dir, uint64(st.Bavail)*uint64(st.Bsize))
}

func roomFor(dir string, free uint64) error {
	if free < minRoom {
		return fmt.Errorf("%s has %d KiB free, and a run wants %d, else it would judge the disk: make room, or set TMPDIR",
			dir, free>>10, minRoom>>10)
	}
	return nil
}
