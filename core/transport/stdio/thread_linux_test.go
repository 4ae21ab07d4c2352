package stdio

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"testing"

	"github.com/mayfly-mcp/mayfly/core/transport"
)

// TestPeersOutliveTheThreadThatStartedThem is B04 and B05: the thread that forked a peer ends at
// once, and the peer lives on. A signal at the death of the parent would follow the thread.
func TestPeersOutliveTheThreadThatStartedThem(t *testing.T) {
	keepBaseline(t)
	type dialed struct {
		session transport.Session
		err     error
		thread  int
	}
	out := make(chan dialed, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked, so the thread ends with the goroutine
		s, err := New(Options{}).Dial(context.Background(), config(t, ""))
		out <- dialed{s, err, syscall.Gettid()}
	}()
	got := <-out
	if got.err != nil {
		t.Fatal(got.err)
	}
	s := got.session.(*session)
	t.Cleanup(func() {
		s.Stop(transport.StageKill)
		await(t, "the end of the peer", s.Done())
	})
	if got.thread != os.Getpid() { // the first thread of a process is never ended
		eventually(t, "the end of the thread", func() bool {
			_, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", got.thread))
			return err != nil
		})
	}
	if _, err := s.Initialize(bounded(t)); err != nil {
		t.Fatal(err)
	}
	if pid := callPID(t, s); pid != s.proc.pid || !alive(pid) {
		t.Errorf("process %d answered, want the live %d", pid, s.proc.pid)
	}
}
