package stdio

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/mayfly-mcp/mayfly/fakes/wait"
)

// Variables of the helpers below.
const (
	dirVar   = "MAYFLY_TEST_DIR"
	modesVar = "MAYFLY_TEST_MODES"
)

// helpers are what the test binary does as a process of its own, besides being a peer.
var helpers map[string]func() int

func init() {
	helpers = map[string]func() int{"daemon": daemonHelper, "forker": forkerHelper, "limits": limitsHelper, "nproc": nprocHelper, "headless": headlessHelper}
	if os.Getenv(peerVar) == "headless" {
		runtime.LockOSThread() // main will run on the first thread
	}
}

// headlessHelper ends its first thread. The others live on.
func headlessHelper() int {
	started := make(chan struct{})
	go func() {
		close(started)
		forever()
	}()
	<-started
	_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT, 0, 0, 0)
	return 1
}

// forkerHelper leaves a stubborn child behind and prints its pid.
func forkerHelper() int {
	fmt.Println(spawnEscapee("ignore-eof,ignore-term,deaf"))
	return 0
}

// tree is what a daemon under test says of one of its peers.
type tree struct {
	Leader  int
	Server  int
	Escapee int
	Orphan  int
}

// daemonHelper is a daemon: it records the peers that it is told to run, says who they are,
// and waits to be killed.
func daemonHelper() int {
	exe, _ := os.Executable()
	d := New(Options{Records: os.Getenv(dirVar)})
	var trees []tree
	for mode := range strings.SplitSeq(os.Getenv(modesVar), ";") {
		cfg := transport.Config{Command: exe, Env: map[string]string{peerVar: mode, "GORACE": "atexit_sleep_ms=0", "SECRET": "hunter2-hunter2"}}
		got, err := d.Dial(context.Background(), cfg)
		if err == nil {
			_, err = got.Initialize(context.Background())
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		s := got.(*session)
		tr := tree{Leader: s.proc.pid}
		for tool, pid := range map[string]*int{"pid": &tr.Server, "spawn-escapee": &tr.Escapee, "spawn-orphan": &tr.Orphan} {
			res, err := s.Call(context.Background(), tool, nil)
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
			_, _ = fmt.Sscan(res.Text(), pid)
		}
		trees = append(trees, tr)
	}
	_ = json.NewEncoder(os.Stdout).Encode(trees)
	forever()
	return 0
}

// startDaemon runs daemonHelper. Whatever it leaves behind ends with the test.
func startDaemon(t *testing.T, dir string, modes ...string) (*exec.Cmd, []tree) {
	t.Helper()
	cmd := helper(t, "daemon", dirVar+"="+dir, modesVar+"="+strings.Join(modes, ";"))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	var trees []tree
	if err != nil || json.Unmarshal(line, &trees) != nil {
		t.Fatalf("the daemon said %q, %v", line, err)
	}
	t.Cleanup(func() {
		for _, tr := range trees {
			for _, pid := range []int{tr.Leader, tr.Server, tr.Escapee, tr.Orphan} {
				if strings.Contains(cmdline(pid), cmd.Path) {
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
			}
		}
	})
	return cmd, trees
}

// cmdline is the command line of a process.
func cmdline(pid int) string {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return string(data)
}

// helper is a command that runs this binary in a mode.
func helper(t *testing.T, mode string, env ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Stderr = os.Stderr
	cmd.Env = append(append(os.Environ(), "GORACE=atexit_sleep_ms=0", peerVar+"="+mode), env...)
	t.Cleanup(func() {
		if cmd.Process != nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	return cmd
}

// limitsHelper prints what DescriptorBudget makes of lower and lower limits.
func limitsHelper() int {
	report := func(live int) {
		allowed, warning := DescriptorBudget(live)
		soft, _, _ := descriptorLimit()
		fmt.Printf("%d of %d under %d: %s\n", allowed, live, soft, warning)
	}
	set := func(soft, hard uint64) {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: soft, Max: hard}); err != nil {
			fmt.Println(err)
		}
	}
	set(300, 4096)
	report(500)
	set(300, 4096)
	report(2000)
	set(300, 656)
	report(0)
	report(100)
	report(101)
	return 0
}

// nprocHelper tries to start a peer when no process may be started, as another user, since
// the limit does not bind root.
func nprocHelper() int {
	runtime.LockOSThread()
	warmUp()
	if os.Getuid() == 0 {
		if err := syscall.Setuid(65534); err != nil {
			fmt.Println(err)
			return 1
		}
	}
	const rlimitNproc = 6
	var old syscall.Rlimit
	_ = syscall.Getrlimit(rlimitNproc, &old)
	files := wait.Files()
	_ = syscall.Setrlimit(rlimitNproc, &syscall.Rlimit{Cur: 1, Max: old.Max})
	_, err := New(Options{}).Dial(context.Background(), transport.Config{Command: "true"})
	_ = syscall.Setrlimit(rlimitNproc, &old)
	fmt.Println(errors.Is(err, syscall.EAGAIN), wait.Files()-files, len(children()))
	fmt.Println(err)
	return 0
}
