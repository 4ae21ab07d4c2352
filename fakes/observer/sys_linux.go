package observer

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"unsafe"
)

const clockMonotonic = 1

// Now is CLOCK_MONOTONIC in nanoseconds: one clock for every process of a machine.
func Now() int64 {
	var ts syscall.Timespec
	if _, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&ts)), 0); errno != 0 {
		panic(fmt.Sprintf("observer: CLOCK_MONOTONIC: %v", errno))
	}
	return ts.Nano()
}

// stat is what /proc/PID/stat says of a process.
type stat struct {
	state byte
	ppid  int
	pgid  int
	start uint64 // clock ticks since boot; with the pid, an identity
}

// alive tells a process from a zombie or a dead one: neither runs any code again.
func (s stat) alive() bool { return s.state != 'Z' && s.state != 'X' }

// readStat reads a process. The command name may hold anything, so fields are counted from
// its last closing parenthesis.
func readStat(pid int) (stat, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, err
	}
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	const first, startField = 3, 22 // numbering of proc(5)
	if len(fields) <= startField-first || len(fields[0]) != 1 {
		return stat{}, fmt.Errorf("observer: /proc/%d/stat is not understood", pid)
	}
	s := stat{state: fields[0][0]}
	var errs [3]error
	s.ppid, errs[0] = strconv.Atoi(fields[1])
	s.pgid, errs[1] = strconv.Atoi(fields[2])
	s.start, errs[2] = strconv.ParseUint(fields[startField-first], 10, 64)
	for _, err := range errs {
		if err != nil {
			return stat{}, fmt.Errorf("observer: /proc/%d/stat: %w", pid, err)
		}
	}
	return s, nil
}

// processes lists every pid.
func processes() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // a short list is what we get when processes vanish
	var pids []int
	for _, n := range names {
		if pid, err := strconv.Atoi(n); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// commandLine is a process's argv, arguments separated by NUL; empty for a zombie.
func commandLine(pid int) string { return procText(pid, "cmdline") }

// environment is what a process was started with, entries separated by NUL; empty for one that
// is not ours to read.
func environment(pid int) string { return procText(pid, "environ") }

func procText(pid int, name string) string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, name))
	if err != nil {
		return ""
	}
	return string(data)
}

// descriptors lists the open files of this process. Those with close-on-exec cannot have
// come through an exec, so they are the runtime's and our own.
func descriptors() []Descriptor {
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return nil
	}
	var out []Descriptor
	for _, n := range names {
		fd, err := strconv.Atoi(n.Name())
		if err != nil {
			continue
		}
		target, err := os.Readlink("/proc/self/fd/" + n.Name())
		if err != nil {
			continue // the descriptor of the listing itself
		}
		flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFD, 0)
		if errno != 0 {
			continue
		}
		out = append(out, Descriptor{FD: fd, Target: target, Inherited: flags&syscall.FD_CLOEXEC == 0})
	}
	return out
}

// Seal marks every descriptor of this process except stdin, stdout and stderr close-on-exec.
// A runner calls it first, so that what a shell or a CI job left open in the runner is not
// taken for a leak of the daemon.
func Seal() {
	for _, d := range descriptors() {
		if d.Inherited && d.FD > 2 {
			syscall.CloseOnExec(d.FD)
		}
	}
}

func killSelf() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) } // it does not return

// ownGroup makes a child the leader of its own process group.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// killGroup sends SIGKILL to a process group, but never to our own.
func killGroup(pgid int) {
	if pgid > 1 && pgid != syscall.Getpgrp() {
		_ = syscall.Kill(-pgid, syscall.SIGKILL) // an empty group is what we want
	}
}
