package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Bounds of the endpoint for operators.
const (
	monitorHeader  = 5 * time.Second
	monitorTimeout = 30 * time.Second
	maxScrapes     = 4 // at one time; more are told to come again
)

// monitor serves metrics, health and readiness over HTTP on a loopback address. There is
// none unless the configuration asks for it; a nil one is none.
type monitor struct {
	ln     net.Listener
	server *http.Server
}

func (d *Daemon) openMonitor(ctx context.Context, addr string) (*monitor, error) {
	if addr == "" {
		return nil, nil
	}
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("cannot listen for metrics on %s: %w; choose another metrics.addr, or leave it out", addr, err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(d.metrics.registry, promhttp.HandlerOpts{MaxRequestsInFlight: maxScrapes}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := d.Ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ready")
	})
	return &monitor{ln: ln, server: &http.Server{Handler: mux, ReadHeaderTimeout: monitorHeader, ReadTimeout: monitorTimeout,
		WriteTimeout: monitorTimeout, IdleTimeout: monitorTimeout, MaxHeaderBytes: 1 << 14}}, nil
}

// serve answers until close. That its listener ends is how it is told.
func (m *monitor) serve() { _ = m.server.Serve(m.ln) }

// close ends the endpoint and what is being answered. It is the last to go, so that a drain
// can be watched.
func (m *monitor) close() {
	if m == nil {
		return
	}
	_ = m.server.Close() // it is going either way
	_ = m.ln.Close()     // in case that nobody ever served
}

// MetricsAddr is the address of the metrics, or nothing.
func (d *Daemon) MetricsAddr() string {
	if d.monitor == nil {
		return ""
	}
	return d.monitor.ln.Addr().String()
}

// Ready says why requests cannot be served, if they cannot: the daemon stops, or its store
// cannot be read.
func (d *Daemon) Ready() error {
	if d.stopping() {
		return errStopping
	}
	if d.ends == nil {
		return errors.New("the daemon does not listen yet")
	}
	if err := d.agents.ready(); err != nil {
		return fmt.Errorf("the store cannot be read: %w", err)
	}
	return nil
}
