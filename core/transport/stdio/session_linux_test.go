package stdio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/transport"
)

func TestInitializeReadsEveryPage(t *testing.T) {
	s := dial(t, Options{}, config(t, "pages"))
	tools, err := s.Initialize(bounded(t))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"one", "three", "two"}, names(tools)); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	if got, want := string(tools[0].InputSchema), `{"type":"object","x-big":12345678901234567890}`; got != want {
		t.Errorf("schema %s, want it as sent: %s", got, want)
	}
	again, err := s.List(bounded(t))
	if err != nil || len(again) != 3 {
		t.Errorf("second listing: %d tools, %v", len(again), err)
	}
}

func TestServerWithoutTools(t *testing.T) {
	s := dial(t, Options{}, config(t, "no-tools"))
	tools, err := s.Initialize(bounded(t))
	if err != nil || tools == nil || len(tools) != 0 {
		t.Fatalf("tools %v, error %v; want an empty list", tools, err)
	}
}

func TestHandshakeFailures(t *testing.T) {
	for _, tc := range []struct {
		mode string
		want callerr.Error
	}{
		{"die-on-init", callerr.Error{Phase: callerr.PhaseInitialize, Msg: "MCP server closed stdout: exit status 7; stderr: first line\ncannot open database"}},
		{"leak-on-init", callerr.Error{Phase: callerr.PhaseInitialize, Msg: "stderr: token [masked] refused"}},
		{"error-on-init", callerr.Error{Phase: callerr.PhaseInitialize, Definite: true, Msg: "JSON-RPC error -32099: no licence for [masked]"}},
		{"version-on-init", callerr.Error{Phase: callerr.PhaseInitialize, Msg: "1999-01-01"}},
		{"bad-list", callerr.Error{Phase: callerr.PhaseList, Msg: "failed to parse tools/list response"}},
	} {
		t.Run(tc.mode, func(t *testing.T) {
			cfg := config(t, tc.mode)
			cfg.Env["LEAK"] = "hunter2-hunter2"
			s := dial(t, Options{}, cfg)
			_, err := s.Initialize(bounded(t))
			tc.want.Kind = callerr.Transport
			wantError(t, err, tc.want)
			await(t, "Down", s.Down())
			if text := s.Err().Error(); strings.Contains(text, "hunter2") {
				t.Errorf("Err shows a secret: %s", text)
			}
		})
	}
}

func TestInitializeEndsWithItsContext(t *testing.T) {
	s := dial(t, Options{}, config(t, "mute"))
	ctx, cancel := context.WithCancelCause(context.Background())
	cause := errors.New("patience is over")
	eventually(t, "the start of the peer", func() bool { return alive(s.proc.pid) })
	go cancel(cause)
	_, err := s.Initialize(ctx)
	e, _ := errors.AsType[*callerr.Error](err)
	if e == nil || e.Kind != callerr.Cancelled || !errors.Is(err, cause) {
		t.Fatalf("error %v, want Cancelled because of %v", err, cause)
	}
	await(t, "Down", s.Down())
}

// TestInitializeEndsUnderBlockedAnswers: the pipe to the peer is full of our pongs. The
// SDK would wait for them to be written before it gives the session up.
func TestInitializeEndsUnderBlockedAnswers(t *testing.T) {
	s := dial(t, Options{}, config(t, "flood-on-init"))
	ctx, cancel := context.WithCancel(context.Background())
	failed := make(chan error, 1)
	go func() {
		_, err := s.Initialize(ctx)
		failed <- err
	}()
	eventually(t, "a full pipe", func() bool { return s.Dropped() > 0 && unread(t, s) > 40_000 })
	cancel()
	ended := make(chan struct{})
	var err error
	go func() {
		err = <-failed
		close(ended)
	}()
	await(t, "the end of Initialize", ended)
	wantError(t, err, callerr.Error{Kind: callerr.Cancelled, Phase: callerr.PhaseInitialize, Msg: "initialize cancelled"})
	await(t, "Down", s.Down())
}

// unread is how many bytes of stdin the peer has not read.
func unread(t *testing.T, s *session) int {
	t.Helper()
	raw, err := s.in.file.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var n int32
	err = raw.Control(func(fd uintptr) {
		_, _, _ = syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TIOCINQ, uintptr(unsafe.Pointer(&n))) // FIONREAD
	})
	if err != nil {
		t.Fatal(err)
	}
	return int(n)
}

func TestStrayLinesAreDroppedAndCounted(t *testing.T) {
	s := connect(t, Options{}, "stray")
	for i := range 5 {
		text := fmt.Sprint("hello ", i)
		if got := call(t, s, "echo", map[string]any{"text": text}); got != text {
			t.Fatalf("echo answered %q, want %q", got, text)
		}
	}
	if got := s.Dropped(); got < 5*14 {
		t.Errorf("%d lines counted as stray, want at least %d", got, 5*14)
	}
}

func TestEveryContentKindSurvives(t *testing.T) {
	s := connect(t, Options{}, "")
	res, err := s.Call(bounded(t), "contents", nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(contents, string(res.Raw)); diff != "" {
		t.Errorf("result (-sent +got):\n%s", diff)
	}
}

func TestArgumentsArriveAsGiven(t *testing.T) {
	s := connect(t, Options{}, "")
	for _, tc := range []struct{ args, want string }{
		{"", "{}"},
		{`{"n":12345678901234567890,"s":"<&>"}`, `{"n":12345678901234567890,"s":"<&>"}`},
		{"{\n \"a\": [1,\n2] }", `{"a":[1,2]}`},
	} {
		res, err := s.Call(bounded(t), "args", json.RawMessage(tc.args))
		if err != nil || res.Text() != tc.want {
			t.Errorf("arguments %q arrived as %q, %v; want %q", tc.args, res.Text(), err, tc.want)
		}
	}
	for _, bad := range []string{"[]", "null", `"x"`, "{", "   ", `{"a":}`} {
		_, err := s.Call(bounded(t), "args", json.RawMessage(bad))
		wantError(t, err, callerr.Error{Kind: callerr.Rejected, Phase: callerr.PhaseWrite, Definite: true, Msg: "invalid tool arguments"})
	}
}

func TestAnswersThatSayNo(t *testing.T) {
	s := connect(t, Options{}, "")
	for _, code := range []int{-32700, -32600, -32601, -32602, -32603, -32000, -32001, -32002, -32003, -32004, -32005, -32042, 0, 1, 12345} {
		_, err := s.Call(bounded(t), "code", object(t, map[string]any{"n": code}))
		wantError(t, err, callerr.Error{Kind: callerr.Rejected, Phase: callerr.PhaseAnswer, Definite: true, Msg: fmt.Sprintf("JSON-RPC error %d: no", code)})
		if got := call(t, s, "echo", map[string]any{"text": "still here"}); got != "still here" {
			t.Fatalf("after code %d: %q", code, got)
		}
	}
	_, err := s.Call(bounded(t), "tool-error", object(t, map[string]any{"text": "disk is full"}))
	wantError(t, err, callerr.Error{Kind: callerr.Rejected, Phase: callerr.PhaseAnswer, Definite: true, Msg: "disk is full"})
	if got, want := err.Error(), "mcp tool error: disk is full"; got != want {
		t.Errorf("text %q, want %q", got, want)
	}
}

func TestUndecodableReplies(t *testing.T) {
	s := connect(t, Options{}, "")
	for _, tc := range []struct{ reply, want string }{
		{`"error":"boom"`, "undecodable reply"},
		{`"result":null`, "missing 'result' in JSON-RPC response"},
		{`"result":[1]`, "missing 'result' in JSON-RPC response"},
		{`"nothing":1`, "missing 'result' in JSON-RPC response"},
		{`"result":{"content":"text"}`, "failed to parse tools/call response"},
	} {
		_, err := s.Call(bounded(t), "raw-reply", object(t, map[string]any{"text": tc.reply}))
		wantError(t, err, callerr.Error{Kind: callerr.Transport, Phase: callerr.PhaseAnswer, Msg: tc.want})
	}
}

func TestRepliesAreMatchedByID(t *testing.T) {
	s := connect(t, Options{}, "")
	const n = 8
	type answer struct {
		name, text string
		err        error
	}
	answers := make(chan answer, n)
	for i := range n {
		name := fmt.Sprint("call", i)
		go func() {
			res, err := s.Call(context.Background(), "hold", json.RawMessage(`{"name":"`+name+`"}`))
			a := answer{name: name, err: err}
			if err == nil {
				a.text = res.Text()
			}
			answers <- a
		}()
	}
	eventually(t, "all calls in flight", func() bool { return inFlight(s) == n })
	for i := range n { // newest first
		call(t, s, "release", map[string]any{"name": fmt.Sprint("call", n-1-i)})
	}
	for range n {
		if a := <-answers; a.err != nil || a.text != a.name {
			t.Errorf("%s got %q, %v", a.name, a.text, a.err)
		}
	}
}

// inFlight counts the requests that were written and not answered.
func inFlight(s *session) int { return s.client.InFlight() }

func TestLateReplyIsNotHandedOn(t *testing.T) {
	s := connect(t, Options{}, "")
	ctx, cancel := context.WithCancel(context.Background())
	failed := make(chan error, 1)
	go func() {
		_, err := s.Call(ctx, "hold", json.RawMessage(`{"name":"old"}`))
		failed <- err
	}()
	eventually(t, "the call in flight", func() bool { return inFlight(s) == 1 })
	cancel()
	wantError(t, <-failed, callerr.Error{Kind: callerr.Cancelled, Phase: callerr.PhaseAnswer, Msg: "tools/call cancelled"})
	eventually(t, "the cancellation notice", func() bool { return call(t, s, "cancelled", nil) != "" })
	if got := call(t, s, "release", map[string]any{"name": "old"}); got != "released" {
		t.Errorf("the next call got %q, which is not its own answer", got)
	}
	if got := call(t, s, "echo", map[string]any{"text": "mine"}); got != "mine" {
		t.Errorf("the call after got %q", got)
	}
}

func TestDoubleReply(t *testing.T) {
	s := connect(t, Options{}, "")
	for range 3 {
		if got := call(t, s, "double", nil); got != "first" {
			t.Fatalf("answer %q, want the first", got)
		}
	}
	if got := call(t, s, "echo", map[string]any{"text": "x"}); got != "x" {
		t.Fatalf("answer %q after double replies", got)
	}
}

func TestPeerRequestsAndNotifications(t *testing.T) {
	s := connect(t, Options{}, "")
	if got := call(t, s, "ping-me", nil); got != "pong" {
		t.Errorf("ping was not answered: %q", got)
	}
	if got := call(t, s, "noisy", nil); got != "done" {
		t.Errorf("notifications before the reply: %q", got)
	}
	if got := call(t, s, "pings", map[string]any{"n": 5000}); got != "done" {
		t.Errorf("a flood of pings: %q", got)
	}
}

func TestStderrNeverBlocksThePeer(t *testing.T) {
	s := connect(t, Options{}, "")
	if got := call(t, s, "stderr", map[string]any{"n": 300_000}); got != "done" {
		t.Fatalf("answer %q", got)
	}
	call(t, s, "stderr", map[string]any{"n": 10})
	s.Stop(transport.StageKill)
	await(t, "Down", s.Down())
	text := s.Err().Error()
	if !strings.HasSuffix(text, "\neeeeeeeeee") && !strings.HasSuffix(text, " eeeeeeeeee") || len(text) > DefaultStderrTail+200 {
		t.Errorf("tail of %d bytes ends %q", len(text), text[max(0, len(text)-40):])
	}
	const lost = 300_000 + 1 + 10 + 1 - DefaultStderrTail
	if want := fmt.Sprintf("; stderr, after %d bytes that were not kept: ", lost); !strings.Contains(text, want) {
		t.Errorf("%q does not say %q", text[:min(len(text), 200)], want)
	}
}

// TestWhatIsNotKeptOfStderrIsCounted is M03: for each session, and for all of a dialer.
func TestWhatIsNotKeptOfStderrIsCounted(t *testing.T) {
	keepBaseline(t)
	d := New(Options{StderrTail: 1000})
	for i, n := range []int{999, 1000, 5000} { // and a newline each
		got, err := d.Dial(t.Context(), config(t, ""))
		if err != nil {
			t.Fatal(err)
		}
		s := got.(*session)
		if _, err := s.Initialize(bounded(t)); err != nil {
			t.Fatal(err)
		}
		call(t, s, "stderr", map[string]any{"n": n})
		s.Stop(transport.StageKill)
		await(t, "Done", s.Done())
		if got, want := s.StderrDropped(), int64(n+1-1000); got != want {
			t.Errorf("%d bytes dropped of %d, want %d", got, n+1, want)
		}
		if got, want := d.StderrDropped(), []int64{0, 1, 4002}[i]; got != want {
			t.Errorf("%d bytes dropped so far, want %d", got, want)
		}
	}
}

func TestLargeFrames(t *testing.T) {
	s := connect(t, Options{}, "")
	const n = 5 << 20
	if got := len(call(t, s, "big", map[string]any{"n": n})); got != n {
		t.Errorf("%d bytes arrived, want %d", got, n)
	}
	arg := strings.Repeat("y", 1<<20)
	if got := call(t, s, "echo", map[string]any{"text": arg}); got != arg {
		t.Errorf("an argument of 1 MiB came back with %d bytes", len(got))
	}
}

func TestFrameOverTheBound(t *testing.T) {
	s := connect(t, Options{MaxFrame: 4096}, "")
	if got := len(call(t, s, "big", map[string]any{"n": 3000})); got != 3000 {
		t.Fatalf("a frame under the bound: %d bytes", got)
	}
	_, err := s.Call(bounded(t), "big", object(t, map[string]any{"n": 1 << 20}))
	wantError(t, err, callerr.Error{Kind: callerr.Transport, Phase: callerr.PhaseAnswer, Msg: "MCP server sent a frame of more than 4096 bytes"})
	await(t, "Down", s.Down())
	if !alive(s.proc.pid) {
		t.Error("the process ended by itself; the session alone should be down")
	}
	_, err = s.Call(bounded(t), "echo", nil)
	wantError(t, err, callerr.Error{Kind: callerr.Transport, Phase: callerr.PhaseWrite, Definite: true, Msg: "frame of more than"})
	_, err = s.Call(bounded(t), "echo", object(t, map[string]any{"text": strings.Repeat("z", 5000)}))
	wantError(t, err, callerr.Error{Kind: callerr.Rejected, Phase: callerr.PhaseWrite, Definite: true, Msg: "the bound is 4096"})
}

func TestEnvironmentOfAPeer(t *testing.T) {
	cfg := config(t, "")
	cfg.Env["OWN"] = "value"
	cfg.Env["LANG"] = "own"
	base := func() []string {
		return []string{"PATH=/daemon/bin", "HOME=/h", "LANG=daemon", "LC_ALL=C", "AWS_SECRET_ACCESS_KEY=s3cret", "https_proxy=p", "LD_PRELOAD=x"}
	}
	s := dial(t, Options{Environ: base}, cfg)
	if _, err := s.Initialize(bounded(t)); err != nil {
		t.Fatal(err)
	}
	got := strings.Split(call(t, s, "env", nil), "\n")
	want := []string{"GORACE=atexit_sleep_ms=0", "HOME=/h", "LANG=own", "LC_ALL=C", peerVar + "=", "OWN=value", "PATH=/daemon/bin", "https_proxy=p"}
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
}
