package measure

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/mayfly-mcp/mayfly/fakes/observer"
	"github.com/mayfly-mcp/mayfly/fakes/wait"
	"github.com/mayfly-mcp/mayfly/sim/idle/profile"
)

// TestMain lets this test binary be the server that is measured.
func TestMain(m *testing.M) {
	observer.RunIfPeer()
	wait.Parallel(3) // they mostly wait for processes
	os.Exit(wait.Main(m))
}

// quick is a ladder for servers that are known to need the later rungs.
var quick = ladder{{transport.StageClose, 200 * time.Millisecond}, {transport.StageTerminate, 200 * time.Millisecond}, {transport.StageKill, wait.Bound}}

// patient is a ladder on which a slow machine is no reason for a later rung.
var patient = ladder{{transport.StageClose, wait.Bound}, {transport.StageTerminate, wait.Bound}, {transport.StageKill, wait.Bound}}

// bed is a controller with one peer of one behaviour, and a configuration that measures it.
func bed(t *testing.T, b observer.Behaviour) (*observer.Controller, Config) {
	t.Helper()
	dir, err := os.MkdirTemp("", "m") // short, for the socket
	if err != nil {
		t.Fatal(err)
	}
	ctl, err := observer.Listen(observer.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if left := ctl.Close(); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
		_ = os.RemoveAll(dir)
	})
	ctl.Set("m", b)
	return ctl, Config{
		Target: transport.Config{Command: os.Args[0], Args: ctl.Args("m")},
		Starts: 1, Warm: 3, Timeout: wait.Bound,
	}
}

// run measures, and fails the test if that could not be done.
func runOf(t *testing.T, c Config, l ladder) *profile.Profile {
	t.Helper()
	p, err := measureWith(t.Context(), c, l)
	if err != nil {
		t.Fatal(err)
	}
	data, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if p.Succeeded() > 0 && p.Failed() < 1 {
		if _, err := profile.Decode(bytes.NewReader(data)); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// everyStart are the starts with the first one.
func everyStart(p *profile.Profile) []profile.Start {
	return append([]profile.Start{*p.First}, p.Starts...)
}

// TestHealthy: a server is started once more than asked for, and all of it is measured.
func TestHealthy(t *testing.T) {
	t.Parallel()
	ctl, c := bed(t, observer.Behaviour{})
	p := runOf(t, c, patient)
	if n := ctl.Spawns("m"); n != 2 || len(p.Starts) != 1 {
		t.Errorf("%d spawns and %d starts in the profile, want 2 and 1", n, len(p.Starts))
	}
	for i, s := range everyStart(p) {
		ordered := 0 < s.SpawnMS && s.SpawnMS <= s.HeardMS && s.HeardMS <= s.ConnectMS
		if !s.OK || !ordered || len(s.WarmMS) != 3 || s.Tools != len(observer.DefaultTools()) || s.StopMS <= 0 || s.StopRung != profile.RungClose {
			t.Errorf("start %d: %+v", i, s)
		}
		if s.Processes != 1 || s.RSSMiB <= 0 || s.PSSMiB <= 0 {
			t.Errorf("start %d: %d processes, RSS %v, PSS %v", i, s.Processes, s.RSSMiB, s.PSSMiB)
		}
	}
	if lists := ctl.Reached("m", observer.List); lists != 2*(1+3) {
		t.Errorf("tools/list came %d times", lists)
	}
}

// TestDelay: what a server takes to start is in its part of the connect.
func TestDelay(t *testing.T) {
	t.Parallel()
	const late = 60 * time.Millisecond
	_, c := bed(t, observer.Behaviour{Rules: []observer.Rule{
		{At: observer.Initialize, Do: observer.Delay, For: late}, {At: observer.List, Do: observer.Delay, For: late, Times: 1},
	}})
	for i, s := range everyStart(runOf(t, c, patient)) {
		if !s.OK || s.HeardMS < profile.Millis(late) || s.ConnectMS < profile.Millis(2*late) {
			t.Errorf("start %d: a handshake and a list of %v each: %+v", i, late, s)
		}
	}
}

// TestTree: memory is that of all processes, also of those that left the group or were given
// another environment.
func TestTree(t *testing.T) {
	t.Parallel()
	fork := func(child observer.Child) observer.Behaviour {
		return observer.Behaviour{Rules: []observer.Rule{{At: observer.Initialize, Do: observer.Fork, Child: child}}}
	}
	for name, tt := range map[string]struct {
		b       observer.Behaviour
		wrapped bool
	}{"group": {fork(observer.Child{}), false}, "own group": {fork(observer.Child{OwnGroup: true}), false}, "environment": {wrapped: true}} {
		_, c := bed(t, tt.b)
		if tt.wrapped {
			script := `env -i PATH="$PATH" sleep 1000 & exec "$0" "$@"`
			c.Target.Args = append([]string{"-c", script, c.Target.Command}, c.Target.Args...)
			c.Target.Command = "sh"
		}
		for i, s := range everyStart(runOf(t, c, quick)) {
			if s.Processes != 2 || s.PSSMiB <= 0 || s.RSSMiB <= 0 {
				t.Errorf("%s, start %d: %d processes, RSS %v, PSS %v", name, i, s.Processes, s.RSSMiB, s.PSSMiB)
			}
		}
	}
}

// TestSum: each process counts, and one that cannot be read spoils the sum.
func TestSum(t *testing.T) {
	t.Parallel()
	self := os.Getpid()
	if one, two := sumPSS([]int{self}), sumPSS([]int{self, self}); one <= 0 || two < 1.5*one {
		t.Errorf("one process has %v, the same twice %v", one, two)
	}
	if sum := sumPSS([]int{self, 1 << 30}); sum != 0 {
		t.Errorf("a sum without one of its parts is %v", sum)
	}
}

// TestRungs: the rung that ended a server is told.
func TestRungs(t *testing.T) {
	t.Parallel()
	for want, b := range map[string]observer.Behaviour{
		profile.RungTerminate: {IgnoreEOF: true},
		profile.RungKill:      {IgnoreEOF: true, IgnoreTerm: true},
	} {
		ctl, c := bed(t, b)
		l := quick
		if want == profile.RungTerminate {
			l = ladder{quick[0], patient[1], patient[2]}
		}
		for i, s := range everyStart(runOf(t, c, l)) {
			if s.StopRung != want {
				t.Errorf("start %d ended at %q, want %q", i, s.StopRung, want)
			}
		}
		if left := ctl.Processes(""); len(left) > 0 {
			t.Errorf("%s: left are %v", want, left)
		}
	}
}

// TestFailures: whatever a server does instead, the measurement ends, says why and leaves
// nothing behind.
func TestFailures(t *testing.T) {
	t.Parallel()
	at := func(a observer.Action, n int) observer.Behaviour {
		return observer.Behaviour{Rules: []observer.Rule{{At: observer.Initialize, Do: a, N: n, Code: 3}}}
	}
	for _, tt := range []struct {
		name, want string
		b          observer.Behaviour
		short      bool // its timeout is to pass
	}{
		{"exit", "exit status 3", at(observer.Exit, 0), false},
		{"crash", "killed", at(observer.Crash, 0), false},
		{"truncate", "exit status 3", at(observer.Truncate, 0), false},
		{"half a pipe", "closed stdout", at(observer.CloseStdout, 0), false},
		{"garbled", "", at(observer.Garbled, 0), false},
		{"refusal", "JSON-RPC error 3: failed", at(observer.RPCError, 0), false},
		{"flood", "more than 16777216 bytes", at(observer.Large, 20<<20), false},
		{"hang", "no tool list within the timeout", at(observer.Hang, 0), true},
		{"deaf", "no tool list within the timeout of 200ms, and no message at all", observer.Behaviour{Hold: []observer.Point{observer.Spawn}, IgnoreTerm: true}, true},
		{"list hangs", "no tool list within the timeout", observer.Behaviour{Rules: []observer.Rule{{At: observer.List, Do: observer.Hang}}}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctl, c := bed(t, tt.b)
			c.Starts = 1
			if tt.short {
				c.Timeout = 200 * time.Millisecond
			}
			p := runOf(t, c, quick)
			if n := 1 + len(p.Starts); n != 2 || p.Succeeded() != 0 {
				t.Errorf("%d starts, %d good; want 2 and none", n, p.Succeeded())
			}
			if phase, why := p.Failure(); !strings.Contains(why, tt.want) || why == "" || phase == "" {
				t.Errorf("failure at %q: %q, want %q", phase, why, tt.want)
			}
			if left := ctl.Processes(""); len(left) > 0 {
				t.Errorf("left are %v", left)
			}
		})
	}
}

// TestGivesUp: what fails from the beginning is not tried for ever.
func TestGivesUp(t *testing.T) {
	t.Parallel()
	ctl, c := bed(t, observer.Behaviour{Rules: []observer.Rule{{At: observer.Initialize, Do: observer.Exit, Code: 1}}})
	c.Starts = 10
	p := runOf(t, c, patient)
	if n := ctl.Spawns("m"); n != giveUp || len(p.Starts) != giveUp-1 {
		t.Errorf("%d spawns and %d starts in the profile, want %d and %d", n, len(p.Starts), giveUp, giveUp-1)
	}
}

// TestNoise: stray lines and a loud stderr are no failure.
func TestNoise(t *testing.T) {
	t.Parallel()
	_, c := bed(t, observer.Behaviour{Rules: []observer.Rule{
		{At: observer.Initialize, Do: observer.Noise, N: 1000}, {At: observer.List, Do: observer.Stderr, N: 1 << 20},
		{At: observer.List, Do: observer.Notify, N: 1000},
	}})
	if p := runOf(t, c, patient); p.Succeeded() != 2 {
		t.Errorf("%d of 2 starts succeeded: %+v", p.Succeeded(), everyStart(p))
	}
}

// TestOneInThree: failures amid successes are samples like others, and end nothing.
func TestOneInThree(t *testing.T) {
	t.Parallel()
	ctl, c := bed(t, observer.Behaviour{})
	c.Starts = 5
	c.Progress = func(i int) {
		b := observer.Behaviour{}
		if i >= 2 {
			b.Rules = []observer.Rule{{At: observer.Initialize, Do: observer.Exit, Code: 9}}
		}
		ctl.Set("m", b)
	}
	p := runOf(t, c, patient)
	if len(p.Starts) != 5 || p.Failed() != 0.8 {
		t.Errorf("%d starts, %v failed", len(p.Starts), p.Failed())
	}
	if _, ok := p.Connect(0.1); !ok {
		t.Error("the good one is not drawn")
	}
}

// TestEndsByItself: a server that goes after its list has no memory, and is no failure.
func TestEndsByItself(t *testing.T) {
	t.Parallel()
	_, c := bed(t, observer.Behaviour{Rules: []observer.Rule{{At: observer.Call, Do: observer.Crash}}})
	c.Call = "echo"
	p := runOf(t, c, patient)
	for i, s := range everyStart(p) {
		if !s.OK || s.WarmFailure == "" || s.RSSMiB != 0 {
			t.Errorf("start %d: %+v", i, s)
		}
	}
	if w := strings.Join(p.Warnings(), "\n"); !strings.Contains(w, "ended before their memory") || !strings.Contains(w, "tools/call echo) failed") {
		t.Errorf("warnings:\n%s", w)
	}
}

// TestCall: a tool is called only if somebody names one, with the arguments that were given.
func TestCall(t *testing.T) {
	t.Parallel()
	ctl, c := bed(t, observer.Behaviour{})
	c.Call, c.Args = "add", json.RawMessage(`{"a":1,"b":2}`)
	p := runOf(t, c, patient)
	if n := ctl.Reached("m", observer.Call); n != 6 || p.Settings.WarmCall != "tools/call add" {
		t.Errorf("%d calls of %q", n, p.Settings.WarmCall)
	}
	c.Call = "nosuchtool"
	if s := runOf(t, c, patient).Starts[0]; s.WarmFailure == "" || len(s.WarmMS) != 0 || !s.OK {
		t.Errorf("a tool that does not exist: %+v", s)
	}
}

// TestInterrupt: the end of the context ends a server that connects, and the measurement.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	for name, b := range map[string]observer.Behaviour{
		"at once":  {Hold: []observer.Point{observer.Initialize}},
		"stubborn": {Hold: []observer.Point{observer.Initialize}, IgnoreEOF: true, IgnoreTerm: true},
	} {
		ctl, c := bed(t, b)
		cause := errors.New("interrupted")
		ctx, cancel := context.WithCancelCause(t.Context())
		over := make(chan struct{})
		var err error
		go func() {
			defer close(over)
			_, err = measureWith(ctx, c, ladder{patient[0], quick[1], patient[2]})
		}()
		if _, err := ctl.WaitReached(wait.Context(t), "m", observer.Initialize); err != nil {
			t.Fatal(err)
		}
		cancel(cause)
		wait.Closed(t, "the end of the measurement", over)
		if !errors.Is(err, cause) {
			t.Errorf("%s: error %v", name, err)
		}
		if left := ctl.Processes(""); len(left) > 0 {
			t.Errorf("%s: left are %v", name, left)
		}
	}
}

// TestInterruptKeeps what was measured before.
func TestInterruptKeeps(t *testing.T) {
	t.Parallel()
	_, c := bed(t, observer.Behaviour{})
	c.Starts = 50
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c.Progress = func(i int) {
		if i == 3 {
			cancel()
		}
	}
	p, err := measureWith(ctx, c, patient)
	if !errors.Is(err, context.Canceled) || p == nil || len(p.Starts) != 2 || p.Succeeded() != 3 {
		t.Fatalf("error %v, profile %+v", err, p)
	}
	if w := p.Warnings(); !strings.Contains(w[0], "only 2 of the 50 starts") {
		t.Errorf("warnings %q", w)
	}
}

// TestCannotBegin: what is no failure of a server is an error.
func TestCannotBegin(t *testing.T) {
	t.Parallel()
	c := Config{Target: transport.Config{Command: "/nowhere/server", Env: map[string]string{"TOKEN": "hunter2hunter2"}}, Starts: 1, Timeout: wait.Bound}
	if _, err := Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), "/nowhere/server does not exist") {
		t.Errorf("error %v", err)
	}
	for want, spoil := range map[string]func(*Config){
		"-n is 0":        func(c *Config) { c.Starts = 0 },
		"-n is 5001":     func(c *Config) { c.Starts = MaxStarts + 1 },
		"-warm is -1":    func(c *Config) { c.Warm = -1 },
		"-timeout is 0s": func(c *Config) { c.Timeout = 0 },
		"-settle is -1s": func(c *Config) { c.Settle = -time.Second },
		`-class "a b"`:   func(c *Config) { c.Class = "a b" },
	} {
		bad := c
		spoil(&bad)
		if _, err := Run(t.Context(), bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// immortal is a session that no rung ends.
type immortal struct{ transport.Session }

func (immortal) Stop(transport.Stage)  {}
func (immortal) Done() <-chan struct{} { return nil }

// TestStuck: a process that outlives SIGKILL ends the measurement with an error, not never.
func TestStuck(t *testing.T) {
	t.Parallel()
	l := ladder{{transport.StageClose, 1}, {transport.StageTerminate, 1}, {transport.StageKill, 1}}
	if err := l.stop(t.Context(), immortal{}, &profile.Start{}); err == nil || !strings.Contains(err.Error(), "after SIGKILL") {
		t.Errorf("error %v", err)
	}
}

// TestHTTP: a URL is measured without memory, with its credentials, which are not kept.
func TestHTTP(t *testing.T) {
	t.Parallel()
	impl := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	mcp.AddTool(impl, &mcp.Tool{Name: "hello"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{}, nil, nil
	})
	inner := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return impl }, nil)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer hunter2hunter2" {
			http.Error(w, "who are you? not "+r.Header.Get("Authorization"), http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	defer srv.Close()
	c := Config{Target: transport.Config{URL: srv.URL + "/?key=sesame99", Auth: "Bearer hunter2hunter2"}, Starts: 2, Warm: 2, Timeout: wait.Bound, Call: "hello"}
	p := runOf(t, c, patient)
	for i, s := range everyStart(p) {
		if !s.OK || s.Tools != 1 || len(s.WarmMS) != 2 || s.RSSMiB != 0 || s.SpawnMS != 0 || s.StopRung != profile.RungClose {
			t.Errorf("start %d: %+v", i, s)
		}
	}
	if p.Server.URL != srv.URL+"/?key=[masked]" || p.Class != "127.0.0.1" || len(p.Server.Headers) != 1 {
		t.Errorf("server %+v, class %s", p.Server, p.Class)
	}
	noSecret(t, p, "hunter2", "sesame99")

	c.Target.Auth = "Bearer wrongwrong99"
	p = runOf(t, c, patient)
	if _, why := p.Failure(); p.Succeeded() != 0 || !strings.Contains(why, "401") {
		t.Errorf("a 401 is %q", why)
	}
	noSecret(t, p, "wrongwrong99", "sesame99")
	srv.Close()
	if _, why := runOf(t, c, patient).Failure(); !strings.Contains(why, "refused") {
		t.Errorf("nobody there: %q", why)
	}
}

// noSecret looks for texts in the file and in the table of a profile.
func noSecret(t *testing.T, p *profile.Profile, secrets ...string) {
	t.Helper()
	data, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	p.Write(&table)
	for _, s := range secrets {
		if strings.Contains(string(data)+table.String(), s) {
			t.Errorf("a secret is shown")
		}
	}
}

// TestSecretsOfAServer: one that prints all it was given shows none of it.
func TestSecretsOfAServer(t *testing.T) {
	t.Parallel()
	script := `echo "$TOKEN and $2 and $4" >&2; exit 1`
	c := Config{Starts: 1, Timeout: wait.Bound, Target: transport.Config{
		Command: "sh", Args: []string{"-c", script, "sh", "--api-key", "hunter2hunter2", "--url", "postgres://user:opensesame@db/x"},
		Env: map[string]string{"TOKEN": "correcthorse"},
	}}
	p := runOf(t, c, patient)
	noSecret(t, p, "hunter2", "correcthorse", "opensesame")
	if _, why := p.Failure(); !strings.Contains(why, "[masked] and [masked] and ") {
		t.Errorf("the reason is %q", why)
	}
	if got := strings.Join(p.Server.Env, ","); got != "TOKEN" {
		t.Errorf("names of env: %q", got)
	}
}
