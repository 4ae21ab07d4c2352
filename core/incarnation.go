package core

import (
	"context"
	"errors"
	"time"

	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/core/transport"
)

// peer is the payload of one fingerprint: everything that the machine must not know.
type peer struct {
	name  string // what may be printed of the fingerprint
	cfg   transport.Config
	share Share
	inc   *incarnation // the newest, nil before the first
	err   string       // what the newest incarnation said of its failure
	why   string       // the text of the last failure, as listings show it (SPEC ST-8)
	live  *catalogue   // what the machine counts as the peer's tools
	// known is the list of the last incarnation that had one. It survives eviction, so that
	// a call can find its peer without waking every sibling (SPEC DI-7).
	known *catalogue
	stale bool // the last refresh failed: live is what was known before (SPEC CA-15)
	noted noted
}

// incarnation is one run of a peer. Its goroutine owns the session until nothing is left.
type incarnation struct {
	h      *Host
	peer   *peer
	id     lifecycle.PeerID
	gen    lifecycle.Generation
	ctx    context.Context // ends when the dial is abandoned or everything is gone
	cancel context.CancelCauseFunc
	stages chan transport.Stage // rungs to perform; the ladder has three
	// session is set under Host.mu before Connected is fed.
	session transport.Session
	meter   transport.Meter // from its spawn to its end, if the session is one; guarded by Host.mu
	heard   bool            // it has said something
	refresh refresh
	// refreshed is when the last refresh began, 0 before the first.
	refreshed lifecycle.Instant
	internal  int // internal errors answered in a row (SPEC CA-13)
}

var errAbandoned = errors.New("the attempt was abandoned")

func (h *Host) dial(e *lifecycle.Effect) {
	p := h.peers[e.Peer]
	inc := &incarnation{h: h, peer: p, id: e.Peer, gen: e.Gen, stages: make(chan transport.Stage, 3)}
	inc.ctx, inc.cancel = context.WithCancelCause(context.Background())
	p.inc, p.err = inc, ""
	h.wg.Go(func() { inc.run(p.cfg) })
}

// run lives as long as the incarnation. It tells the machine Exited exactly once, last.
func (i *incarnation) run(cfg transport.Config) {
	defer i.cancel(nil)
	s, err := i.h.cfg.Dialer.Dial(i.ctx, cfg)
	if err != nil {
		i.feedError(lifecycle.ConnectFailed(i.id, i.gen), err)
		i.h.feed(lifecycle.Exited(i.id, i.gen))
		return
	}
	i.spawned(s)
	i.h.wg.Go(func() { i.initialize(s) })
	i.watch(s)
}

// spawned reports that the process exists.
func (i *incarnation) spawned(s transport.Session) {
	i.h.mu.Lock()
	defer i.h.mu.Unlock()
	i.meter, _ = s.(transport.Meter)
	i.h.step(lifecycle.Spawned(i.id, i.gen))
}

func (i *incarnation) initialize(s transport.Session) {
	tools, err := s.Initialize(i.ctx)
	if err != nil {
		i.feedError(lifecycle.ConnectFailed(i.id, i.gen), err)
		return
	}
	h := i.h
	h.mu.Lock()
	defer h.mu.Unlock()
	if p := i.peer; p.inc == i && i.ctx.Err() == nil {
		i.session = s
		p.live, p.stale = catalogueOf(tools), false
		p.known = p.live
	}
	h.step(lifecycle.InputConnected(i.id, i.gen, uint32(len(tools))))
	if i.refresh.again && i.isUp() {
		i.startRefresh()
	}
}

// exitPatience is how long the loss of an unused session waits for the exit that may have
// caused it. A process that ends closes its output a moment before its status can be read, and
// only the status tells whether it has failed or was done (FIELD-BUGS G11).
const exitPatience = 50 * time.Millisecond

// watch performs the rungs of the stop ladder and reports how the incarnation ends.
func (i *incarnation) watch(s transport.Session) {
	down := s.Down()
	heard, changed := reports(s)
	var late <-chan time.Time
	for {
		select {
		case <-heard:
			heard = nil
			i.spoke()
		case <-changed:
			i.relist()
		case stage := <-i.stages:
			s.Stop(stage)
		case <-down:
			down = nil
			if late = i.patience(s); late == nil {
				i.lost(s.Err())
			}
		case <-late:
			late = nil
			i.lost(s.Err())
		case <-s.Done():
			i.exited(s)
			return
		}
	}
}

// patience returns when the loss of a session is to be reported, nil for at once: somebody is
// waiting for an answer, or the session could not say that its end was a clean one.
func (i *incarnation) patience(s transport.Session) <-chan time.Time {
	h := i.h
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := s.(transport.Reporter); !ok || !i.isUp() || h.machine.View(i.id).InFlight > 0 {
		return nil
	}
	return h.cfg.Clock.After(exitPatience)
}

// spoke reports the first valid message of the peer.
func (i *incarnation) spoke() {
	h := i.h
	h.mu.Lock()
	defer h.mu.Unlock()
	i.heard = true
	if v := h.machine.View(i.id); v.Gen == i.gen && v.Phase == lifecycle.Dialing {
		h.step(lifecycle.Started(i.id, i.gen))
	}
}

// lost reports that the session can serve no more. Every session ends so when it is told to
// stop, which is no news.
func (i *incarnation) lost(err error) {
	h := i.h
	h.mu.Lock()
	defer h.mu.Unlock()
	if v := h.machine.View(i.id); v.Gen != i.gen || v.Phase == lifecycle.Stopping {
		return
	}
	if i.healthy() && err != nil {
		i.peer.err = failureText(err)
	}
	h.step(lifecycle.SessionBroken(i.id, i.gen))
}

// exited reports that nothing is left of the incarnation.
func (i *incarnation) exited(s transport.Session) {
	in := lifecycle.Exited(i.id, i.gen)
	if r, ok := s.(transport.Reporter); ok {
		in.Clean = r.Clean()
	}
	i.feedError(in, s.Err())
	i.h.mu.Lock()
	defer i.h.mu.Unlock()
	i.meter = nil
}

// reports returns the channels of a session that can tell more, nil ones otherwise.
func reports(s transport.Session) (heard, changed <-chan struct{}) {
	if r, ok := s.(transport.Reporter); ok {
		return r.Heard(), r.Changed()
	}
	return nil, nil
}

// feedError feeds an input that may fail the peer, with the text of that failure.
func (i *incarnation) feedError(in lifecycle.Input, err error) {
	h := i.h
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil && i.healthy() {
		i.peer.err = failureText(err)
	}
	h.step(in)
}

// healthy reports whether the incarnation can still fail its peer. What is said of it later,
// such as that it ended as it was told to, must not take the place of the reason that
// listings show (SPEC ST-8). Called with mu held.
func (i *incarnation) healthy() bool {
	v := i.h.machine.View(i.id)
	return v.Gen == i.gen && (v.Phase == lifecycle.Dialing || v.Phase == lifecycle.Up)
}

// isUp reports whether the incarnation is the one that serves. Called with mu held.
func (i *incarnation) isUp() bool {
	v := i.h.machine.View(i.id)
	return i.session != nil && v.Gen == i.gen && v.Phase == lifecycle.Up
}

// failureText is an error as listings show it: without the prefix that belongs to calls.
func failureText(err error) string {
	if e, ok := errors.AsType[*callerr.Error](err); ok {
		return e.Msg
	}
	return err.Error()
}

// perform carries one effect out. Nothing here can block: dialing and stopping happen in the
// incarnation's goroutine.
func (h *Host) perform(e *lifecycle.Effect) {
	switch e.Kind {
	case lifecycle.EffectDial:
		h.dial(e)
	case lifecycle.EffectAbandonDial:
		h.peers[e.Peer].inc.cancel(errAbandoned)
	case lifecycle.EffectStop:
		h.peers[e.Peer].inc.stages <- stageOf(e.Stage)
	case lifecycle.EffectAbandonCall:
		h.abandon(e.Ticket, e.Reason)
	case lifecycle.EffectForget:
		h.peers[e.Peer] = nil
	default:
		panic(&lifecycle.Violation{ID: "INPUT", Detail: "effect " + e.Kind.String()})
	}
}

func stageOf(s lifecycle.Stage) transport.Stage {
	switch s {
	case lifecycle.StageClose:
		return transport.StageClose
	case lifecycle.StageTerminate:
		return transport.StageTerminate
	case lifecycle.StageKill:
		return transport.StageKill
	case lifecycle.NoStage, lifecycle.StageStuck:
	}
	panic(&lifecycle.Violation{ID: "INPUT", Detail: "stop stage " + s.String()})
}
