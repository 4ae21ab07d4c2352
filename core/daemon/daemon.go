package daemon

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mayfly-mcp/mayfly/core"
	"github.com/mayfly-mcp/mayfly/core/endpoint"
)

const (
	// modelsTimeout bounds the one question that the daemon asks at its start.
	modelsTimeout = 30 * time.Second
	// closeSlack is what a stop may take beyond the drain and the stop ladder.
	closeSlack = 5 * time.Second
	// eventQueue bounds what a subscriber may lag behind. One transition of a peer that many
	// agents share is an event for each of them, all at the same instant: the bound leaves
	// room for tens of thousands.
	eventQueue = 1 << 16
	// flushTimeout is what clients get to take their last answers after the peers ended.
	flushTimeout = time.Second
)

// Daemon is a running daemon. Open one with [Open].
type Daemon struct {
	cfg      Config
	log      *slog.Logger
	home     home
	lock     *os.File
	rules    atomic.Pointer[settings] // in force
	disk     disk
	running  *running
	real     bool   // peers are processes
	unadopt  func() // ends what adopt began, or nil
	metrics  *metrics
	host     *core.Host
	agents   *agents
	endpoint *endpoint.Endpoint
	gateway  *gateway
	tenants  *tenants
	sessions sessions
	feed     feed
	llm      atomic.Pointer[modelClient]
	ends     *endpoints
	monitor  *monitor
	began    time.Time
	model    atomic.Pointer[string] // the first one that the endpoint advertised

	// A stop has three moments, each a context that ends.
	drain context.Context // the stop begins: no new work, no further question to a model
	stop  context.CancelCauseFunc
	quiet context.Context // the peers are gone: what is answered now is the last
	hush  context.CancelCauseFunc
	base  context.Context // patience has ended: everything is cut
	end   context.CancelCauseFunc

	patience  time.Duration     // what clients get to take their last answers; 0 is what the budget says
	onListing func(listingStep) // a test counts what connections hold; nil is nobody
	reloading sync.Mutex

	work    sync.WaitGroup // acceptors, connections and the daemon's own goroutines
	connsMu sync.Mutex
	conns   int
	idle    chan struct{} // closed when a stop has begun and the last connection ended

	closing sync.Once
	closed  chan struct{}
	err     error // of the close
}

// Open makes everything ready and returns while nobody is served yet: the home is locked,
// the store is read, every stored agent has declared its MCPs, and both endpoints are bound,
// so that clients may connect from here on and are answered when Run runs. It starts no
// peer.
func Open(cfg Config) (*Daemon, error) { return open(context.Background(), cfg, realDisk()) }

func open(ctx context.Context, cfg Config, k disk) (_ *Daemon, err error) {
	real := cfg.Dialer == nil
	if cfg, err = cfg.complete(); err != nil {
		return nil, err
	}
	d := &Daemon{real: real, cfg: cfg, log: cfg.Logger, home: layout(cfg.Home), disk: k, began: cfg.Clock.Now(),
		running: &running{}, sessions: sessions{byHandle: map[handle]*session{}}, closed: make(chan struct{}), idle: make(chan struct{})}
	if err := d.home.prepare(); err != nil {
		return nil, err
	}
	if d.lock, err = d.home.acquire(); err != nil {
		return nil, err
	}
	d.base, d.end = context.WithCancelCause(context.WithoutCancel(ctx))
	d.quiet, d.hush = context.WithCancelCause(d.base)
	d.drain, d.stop = context.WithCancelCause(d.quiet)
	if err := d.load(ctx); err != nil {
		d.abort()
		return nil, err
	}
	return d, nil
}

// load reads the home and opens what serves it.
func (d *Daemon) load(ctx context.Context) error {
	rules, err := loadSettings(d.home.settings)
	if err != nil {
		return err
	}
	d.rules.Store(rules)
	key, err := d.disk.files.readKey(d.home.key, keySize, newKey)
	if err != nil {
		return err
	}
	st, records, err := openStore(d.home, d.disk)
	if err != nil {
		return err
	}
	if err := d.home.keep(d.disk); err != nil {
		d.log.Warn("the store has no backup", "file", d.home.backup(), "reason", err.Error())
	}
	d.settle(ctx, rules)
	if err := d.openHost(rules, key); err != nil {
		return errors.Join(err, st.close())
	}
	d.agents = openAgents(d.host, st, records, rules.overlay(), rules.Limits.MaxAgents)
	d.tenants = &tenants{d: d, byID: map[string]*tenant{}}
	d.agents.changed, d.agents.gone = d.tenants.changed, d.tenants.gone
	d.sessions.max = func() int { return d.rules.Load().Limits.MaxSessions }
	d.llm.Store(newModelClient(rules, d.cfg.Clock))
	if d.ends, err = listen(ctx, d.home, d.cfg.TCPAddr, d.cfg.MCPAddr); err != nil {
		return err
	}
	d.endpoint, d.gateway = d.newEndpoint(rules, addrOf(d.ends.mcp)), d.newGateway(d.ends.mcp)
	d.monitor, err = d.openMonitor(ctx, rules.Metrics.Addr)
	return err
}

// keySize is that of the hash.
const keySize = 32

func newKey() []byte {
	key := make([]byte, keySize)
	_, _ = rand.Read(key) // never fails
	return key
}

func (d *Daemon) openHost(rules *settings, key []byte) (err error) {
	d.metrics = newMetrics(d)
	times := d.times(rules)
	d.host, err = core.Open(core.Config{
		Dialer: d.running.dialer(d.cfg.Dialer), Clock: d.cfg.Clock, Lifecycle: &times, Key: key, EventQueue: eventQueue,
		Logger: d.log, Observer: d.metrics,
	})
	return err
}

// abort undoes an Open that failed. Nothing runs yet, so nothing takes time.
func (d *Daemon) abort() {
	d.end(errStopping)
	if d.host != nil {
		_ = d.host.Close(context.Background()) // no peer was ever started
	}
	if d.agents != nil {
		_ = d.agents.close() // the error that led here says more
		d.agents.bury()
	}
	if d.ends != nil {
		d.ends.close()
	}
	_ = d.release()
}

// release gives back what belongs to the process and to the home.
func (d *Daemon) release() error {
	if d.unadopt != nil {
		d.unadopt()
	}
	return d.lock.Close()
}

// Socket is the path of the unix socket.
func (d *Daemon) Socket() string { return d.home.socket }

// TCPAddr is the TCP address that was bound, or TCPOff.
func (d *Daemon) TCPAddr() string { return addrOf(d.ends.tcp) }

// Run serves until ctx ends or Close is called, stops in an orderly way and returns when
// nothing is left. It is called once. The error is that of Close.
func (d *Daemon) Run(ctx context.Context) error {
	d.launch()
	select {
	case <-ctx.Done():
	case <-d.drain.Done():
	}
	return d.Close(context.Background())
}

// launch starts the daemon's goroutines, unless a stop came first: it then must not, since
// the stop waits for those that there are.
func (d *Daemon) launch() {
	d.connsMu.Lock()
	defer d.connsMu.Unlock()
	if d.stopping() {
		return
	}
	d.announce()
	d.work.Go(d.askModels)
	if d.monitor != nil {
		d.work.Go(d.monitor.serve)
	}
	if d.gateway.ln != nil {
		d.work.Go(d.gateway.serve)
	}
	d.work.Go(func() { d.accept(d.ends.unix) })
	if d.ends.tcp != nil {
		d.work.Go(func() { d.accept(d.ends.tcp) })
	}
}

// Close stops the daemon: nobody new is served, calls in flight get their grace, every peer
// goes through its stop ladder, all within a bound (SPEC SH-1). It returns when nothing of
// the daemon is left; an error says what is. When ctx ends first the peers are given up,
// which leaves processes behind. A second Close waits for the first.
func (d *Daemon) Close(ctx context.Context) error {
	d.closing.Do(func() {
		d.err = d.shutDown(ctx)
		close(d.closed)
	})
	<-d.closed
	return d.err
}

// shutDown saves first: whatever happens later, and however little time a supervisor
// gives, the store is whole and closed (SPEC SH-1, SH-3).
func (d *Daemon) shutDown(ctx context.Context) error {
	began := time.Now()
	rules := d.rules.Load()
	d.log.Info("daemon stopping", "budget", rules.budget(), "drain", rules.drain())
	d.stop(errStopping)
	d.ends.close()
	err := d.agents.close()
	ctx, cancel := context.WithTimeout(ctx, rules.budget()-flushOf(time.Duration(rules.MCP.StopBudget)))
	defer cancel()
	err = errors.Join(err, d.endPeers(ctx, rules))
	d.dismiss(rules)
	d.monitor.close()
	d.work.Wait()
	d.llm.Load().close()
	if kept := d.home.keep(d.disk); kept != nil {
		d.log.Warn("the store has no backup of its last state", "file", d.home.backup(), "reason", kept.Error())
	}
	err = errors.Join(err, d.release())
	d.log.Info("daemon stopped", "took", time.Since(began).Round(time.Millisecond))
	return err
}

// endPeers closes the host. A declaration may wish for longer graces than the daemon has: when
// its own are over, what still lives is killed, so that nothing is left behind (SPEC SH-1).
func (d *Daemon) endPeers(ctx context.Context, rules *settings) error {
	wished := time.AfterFunc(rules.drain()+rules.ladder()-time.Duration(rules.MCP.KillGrace), func() {
		if _, live := d.host.Stats(); live > 0 {
			d.log.Warn("peers that live longer than the daemon's own graces are killed", "peers", live)
			d.running.kill()
		}
	})
	defer wished.Stop()
	return d.host.Close(ctx)
}

// Escalate cuts a stop short: every peer is killed at once. Before a stop it begins one.
func (d *Daemon) Escalate() {
	d.log.Warn("the stop is cut short: every peer is killed")
	d.stop(errStopping)
	d.running.kill()
}

// dismiss gives clients a moment to take their last answers, and cuts what is left then. The
// clients of MCP come first: their calls may be with consumers, who are clients of ours. Who
// does not answer in half of the moment dies, and in the other half the callers are told.
func (d *Daemon) dismiss(rules *settings) {
	bound := cmp.Or(d.patience, flushOf(time.Duration(rules.MCP.StopBudget)))
	patience, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	half, over := context.WithTimeout(patience, bound/2)
	defer over()
	sessions := d.gateway.drain(half)
	d.hush(errStopping) // consumers die of it
	d.agents.bury()
	d.gateway.close(patience, sessions)
	d.flush(patience)
}

// flush waits for the connections, as long as patience lasts, and cuts them.
func (d *Daemon) flush(patience context.Context) {
	d.connsMu.Lock() // whoever launches has finished, or sees that a stop has begun
	conns := d.conns
	d.connsMu.Unlock()
	if conns > 0 {
		select {
		case <-d.idle:
		case <-patience.Done():
		}
	}
	d.end(errStopping)
}

// stopping reports whether a stop has begun.
func (d *Daemon) stopping() bool { return d.drain.Err() != nil }

// accept serves every connection of a listener until it is closed.
func (d *Daemon) accept(ln net.Listener) {
	quiet := throttle{every: acceptQuiet}
	for {
		nc, err := ln.Accept()
		if err != nil {
			if d.stopping() || errors.Is(err, net.ErrClosed) {
				if n := quiet.rest(); n > 0 {
					d.log.Error("connections could not be accepted", "failures", n)
				}
				return
			}
			if n, say := quiet.pass(d.cfg.Clock.Now()); say {
				d.log.Error("cannot accept a connection; further failures are counted", "reason", err.Error(), "failures_before", n)
			}
			select { // descriptors may have run out: try again, but do not spin
			case <-d.cfg.Clock.After(acceptPause):
			case <-d.drain.Done():
			}
			continue
		}
		d.work.Go(func() { d.admit(nc) })
	}
}

// acceptPause is the wait after a failed accept.
const acceptPause = 100 * time.Millisecond

// acceptQuiet is how far apart the lines of the log about it are.
const acceptQuiet = time.Minute

// admit counts a connection and serves it within the bound.
func (d *Daemon) admit(nc net.Conn) {
	d.connsMu.Lock()
	bound := d.rules.Load().Limits.MaxConnections
	full := d.conns >= bound
	if !full {
		d.conns++
	}
	d.connsMu.Unlock()
	if full {
		d.refuseConn(nc, bound)
		return
	}
	d.serve(nc)
	d.connsMu.Lock()
	defer d.connsMu.Unlock()
	if d.conns--; d.conns == 0 && d.quiet.Err() != nil {
		select {
		case <-d.idle:
		default:
			close(d.idle)
		}
	}
}

// askModels asks the endpoint what it serves. It is a courtesy: a failure only warns.
func (d *Daemon) askModels() {
	llm := d.llm.Load()
	if llm.origin == "" {
		return
	}
	ctx, cancel := context.WithTimeout(d.drain, modelsTimeout)
	defer cancel()
	ids, err := llm.models(ctx)
	switch {
	case d.stopping():
	case err != nil:
		d.log.Warn("the LLM endpoint does not list its models", "reason", err.Error())
	case len(ids) > 0:
		d.model.Store(&ids[0])
		d.log.Info("the LLM endpoint answers", "models", len(ids))
	}
}

// activeModel is the first model that the endpoint advertised: this daemon has no default
// agent whose model it could name.
func (d *Daemon) activeModel() string {
	if m := d.model.Load(); m != nil {
		return *m
	}
	return ""
}
