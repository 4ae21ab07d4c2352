package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mayfly-mcp/mayfly/core/wire"
	"github.com/mayfly-mcp/mayfly/core/wire/pb"
	"github.com/mayfly-mcp/mayfly/fakes"
	"github.com/mayfly-mcp/mayfly/fakes/llm"
	"github.com/mayfly-mcp/mayfly/fakes/observer"
	"github.com/mayfly-mcp/mayfly/fakes/wait"
)

// testBound is how long a test waits for something that must happen soon. Only a failing
// test ever reaches it.
const testBound = 60 * time.Second

func TestMain(m *testing.M) {
	observer.RunIfPeer()
	runIfDaemon()
	os.Exit(wait.Main(m))
}

// rig is a daemon on a socket of its own, with fake peers and a fake model.
type rig struct {
	t      *testing.T
	ctx    context.Context
	home   string
	dialer *fakes.Dialer
	model  *llm.Server
	d      *Daemon
	c      *wire.Client
	log    *syncBuffer
	ran    chan error
}

// setup says how a rig differs from the ordinary one.
type setup struct {
	home     string // an existing home, for a restart
	settings string // of config.toml, behind [llm]
	disk     *disk
	cfg      func(*Config)
}

// quick keeps times that no test wants to wait for out of the way.
const quick = "[mcp]\nidle_timeout = 1800\nclose_grace = \"1s\"\nterminate_grace = \"1s\"\nkill_grace = \"1s\"\ndrain_grace = \"1s\"\n"

func start(t *testing.T, s setup) *rig {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testBound)
	t.Cleanup(cancel)
	r := &rig{t: t, ctx: ctx, home: s.home, dialer: fakes.NewDialer(fakes.Config{}), log: &syncBuffer{}, ran: make(chan error, 1)}
	if r.home == "" {
		r.home = newHome(t)
	}
	var err error
	if r.model, err = llm.Start(llm.Config{APIKey: "llm-canary-key"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.model.Close)
	if s.settings == "" {
		s.settings = quick
	}
	put(t, filepath.Join(r.home, "config.toml"),
		"[llm]\nbase_url = \""+r.model.URL+"/v1/\"\napi_key = \"llm-canary-key\"\n"+s.settings)
	cfg := Config{
		Home: r.home, TCPAddr: TCPOff, MCPAddr: "127.0.0.1:0", Dialer: r.dialer, Version: "v-test",
		Logger: slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if s.cfg != nil {
		s.cfg(&cfg)
	}
	k := realDisk()
	if s.disk != nil {
		k = *s.disk
	}
	if r.d, err = open(ctx, cfg, k); err != nil {
		t.Fatal(err)
	}
	ran := r.ran // stop forgets it
	go func() { ran <- r.d.Run(context.Background()) }()
	t.Cleanup(r.stop)
	r.c = wire.NewClient("unix", r.d.Socket())
	return r
}

// stop closes the daemon and proves that it ended well and left no peer.
func (r *rig) stop() {
	r.t.Helper()
	if r.ran == nil {
		return
	}
	ran := r.ran
	r.ran = nil // a stop that fails is not tried again
	var closed, run error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		closed = r.d.Close(context.Background())
		run = <-ran
	}()
	wait.Closed(r.t, "the end of the daemon", ended)
	if closed != nil || run != nil {
		r.t.Errorf("close: %v, run: %v", closed, run)
	}
	r.dialer.Close()
}

// newHome is a directory with a path short enough for a socket.
func newHome(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "mf")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// agent creates an agent and returns its id.
func (r *rig) agent(name, config string) string {
	r.t.Helper()
	info, err := r.c.CreateAgent(r.ctx, name, config)
	if err != nil {
		r.t.Fatalf("create %s: %v", name, err)
	}
	return info.Id
}

// server makes a fake server and returns the JSON of an MCP that runs it.
func (r *rig) server(name, key string) string {
	r.dialer.Server(key)
	return fmt.Sprintf(`{"name":%q,"command":%q}`, name, key)
}

func (r *rig) mcp(agent, name string) *pb.McpInfo {
	r.t.Helper()
	rows, err := r.c.ListMcps(r.ctx, agent)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, row := range rows {
		if row.Name == name {
			return row
		}
	}
	r.t.Fatalf("no mcp %s of agent %s in %v", name, agent, rows)
	return nil
}

// refused checks a refusal's code and text.
func refused(t *testing.T, what string, err error, code uint32, text string) {
	t.Helper()
	e, ok := errors.AsType[*wire.Error](err)
	if !ok {
		t.Errorf("%s: %v, want a refusal %d %q", what, err, code, text)
		return
	}
	if e.Code != code || !strings.Contains(e.Message, text) {
		t.Errorf("%s: refused with %d %q, want %d %q", what, e.Code, e.Message, code, text)
	}
}

// eventually waits until ok, for what has neither a channel nor a barrier.
func (r *rig) eventually(what string, ok func() bool) {
	r.t.Helper()
	wait.Until(r.t, what, ok)
}

// syncBuffer is a log that may be read while it is written.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
