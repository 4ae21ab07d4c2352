package observer

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// HomeVar is the variable that names the directory of a daemon under test in the environment
// of the daemon, and so in that of everything that it starts and does not hide from.
const HomeVar = "MAYFLY_CERTIFY_HOME"

// guardWord is the flag with which a peer is a guard.
const guardWord = "-guard"

// Bounds of a guard.
const (
	maxGuarded  = 1 << 12 // directories at one time
	guardPeriod = 20 * time.Millisecond
	guardBound  = 20 * time.Second // for everything to be gone
)

// Guard is a process of its own that outlives its maker when that is killed, and then ends what
// it left behind: every process of a directory, and the directory.
type Guard struct {
	cmd *exec.Cmd
	mu  sync.Mutex
	to  io.WriteCloser
}

// StartGuard starts one; exe is the executable of the peers.
func StartGuard(exe string) (*Guard, error) {
	cmd := exec.Command(exe, "peer", guardWord)
	cmd.SysProcAttr = ownGroup() // Ctrl-C is for the maker
	to, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		_ = to.Close()
		return nil, fmt.Errorf("observer: no guard that would end what is left behind: %w", err)
	}
	return &Guard{cmd: cmd, to: to}, nil
}

// Watch gives a directory into the care of the guard.
func (g *Guard) Watch(dir string) { g.tell("+" + dir) }

// Forget takes it back: nothing is left in it, or of it.
func (g *Guard) Forget(dir string) { g.tell("-" + dir) }

// tell writes one line. A guard that was killed guards nothing, and that is all.
func (g *Guard) tell(line string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, _ = io.WriteString(g.to, line+"\n")
}

// Close ends the guard and waits for its end: what was not forgotten is ended.
func (g *Guard) Close() {
	g.mu.Lock()
	_ = g.to.Close()
	g.mu.Unlock()
	_ = g.cmd.Wait() // whatever became of it, it is no more
}

// guard is the process: it keeps a list until its input ends, which is when its maker does.
func guard(in io.Reader) int {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	var dirs []string
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		op, dir := lines.Text()[:min(1, len(lines.Text()))], strings.TrimLeft(lines.Text(), "+-")
		dirs = slices.DeleteFunc(dirs, func(d string) bool { return d == dir })
		if op == "+" && filepath.IsAbs(dir) && len(dirs) < maxGuarded {
			dirs = append(dirs, dir)
		}
	}
	for _, dir := range dirs {
		EndAll(dir)
		_ = os.RemoveAll(dir) // what is left of a directory harms nobody
	}
	return ExitOK
}

// EndAll kills every process of a daemon's directory but this one: those that have it in their
// environment, and peers, whose command line names a socket in it. It returns how many it killed.
func EndAll(dir string) (killed int) {
	tick := time.NewTicker(guardPeriod)
	defer tick.Stop()
	bound := time.NewTimer(guardBound)
	defer bound.Stop()
	for {
		left := processesOf(dir)
		if len(left) == 0 {
			return killed
		}
		for _, p := range left {
			if p.kill() {
				killed++
			}
		}
		select {
		case <-tick.C:
		case <-bound.C:
			return killed
		}
	}
}

// processesOf finds them. One that ends meanwhile, or whose pid becomes another's, is left out.
func processesOf(dir string) (out []Process) {
	entry, below := HomeVar+"="+dir, dir+string(filepath.Separator)
	for _, pid := range processes() {
		before, err := readStat(pid)
		if err != nil || pid == os.Getpid() || !before.alive() {
			continue
		}
		peer := strings.Contains(commandLine(pid), "\x00-side\x00"+below)
		if !peer && !slices.Contains(strings.Split(environment(pid), "\x00"), entry) {
			continue
		}
		if p := (Process{PID: pid, PGID: before.pgid, StartTime: before.start}); p.alive() {
			out = append(out, p)
		}
	}
	return out
}
