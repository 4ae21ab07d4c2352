package stdio

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

const prSetChildSubreaper = 36 // PR_SET_CHILD_SUBREAPER

// births orders the start of children and the wait for orphans: a child must be known as a
// leader before anybody may wait for it. Spawns share it, the orphanage does not.
var births sync.RWMutex

// leaders are the direct children whose exit status belongs to their session.
var leaders struct {
	sync.Mutex
	pids map[int]struct{}
}

// enrol makes a pid that of a leader. Called with births held.
func enrol(pid int) {
	leaders.Lock()
	defer leaders.Unlock()
	if leaders.pids == nil {
		leaders.pids = map[int]struct{}{}
	}
	leaders.pids[pid] = struct{}{}
}

// strike takes a leader off the list, after it was waited for.
func strike(pid int) {
	leaders.Lock()
	defer leaders.Unlock()
	delete(leaders.pids, pid)
}

// isLeader reports whether a child belongs to a session.
func isLeader(pid int) bool {
	leaders.Lock()
	defer leaders.Unlock()
	_, ok := leaders.pids[pid]
	return ok
}

// subreaper implements Subreaper.
func subreaper() (note string, stop func(), err error) {
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0); errno != 0 {
		return "", func() {}, fmt.Errorf("orphans of peers cannot be waited for, run the daemon under an init: %w", errno)
	}
	if os.Getpid() == 1 {
		note = "running as PID 1: every orphan of this PID namespace is waited for"
	}
	ended, quit := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(ended, syscall.SIGCHLD)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			bury()
			select {
			case <-ended:
			case <-quit:
				return
			}
		}
	})
	return note, sync.OnceFunc(func() {
		signal.Stop(ended)
		close(quit)
		running.Wait()
		_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 0, 0)
	}), nil
}

// bury waits for the orphans that have ended. Signals coalesce, so it looks at all children;
// leaders cost a look into a map each.
func bury() {
	births.Lock()
	defer births.Unlock()
	for _, pid := range childrenOf(os.Getpid()) {
		if !isLeader(pid) {
			for {
				if _, err := syscall.Wait4(pid, nil, syscall.WNOHANG, nil); !errors.Is(err, syscall.EINTR) {
					break
				}
			}
		}
	}
}

// zombies implements Zombies.
func zombies() int {
	n := 0
	for _, pid := range childrenOf(os.Getpid()) {
		if st, err := readStat(pid); err == nil && st.dead() {
			n++
		}
	}
	return n
}
