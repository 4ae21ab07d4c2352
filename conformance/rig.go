package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mayfly-mcp/mayfly/core/wire"
	"github.com/mayfly-mcp/mayfly/core/wire/pb"
	"github.com/mayfly-mcp/mayfly/fakes/llm"
	"github.com/mayfly-mcp/mayfly/fakes/observer"
	"github.com/mayfly-mcp/mayfly/scenarios"
)

// rig is one daemon in a fresh home together with everything that surrounds it: a model
// endpoint that does what it is told, a controller for the observer peers, and a subscriber
// to the daemon's events. Nothing is shared between rigs.
type rig struct {
	target   Target
	settings scenarios.Settings
	dir      string // home, bin and sockets; removed at the end
	env      []string
	daemon   *daemon
	llm      *llm.Server
	ctl      *observer.Controller
	events   *eventLog
	handles  atomic.Int64 // session handles given out
}

// newRig starts everything. env is added to the daemon's environment.
func newRig(ctx context.Context, t Target, s scenarios.Settings, env ...string) (_ *rig, err error) {
	r := &rig{target: t, settings: s, env: env}
	defer func() {
		if err != nil {
			r.discard()
		}
	}()
	if r.dir, err = os.MkdirTemp("", "mf"); err != nil {
		return nil, fmt.Errorf("no room for a daemon's home: %w", err)
	}
	for _, sub := range []string{"home", "bin"} {
		if err := os.Mkdir(filepath.Join(r.dir, sub), 0o700); err != nil {
			return nil, err
		}
	}
	if r.llm, err = llm.Start(llm.Config{}); err != nil {
		return nil, err
	}
	if r.ctl, err = observer.Listen(observer.Config{Dir: r.dir}); err != nil {
		return nil, err
	}
	return r, r.boot(ctx)
}

// boot starts the daemon in its home, for the first time or again.
func (r *rig) boot(ctx context.Context) (err error) {
	r.daemon, err = r.target.start(ctx, r.home(), configTOML(r.settings, r.llm.URL), r.env)
	if err != nil {
		return err
	}
	r.events, err = follow(ctx, r.daemon.client)
	return err
}

func (r *rig) home() string { return filepath.Join(r.dir, "home") }

func (r *rig) client() *wire.Client { return r.daemon.client }

// ladder bounds the stop ladder that the settings ask for.
func (r *rig) ladder() time.Duration { return 4 * r.settings.Grace }

// close ends the daemon as an operator would and says what it left behind.
func (r *rig) close() error {
	var errs []error
	if r.daemon != nil {
		errs = append(errs, r.daemon.stop(context.Background(), r.ladder()))
	}
	for _, p := range r.discard() {
		errs = append(errs, fmt.Errorf("pid %d of server %q outlived its daemon and was killed", p.PID, p.Name))
	}
	return errors.Join(errs...)
}

// discard ends whatever is left, whatever it takes.
func (r *rig) discard() (left []observer.Process) {
	if r.daemon != nil {
		r.daemon.kill()
	}
	if r.events != nil {
		r.events.close()
	}
	if r.ctl != nil {
		left = r.ctl.Close()
	}
	if r.llm != nil {
		r.llm.Close()
	}
	if r.dir != "" {
		_ = os.RemoveAll(r.dir) // a leftover in the temporary directory harms nobody
	}
	return left
}

// executable is the path under which a server is declared. It can be taken away and brought
// back, so that a spawn fails as it does in life.
func (r *rig) executable(server string) string { return filepath.Join(r.dir, "bin", server) }

func (r *rig) install(server string, there bool) error {
	path := r.executable(server)
	_, err := os.Lstat(path)
	switch {
	case there && err != nil:
		return os.Symlink(r.target.Peer, path)
	case !there && err == nil:
		return os.Remove(path)
	}
	return nil
}

// mcp is an McpServerConfig as JSON (WIRE.md §4).
type mcp struct {
	Name    string            `json:"name"`
	Command string            `json:"command"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
}

func (m mcp) json() string { return mustJSON(m) }

func mustJSON(v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		panic("CONF-JSON: " + err.Error())
	}
	return string(out)
}

// observed is the declaration of an observer peer.
func (r *rig) observed(name, server string, env map[string]string) mcp {
	return mcp{Name: name, Command: r.executable(server), Args: r.ctl.Args(server), Env: env}
}

// toolResult is how a tool call looked to the model.
type toolResult struct {
	text    string
	isError bool
}

// run lets an agent call tools in one round, all at once, and returns the results in the
// order of their ends. started, if not nil, is called when the daemon has the calls in hand.
func (r *rig) run(ctx context.Context, agent, handle string, round llm.Round, started func()) ([]toolResult, error) {
	s, err := r.client().Stream(ctx, &pb.StreamMsg{Agent: agent, Content: llm.Plan(round), SessionHandle: handle})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	var out []toolResult
	for {
		e, err := s.Recv()
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		switch x := e.GetEvent().(type) {
		case *pb.StreamEvent_ToolStart:
			if calls := x.ToolStart.GetCalls(); started != nil && len(calls) > 0 && calls[0].GetArguments() != "" {
				started()
			}
		case *pb.StreamEvent_ToolResult:
			out = append(out, toolResult{x.ToolResult.GetOutput(), x.ToolResult.GetIsError()})
		case *pb.StreamEvent_End:
			if msg := x.End.GetError(); msg != "" && len(out) == 0 {
				return out, fmt.Errorf("the run failed: %s", msg)
			}
		}
	}
}

// handle returns a session handle that was never used.
func (r *rig) handle() string { return fmt.Sprintf("mayfly-%d", r.handles.Add(1)) }

// row finds an agent's declaration in the daemon's listing; nil if there is none.
func (r *rig) row(ctx context.Context, agent, name string) (*pb.McpInfo, error) {
	rows, err := r.client().ListMcps(ctx, agent)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		if row.GetName() == name {
			return row, nil
		}
	}
	return nil, nil
}

// eventLog follows the daemon's MCP events.
type eventLog struct {
	stream *wire.Stream[*pb.McpEventMsg]
	cancel context.CancelFunc
	done   chan struct{}

	mu   sync.Mutex
	seen []*pb.McpEventMsg
	err  error
	news chan struct{} // closed and replaced when an event came
}

// follow subscribes. The protocol acknowledges no subscription, so what happens before the
// daemon has read the request is missed: a rig provokes an event of its own before use.
func follow(ctx context.Context, c *wire.Client) (*eventLog, error) {
	l := &eventLog{done: make(chan struct{}), news: make(chan struct{})}
	ctx, l.cancel = context.WithCancel(context.WithoutCancel(ctx))
	s, err := c.SubscribeMcpEvents(ctx)
	if err != nil {
		l.cancel()
		return nil, err
	}
	l.stream = s
	go l.loop()
	return l, nil
}

func (l *eventLog) loop() {
	defer close(l.done)
	for {
		e, err := l.stream.Recv()
		l.mu.Lock()
		if err == nil {
			l.seen = append(l.seen, e)
		} else {
			l.err = err
		}
		close(l.news)
		l.news = make(chan struct{})
		l.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// all returns the events so far, and a channel that is closed when there are more.
func (l *eventLog) all() ([]*pb.McpEventMsg, <-chan struct{}, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seen[:len(l.seen):len(l.seen)], l.news, l.err
}

// wait returns when an event after position from matches.
func (l *eventLog) wait(ctx context.Context, from int, match func(*pb.McpEventMsg) bool) error {
	for {
		seen, news, err := l.all()
		for _, e := range seen[min(from, len(seen)):] {
			if match(e) {
				return nil
			}
		}
		if err != nil {
			return fmt.Errorf("the event stream ended: %w", err)
		}
		select {
		case <-news:
		case <-ctx.Done():
			return fmt.Errorf("waiting for an event, %d so far: %w", len(seen), context.Cause(ctx))
		}
	}
}

func (l *eventLog) close() {
	l.cancel()
	_ = l.stream.Close() // it ends the connection whatever it returns
	<-l.done
}

// eventWord is an event's kind as scenarios write it.
func eventWord(k pb.McpEventKind) string {
	word := strings.ToLower(k.String())
	return word[strings.LastIndexByte(word, '_')+1:]
}
