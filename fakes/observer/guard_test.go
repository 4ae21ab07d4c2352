package observer_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/mayfly-mcp/mayfly/fakes/observer"
	"github.com/mayfly-mcp/mayfly/fakes/wait"
)

// guardOf starts a guard and, in a directory that it watches, a process that hears no signal
// but the last one.
func guardOf(t *testing.T) (g *observer.Guard, dir string, over <-chan struct{}) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(t.TempDir(), "watched")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if g, err = observer.StartGuard(exe); err != nil {
		t.Fatal(err)
	}
	g.Watch(dir)
	return g, dir, deaf(t, observer.HomeVar+"="+dir)
}

// deaf is a process with an environment of one entry; the channel is closed when it has ended.
func deaf(t *testing.T, entry string) <-chan struct{} {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	cmd.Env = []string{entry}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(over)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may be gone
		<-over
	})
	return over
}

// TestGuardEndsWhatIsLeft: when its maker is gone, every process of a directory ends, and the
// directory with it; those of another one live on.
func TestGuardEndsWhatIsLeft(t *testing.T) {
	t.Parallel()
	g, dir, over := guardOf(t)
	other := deaf(t, observer.HomeVar+"="+dir+"2")
	g.Close()
	wait.Closed(t, "the end of a process that was left", over)
	if _, err := os.Lstat(dir); !os.IsNotExist(err) {
		t.Errorf("the directory is still there (%v)", err)
	}
	select {
	case <-other:
		t.Error("the process of another directory was ended, too")
	default:
	}
}

// TestGuardForgets: what was taken back is left alone, until it is ended by hand.
func TestGuardForgets(t *testing.T) {
	t.Parallel()
	g, dir, over := guardOf(t)
	g.Forget(dir)
	g.Close()
	select {
	case <-over:
		t.Error("a process that was taken back was ended")
	default:
	}
	if n := observer.EndAll(dir); n != 1 {
		t.Errorf("%d processes were ended, want 1", n)
	}
	wait.Closed(t, "the end of a process", over)
	if _, err := os.Lstat(dir); err != nil {
		t.Errorf("the directory that was taken back: %v", err)
	}
}
