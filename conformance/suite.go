package conformance

import (
	"context"
	"os"
	"sync/atomic"
	"testing"

	"github.com/mayfly-mcp/mayfly/fakes/observer"
)

// peerReady says that this process has been made a peer's executable, see RunIfPeer.
var peerReady atomic.Bool

// RunIfPeer lets this executable be the observer peers of a run. It belongs at the beginning of
// TestMain: as a peer the process ends in it.
//
//	func TestMain(m *testing.M) {
//		conformance.RunIfPeer()
//		os.Exit(m.Run())
//	}
func RunIfPeer() {
	runIfGoServer()
	runIfConsumer()
	observer.RunIfPeer()
	peerReady.Store(true)
}

// Test certifies a target as subtests of t, one for each check, named by its id; ids restrict
// them. A MUST that fails fails its test, and so does what is broken around the daemon. All
// other verdicts are logged: nothing is skipped. A target without a Peer uses this executable,
// which has to call RunIfPeer.
func Test(t *testing.T, target Target, ids ...string) {
	t.Helper()
	runSuite(t, target, ids)
}

// tester is what a suite needs of a *testing.T.
type tester[T any] interface {
	Helper()
	Context() context.Context
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Run(name string, f func(T)) bool
}

func runSuite[T tester[T]](t T, target Target, ids []string) {
	t.Helper()
	if target.Peer == "" {
		if !peerReady.Load() {
			t.Fatalf("the observer peers need an executable: call conformance.RunIfPeer at the beginning of TestMain, or set Target.Peer to the mayfly command")
			return
		}
		exe, err := os.Executable()
		if err != nil {
			t.Fatalf("the observer peers need an executable: %v", err)
			return
		}
		target.Peer = exe
	}
	var o Options
	if len(ids) > 0 {
		var err error
		if o.Checks, err = Find(ids...); err != nil {
			t.Fatalf("%v", err)
			return
		}
	}
	report, err := Run(t.Context(), target, o)
	if err != nil {
		t.Fatalf("%v", err)
		return
	}
	for _, r := range report.Checks {
		t.Run(r.ID, func(t T) { tellResult(t, r) })
	}
	t.Logf("%s", report.Summary())
}

// tellResult passes one verdict on.
func tellResult[T tester[T]](t T, r Result) {
	t.Helper()
	say := t.Logf
	if r.Verdict == HarnessError || r.Level == Must && r.Verdict == Fail {
		say = t.Errorf
	}
	say("%s (%s, %v): %s\n%s", r.Verdict, r.Level, r.Clauses, r.Title, r.Evidence)
	if r.Verdict == Pass {
		return
	}
	for _, line := range r.Log {
		t.Logf("daemon: %s", line)
	}
}
