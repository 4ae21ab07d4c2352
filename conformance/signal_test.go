package conformance

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mayfly-mcp/mayfly/fakes/wait"
)

// certifyWord makes this binary a runner that goes on until a signal ends it.
const certifyWord = "certify"

// certifyAll runs some checks over and over.
func certifyAll() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	exe, err := os.Executable()
	if err != nil {
		return 1
	}
	for ctx.Err() == nil {
		checks, err := Find("whole-tree-ends", "peer-stops-reading", "first-call-spawns", "kill-9-leaves-no-server")
		if err != nil {
			return 1
		}
		if _, err := Run(ctx, Embedded(exe), Options{Checks: checks}); err != nil && ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return 0
}

// of lists what belongs to a run by its temporary directory: processes, and files.
func of(tmp string) (out []string) {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range lines {
		args, _ := os.ReadFile(path) // it is empty for a zombie, and there is none for one that is gone
		env, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "environ"))
		if len(args) > 0 && (strings.Contains(string(args), tmp) || slices.Contains(strings.Split(string(env), "\x00"), "TMPDIR="+tmp)) {
			out = append(out, strings.ReplaceAll(string(args), "\x00", " "))
		}
	}
	files, _ := os.ReadDir(tmp)
	for _, f := range files {
		out = append(out, f.Name())
	}
	return out
}

// TestSignalsLeaveNothing ends a runner in the middle of its checks, in the orderly way and by
// SIGKILL: no process and no file of it is left.
func TestSignalsLeaveNothing(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for sig, moments := range map[syscall.Signal][]string{
		syscall.SIGINT:  {"mf", " peer -side "},
		syscall.SIGTERM: {" serve ", " -parent "},
		syscall.SIGKILL: {" serve ", " peer -side ", " -parent "},
	} {
		for _, moment := range moments {
			t.Run(fmt.Sprintf("%v at %s", sig, strings.TrimSpace(moment)), func(t *testing.T) {
				t.Parallel()
				tmp, err := os.MkdirTemp("", "s") // short, for the sockets in it
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = os.RemoveAll(tmp) }) // what is left in it was told
				cmd := exec.Command(exe, certifyWord)
				cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
				cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				wait.Until(t, "the moment", func() bool {
					return slices.ContainsFunc(of(tmp), func(s string) bool { return strings.Contains(s, moment) })
				})
				began := time.Now()
				_ = cmd.Process.Signal(sig) // it cannot have ended
				err = cmd.Wait()
				if sig != syscall.SIGKILL && err != nil {
					t.Errorf("the runner ended with %v", err)
				}
				if sig != syscall.SIGKILL && len(of(tmp)) > 0 {
					t.Errorf("left behind: %q", of(tmp))
				}
				wait.Until(t, "the end of everything", func() bool { return len(of(tmp)) == 0 })
				t.Logf("everything was gone %v after the signal", time.Since(began))
			})
		}
	}
}
