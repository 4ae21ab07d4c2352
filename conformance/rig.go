package conformance

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mayfly-mcp/mayfly/conformance/adapter"
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
	maxTools int    // zero is the usual
	dir      string // home, bin and sockets; removed at the end
	env      []string
	daemon   *daemon
	llm      *llm.Server
	ctl      *observer.Controller
	events   *eventLog
	agents   *adapter.Agents // of a driven target: they outlive its daemon
	guard    *observer.Guard // that of the run, or the rig's own
	rec      *recorder       // nil when nobody takes anything down
	handles  atomic.Int64    // session handles given out
	endings  []error         // how daemons ended badly that were started again; of the check's goroutine alone

	mu       sync.Mutex
	names    []string     // servers that were declared
	canaries []string     // secrets of this rig, which nothing may print
	fenced   string       // ULID of the agent that fences, once there is one
	through  []translator // between the checks and the daemon
	lives    []*lifetime
	over     chan struct{} // closed when everything was discarded
	quit     sync.Once
	left     []observer.Process
}

// lifetime is that of one process of the daemon, as observer.Now.
type lifetime struct {
	born int64
	died atomic.Int64 // 0 while it lives
}

// fenceServer is the server of the fence, a name that no scenario can write.
const fenceServer = "@fence"

// newRig starts everything. env is added to the daemon's environment.
func newRig(ctx context.Context, t Target, s scenarios.Settings, env ...string) (*rig, error) {
	return newRigWith(ctx, t, s, 0, env...)
}

// newRigWith starts one whose endpoint serves at most so many tools; zero is what the target has.
func newRigWith(ctx context.Context, t Target, s scenarios.Settings, maxTools int, env ...string) (_ *rig, err error) {
	r := &rig{target: t, settings: s, maxTools: maxTools, env: env, over: make(chan struct{})}
	defer func() {
		if err != nil {
			r.discard()
		}
	}()
	if err := r.makeDir(); err != nil {
		return nil, err
	}
	for _, sub := range []string{"home", "bin"} {
		if err := os.Mkdir(filepath.Join(r.dir, sub), 0o700); err != nil {
			return nil, err
		}
	}
	if r.llm = t.model; r.llm == nil {
		if r.llm, err = llm.Start(llm.Config{}); err != nil {
			return nil, err
		}
	}
	if r.ctl, err = observer.Listen(observer.Config{Dir: r.dir}); err != nil {
		return nil, fmt.Errorf("%w; set TMPDIR to a short path", err)
	}
	if err := r.boot(ctx); err != nil {
		return nil, err // the caller has nothing to close
	}
	return r, nil
}

// makeDir makes the directory of the rig, which the guard knows of before anything is in it.
func (r *rig) makeDir() (err error) {
	if r.guard = r.target.guard; r.guard == nil {
		if r.guard, err = observer.StartGuard(r.target.Peer); err != nil {
			return err
		}
	}
	if r.dir, err = os.MkdirTemp("", "mf"); err != nil {
		return fmt.Errorf("no room for a daemon's home: %w", err)
	}
	if r.dir, err = filepath.Abs(r.dir); err != nil { // TMPDIR may be relative, and others have another directory
		return fmt.Errorf("the directory of a daemon's home cannot be named: %w", err)
	}
	r.guard.Watch(r.dir)
	return nil
}

// boot starts the daemon in its home, for the first time or again.
func (r *rig) boot(ctx context.Context) (err error) {
	born := observer.Now()
	next, err := r.target.start(ctx, r)
	if err != nil {
		return errors.New(r.say(err.Error())) // the daemon that ended keeps its last words
	}
	r.daemon = next
	r.attend(born, r.daemon.exited)
	if err := r.daemon.translate(r.dir, r.translators()); err != nil {
		return err
	}
	if r.events != nil {
		r.events.close()
	}
	r.events, err = follow(ctx, r.daemon.client)
	return err
}

// translators keep what they know of the home when its daemon is started again.
func (r *rig) translators() []translator {
	if r.through == nil {
		r.through = r.target.translators(r)
	}
	return r.through
}

// withdrawBound is what a daemon that runs for others may take to forget a check's agents.
const withdrawBound = 20 * time.Second

// withdraw deletes the agents of a check from a daemon that runs on, and lets their servers end.
func (r *rig) withdraw() error {
	if r.target.owned() || r.events == nil { // or it was never reached
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), cmp.Or(r.target.bound, withdrawBound))
	defer cancel()
	agents, err := r.client().ListAgents(ctx)
	if err != nil {
		return err
	}
	for _, a := range agents {
		if err := r.client().DeleteAgent(ctx, a.GetId()); err != nil {
			return err
		}
	}
	return r.ctl.WaitGone(ctx, "")
}

// attend takes down when a daemon lived.
func (r *rig) attend(born int64, exited <-chan struct{}) {
	l := &lifetime{born: born}
	r.mu.Lock()
	r.lives = append(r.lives, l)
	r.mu.Unlock()
	go func() {
		select {
		case <-exited:
			l.died.Store(observer.Now())
		case <-r.over: // one that nobody is to end lives on
		}
	}()
}

func (r *rig) lived() []*lifetime {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.lives)
}

func (r *rig) home() string { return filepath.Join(r.dir, "home") }

func (r *rig) client() *wire.Client { return r.daemon.client }

// ladder bounds the stop ladder that the settings ask for, drain included.
func (r *rig) ladder() time.Duration { return 4 * r.settings.Grace }

// pacify tells every server to end when it is told to, so that the end of a check does not
// take the time of a stop ladder. What a daemon does with stubborn ones has its own checks.
func (r *rig) pacify() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range r.names {
		r.ctl.Apply(name, observer.Behaviour{})
	}
}

// close ends the daemon as an operator would. The error is an errUnclean: a bad end, and
// processes that outlived it.
func (r *rig) close() error {
	withdrawn := r.withdraw()
	ended := r.daemon.stop(context.Background(), r.ladder())
	problems := append(slices.Clone(r.endings), withdrawn, ended)
	for _, p := range r.discard() {
		problems = append(problems, fmt.Errorf("a process of server %q outlived its daemon and was killed", p.Name))
	}
	return unclean(problems...)
}

// discard ends whatever is left, whatever it takes. It may be called more than once.
func (r *rig) discard() []observer.Process {
	r.quit.Do(func() {
		defer close(r.over)
		if r.daemon != nil {
			_ = r.withdraw() // when the rig was closed before there is nothing left to delete
			r.daemon.kill()
		}
		if r.events != nil {
			r.events.close()
		}
		if r.ctl != nil {
			r.left = r.ctl.Close()
		}
		if r.llm != nil && r.llm != r.target.model {
			r.llm.Close()
		}
		if r.dir != "" {
			observer.EndAll(r.dir)  // what the daemon started besides servers
			_ = os.RemoveAll(r.dir) // a leftover in the temporary directory harms nobody
			r.guard.Forget(r.dir)
		}
		if r.guard != nil && r.guard != r.target.guard {
			r.guard.Close()
		}
	})
	return r.left
}

// spawned counts the servers that came to life.
func (r *rig) spawned() (n int) {
	for _, rep := range r.ctl.Journal() {
		if rep.Kind == observer.Spawned && !rep.Spawn.Grandchild {
			n++
		}
	}
	return n
}

// canary is a secret that can be recognised wherever it turns up.
func (r *rig) canary(label string) string {
	secret := "canary-" + label + "-" + r.ctl.Tag()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.canaries = append(r.canaries, secret)
	return secret
}

// say makes a text fit for a report: without secrets and without paths of this machine.
func (r *rig) say(text string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.canaries {
		text = strings.ReplaceAll(text, c, "***")
	}
	text = strings.ReplaceAll(text, r.dir, "{dir}")
	return strings.ReplaceAll(text, r.target.Peer, "mayfly")
}

// words are the last lines of the daemon's stderr.
func (r *rig) words(n int) (out []string) {
	for _, l := range r.daemon.log.end(n) {
		out = append(out, r.say(l))
	}
	return out
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
	r.mu.Lock()
	defer r.mu.Unlock()
	r.names = append(r.names, server)
	return mcp{Name: name, Command: r.executable(server), Args: r.ctl.Args(server), Env: env}
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

// fence lets a peer of the rig's own come up once more. Its event is the last one in line,
// and its spawn proves that the daemon was able to act: whatever should have happened
// before has been seen, and what has not, did not happen.
func (r *rig) fence(ctx context.Context) error {
	if err := r.prepareFence(ctx); err != nil {
		return err
	}
	seen, _, err := r.events.all()
	if err != nil {
		return err
	}
	if _, err := r.client().ReconnectMcp(ctx, r.fenced, "fence"); err != nil {
		return fmt.Errorf("fence: %w", err)
	}
	return r.events.wait(ctx, len(seen), r.fences("fence", "connected"))
}

func (r *rig) fences(name, word string) func(*pb.McpEventMsg) bool {
	return func(e *pb.McpEventMsg) bool {
		return e.GetAgent() == r.fenced && e.GetName() == name && eventWord(e.GetKind()) == word
	}
}

// proofPatience is how long one event may take before another one is provoked.
const proofPatience = 500 * time.Millisecond

// prepareFence makes the agent that fences, and proves that the subscription is in force. The
// protocol acknowledges none, and an event that comes before it is lost, so events are
// provoked until one is seen. They are of another peer than the fence's, one that fails
// without a process: those which come late are not taken for a fence.
func (r *rig) prepareFence(ctx context.Context) error {
	if err := r.makeFence(ctx); err != nil || r.events.proven {
		return err
	}
	for {
		if _, err := r.client().ReconnectMcp(ctx, r.fenced, "proof"); err != nil {
			return fmt.Errorf("fence: %w", err)
		}
		soon, cancel := context.WithTimeout(ctx, proofPatience)
		err := r.events.wait(soon, 0, r.fences("proof", "failed"))
		cancel()
		if err == nil || !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			r.events.proven = err == nil
			return err
		}
	}
}

func (r *rig) makeFence(ctx context.Context) error {
	if r.fenced != "" {
		return nil
	}
	if err := r.install(fenceServer, true); err != nil {
		return err
	}
	info, err := r.client().CreateAgent(ctx, "fence", mustJSON(map[string]any{
		"model": "fake", "mcps": []mcp{r.observed("fence", fenceServer, nil), {Name: "proof", Command: r.executable("@nowhere")}},
	}))
	if err != nil {
		return fmt.Errorf("fence: %w", err)
	}
	r.fenced = info.GetId()
	return nil
}

// server introduces a server program and how it behaves.
func (r *rig) server(name string, b observer.Behaviour) error {
	r.ctl.Set(name, b)
	return r.install(name, true)
}

// agent makes an agent with declarations and returns its ULID.
func (r *rig) agent(ctx context.Context, name string, mcps ...mcp) (string, error) {
	info, err := r.client().CreateAgent(ctx, name, agentConfig(mcps...))
	return info.GetId(), err
}

// agentConfig is an AgentConfig as JSON.
func agentConfig(mcps ...mcp) string {
	return mustJSON(map[string]any{"model": "fake", "description": "certify", "mcps": append([]mcp{}, mcps...)})
}

// one is the commonest rig: a healthy server s, and an agent that declares it as m1.
func (p *probe) one(ctx context.Context, s scenarios.Settings, b observer.Behaviour, env ...string) (*rig, string, error) {
	r, err := p.rig(ctx, s, env...)
	if err != nil {
		return nil, "", err
	}
	if err := r.server("s", b); err != nil {
		return nil, "", err
	}
	agent, err := r.agent(ctx, "a", r.observed("m1", "s", nil))
	return r, agent, err
}

// expectStatus asks the listing for the standing of a declaration.
func (r *rig) expectStatus(ctx context.Context, agent, name string, want pb.McpStatus) error {
	row, err := r.row(ctx, agent, name)
	if err != nil {
		return err
	}
	got := row.GetStatus().String()
	return r.rec.equal("status of "+name, want.String(), got, fmt.Sprintf("%s is listed as %s, want %s", name, got, want))
}

// expectSpawns compares the spawns of a server after a fence.
func (r *rig) expectSpawns(ctx context.Context, server string, want int) error {
	if err := r.fence(ctx); err != nil {
		return err
	}
	got := r.ctl.Spawns(server)
	return r.rec.equal("spawns of "+server, strconv.Itoa(want), strconv.Itoa(got),
		fmt.Sprintf("server %s was spawned %d times, want %d", server, got, want))
}
