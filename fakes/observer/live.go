package observer

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Where nothing tells that a process has gone, /proc is read again this often. The last
// bound is for a process that SIGKILL does not end at once.
const (
	pollEvery = 2 * time.Millisecond
	killBound = 10 * time.Second
)

// alive says whether the process itself, not a successor under its pid, can still run.
//
// A real server may end while what it launched lives on; it is alive as long as anything of
// its process group is.
func (p Process) alive() bool {
	if p.ledGroup() {
		return len(p.group()) > 0
	}
	st, err := readStat(p.PID)
	return err == nil && st.start == p.StartTime && st.alive()
}

// ledGroup is false for a real server that a daemon started in somebody else's group, its own
// perhaps: the rest of that group is not the server's.
func (p Process) ledGroup() bool { return p.Exec && p.PGID == p.PID }

// group lists the living processes of the group that p was started to lead, which keeps its
// number as long as it has a member. A stranger that leads a group of that number is proof
// that the old one is gone.
func (p Process) group() (out []Process) {
	if st, err := readStat(p.PID); err == nil && st.start != p.StartTime {
		return nil
	}
	for _, pid := range processes() {
		if st, err := readStat(pid); err == nil && st.pgid == p.PGID && st.alive() {
			out = append(out, Process{Name: p.Name, Inc: p.Inc, PID: pid, PGID: st.pgid, StartTime: st.start})
		}
	}
	return out
}

// same is identity: it does not matter how the two were found.
func (p Process) same(q Process) bool { return p.PID == q.PID && p.StartTime == q.StartTime }

// Live counts the incarnations of a name whose process is alive now, by /proc.
func (c *Controller) Live(name string) int {
	n := 0
	for _, p := range c.Processes(name) {
		if !p.Grandchild {
			n++
		}
	}
	return n
}

// Processes returns the processes of a name that are alive now, grandchildren included;
// of every name if empty.
func (c *Controller) Processes(name string) []Process {
	var out []Process
	for _, p := range c.known(name) {
		if p.alive() {
			out = append(out, p)
		}
	}
	return out
}

// known are the processes of a name that ever reported.
func (c *Controller) known(name string) []Process {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []Process
	for _, p := range c.procs {
		if name == "" || p.Name == name {
			out = append(out, p.Process)
		}
	}
	return out
}

// WaitGone waits until no process of a name is alive, grandchildren included; of any name
// if empty.
func (c *Controller) WaitGone(ctx context.Context, name string) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		left := c.Processes(name)
		if len(left) == 0 {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("observer: %d processes of %q are still alive, pid %d first: %w", len(left), name, left[0].PID, context.Cause(ctx))
		}
	}
}

// Kill sends SIGKILL to the live incarnations of a name, not to grandchildren or groups,
// and returns how many there were.
func (c *Controller) Kill(name string) int {
	n := 0
	for _, p := range c.Processes(name) {
		if !p.Grandchild && p.kill() {
			n++
		}
	}
	return n
}

// kill ends exactly this process: FindProcess opens a handle on whatever has the pid now,
// the start time then says whether that is the one, and the handle cannot be recycled.
func (p Process) kill() bool {
	if p.ledGroup() {
		killed := false
		for _, q := range p.group() {
			killed = q.kill() || killed
		}
		return killed
	}
	handle, err := os.FindProcess(p.PID)
	if err != nil {
		return false
	}
	defer handle.Release() //nolint:errcheck // it frees a handle
	return p.alive() && handle.Kill() == nil
}

// Orphans lists the processes that are alive now and either reported or carry the run tag
// in their command line, which finds launchers too.
func (c *Controller) Orphans() []Process {
	out := c.Processes("")
	for _, pid := range processes() {
		known := func(p Process) bool { return p.PID == pid }
		if pid == os.Getpid() || slices.ContainsFunc(out, known) {
			continue
		}
		before, err := readStat(pid)
		if err != nil || !before.alive() || !strings.Contains(commandLine(pid), c.tag) {
			continue
		}
		p := Process{PID: pid, PGID: before.pgid, StartTime: before.start}
		if p.alive() { // the same before and after, so the command line was its own
			out = append(out, p)
		}
	}
	return out
}

// killAll kills orphans until there are none, since one may fork another meanwhile. Groups
// go first, so that no launcher lives to see its peer die and start it again.
func (c *Controller) killAll() []Process {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	bound := time.NewTimer(killBound)
	defer bound.Stop()
	var killed []Process
	for {
		left := c.Orphans()
		if len(left) == 0 {
			return killed
		}
		for _, p := range left {
			if !slices.ContainsFunc(killed, p.same) {
				killed = append(killed, p)
			}
			if p.PGID == p.PID && !p.ledGroup() && p.alive() {
				killGroup(p.PGID) // while its leader lives the group's number is its own
			}
		}
		for _, p := range left {
			p.kill()
		}
		select {
		case <-tick.C:
		case <-bound.C:
			return killed
		}
	}
}

// KillProcess sends SIGKILL to one process and says whether it was still alive.
func (c *Controller) KillProcess(p Process) bool { return p.kill() }

// Terminate sends SIGTERM to the live incarnations of a name and returns how many there were.
// To the daemon it looks like a server that ends by itself.
func (c *Controller) Terminate(name string) int {
	n := 0
	for _, p := range c.Processes(name) {
		handle, err := os.FindProcess(p.PID)
		if err != nil {
			continue
		}
		if !p.Grandchild && p.alive() && handle.Signal(syscall.SIGTERM) == nil { // the handle cannot be recycled
			n++
		}
		_ = handle.Release() // it frees a handle
	}
	return n
}
