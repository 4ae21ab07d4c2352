package stdio

import (
	"syscall"
	"testing"

	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/transport"
)

func TestTheFirstMessageIsHeard(t *testing.T) {
	for _, tc := range []struct {
		mode  string
		heard bool
	}{
		{"chatter", true},      // before anybody asked
		{"die-on-init", false}, // stderr is no message
		{"error-on-init", true},
	} {
		t.Run(tc.mode, func(t *testing.T) {
			s := dial(t, Options{}, config(t, tc.mode))
			if tc.mode != "chatter" {
				if isClosed(s.Heard()) {
					t.Error("a silent peer was heard")
				}
				_, _ = s.Initialize(bounded(t))
			}
			await(t, "Down", s.Down())
			if got := isClosed(s.Heard()); got != tc.heard {
				t.Errorf("heard %v, want %v", got, tc.heard)
			}
		})
	}
	s := dial(t, Options{}, transport.Config{Command: "sh", Args: []string{"-c", `echo starting; echo '{}'; echo '{"jsonrpc":"1.0","id":1,"result":{}}'`}})
	await(t, "Done", s.Done())
	if isClosed(s.Heard()) {
		t.Error("noise on stdout was taken for a message")
	}
}

// TestListChanged is K01: told once however often it is said, and again after that.
func TestListChanged(t *testing.T) {
	s := connect(t, Options{}, "")
	dropped := s.Dropped()
	for range 2 {
		call(t, s, "changed", map[string]any{"n": 20_000})
		await(t, "Changed", s.Changed())
		select {
		case <-s.Changed():
			t.Error("one flood is told twice")
		default:
		}
	}
	call(t, s, "noisy", nil)
	select {
	case <-s.Changed():
		t.Error("other notifications are taken for list_changed")
	default:
	}
	if got := s.Dropped() - dropped; got != 100 {
		t.Errorf("%d messages dropped, want the 100 that meant nothing", got)
	}
}

func TestCleanExits(t *testing.T) {
	for _, tc := range []struct {
		name  string
		end   func(*testing.T, *session)
		clean bool
	}{
		{"status 0", func(t *testing.T, s *session) { call(t, s, "answer-and-die", nil) }, true},
		{"status 9", func(t *testing.T, s *session) { _, _ = s.Call(bounded(t), "die", object(t, map[string]any{"n": 9})) }, false},
		{"a signal", func(_ *testing.T, s *session) { _ = syscall.Kill(s.proc.pid, syscall.SIGKILL) }, false},
		{"a stop", func(_ *testing.T, s *session) { s.Stop(transport.StageClose) }, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := connect(t, Options{}, "")
			tc.end(t, s)
			await(t, "Done", s.Done())
			if s.Clean() != tc.clean {
				t.Errorf("clean is %v, want %v: %v", s.Clean(), tc.clean, s.Err())
			}
		})
	}
}

// TestHugeAnswers: 64 MiB over the bound, and more than the default under a raised one (M04,
// CA-8).
func TestHugeAnswers(t *testing.T) {
	const n = DefaultMaxFrame + 1<<20
	s := connect(t, Options{}, "")
	_, err := s.Call(bounded(t), "big", object(t, map[string]any{"n": 64 << 20}))
	wantError(t, err, callerr.Error{Kind: callerr.Transport, Phase: callerr.PhaseAnswer, Msg: "MCP server sent a frame of more than 16777216 bytes"})
	await(t, "Down", s.Down())
	s.Stop(transport.StageClose) // the rest is drained, so the peer can obey
	await(t, "Done", s.Done())
	s = connect(t, Options{MaxFrame: n + 1<<10}, "")
	res, err := s.Call(bounded(t), "big", object(t, map[string]any{"n": n}))
	if err != nil || len(res.Raw) < n {
		t.Fatalf("under a raised bound: %v", err)
	}
}
