package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mayfly-mcp/mayfly/conformance/adapter"
	"github.com/mayfly-mcp/mayfly/core/wire"
	"github.com/mayfly-mcp/mayfly/core/wire/pb"
	"github.com/mayfly-mcp/mayfly/scenarios"
)

// goDriver is an adapter in Go for the reference daemon, which it drives over its socket.
type goDriver struct {
	mu   sync.Mutex
	d    *daemon
	ids  map[string]string // by agent
	stop context.CancelFunc
}

func newGoDriver() adapter.Driver { return &goDriver{ids: map[string]string{}} }

// serveAdapter is the program of an adapter; what it says on stderr is its log.
func serveAdapter() int {
	if err := adapter.Serve(os.Stdin, os.Stdout, newGoDriver()); err != nil {
		return 3
	}
	return 0
}

func (g *goDriver) Capabilities(context.Context) (adapter.Capabilities, error) {
	return adapter.Capabilities{Protocol: adapter.Version, Name: "the reference daemon, through Go",
		Capabilities: []string{"restart", "rename", "idle-timeout", "connect-timeout", "call-timeout", "grace", "cancel"}}, nil
}

func (g *goDriver) Start(ctx context.Context, s adapter.Start) (err error) {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	t := Embedded(exe)
	for key, value := range s.Env {
		t.Vars = append(t.Vars, key+"="+value)
	}
	v := values{home: s.Home, socket: filepath.Join(s.Home, t.Socket), model: s.Model, settings: scenarios.DefaultSettings()}
	for to, from := range map[*time.Duration]int64{&v.settings.IdleTimeout: s.IdleTimeoutMS, &v.settings.ConnectTimeout: s.ConnectTimeoutMS,
		&v.settings.CallTimeout: s.CallTimeoutMS, &v.settings.Grace: s.GraceMS} {
		*to = time.Duration(from) * time.Millisecond
	}
	if err := t.configure(v); err != nil {
		return err
	}
	if g.d, err = t.launch(v, nil); err != nil {
		return err
	}
	if err := g.d.ready(ctx, 0); err != nil {
		return err
	}
	agents, err := g.d.client.ListAgents(ctx) // of the run before in this home
	for _, a := range agents {
		g.ids[a.GetName()] = a.GetId()
	}
	return err
}

func (g *goDriver) Stop(ctx context.Context) error {
	if g.stop != nil {
		g.stop()
	}
	return g.d.stop(ctx, time.Minute)
}

func (g *goDriver) id(agent string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.ids[agent]
}

// no turns a refusal on the wire into one of the protocol.
func no(err error) error {
	if e, ok := errors.AsType[*wire.Error](err); ok {
		return &adapter.RefusedError{Code: e.Code, Message: e.Message}
	}
	return err
}

func (g *goDriver) Declare(ctx context.Context, agent string, mcps []json.RawMessage) error {
	config := mustJSON(map[string]any{"model": "fake", "mcps": mcps})
	if id := g.id(agent); id != "" {
		_, err := g.d.client.UpdateAgent(ctx, id, config)
		return no(err)
	}
	info, err := g.d.client.CreateAgent(ctx, agent, config)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ids[agent] = info.GetId()
	return no(err)
}

func (g *goDriver) Delete(ctx context.Context, agent, name string) error {
	if name != "" {
		return no(g.d.client.DeleteMcp(ctx, g.id(agent), name))
	}
	return no(g.d.client.DeleteAgent(ctx, g.id(agent)))
}

func (g *goDriver) Rename(ctx context.Context, agent, to string) error {
	if _, err := g.d.client.RenameAgent(ctx, g.id(agent), to); err != nil {
		return no(err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ids[to] = g.ids[agent]
	delete(g.ids, agent)
	return nil
}

func word(s string) string { return strings.ToLower(s[strings.LastIndexByte(s, '_')+1:]) }

func rowOf(m *pb.McpInfo) adapter.Row {
	return adapter.Row{Name: m.GetName(), Status: word(m.GetStatus().String()), Error: m.GetError(), Tools: int(m.GetToolCount())}
}

func (g *goDriver) Upsert(ctx context.Context, agent string, mcp json.RawMessage) (adapter.Row, error) {
	info, err := g.d.client.UpsertMcp(ctx, g.id(agent), string(mcp))
	return rowOf(info), no(err)
}

func (g *goDriver) Reconnect(ctx context.Context, agent, name string) (adapter.Row, error) {
	info, err := g.d.client.ReconnectMcp(ctx, g.id(agent), name)
	return rowOf(info), no(err)
}

func (g *goDriver) List(ctx context.Context, agent string) (out []adapter.Row, err error) {
	rows, err := g.d.client.ListMcps(ctx, g.id(agent))
	for _, row := range rows {
		out = append(out, rowOf(row))
	}
	return out, no(err)
}

func (g *goDriver) Dispatch(ctx context.Context, c adapter.Call) (res adapter.Result, err error) {
	handle := wire.NewHandle()
	s, err := g.d.client.Stream(ctx, &pb.StreamMsg{Agent: g.id(c.Agent), Content: c.Prompt, SessionHandle: handle})
	if err != nil {
		return res, no(err)
	}
	defer s.Close()
	stop := context.AfterFunc(ctx, func() { _ = g.d.client.CancelStream(context.Background(), handle) })
	defer stop()
	for e, err := range s.All() {
		if err != nil {
			return res, no(err)
		}
		if calls := e.GetToolStart().GetCalls(); len(calls) > 0 && calls[0].GetArguments() != "" {
			adapter.Sent(ctx)
		}
		if r := e.GetToolResult(); r != nil {
			res = adapter.Result{Text: r.GetOutput(), IsError: r.GetIsError()}
		}
	}
	return res, nil
}

func (g *goDriver) Subscribe(_ context.Context, tell func(adapter.Event)) error {
	ctx, cancel := context.WithCancel(context.Background())
	g.stop = cancel
	s, err := g.d.client.SubscribeMcpEvents(ctx)
	if err != nil {
		return err
	}
	go func() {
		defer s.Close()
		for e, err := range s.All() {
			if err != nil {
				return
			}
			g.mu.Lock()
			name := ""
			for agent, id := range g.ids {
				if id == e.GetAgent() {
					name = agent
				}
			}
			g.mu.Unlock()
			tell(adapter.Event{Agent: name, Name: e.GetName(), Kind: word(e.GetKind().String()), Tools: e.GetTools(), Error: e.GetError()})
		}
	}()
	return nil
}

// adapters are all ways to the reference daemon that are no wire. The example in Python is one
// of them where there is a Python.
func adapters(t *testing.T) map[string]Target {
	ref := reference(t)
	exe := ref.Argv[0]
	out := map[string]Target{
		"driver":  {Name: "driver", Driver: newGoDriver, Peer: exe},
		"program": {Name: "program", Adapter: true, Argv: []string{exe, "adapter"}, Peer: exe},
	}
	if python, err := exec.LookPath("python3"); err == nil {
		out["python"] = Target{Name: "python", Adapter: true, Peer: exe,
			Argv: []string{python, filepath.Join("adapter", "testdata", "adapter.py"), exe, "serve"}}
	}
	return out
}

func TestAdapters(t *testing.T) {
	t.Parallel()
	for name, target := range adapters(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			Test(t, target, "first-call-spawns", "64-callers-one-spawn", "token-rotation", "cancel-leaves-state", "reconnects-join",
				"error-texts", "upsert-says-what-failed", "one-of-two-owners-leaves", "frame-empty", "rename-keeps-processes",
				"registration-starts-nothing")
		})
	}
}

// TestExampleIsShort keeps the promise that an adapter is little work.
func TestExampleIsShort(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("adapter", "testdata", "adapter.py"))
	if n := strings.Count(string(text), "\n"); err != nil || n >= 100 {
		t.Errorf("the example adapter has %d lines (%v), want less than 100", n, err)
	}
}

// TestBadAdapters: what an adapter does wrong is said of the adapter, before anything is judged.
func TestBadAdapters(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		"echo hello; cat >/dev/null": `it wrote "hello", which is no answer`,
		"exit 7":                     "it ended its output",
		"echo broken >&2; exit 7":    "last words: broken",
		"yes":                        `it wrote "y", which is no answer`,
		`read x; echo '{"id":1,"result":{"protocol":9}}'; cat >/dev/null`:                                                                                   "it speaks version 9 of the protocol",
		`read x; echo '{"id":1,"result":{"protocol":1,"capabilities":["x"]}}'; read y; echo '{"id":2,"error":{"code":500,"message":"no"}}'; cat >/dev/null`: "could not start its daemon: the daemon refused with 500: no",
	} {
		target := Target{Name: "bad", Adapter: true, Argv: []string{"/bin/sh", "-c", script}, Peer: reference(t).Peer}
		_, err := Run(t.Context(), target, Options{Checks: []Check{}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v\nwant %q", script, err, want)
		}
	}
}

// TestAFaultOfAnAdapterIsNoFailure: an adapter that breaks in the middle of a check says nothing
// about the daemon.
func TestAFaultOfAnAdapterIsNoFailure(t *testing.T) {
	t.Parallel()
	target := adapters(t)["program"]
	report, err := Run(t.Context(), target, Options{Checks: []Check{fake("breaks-in-between", func(ctx context.Context, p *probe) (string, error) {
		r, agent, err := p.one(ctx, brisk(), healthy())
		if err != nil {
			return "", err
		}
		if err := r.daemon.cmd.Process.Signal(syscall.SIGKILL); err != nil {
			return "", err
		}
		<-r.daemon.exited
		return "", r.echo(ctx, agent, "hello")
	})}})
	if err != nil {
		t.Fatal(err)
	}
	if r := report.Checks[0]; r.Verdict != HarnessError || !strings.Contains(r.Evidence, "the adapter broke the protocol") {
		t.Errorf("%s: %s", r.Verdict, r.Evidence)
	}
}
