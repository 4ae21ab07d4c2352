package core

import (
	"context"
	"log/slog"
	"time"

	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// Observer is told how long things took. Its methods are called from many goroutines, with
// the host's lock held: they must be quick and must not call the host.
type Observer interface {
	// Connected is told of every attempt that ended: why is NoReason if it succeeded.
	Connected(took time.Duration, why lifecycle.Reason)
	// Called is told of every call that was admitted and ended; kind is 0 for an answer.
	Called(took time.Duration, kind callerr.Kind)
}

type nobody struct{}

func (nobody) Connected(time.Duration, lifecycle.Reason) {}
func (nobody) Called(time.Duration, callerr.Kind)        {}

// Gauges is how much is going on in a host now.
type Gauges struct {
	lifecycle.Load
	Stats  lifecycle.Stats
	States map[lifecycle.State]int // peers by state
	Owners int
	Stuck  int // incarnations that outlived SIGKILL (SPEC ST-9)
	// Failures counts transitions to Failed by reason, Gaps the overflows of subscribers.
	Failures map[lifecycle.Reason]uint64
	Gaps     uint64
}

// Gauges reads all of them at one moment. It costs O(peers).
func (h *Host) Gauges() Gauges {
	h.mu.Lock()
	defer h.mu.Unlock()
	g := Gauges{Load: h.machine.Load(), Stats: h.machine.Stats(), Owners: len(h.owners),
		States: map[lifecycle.State]int{}, Failures: map[lifecycle.Reason]uint64{}, Gaps: h.bus.gaps}
	for id := 1; id < h.machine.Slots(); id++ {
		v := h.machine.View(lifecycle.PeerID(id))
		if v.State != lifecycle.NoState {
			g.States[v.State]++
		}
		if v.Stage == lifecycle.StageStuck {
			g.Stuck++
		}
	}
	for r, n := range h.failures {
		g.Failures[r] = n
	}
	return g
}

// note looks at one transition for the log, the counters and the observer. A transition of a
// shared peer is told once for each owner; only the first of them is looked at. Called with
// mu held.
func (h *Host) note(e *lifecycle.Event) {
	if e.Replay || e.Owner == 0 {
		return
	}
	p := h.peers[e.Peer]
	if e.At == p.notedAt && e.Gen == p.notedGen && e.State == p.notedState {
		return
	}
	p.notedAt, p.notedGen, p.notedState = e.At, e.Gen, e.State
	switch e.State {
	case lifecycle.Connecting:
		p.began = e.At
	case lifecycle.Connected:
		h.cfg.Observer.Connected(time.Duration(e.At-p.began), lifecycle.NoReason)
	case lifecycle.Failed:
		h.failures[e.Reason]++
		if p.began >= 0 && e.Tools == 0 && !p.up {
			h.cfg.Observer.Connected(time.Duration(e.At-p.began), e.Reason)
		}
	case lifecycle.Disconnected, lifecycle.NoState:
	}
	p.up = e.State == lifecycle.Connected
	h.logTransition(e, p)
}

func (h *Host) logTransition(e *lifecycle.Event, p *peer) {
	level := slog.LevelInfo
	attrs := []slog.Attr{
		slog.String("peer", shortID(p.fp)), slog.Uint64("generation", uint64(e.Gen)),
		slog.String("state", e.State.String()),
	}
	if o := h.owners[e.Owner]; o != nil {
		attrs = append(attrs, slog.Uint64("owner", uint64(o.id)), slog.String("agent", o.agent),
			slog.String("name", o.names[e.Name]))
	}
	if e.State == lifecycle.Failed {
		level = slog.LevelWarn
		attrs = append(attrs, slog.String("reason", e.Reason.String()), slog.String("error", h.failure(e.Reason, p)))
	}
	h.cfg.Logger.LogAttrs(context.Background(), level, "peer", attrs...)
}
