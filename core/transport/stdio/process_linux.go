package stdio

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"syscall"
	"unsafe"

	"github.com/mayfly-mcp/mayfly/core/transport"
)

// process is a direct child that leads a process group of its own.
//
// The zombie of the leader is the key to safe signals (SPEC PR-3). As long as it is not
// reaped, the kernel reuses neither its pid nor its group id, so a signal to the group
// reaches our group or nobody. The leader is therefore observed with WNOWAIT when it
// exits, and reaped only after nothing of its group is left.
type process struct {
	pid   int
	pidfd *os.File // nil when the kernel has none
	tag   string   // in the environment of the tree, or ""

	mu     sync.Mutex
	strays map[ident]transport.Stage // what left the group, with the rung that it was brought to
	doubts int                       // passes that found nothing, beside processes that did not tell
	exited bool                      // the leader is a zombie, or reaped
	reaped bool                      // pid and group id are not ours any more
}

// Values of waitid(2), close_range(2) and proc(5) that package syscall does not have.
const (
	sysCloseRange     = 436 // on every architecture that Go knows
	closeRangeCloexec = 4   // CLOSE_RANGE_CLOEXEC

	pPID      = 1          // idtype P_PID
	cldExited = 1          // si_code CLD_EXITED
	cldKilled = 2          // CLD_KILLED
	cldDumped = 3          // CLD_DUMPED
	pfExiting = 0x00000004 // PF_EXITING in field flags of /proc/PID/stat
	pfForked  = 0x00000040 // PF_FORKNOEXEC: it runs the program of its parent
	pfKernel  = 0x00200000 // PF_KTHREAD
)

// startProcess runs c with the three descriptors and nothing else.
func startProcess(c command, files [3]*os.File) (*process, error) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		return nil, spawnError(c.name, "/proc is not mounted", "mount it: without it nobody can tell when a process group has ended", err)
	}
	closeOnExec()
	pidfd := -1
	attr := &syscall.ProcAttr{
		Dir:   c.dir,
		Env:   c.env,
		Files: []uintptr{files[0].Fd(), files[1].Fd(), files[2].Fd()},
		Sys:   &syscall.SysProcAttr{Setpgid: true, PidFD: &pidfd},
	}
	births.RLock()
	pid, _, err := syscall.StartProcess(c.path, c.argv, attr)
	if err == nil {
		enrol(pid)
	}
	births.RUnlock()
	if err != nil {
		return nil, spawnFailure(c, err)
	}
	p := &process{pid: pid, tag: c.tag}
	if pidfd >= 0 && syscall.SetNonblock(pidfd, true) == nil {
		p.pidfd = os.NewFile(uintptr(pidfd), "pidfd") // in the poller: no thread per child
	}
	return p, p.checkGroup(c)
}

// closeOnExec keeps every descriptor above stderr from the children (SPEC PR-5). Go marks
// what it opens, so this catches what the daemon itself inherited, or what a library left
// unmarked. Kernels before 5.11 do not know the call; there only Go's marks protect.
func closeOnExec() {
	_, _, _ = syscall.Syscall(sysCloseRange, 3, uintptr(^uint32(0)), closeRangeCloexec)
}

// checkGroup asserts that the child leads a group that is not ours. A child that managed
// to leave it already is ended by pid and refused, since no rung would reach it.
func (p *process) checkGroup(c command) error {
	pgid, err := syscall.Getpgid(p.pid)
	if err == nil && pgid == p.pid && pgid != syscall.Getpgrp() {
		return nil
	}
	_ = syscall.Kill(p.pid, syscall.SIGKILL)
	p.awaitExit()
	p.reap()
	return spawnError(c.name, fmt.Sprintf("PR-1: process %d is in group %d, not in its own", p.pid, pgid), "report this as a bug", err)
}

// identify returns what a record says of the leader. It is a child of ours that was not
// waited for, so it is there, as a zombie at least.
func (p *process) identify() (leader ident, session int, err error) {
	st, err := readStat(p.pid)
	return ident{p.pid, st.start}, st.session, err
}

// awaitExit returns how the leader ended, once it has. It does not reap it.
func (p *process) awaitExit() exitStatus {
	p.pollExit()
	var info childInfo
	for gone := false; !gone; {
		info, gone = waitid(p.pid, syscall.WEXITED|syscall.WNOWAIT)
	}
	p.mu.Lock()
	p.exited = true
	p.mu.Unlock()
	return exitStatus{text: info.String(), zero: info.code == cldExited && info.status == 0}
}

// pollExit waits through the pidfd in the runtime's poller. It may return early.
func (p *process) pollExit() {
	if p.pidfd == nil {
		return
	}
	raw, err := p.pidfd.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Read(func(uintptr) bool {
		_, gone := waitid(p.pid, syscall.WEXITED|syscall.WNOWAIT|syscall.WNOHANG)
		return gone
	})
}

// waitid reports whether the child has exited, and how. A child that somebody else reaped
// counts as exited.
func waitid(pid, flags int) (info childInfo, gone bool) {
	_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, pPID, uintptr(pid), uintptr(unsafe.Pointer(&info)), uintptr(flags), 0, 0)
	if errno != 0 {
		return childInfo{}, errno == syscall.ECHILD
	}
	return info, info.signo != 0 // zero stands for "not yet"
}

// childInfo is siginfo_t as waitid fills it in (not on MIPS, which swaps errno and code).
type childInfo struct {
	signo, errno, code int32
	_                  [is64bit]int32
	pid                int32
	uid                uint32
	status             int32
	_                  [128 - (6+is64bit)*4]byte
}

const is64bit = ^uint(0) >> 63

// String says how the child ended, in the words of package os.
func (i childInfo) String() string {
	switch i.code {
	case cldExited:
		return fmt.Sprintf("exit status %d", i.status)
	case cldKilled, cldDumped:
		return "signal: " + syscall.Signal(i.status).String()
	}
	return "exit status unknown"
}

// exiting reports whether the leader is on its way out. The kernel sets PF_EXITING before
// it closes the files of a dying process, so whoever saw its last pipe end close and finds
// the flag unset knows that the process lives on.
func (p *process) exiting() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.exited {
		return true
	}
	st, err := readStat(p.pid)
	if err != nil {
		return errors.Is(err, os.ErrNotExist)
	}
	return st.flags&pfExiting != 0 || st.dead()
}

// signal sends sig to the whole group. It does nothing once the group is known to be
// gone. SIGKILL goes to the leader by pid as well, in case it moved to another group.
func (p *process) signal(sig syscall.Signal) {
	if p.pid <= 1 || p.pid == syscall.Getpgrp() {
		panic(fmt.Sprintf("PR-3: signal %v for group %d, own group %d", sig, p.pid, syscall.Getpgrp()))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reaped {
		return
	}
	_ = syscall.Kill(-p.pid, sig) // ESRCH: nobody is left to hear it
	if sig == syscall.SIGKILL {
		_ = syscall.Kill(p.pid, sig)
	}
}

// reap takes the zombie of the leader. From here on no signal is sent. It is struck off the
// list of leaders first: after the wait its pid may be that of another one. If somebody
// buries it in between, nothing is lost, since its status was seen before.
func (p *process) reap() {
	p.mu.Lock()
	defer p.mu.Unlock()
	strike(p.pid)
	for {
		if _, err := syscall.Wait4(p.pid, nil, 0, nil); err != syscall.EINTR {
			break
		}
	}
	p.reaped = true
	if p.pidfd != nil {
		_ = p.pidfd.Close()
	}
}

// stat is what a line of /proc/PID/stat says about one process.
type stat struct {
	state   byte
	ppid    int
	pgrp    int
	session int
	flags   uint64
	threads int
	start   uint64 // clock ticks after the boot
	user    uint64 // clock ticks in the program
	system  uint64 // and in the kernel for it
	pages   uint64 // resident
	code    uint64 // where the program begins; 0 until all of it, its environment too, is in place
}

// dead reports whether nothing of the process runs. A leading thread that ended before its
// siblings is shown as a zombie too, but with more than one thread.
func (s stat) dead() bool { return s.state == 'X' || s.state == 'Z' && s.threads <= 1 }

// readStat reads /proc/PID/stat.
func readStat(pid int) (stat, error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		if errors.Is(err, syscall.ESRCH) {
			err = os.ErrNotExist // it went while we were reading
		}
		return stat{}, err
	}
	return parseStat(data)
}

// parseStat takes fields 3 to 6, 9, 14, 15, 20, 22, 24 and 26 of proc(5). The name in field 2 may hold
// anything, so fields are counted from the last parenthesis.
func parseStat(data []byte) (stat, error) {
	rest := data[bytes.LastIndexByte(data, ')')+1:]
	f := bytes.Fields(rest)
	if len(f) <= 24-3 || len(f[0]) != 1 {
		return stat{}, fmt.Errorf("unreadable process status %q", data)
	}
	var errs []error
	number := func(field int) uint64 {
		n, err := strconv.ParseInt(string(f[field-3]), 10, 64)
		errs = append(errs, err)
		return uint64(n)
	}
	st := stat{state: f[0][0], ppid: int(number(4)), pgrp: int(number(5)), session: int(number(6)),
		flags: number(9), user: number(14), system: number(15), threads: int(number(20)), start: number(22), pages: number(24)}
	if len(f) > 26-3 {
		st.code = number(26)
	}
	return st, errors.Join(errs...)
}

// readFD reads what is there.
func readFD(fd uintptr, buf []byte) (int, error) { return syscall.Read(int(fd), buf) }
