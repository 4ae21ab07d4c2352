package daemon

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mayfly-mcp/mayfly/core/endpoint"
)

// Bounds of the endpoint for clients of MCP. There is none for an answer: it may be a stream of
// events, which lasts as long as its session.
const (
	gatewayHeader = 10 * time.Second // for the header of a request
	gatewayBody   = 30 * time.Second // for all of it, body included; not for the call
	gatewayIdle   = 2 * time.Minute  // between two requests of one connection
	gatewayBytes  = 1 << 16          // of a header
)

// gateway serves MCP to clients: what consumers offer to everybody, and to who has an agent's
// token what the agent's peers export.
type gateway struct {
	d      *Daemon
	server *http.Server
	ln     net.Listener // nil is none

	mu       sync.Mutex
	over     bool
	requests int           // in progress, streams too
	empty    chan struct{} // closed when over and none is left
}

// newEndpoint makes the endpoint behind the gateway. bound is the listener's address.
func (d *Daemon) newEndpoint(rules *settings, bound string) *endpoint.Endpoint {
	return endpoint.New(endpoint.Config{
		Name: "mayfly", Version: d.cfg.Version, Clock: d.cfg.Clock, Logger: d.log, Tenant: d.tenantOf,
		Hosts: hostsOf(rules, bound), Origins: rules.Endpoint.Origins,
		MaxBody: int64(rules.Endpoint.MaxBody), MaxTools: rules.Endpoint.MaxTools,
	})
}

// hostsOf are the names by which a client may call the daemon: those of loopback, the address
// that was bound, and what the settings add.
func hostsOf(rules *settings, bound string) []string {
	hosts := []string{"localhost", "127.0.0.1", "::1"}
	if host, _, err := net.SplitHostPort(bound); err == nil {
		hosts = append(hosts, host)
	}
	for _, h := range rules.Endpoint.Hosts {
		hosts = append(hosts, strings.ToLower(h))
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

func (d *Daemon) newGateway(ln net.Listener) *gateway {
	g := &gateway{d: d, empty: make(chan struct{})}
	if ln != nil {
		g.ln = &boundedListener{Listener: ln, d: d, quiet: throttle{every: acceptQuiet}}
	}
	g.server = &http.Server{Handler: g, ReadHeaderTimeout: gatewayHeader, ReadTimeout: d.cfg.body, IdleTimeout: gatewayIdle, MaxHeaderBytes: gatewayBytes,
		ErrorLog: slog.NewLogLogger(d.log.Handler(), slog.LevelWarn)}
	return g
}

// serve answers until the end. That its listener ends is how it is told.
func (g *gateway) serve() {
	if err := g.server.Serve(g.ln); !errors.Is(err, http.ErrServerClosed) && !g.d.stopping() {
		g.d.log.Error("clients of MCP cannot connect any more", "reason", err.Error())
	}
}

// ServeHTTP counts requests, so that none is left behind.
func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !g.enter() {
		w.Header().Set("Connection", "close")
		http.Error(w, errStopping.msg, http.StatusServiceUnavailable)
		return
	}
	defer g.leave()
	g.d.endpoint.ServeHTTP(w, r)
}

func (g *gateway) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.over || g.d.stopping() {
		return false
	}
	g.requests++
	return true
}

func (g *gateway) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.requests--; g.over && g.requests == 0 {
		close(g.empty)
	}
}

// drain lets calls in flight be answered and ends the sessions, as long as patience lasts. The
// channel is closed when the sessions have ended.
func (g *gateway) drain(patience context.Context) <-chan struct{} {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		g.d.endpoint.Close()
	}()
	g.settle(patience, ended)
	return ended
}

// settle lets answers leave, as long as patience lasts.
func (g *gateway) settle(patience context.Context, ended <-chan struct{}) {
	select {
	case <-ended:
		_ = g.server.Shutdown(patience) // close cuts the others
	case <-patience.Done():
	}
}

// close lets those be told whose calls ended with a death, cuts what is left, and returns when
// nothing is. Whatever calls could wait for has died.
func (g *gateway) close(patience context.Context, ended <-chan struct{}) {
	g.settle(patience, ended)
	_ = g.server.Close() // it is going either way
	g.mu.Lock()
	if g.over = true; g.requests == 0 {
		close(g.empty)
	}
	g.mu.Unlock()
	<-g.empty
	<-ended
	g.d.endpoint.Close() // of the last requests
	g.d.tenants.close()
}

// boundedListener keeps the number of connections within limits.max_connections; one more is
// closed at once. They are counted apart from those of the protocol.
type boundedListener struct {
	net.Listener
	d     *Daemon
	quiet throttle // of the acceptor alone

	mu   sync.Mutex
	open int
}

// Accept implements net.Listener.
func (l *boundedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		bound := l.d.rules.Load().Limits.MaxConnections
		if l.count(bound) {
			return &countedConn{Conn: c, l: l}, nil
		}
		_ = c.Close() // HTTP has no word before a request
		if n, say := l.quiet.pass(l.d.cfg.Clock.Now()); say {
			l.d.log.Warn("connections of clients of MCP are refused", "reason", "too many connections", "bound", bound, "before", n)
		}
	}
}

func (l *boundedListener) count(bound int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open >= bound {
		return false
	}
	l.open++
	return true
}

// countedConn makes room when it is closed.
type countedConn struct {
	net.Conn
	l    *boundedListener
	once sync.Once
}

// Close implements net.Conn.
func (c *countedConn) Close() error {
	c.once.Do(func() {
		c.l.mu.Lock()
		defer c.l.mu.Unlock()
		c.l.open--
	})
	return c.Conn.Close()
}

// MCPAddr is the address at which clients of MCP are served, or MCPOff.
func (d *Daemon) MCPAddr() string { return cmp.Or(addrOf(d.ends.mcp), MCPOff) }
