package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"syscall"

	"github.com/mayfly-mcp/mayfly/core/wire"
	"github.com/mayfly-mcp/mayfly/fakes/observer"
)

// recorder takes down what one attempt at a check sees. A nil one takes nothing down: a world
// that nobody certifies has none.
type recorder struct {
	zero int64 // observer.Now at the beginning of the run

	mu      sync.Mutex
	seen    []observation
	moments []moment
	dropped int
}

func (r *recorder) now() int64 { return observer.Now() - r.zero }

// take records an observation and judges it. The error, if any, says which one it was.
func (r *recorder) take(o observation) error {
	by := 0
	if r != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		if o.At == 0 {
			o.At = r.now()
		}
		if r.seen = append(r.seen, o); len(r.seen) > maxSeen {
			r.seen = r.seen[:maxSeen]
			r.dropped++
		} else {
			by = len(r.seen)
		}
	}
	if bad := granted.look(o); bad != nil {
		bad.by = by
		return bad
	}
	return nil
}

// equal records a comparison. says, if not empty, is how a difference is told.
func (r *recorder) equal(what, expected, observed, says string) error {
	return r.take(observation{Kind: seenEqual, What: what, Expected: expected, Observed: observed, Says: says, Differs: expected != observed})
}

// span notes what the runner did, and returns what is to be called at its end.
func (r *recorder) span(what string) func() {
	if r == nil {
		return func() {}
	}
	from := r.now()
	return func() { r.note(moment{At: from, To: r.now(), Lane: laneRunner, What: what}) }
}

func (r *recorder) note(m moment) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.moments) >= maxMoments {
		r.dropped++
		return
	}
	r.moments = append(r.moments, m)
}

// observations returns what was recorded so far.
func (r *recorder) observations() []observation {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.seen)
}

// ended takes down what a check returned. What the daemon did to a request is kept apart from
// everything else, since that is what the judge goes by.
func (p *probe) ended(ctx context.Context, evidence string, err error) ending {
	e := ending{How: endedWell, Text: evidence, Alive: p.started()}
	if err == nil {
		return e
	}
	e.Text, e.Waited = err.Error(), ctx.Err() != nil
	if ctx.Err() != nil && !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		e.How = endedStopped
		return e
	}
	if fault := p.adapterFault(); fault != "" {
		e.How, e.Text = endedAdapter, fault
		return e
	}
	if r, ok := errors.AsType[*ruling](err); ok {
		e.How, e.Verdict, e.Text, e.By = endedRuled, r.verdict, r.evidence, r.by
		return e
	}
	lost := errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		errors.Is(err, io.ErrUnexpectedEOF) || p.started() && noSocket(err)
	if lost {
		p.awaitEnd() // the connections of a process end before it does
	}
	_, refused := errors.AsType[*wire.Error](err)
	_, dialect := errors.AsType[*wire.UnexpectedError](err)
	e.Ended = p.endedByItself()
	switch {
	case refused, dialect:
		e.How = endedRefused
	case lost:
		e.How = endedLost
	case errors.Is(err, context.DeadlineExceeded):
		e.How = endedDeadline
	default:
		e.How = endedOther
	}
	return e
}

// record makes the record of an attempt of all that was taken down, masked.
func (p *probe) record(c Check, e ending, log []string) attemptRecord {
	a := attemptRecord{Record: recordAttempt, Check: c.ID, Ending: e, Log: log, Seen: p.rec.observations()}
	if p.rec != nil {
		p.rec.mu.Lock()
		a.Life, a.Dropped = slices.Clone(p.rec.moments), p.rec.dropped
		p.rec.mu.Unlock()
		for i, r := range p.all() {
			more, dropped := r.life(p.rec.zero, i)
			a.Life, a.Dropped = append(a.Life, more...), a.Dropped+dropped
		}
	}
	if err := a.validate(); err != nil { // a fault of this check alone, and of no other one's verdict
		a.Seen = nil
		a.Ending = ruledOut(HarnessError, "the check recorded what cannot be judged, which says nothing about the daemon: %v", err)
	}
	slices.SortStableFunc(a.Life, func(x, y moment) int { return cmp.Compare(x.At, y.At) })
	a.mask(p.say)
	return a
}

// life is what became of a daemon and of its peers, as moments since zero. nth tells the
// daemons of one check apart.
func (r *rig) life(zero int64, nth int) (out []moment, dropped int) {
	lane := laneDaemon
	if nth > 0 {
		lane = fmt.Sprintf("%s %d", laneDaemon, nth+1)
	}
	for _, l := range r.lived() {
		m := moment{At: l.born - zero, Lane: lane, What: "alive"}
		if died := l.died.Load(); died != 0 {
			m.To = died - zero
		}
		out = append(out, m)
	}
	if r.events != nil {
		out = append(out, r.events.moments(zero, lane, r.fenced)...)
	}
	for _, rep := range r.ctl.Journal() {
		if rep.Name == fenceServer || rep.Kind == observer.Garbage {
			continue
		}
		if len(out) >= maxMoments {
			dropped++
			continue
		}
		out = append(out, moment{At: rep.Time - zero, Lane: rep.Name, What: told(rep)})
	}
	return out, dropped
}

// told is a peer's report in words, without anything that could be a secret.
func told(rep observer.Report) string {
	what := string(rep.Kind)
	switch rep.Kind {
	case observer.Reached:
		what += " " + string(rep.Point)
	case observer.Received, observer.Sent:
		what += " " + cmp.Or(rep.Method, "reply")
	case observer.Signal:
		what += " " + rep.Text
	case observer.Exiting:
		what += fmt.Sprintf(" with %d", rep.Code)
	case observer.Spawned, observer.StdinEOF, observer.Forked, observer.Ended, observer.Garbage:
	}
	return fmt.Sprintf("#%d %s", rep.Inc, what)
}

// noSocket says that there was nothing to connect to. Under a daemon that has served, that is
// the daemon's doing, or that of another one which it let into its home.
func noSocket(err error) bool {
	dial, ok := errors.AsType[*net.OpError](err)
	return ok && dial.Op == "dial" && errors.Is(dial, syscall.ENOENT)
}
