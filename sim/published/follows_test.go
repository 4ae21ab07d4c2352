package published_test

import (
	"testing"
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/sim"
)

// lab drives a subject by hand, beyond the first rule that breaks, to see what follows from it.
type lab struct {
	t       *testing.T
	subject sim.Subject
	now     lifecycle.Instant
	dials   int
	stops   int
	aborts  int // of dials
	cuts    int // of calls
	replies map[lifecycle.Ticket]lifecycle.Reply
}

func newLab(t *testing.T, readings string) *lab {
	return &lab{t: t, subject: subject(t, readings)(lifecycle.DefaultConfig()), replies: map[lifecycle.Ticket]lifecycle.Reply{}}
}

// at wakes the subject whenever it asks for it until an instant, and then feeds an input.
func (l *lab) at(d time.Duration, in lifecycle.Input) {
	l.until(d)
	l.feed(in)
}

func (l *lab) until(d time.Duration) {
	for l.subject.Deadline() < lifecycle.Instant(d) {
		l.now = max(l.now, l.subject.Deadline())
		l.feed(lifecycle.TimeReached())
	}
	l.now = lifecycle.Instant(d)
}

func (l *lab) feed(in lifecycle.Input) {
	out := l.subject.Step(l.now, in)
	for _, e := range out.Effects {
		switch e.Kind {
		case lifecycle.EffectDial:
			l.dials++
		case lifecycle.EffectStop:
			l.stops++
		case lifecycle.EffectAbandonDial:
			l.aborts++
		case lifecycle.EffectAbandonCall:
			l.cuts++
		case lifecycle.EffectForget:
		}
	}
	for _, r := range out.Replies {
		l.replies[r.Ticket] = r
	}
}

var fpA = lifecycle.Fingerprint{31: 1}

// claimed starts an owner with one claim.
func (l *lab) claimed(o lifecycle.OwnerID) {
	l.feed(lifecycle.OwnerBorn(o))
	l.feed(lifecycle.Declare(0, o, 1, fpA))
}

// wants compares counts of effects and the state of the one peer.
func (l *lab) wants(what string, dials, stops int, state lifecycle.State) {
	l.t.Helper()
	if v := l.subject.View(1); l.dials != dials || l.stops != stops || v.State != state {
		l.t.Errorf("%s: %d dials, %d stops, %s; want %d, %d, %s", what, l.dials, l.stops, v.State, dials, stops, state)
	}
}

// wantsReply compares the answer of a ticket.
func (l *lab) wantsReply(ticket lifecycle.Ticket, kind lifecycle.ReplyKind, why lifecycle.Reason) {
	l.t.Helper()
	if r := l.replies[ticket]; r.Kind != kind || r.Reason != why {
		l.t.Errorf("ticket %d was answered %s, %s; want %s, %s", ticket, r.Kind, r.Reason, kind, why)
	}
}

const (
	ticket1 = lifecycle.Ticket(1)
	ticket2 = lifecycle.Ticket(2)
)

// A declaration that goes during its connect leaves a process that nobody stops, for as long as the daemon runs.
func TestOrphanLivesForEver(t *testing.T) {
	for readings, stops := range map[string]int{"mended,teardown=running,late=by-id": 0, "mended,teardown=running": 1, "mended": 1, "": 0} {
		l := newLab(t, readings)
		l.claimed(1)
		l.feed(lifecycle.Dispatch(ticket1, 1, 1))
		l.at(time.Second, lifecycle.Release(0, 1, 1))
		l.at(1500*time.Millisecond, lifecycle.InputConnected(1, 1, 3))
		l.until(24 * time.Hour)
		if l.dials != 1 || (l.stops > 0) != (stops > 0) {
			t.Errorf("%q: after a day %d dials and %d stops; want 1, and stops: %t", readings, l.dials, l.stops, stops > 0)
		}
	}
}

// A newcomer's first call is refused because a call of somebody who has gone did not land: nothing
// was even tried for it, and nothing will be for T.
func TestNewcomerIsRefusedForAnOldCall(t *testing.T) {
	for readings, refused := range map[string]bool{"mended,mark=always": true, "": true, "kind": false, "mended": false, "machine": false} {
		l := newLab(t, readings)
		l.claimed(1)
		l.feed(lifecycle.Dispatch(ticket1, 1, 1))
		l.at(time.Second, lifecycle.InputConnected(1, 1, 3))
		l.at(5*time.Second, lifecycle.Release(0, 1, 1))
		l.claimed(2)
		l.at(6*time.Second, lifecycle.Exited(1, 1))
		l.at(10*time.Second, lifecycle.Dispatch(ticket2, 2, 1))
		l.until(20 * time.Minute)
		if refused {
			l.wantsReply(ticket2, lifecycle.ReplyRefused, lifecycle.ReasonFailed)
		}
		if tried := l.dials == 2; tried == refused {
			t.Errorf("%s: %d dials after the newcomer's call; want it refused %t", readings, l.dials, refused)
		}
	}
}

// A call that meets an eviction finds a peer that is listed as Connected and has no connection.
func TestCallMeetsAnEviction(t *testing.T) {
	for readings, refused := range map[string]bool{"mended,evict=process-first": true, "mended": false, "machine": false} {
		l := newLab(t, readings)
		l.claimed(1)
		l.feed(lifecycle.Dispatch(ticket1, 1, 1))
		l.at(time.Second, lifecycle.InputConnected(1, 1, 3))
		l.at(2*time.Second, lifecycle.CallDone(ticket1, lifecycle.DoneAnswered))
		l.at(37*time.Minute+30*time.Second+1, lifecycle.Dispatch(ticket2, 1, 1))
		if refused {
			l.wantsReply(ticket2, lifecycle.ReplyRefused, lifecycle.ReasonFailed)
			continue
		}
		l.at(37*time.Minute+31*time.Second, lifecycle.Exited(1, 1))
		l.wants(readings, 2, 1, lifecycle.Connecting)
	}
}

// An attempt that ends with its caller leaves its peer Connecting, with nothing behind it, for as long as
// nobody calls.
func TestConnectingForEver(t *testing.T) {
	for readings, state := range map[string]lifecycle.State{"mended,caller=dropped": lifecycle.Connecting, "mended": lifecycle.Disconnected, "machine": lifecycle.Disconnected} {
		l := newLab(t, readings)
		l.claimed(1)
		l.feed(lifecycle.Dispatch(ticket1, 1, 1))
		l.at(time.Second, lifecycle.Cancel(ticket1))
		l.at(2*time.Second, lifecycle.InputConnected(1, 1, 3))
		l.until(time.Hour)
		l.feed(lifecycle.Exited(1, 1))
		l.until(24 * time.Hour)
		if v := l.subject.View(1); v.State != state || v.Phase != lifecycle.Absent || l.dials != 1 {
			t.Errorf("%s: after a day %s, %s, %d dials; want %s, absent, 1", readings, v.State, v.Phase, l.dials, state)
		}
	}
}

// Whoever calls a Failed peer every ten minutes never sees it tried again.
func TestSteadyCallsKeepAFailure(t *testing.T) {
	for readings, dials := range map[string]int{"mended,failed-call=use": 1, "": 1, "mended": 2, "machine": 2} {
		l := newLab(t, readings)
		l.claimed(1)
		l.feed(lifecycle.Dispatch(ticket1, 1, 1))
		l.at(time.Second, lifecycle.ConnectFailed(1, 1))
		l.at(2*time.Second, lifecycle.Exited(1, 1))
		for m := 10; m < 60; m += 10 {
			l.at(time.Duration(m)*time.Minute, lifecycle.Dispatch(ticket1+lifecycle.Ticket(m), 1, 1))
			if l.dials > 1 {
				break
			}
		}
		if l.dials != dials {
			t.Errorf("%q: %d dials in an hour of calls; want %d", readings, l.dials, dials)
		}
	}
}

// A reconnect that fails is tried again by the next call, seconds later: the bound of retries is T for
// whoever reads the clock from the failure.
func TestRetryBound(t *testing.T) {
	for readings, dials := range map[string]int{"mended,clock=dispatch": 2, "": 2, "mended,clock=answer": 1, "machine": 1} {
		l := newLab(t, readings)
		l.claimed(1)
		l.at(44*time.Minute+50*time.Second, lifecycle.Reconnect(ticket1, 1, 1))
		l.at(44*time.Minute+51*time.Second, lifecycle.ConnectFailed(1, 1))
		l.at(44*time.Minute+52*time.Second, lifecycle.Exited(1, 1))
		l.at(45*time.Minute+10*time.Second, lifecycle.Dispatch(ticket2, 1, 1))
		if l.dials != dials {
			t.Errorf("%q: %d dials within twenty seconds; want %d", readings, l.dials, dials)
		}
	}
}

// With T = 0 nothing ages: a failure lasts until somebody reconnects, in the published algorithm and in
// the project's own alike; the latter has a period of its own for it.
func TestFailureWithoutT(t *testing.T) {
	for _, readings := range []string{"", "kind", "machine"} {
		cfg := lifecycle.DefaultConfig()
		cfg.IdleTimeout = 0
		l := newLab(t, readings)
		l.subject = subject(t, readings)(cfg)
		l.claimed(1)
		l.feed(lifecycle.Dispatch(ticket1, 1, 1))
		l.at(time.Second, lifecycle.ConnectFailed(1, 1))
		l.at(2*time.Second, lifecycle.Exited(1, 1))
		l.at(1000*time.Hour, lifecycle.Dispatch(ticket2, 1, 1))
		l.wantsReply(ticket2, lifecycle.ReplyRefused, lifecycle.ReasonFailed)
		l.wants(readings, 1, 1, lifecycle.Failed)
	}
}

// A call ends with its session, even if its process is being stopped and lives on.
func TestCallEndsWithItsSession(t *testing.T) {
	for _, readings := range []string{"", "mended"} {
		l := newLab(t, readings)
		l.claimed(1)
		l.feed(lifecycle.Dispatch(ticket1, 1, 1))
		l.at(time.Second, lifecycle.InputConnected(1, 1, 3))
		l.at(2*time.Second, lifecycle.Release(0, 1, 1))
		l.at(2500*time.Millisecond, lifecycle.SessionBroken(1, 1))
		if v := l.subject.View(1); l.cuts != 1 || v.InFlight != 0 || v.Phase != lifecycle.Stopping {
			t.Errorf("%q: %d calls abandoned, %d in flight, %s; want 1, 0, stopping", readings, l.cuts, v.InFlight, v.Phase)
		}
	}
}

// A call that times out in a drain fails its peer like any other.
func TestTimeoutInADrain(t *testing.T) {
	cfg := lifecycle.DefaultConfig()
	cfg.CallTimeout, cfg.DrainGrace = 3*time.Second, 10*time.Second
	l := newLab(t, "")
	l.subject = subject(t, "mended")(cfg)
	l.claimed(1)
	l.feed(lifecycle.Dispatch(ticket1, 1, 1))
	l.at(time.Second, lifecycle.InputConnected(1, 1, 3))
	l.at(2*time.Second, lifecycle.Dispatch(ticket2, 1, 1))
	l.at(3*time.Second, lifecycle.Drain())
	l.until(4500 * time.Millisecond)
	l.wants("a call timed out and another runs", 1, 0, lifecycle.Failed)
	l.until(5500 * time.Millisecond)
	if l.cuts != 2 || l.stops == 0 {
		t.Errorf("%d calls abandoned, %d stops; want 2 and some", l.cuts, l.stops)
	}
}

// A connect that came up when its declaration had gone is stopped; it has ended, so that there is
// nothing of it to abandon.
func TestLateConnectIsNotAbandoned(t *testing.T) {
	l := newLab(t, "mended,teardown=running")
	l.claimed(1)
	l.feed(lifecycle.Dispatch(ticket1, 1, 1))
	l.at(time.Second, lifecycle.Release(0, 1, 1))
	l.at(2*time.Second, lifecycle.InputConnected(1, 1, 3))
	if l.aborts != 0 || l.stops != 1 {
		t.Errorf("%d dials abandoned and %d stops; want 0 and 1", l.aborts, l.stops)
	}
}

// A write-off, of which the document knows nothing, is refused and changes nothing.
func TestWriteOffIsRefused(t *testing.T) {
	l := newLab(t, "")
	l.feed(lifecycle.WriteOff(ticket1, 1, 1))
	l.wantsReply(ticket1, lifecycle.ReplyRefused, lifecycle.ReasonDeadOwner)
	l.claimed(1)
	l.feed(lifecycle.WriteOff(ticket1, 1, 2))
	l.wantsReply(ticket1, lifecycle.ReplyRefused, lifecycle.ReasonNoClaim)
	before := l.subject.View(1)
	l.feed(lifecycle.WriteOff(ticket1, 1, 1))
	l.wantsReply(ticket1, lifecycle.ReplyRefused, lifecycle.ReasonNotStuck)
	if after := l.subject.View(1); after != before {
		t.Errorf("the peer is %+v after a write-off; it was %+v", after, before)
	}
}
