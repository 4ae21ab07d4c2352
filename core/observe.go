package core

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// Observer is told how long things took. Its methods are called from many goroutines, with
// the host's lock held: they must be quick and must not call the host.
type Observer interface {
	// Connected is told of every attempt that came to an end: why is NoReason if it
	// succeeded. An attempt that nobody wants any more is not told.
	Connected(took time.Duration, why lifecycle.Reason)
	// Called is told of every call that was handed to a peer and ended; kind is 0 for an
	// answer. took runs from the admission, the wait for a connect is not in it.
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
	Claims int
	// Failures counts transitions to Failed by reason, Gaps the overflows of subscribers.
	Failures map[lifecycle.Reason]uint64
	Gaps     uint64
	// Shadowed counts the tools that listings found at two peers of one owner (see [Listing]).
	Shadowed uint64
}

// gaugeChunk is how many peers Gauges looks at before it lets others have the lock.
const gaugeChunk = 1024

// Gauges reads all of them. It costs O(peers) and holds nobody up for long: States is counted
// in pieces, between which peers may move on. The rest is of one moment.
func (h *Host) Gauges() Gauges {
	g := Gauges{States: map[lifecycle.State]int{}, Failures: map[lifecycle.Reason]uint64{}}
	var states [lifecycle.Failed + 1]int
	for id := 1; ; {
		h.mu.Lock()
		end := min(id+gaugeChunk, h.machine.Slots())
		for ; id < end; id++ {
			states[h.machine.View(lifecycle.PeerID(id)).State]++
		}
		if id < h.machine.Slots() {
			h.mu.Unlock()
			continue
		}
		g.Load, g.Stats, g.Owners, g.Claims, g.Gaps = h.machine.Load(), h.machine.Stats(), len(h.owners), h.claims, h.bus.gaps
		g.Shadowed = h.shadowed
		for r, n := range h.failures {
			g.Failures[r] = n
		}
		h.mu.Unlock()
		break
	}
	for s, n := range states {
		if n > 0 && lifecycle.State(s) != lifecycle.NoState {
			g.States[lifecycle.State(s)] = n
		}
	}
	return g
}

// noted is what the host remembers of a peer's last transition.
type noted struct {
	at    lifecycle.Instant
	gen   lifecycle.Generation
	state lifecycle.State
	began lifecycle.Instant    // of the attempt of generation tried
	tried lifecycle.Generation // 0 before the first
	up    lifecycle.Generation // the last one that was Connected
}

// note looks at one transition for the log, the counters and the observer, and keeps the words
// of a failure as they are now: a later configuration must not change them. A transition of a
// shared peer is told once for each owner; only the first of them is looked at. Called with
// mu held.
func (h *Host) note(e *lifecycle.Event, reclaimed []lifecycle.PeerID) {
	p := h.peers[e.Peer]
	n := &p.noted
	if e.Replay || e.At == n.at && e.Gen == n.gen && e.State == n.state || h.leaving(e) {
		return
	}
	n.at, n.gen, n.state = e.At, e.Gen, e.State
	switch e.State {
	case lifecycle.Connecting:
		n.began, n.tried, p.why = e.At, e.Gen, ""
	case lifecycle.Connected:
		n.up = e.Gen
		h.cfg.Observer.Connected(time.Duration(e.At-n.began), lifecycle.NoReason)
	case lifecycle.Failed:
		p.why = h.failure(e.Reason, p)
		h.failures[e.Reason]++
		if n.tried == e.Gen && n.up != e.Gen {
			h.cfg.Observer.Connected(time.Duration(e.At-n.began), e.Reason)
		}
	case lifecycle.Disconnected, lifecycle.NoState:
	}
	h.logTransition(e, p, e.State == lifecycle.Disconnected && slices.Contains(reclaimed, e.Peer))
}

// leaving recognises what one owner is told that gives a claim up while the peer goes on with
// others. It is no transition of the peer.
func (h *Host) leaving(e *lifecycle.Event) bool {
	if e.State != lifecycle.Disconnected {
		return false
	}
	now := h.machine.View(e.Peer).State
	return now != lifecycle.Disconnected && now != lifecycle.NoState
}

// logTransition writes one line. A peer that was stopped to make room says so: nothing else tells
// its owners why it went before its time.
func (h *Host) logTransition(e *lifecycle.Event, p *peer, reclaimed bool) {
	level := slog.LevelInfo
	if e.State == lifecycle.Failed {
		level = slog.LevelWarn
	}
	ctx := context.Background()
	if !h.cfg.Logger.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("peer", p.name), slog.Uint64("generation", uint64(e.Gen)),
		slog.String("state", e.State.String()),
	}
	if o := h.owners[e.Owner]; o != nil {
		attrs = append(attrs, slog.Uint64("owner", uint64(o.id)), slog.String("agent", o.agent),
			slog.String("name", o.names.of(e.Name)))
	}
	if reclaimed {
		attrs = append(attrs, slog.String("reason", "stopped to make room for others (max_live)"))
	}
	if e.State == lifecycle.Failed {
		attrs = append(attrs, slog.String("reason", e.Reason.String()), slog.String("error", p.why))
	}
	h.cfg.Logger.LogAttrs(ctx, level, "peer", attrs...)
}
