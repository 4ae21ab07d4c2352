package core

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// ErrClosed is returned by every operation on a Host after Close began.
var ErrClosed = errors.New("core: the host is closed")

// Host runs peers for owners. Open one with [Open]; all methods may be called concurrently.
type Host struct {
	cfg    Config
	origin time.Time
	prints *prints
	wg     sync.WaitGroup // goroutines of incarnations, calls and the timer

	mu       sync.Mutex // guards everything below; never held across a transport call that can block
	machine  *lifecycle.Machine
	last     lifecycle.Instant // of the machine's time, see now
	skew     lifecycle.Instant // by how much the clock ran backwards so far
	timer    clockwork.Timer
	armed    lifecycle.Instant // when the timer fires; Never if it is not armed
	timerSeq uint64
	tickets  lifecycle.Tickets
	waiters  []*waiter // by ticket slot
	peers    []*peer   // by PeerID
	owners   map[lifecycle.OwnerID]*Owner
	lastID   lifecycle.OwnerID
	claims   int       // of all owners
	spare    []*worker // that wait for a call
	bus      bus
	failures map[lifecycle.Reason]uint64
	shadowed uint64
	closing  bool
	idle     chan struct{} // closed when the last incarnation is gone after closing began
}

// Open returns a host that runs nothing yet.
func Open(cfg Config) (*Host, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	if len(cfg.Key) == 0 {
		cfg.Key = make([]byte, 32)
		rand.Read(cfg.Key)
	}
	h := &Host{
		cfg:      cfg,
		origin:   cfg.Clock.Now(),
		prints:   newPrints(cfg.Key),
		machine:  lifecycle.New(*cfg.Lifecycle),
		armed:    lifecycle.Never,
		owners:   map[lifecycle.OwnerID]*Owner{},
		idle:     make(chan struct{}),
		failures: map[lifecycle.Reason]uint64{},
	}
	if cfg.Recorder != nil {
		cfg.Recorder.begin(*cfg.Lifecycle)
	}
	return h, nil
}

// Close refuses new work, gives calls in flight their grace, ends every peer in parallel and
// returns after the last process and goroutine of the host ended (SPEC SH-1, SH-2). When ctx
// ends first, Close returns an error that counts what is left; the ladder goes on. A second
// Close waits like the first.
func (h *Host) Close(ctx context.Context) error {
	h.mu.Lock()
	if !h.closing {
		h.closing = true
		h.dismissAll()
		h.step(lifecycle.Drain())
		h.checkIdle()
	}
	h.mu.Unlock()
	select {
	case <-h.idle:
	case <-ctx.Done():
		h.mu.Lock()
		left := h.machine.Live()
		h.mu.Unlock()
		return fmt.Errorf("core: %d peers still on the stop ladder: %w", left, context.Cause(ctx))
	}
	h.end()
	return h.join(ctx)
}

// end ends the subscriptions and lets go of the tokens, some of which may live on.
func (h *Host) end() {
	h.mu.Lock()
	h.bus.close()
	var owners []*Owner
	for _, o := range h.owners {
		if o.unhook != nil { // else attach is about to see that the host is over
			owners = append(owners, o)
		}
	}
	h.mu.Unlock()
	for _, o := range owners {
		o.letGo()
	}
}

// join waits for the goroutines of a host on which nothing runs any more. A transport that
// breaks the contract of the seam may hold one for ever; it does not hold Close.
func (h *Host) join(ctx context.Context) error {
	ended := make(chan struct{})
	go func() {
		h.wg.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("core: all peers have ended, but a transport still holds an operation on one: %w",
			context.Cause(ctx))
	}
}

// checkIdle ends the wait of Close once nothing runs. Called with mu held.
func (h *Host) checkIdle() {
	if !h.closing || h.machine.Live() > 0 {
		return
	}
	select {
	case <-h.idle:
	default:
		if h.timer != nil && h.timer.Stop() {
			h.wg.Done()
		}
		h.armed = lifecycle.Never
		close(h.idle)
	}
}

// Stats returns the machine's counters and the number of live incarnations.
func (h *Host) Stats() (stats lifecycle.Stats, live int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.machine.Stats(), h.machine.Live()
}

// Configure changes the times and bounds of a running host. Peers that run are not touched:
// clocks that are running are measured by the new times (SPEC CF-6).
func (h *Host) Configure(l lifecycle.Config) error {
	if err := l.Validate(); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closing {
		return ErrClosed
	}
	h.cfg.Lifecycle = h.cfg.bounded(l)
	h.step(lifecycle.Configure(h.cfg.Lifecycle))
	return nil
}

// Settings returns the times and bounds in force.
func (h *Host) Settings() lifecycle.Config {
	h.mu.Lock()
	defer h.mu.Unlock()
	return *h.cfg.Lifecycle
}
