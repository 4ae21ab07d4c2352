package core

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/core/transport"
)

// Listing is what one claim contributes to a listing.
type Listing struct {
	Name  string
	Tools []transport.Tool // shared, do not change it
	// Shadowed names those of Tools that an earlier row exports too: a call by the name of the
	// tool goes there.
	Shadowed []string
	// Err says why there are no tools. It is a *callerr.Error: of kind Cancelled if the
	// context of the listing ended before the peer was up, of kind Refused else.
	Err error
}

// Dispatch is a listing: it brings up every peer that the owner claims, all at once, and
// reads their tools (SPEC DI-1, DI-3, DI-11). The result is in declaration order. When ctx ends
// first, Dispatch returns its error and still all that is known: the rows of peers that were
// not up yet say so, and those peers go on connecting (SPEC DI-9, DI-15).
func (o *Owner) Dispatch(ctx context.Context) ([]Listing, error) {
	h := o.h
	h.mu.Lock()
	if err := o.mayAct(); err != nil {
		h.mu.Unlock()
		return nil, err
	}
	out := make([]Listing, len(o.claims))
	waits := make([]*waiter, len(o.claims))
	slow := 0
	for i, id := range o.claims {
		out[i].Name = o.names.of(id)
		if w := o.open(id, lifecycle.Dispatch); w.replied {
			out[i].Tools, out[i].Err = h.read(w)
		} else {
			waits[i] = w
			slow++
		}
	}
	h.mu.Unlock()
	var err error
	if slow > 0 {
		err = h.readSlow(ctx, out, waits)
	}
	if n := shadow(out); n > 0 {
		h.mu.Lock()
		h.shadowed += uint64(n)
		h.mu.Unlock()
	}
	return out, err
}

// readSlow waits for the peers that were not up, each by itself: a ticket that waited for a
// slow sibling while it was admitted would outlive the bound of a call and fail a healthy peer.
func (h *Host) readSlow(ctx context.Context, out []Listing, waits []*waiter) error {
	var wg sync.WaitGroup
	for i, w := range waits {
		if w == nil {
			continue
		}
		wg.Go(func() {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.await(ctx, w)
			out[i].Tools, out[i].Err = h.read(w)
		})
	}
	wg.Wait()
	for i := range out {
		if callerr.KindOf(out[i].Err) == callerr.Cancelled {
			return ctx.Err()
		}
	}
	return nil
}

// read takes the tools of the incarnation that admitted the ticket, and ends its use. Called
// with mu held.
func (h *Host) read(w *waiter) ([]transport.Tool, error) {
	if w.inc == nil {
		return nil, w.refused()
	}
	tools := w.inc.peer.live.list()
	h.finish(w, lifecycle.DoneAnswered, nil)
	return tools, nil
}

// Call calls a tool by name through the first declarer that exports it and is able to serve
// (SPEC DI-8). It starts the peers that could export it, not every sibling (SPEC DI-7):
//
//   - those whose list, of now or remembered from their last incarnation, names the tool, in
//     declaration order, one by one until one serves;
//   - then those that were never listed, all at once if nobody is known to export it;
//   - and if nobody was, those that do not run now, one by one: their list may be another when
//     they do. They are not asked when the tool is known and its peer has failed.
//
// args is a JSON object or empty. Errors are *callerr.Error, or ErrClosed.
func (o *Owner) Call(ctx context.Context, tool string, args json.RawMessage) (*transport.Result, error) {
	h := o.h
	h.mu.Lock()
	if err := o.mayAct(); err != nil {
		h.mu.Unlock()
		return nil, err
	}
	s := search{o: o, tool: tool}
	id, why := s.next()
	if why == unlisted {
		w := o.open(id, lifecycle.Dispatch)
		defer h.dropAll(s.wakeUnlisted(id))
		return s.run(ctx, id, why, w, args)
	}
	if why == nobodyElse {
		h.mu.Unlock()
		return nil, s.failure()
	}
	return s.run(ctx, id, why, o.open(id, lifecycle.Dispatch), args)
}

// search is one call on its way to a peer that serves it. Its methods are called with mu held.
type search struct {
	o      *Owner
	tool   string
	asked  []lifecycle.NameID
	woken  []lifecycle.NameID // brought up at once: their turn is as it was then, whoever is up first
	failed error              // the first refusal
	shadow bool               // a peer that is known to export the tool has failed
}

// motive is why a claim is asked for a tool.
type motive uint8

const (
	nobodyElse motive = iota
	exporting         // its catalogue names the tool
	unlisted          // nobody has listed it yet
	asleep            // its catalogue is of an incarnation that has ended
)

// next finds the next claim to ask, in declaration order within each motive.
func (s *search) next() (lifecycle.NameID, motive) {
	if len(s.woken) > 0 {
		id := s.woken[0]
		s.woken = s.woken[1:]
		return id, unlisted
	}
	for why := exporting; why <= asleep; why++ {
		if why == asleep && s.shadow {
			break
		}
		for _, id := range s.o.claims {
			if s.o.motive(id, s.tool) == why && !slices.Contains(s.asked, id) {
				return id, why
			}
		}
	}
	return 0, nobodyElse
}

// motive says why a claim could be asked. Called with mu held.
func (o *Owner) motive(id lifecycle.NameID, tool string) motive {
	peer := o.h.machine.Claimed(o.id, id)
	switch p := o.h.peers[peer]; {
	case p.known == nil:
		return unlisted
	case p.known.exports(tool):
		return exporting
	}
	switch o.h.machine.View(peer).State {
	case lifecycle.Disconnected, lifecycle.Connecting:
		return asleep
	case lifecycle.Connected, lifecycle.Failed, lifecycle.NoState:
	}
	return nobodyElse
}

// wakeUnlisted brings up all that nobody has listed but the first, which is asked already.
// They are not admitted before their turn, or the bound of a call would run while their elder
// siblings are still connecting, and would fail them for a call that was never made.
func (s *search) wakeUnlisted(first lifecycle.NameID) (waits []*waiter) {
	for _, id := range s.o.claims {
		if id != first && s.o.peerOf(id).known == nil {
			s.woken = append(s.woken, id)
			waits = append(waits, s.o.open(id, lifecycle.Ensure))
		}
	}
	return waits
}

// run asks one after the other, the first by the ticket that is open. It releases mu.
func (s *search) run(ctx context.Context, id lifecycle.NameID, why motive, w *waiter, args json.RawMessage) (*transport.Result, error) {
	h := s.o.h
	for {
		res, err, ok := h.try(ctx, w, s.tool, args)
		if ok {
			return res, err
		}
		if s.failed == nil {
			s.failed = err
		}
		s.shadow = s.shadow || why == exporting && err != nil
		s.asked = append(s.asked, id)
		h.mu.Lock()
		if id, why = s.next(); why == nobodyElse {
			h.mu.Unlock()
			return nil, s.failure()
		}
		w = s.o.open(id, lifecycle.Dispatch)
	}
}

// failure is what the caller is told when nobody serves.
func (s *search) failure() error {
	if s.failed != nil {
		return s.failed
	}
	return refusal(lifecycle.ReasonNoClaim, "tool not available: "+s.tool)
}

// try waits for one declarer and calls the tool on it. ok is false when the declarer cannot
// serve: err then says why, or is nil when it simply does not export the tool. Called with mu
// held, which it releases.
func (h *Host) try(ctx context.Context, w *waiter, tool string, args json.RawMessage) (_ *transport.Result, err error, ok bool) {
	h.await(ctx, w)
	switch {
	case w.inc == nil:
		h.mu.Unlock()
		return nil, w.refused(), w.reply.Reason == lifecycle.ReasonCancelled
	case ctx.Err() != nil:
		defer h.mu.Unlock()
		return nil, h.gaveUp(ctx, w), true
	case !w.inc.peer.live.exports(tool):
		h.finish(w, lifecycle.DoneAnswered, nil)
		h.mu.Unlock()
		return nil, nil, false
	case !h.isOpen(w): // the machine ended it before anything was sent: another may serve
		h.mu.Unlock()
		return nil, w.cut(), false
	}
	k := h.launch(ctx, w, tool, args)
	h.mu.Unlock()
	res, err := h.outcome(ctx, w, k)
	return res, err, true
}

// dropAll cancels the tickets of declarers that are not needed any more; their attempts run
// on (SPEC DI-9).
func (h *Host) dropAll(waits []*waiter) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range waits {
		if h.isOpen(w) {
			h.step(lifecycle.Cancel(w.ticket))
		}
	}
}

// launch hands an admitted call to its session. Called with mu held, while the ticket is open:
// then its incarnation lives, and Close still counts goroutines.
func (h *Host) launch(ctx context.Context, w *waiter, tool string, args json.RawMessage) *worker {
	w.ctx.begin(ctx)
	w.sent = true
	k := h.hire()
	k.jobs <- job{w.inc.session, &w.ctx, tool, args}
	return k
}

// outcome returns when the session answered, when the machine ended the call, or when the
// caller gave up, whichever comes first: a session that is blocked in a write never holds its
// caller (SPEC CA-8).
func (h *Host) outcome(ctx context.Context, w *waiter, k *worker) (*transport.Result, error) {
	select {
	case o := <-k.outs:
		h.mu.Lock()
		defer h.mu.Unlock()
		h.dismiss(k)
		w.ctx.end()
		err := typed(o.err)
		if err != nil && !h.isOpen(w) {
			return nil, w.cut() // the error is only what follows from the end
		}
		h.finish(w, doneKind(err), err)
		return o.res, err
	case <-w.ctx.done:
		close(k.jobs)
		return nil, w.cut()
	case <-ctx.Done():
		close(k.jobs)
		h.mu.Lock()
		defer h.mu.Unlock()
		return nil, h.gaveUp(ctx, w)
	}
}

// gaveUp ends an admitted call whose caller does not wait for it any longer. Called with mu
// held.
func (h *Host) gaveUp(ctx context.Context, w *waiter) error {
	h.finish(w, lifecycle.DoneCancelled, nil)
	if w.sent {
		w.ctx.end()
	}
	return &callerr.Error{Kind: callerr.Cancelled, Phase: w.phase(), Definite: !w.sent,
		Msg: "the call was cancelled by its caller", Err: context.Cause(ctx)}
}

// cut is the error of an admitted call that the machine ended.
func (w *waiter) cut() error {
	return &callerr.Error{Kind: callerr.Transport, Phase: w.phase(), Definite: !w.sent, Msg: w.text,
		Err: &RefusedError{Reason: w.why}}
}

// phase says how far a call came that did not come to its end.
func (w *waiter) phase() callerr.Phase {
	if w.sent {
		return callerr.PhaseAnswer
	}
	return callerr.PhaseWrite
}

// typed makes a transport failure of what no session may answer: an error of no kind, or of a
// kind that only a host can give. A call that was cancelled has no session's answer.
func typed(err error) error {
	switch callerr.KindOf(err) {
	case callerr.Rejected, callerr.Transport:
		return err
	case callerr.Cancelled, callerr.Refused:
	}
	if err == nil {
		return nil
	}
	return &callerr.Error{Kind: callerr.Transport, Phase: callerr.PhaseAnswer, Msg: failureText(err), Err: err}
}

func doneKind(err error) lifecycle.DoneKind {
	switch {
	case err == nil:
		return lifecycle.DoneAnswered
	case callerr.KindOf(err) == callerr.Rejected:
		return lifecycle.DoneRejected
	}
	return lifecycle.DoneTransport
}
