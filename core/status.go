package core

import (
	"context"
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/core/transport"
)

// Status is the standing of one claim.
type Status struct {
	Owner lifecycle.OwnerID
	Agent string
	Name  string
	Peer  string // short printable id of the fingerprint
	State lifecycle.State
	// Stopping is set while an earlier incarnation is on the stop ladder, Stuck when it
	// outlived SIGKILL (SPEC ST-1, ST-9).
	Stopping bool
	Stuck    bool
	// WrittenOff counts earlier incarnations that were stuck, were given up by [Owner.WriteOff],
	// and have not ended.
	WrittenOff int
	// Error is the text of the last failure; it stays after the peer aged (SPEC ST-8).
	Error      string
	Tools      []transport.Tool // shared, do not change it
	Generation lifecycle.Generation
	Claims     int // of all owners
	InFlight   int
	// Since is when the peer entered its State. Queued is set while an attempt waits for room
	// (SPEC PR-6), Stale when the last refresh of Tools failed (SPEC CA-15).
	Since  time.Time
	Queued bool
	Stale  bool
	// RetryAfter is when a Failed peer may be tried again by a call; 0 when only a reconnect
	// helps, or nothing is to be tried (SPEC DI-12). RetryAt is the same as a moment.
	RetryAfter time.Duration
	RetryAt    time.Time
	// Policy is in force for the peer, where it differs from the host's settings, and Share
	// the way in which it is shared (SPEC RE-10, ID-7).
	Policy lifecycle.Policy
	Share  Share
}

// List returns the owner's claims in declaration order. It starts nothing.
func (o *Owner) List() []Status {
	o.h.mu.Lock()
	defer o.h.mu.Unlock()
	o.h.now()
	out := make([]Status, len(o.claims))
	for i, id := range o.claims {
		out[i] = o.status(id)
	}
	return out
}

// status reads one claim from the machine and its payload in one step, so that a row never
// mixes two moments (SPEC ST-7). Called with mu held.
func (o *Owner) status(id lifecycle.NameID) Status {
	p := o.peerOf(id)
	v := o.h.machine.View(o.h.machine.Claimed(o.id, id))
	s := Status{
		Owner: o.id, Agent: o.agent, Name: o.names.of(id), Peer: p.name, State: v.State,
		Stopping: v.Phase == lifecycle.Stopping, Stuck: v.Stage == lifecycle.StageStuck, WrittenOff: v.WrittenOff,
		Generation: v.Gen, Claims: v.Claims, InFlight: v.InFlight,
		Since: o.h.origin.Add(time.Duration(v.Since)), Queued: v.Queued, Policy: v.Policy, Share: p.share,
	}
	if v.Reason != lifecycle.NoReason {
		s.Error = p.why
	}
	if v.State == lifecycle.Failed && v.RetryAt != lifecycle.Never {
		s.RetryAfter = o.h.until(v.RetryAt)
		s.RetryAt = o.h.origin.Add(time.Duration(v.RetryAt))
	}
	if v.State == lifecycle.Connected {
		s.Stale = p.stale || p.inc.overdue()
	}
	if v.Tools > 0 {
		s.Tools = p.live.list()
	}
	return s
}

// Ensure brings the peer of a claim up without using it and returns its standing after the
// attempt; a failed connect is a Status, not an error (SPEC CF-1).
func (o *Owner) Ensure(ctx context.Context, name string) (Status, error) {
	return o.settled(ctx, name, lifecycle.Ensure)
}

// Reconnect replaces whatever runs behind a claim by a new incarnation of the same
// configuration, once for all owners, and returns its standing after the attempt (SPEC
// section 7). A failed connect is a Status, not an error.
func (o *Owner) Reconnect(ctx context.Context, name string) (Status, error) {
	return o.settled(ctx, name, lifecycle.Reconnect)
}

// WriteOff is an operator's word that a process which outlived SIGKILL (see [Status].Stuck) is
// not to be waited for: the next one may begin beside it. It is refused, and says so, when
// nothing is stuck behind the claim. The process goes on to count as one that lives, to be
// listed, and to hold [Host.Close], until its end was observed (SPEC ST-9).
func (o *Owner) WriteOff(name string) error {
	o.h.mu.Lock()
	defer o.h.mu.Unlock()
	id, err := o.claimToAct(name)
	if err != nil {
		return err
	}
	w := o.open(id, lifecycle.WriteOff)
	if w.replied {
		return w.refused()
	}
	o.h.drop(w) // only a refusal is answered
	return nil
}

type opener func(lifecycle.Ticket, lifecycle.OwnerID, lifecycle.NameID) lifecycle.Input

func (o *Owner) settled(ctx context.Context, name string, open opener) (Status, error) {
	h := o.h
	h.mu.Lock()
	id, err := o.claimToAct(name)
	if err != nil {
		h.mu.Unlock()
		return Status{}, err
	}
	w := o.open(id, open)
	h.await(ctx, w)
	h.mu.Unlock()
	if w.settled == nil {
		return Status{}, w.refused()
	}
	return *w.settled, nil
}

func (o *Owner) claimToAct(name string) (lifecycle.NameID, error) {
	if err := o.mayAct(); err != nil {
		return 0, err
	}
	return o.claim(name)
}
