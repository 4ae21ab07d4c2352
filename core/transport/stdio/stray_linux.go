package stdio

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/mayfly-mcp/mayfly/core/transport"
)

// maxTree bounds how many descendants of one peer are looked at before a rung. A tree beyond
// that is a fork bomb; the passes over /proc that follow see all of it.
const maxTree = 4096

// maxDoubts bounds how many passes of one end are not believed since some process of the
// machine did not tell its tag. One that hangs between two programs must not keep others from
// ending; with the pauses between passes it is given more than a second.
const maxDoubts = 20

// System calls that package syscall does not name; the numbers are those of every
// architecture that Go knows.
const (
	sysPidfdSendSignal = 424
	sysPidfdOpen       = 434
)

// collect notes the descendants of the leader that have left its group, as far as they can
// be seen now (SPEC PR-1). It comes before a rung: a parent that dies takes the link to its
// children along. It costs a few reads of /proc per descendant and never waits.
func (p *process) collect() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reaped {
		return
	}
	queue := []int{p.pid}
	for seen := 0; len(queue) > 0 && seen < maxTree; seen++ {
		pid := queue[0]
		queue = queue[1:]
		for _, child := range childrenOf(pid) {
			queue = append(queue, child)
			st, err := readStat(child)
			if err == nil && st.ppid == pid && st.pgrp != p.pid && !st.dead() {
				p.note(ident{child, st.start})
			}
		}
	}
}

// note adds a stray. Called with mu held.
func (p *process) note(id ident) {
	if _, ok := p.strays[id]; ok || id.PID <= 1 || id.PID == os.Getpid() {
		return
	}
	if p.strays == nil {
		p.strays = map[ident]transport.Stage{}
	}
	p.strays[id] = 0
}

// remains reports whether anything of the tree may live, according to one pass, and takes note
// of what has left the group.
func (p *process) remains(sc *scan) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	found := p.members(sc)
	for id := range found {
		if sc.procs[id.PID].pgrp != p.pid {
			p.note(id)
		}
	}
	if len(found) == 0 && p.tag != "" && len(sc.untold) > 0 && p.doubts < maxDoubts {
		p.doubts++
		return true
	}
	return len(found) > 0
}

// members is what lives of the tree: its group, what was seen to leave that, processes with our
// tag, and the descendants of all those. Called with mu held.
func (p *process) members(sc *scan) map[ident]bool {
	found := map[ident]bool{}
	for _, pid := range sc.groups[p.pid] {
		found[sc.ident(pid)] = true
	}
	for id := range p.strays {
		if sc.live(id) {
			found[id] = true
		} else {
			delete(p.strays, id)
		}
	}
	if p.tag != "" {
		for _, pid := range sc.tagged[p.tag] {
			found[sc.ident(pid)] = true
		}
	}
	sc.descend(found, map[int]bool{os.Getpid(): true})
	return found
}

// signalStrays brings every stray to the rung that the group has reached.
func (p *process) signalStrays(stage transport.Stage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, reached := range p.strays {
		if reached >= stage {
			continue
		}
		p.strays[id] = stage
		switch stage {
		case transport.StageTerminate:
			signalProcess(id, syscall.SIGTERM)
		case transport.StageKill:
			signalProcess(id, syscall.SIGKILL)
		case transport.StageClose: // its input is not ours
		}
	}
}

// signalProcess sends sig to the process that id names, and to no other (SPEC PR-3): a
// pidfd holds on to the process, and whether it is the right one is checked after it was
// opened. Kernels before 5.3 have none; there the check and the signal are two steps.
func signalProcess(id ident, sig syscall.Signal) {
	fd, _, errno := syscall.Syscall(sysPidfdOpen, uintptr(id.PID), 0, 0)
	if errno == syscall.ESRCH {
		return
	}
	st, err := readStat(id.PID)
	same := err == nil && st.start == id.Start
	if errno != 0 { // no pidfds, or no descriptor left
		if same {
			_ = syscall.Kill(id.PID, sig)
		}
		return
	}
	defer syscall.Close(int(fd))
	if same {
		_, _, _ = syscall.Syscall6(sysPidfdSendSignal, fd, uintptr(sig), 0, 0, 0, 0)
	}
}

// childrenOf lists the children of a process. It needs a kernel with CONFIG_PROC_CHILDREN,
// which all distributions have; without it there are none.
func childrenOf(pid int) []int {
	dir := "/proc/" + strconv.Itoa(pid) + "/task"
	threads, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var out []int
	for _, thread := range threads {
		data, err := os.ReadFile(dir + "/" + thread.Name() + "/children")
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		for field := range strings.FieldsSeq(string(data)) {
			if child, err := strconv.Atoi(field); err == nil {
				out = append(out, child)
			}
		}
	}
	return out
}
