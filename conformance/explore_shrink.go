package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mayfly-mcp/mayfly/scenarios"
)

// Bounds of shrinking. Every try is a daemon.
const (
	maxShrinkTries = 160
	confirmTries   = 4 // until a disagreement comes out again, where its time matters
	confirmations  = 2 // of the scenario that is written
)

// shrink makes the list as short as it can while fails holds, by delta debugging: it takes ever
// smaller pieces away. fails is asked at most budget times.
func shrink[T any](list []T, budget int, fails func([]T) bool) []T {
	for size := (len(list) + 1) / 2; size > 0 && len(list) > 0; {
		shorter := false
		for at := len(list) - size; at > -size; at -= size { // what came last matters least often
			from := max(at, 0)
			if budget--; budget < 0 {
				return list
			}
			if rest := slices.Concat(list[:from], list[min(at+size, len(list)):]); fails(rest) {
				list, shorter = rest, true
			}
		}
		if !shorter || size > len(list) {
			size /= 2
		}
	}
	return list
}

// reduction is one disagreement being shrunk.
type reduction struct {
	x     *explorer
	plan  plan
	first outing
	last  outing // of those like it
	tries int
}

// again runs a plan; it reports whether the daemon disagrees in the same way.
func (r *reduction) again(ctx context.Context, p plan, settle time.Duration) (outing, bool) {
	s, err := p.write()
	if err != nil || len(s.asks) == 0 && p.asks != nil {
		return outing{}, false
	}
	r.tries++
	t := r.x.try(ctx, s, p.idle, settle)
	if t.like(r.first) {
		r.last = t
	}
	return t, t.like(r.first)
}

// confirm runs the operations up to the disagreement until it comes out again.
func (r *reduction) confirm(ctx context.Context) bool {
	for range confirmTries {
		if t, same := r.again(ctx, r.plan, settleBound); same {
			r.cut(t)
			return true
		}
	}
	return false
}

// cut forgets what comes behind the disagreement.
func (r *reduction) cut(t outing) {
	if t.op >= 0 {
		r.plan.ops = r.plan.ops[:t.op+1]
	}
	r.plan = r.plan.kept()
}

// shrink makes the plan short, first in its operations, then in its questions. What remains is
// tried with all patience; when it does not come out there, the last that did is kept.
func (r *reduction) shrink(ctx context.Context) {
	fails := func(ops []scenarios.Command) bool {
		p := r.plan
		p.ops = ops
		_, same := r.again(ctx, p, shrinkBound)
		return same && ctx.Err() == nil
	}
	before := r.plan
	if still := (plan{ops: r.plan.ops, primes: r.plan.primes}).kept(); r.plan.idle > 0 { // without waits every try is quick
		if _, same := r.again(ctx, still, shrinkBound); same {
			r.plan = still
		}
	}
	if near := r.related(); len(near) < len(r.plan.ops) && fails(near) {
		r.plan.ops = near
	}
	r.plan.ops = shrink(r.plan.ops, maxShrinkTries, fails)
	r.plan = r.plan.kept()
	if !r.holds(ctx) {
		r.plan = before
		return
	}
	r.shrinkAsks(ctx)
}

// related are the operations that have to do with the server and the agents of the question that
// failed, by name. Mostly that is all there is to it, and if not, nothing is lost but a try.
func (r *reduction) related() (near []scenarios.Command) {
	q, names := r.first.query, []string{}
	for _, n := range []string{q.Agent, q.Server} {
		if n != "" {
			names = append(names, n)
		}
	}
	for _, op := range r.plan.ops { // of a call, its agent
		if s, ok := op.(scenarios.Start); ok && s.Calls.First == r.first.calls {
			names = append(names, strings.Fields(s.Op.String())[1])
		}
	}
	for _, op := range r.plan.ops {
		switch op.(type) { // agents that meet at a server, and what a server was told
		case scenarios.Declare, scenarios.Start, scenarios.Hold, scenarios.Release, scenarios.Change, scenarios.Kill, scenarios.Rename:
			words := strings.Fields(op.String())
			if slices.ContainsFunc(words, func(w string) bool { return slices.Contains(names, w) }) {
				names = append(names, slices.DeleteFunc(words[1:], func(w string) bool { return !r.subject(w) })...)
			}
		}
	}
	for _, op := range r.plan.ops {
		_, wait := op.(scenarios.Advance)
		if wait || slices.ContainsFunc(strings.Fields(op.String()), func(w string) bool { return slices.Contains(names, w) }) {
			near = append(near, op)
		}
	}
	return near
}

// subject says whether a word is the name of an agent or of a server.
func (r *reduction) subject(word string) bool {
	return slices.ContainsFunc(exploredServers, func(s scenarios.Server) bool { return s.Name == word }) ||
		slices.ContainsFunc(r.plan.ops, func(c scenarios.Command) bool { a, ok := c.(scenarios.Agent); return ok && a.Name == word })
}

// holds says whether the plan fails every time, as whoever reads the scenario would want.
func (r *reduction) holds(ctx context.Context) bool {
	for range confirmations {
		if _, same := r.again(ctx, r.plan, settleBound); !same {
			return false
		}
	}
	return true
}

// shrinkAsks leaves out questions. Those stay that a sound daemon needs time to answer: to ask is
// to wait, and without that a later operation might come too early, in any daemon.
func (r *reduction) shrinkAsks(ctx context.Context) {
	s, err := r.plan.write()
	if err != nil {
		return
	}
	at := len(s.asks) - 1
	for at >= 0 && s.asks[at].query != r.last.asked {
		at--
	}
	if at < 0 {
		return
	}
	before := r.plan
	for i, a := range s.asks {
		if i == at || a.op < s.asks[at].op && a.waits() {
			r.plan.asks = append(r.plan.asks, a)
		}
	}
	if !r.holds(ctx) {
		r.plan = before
	}
}

// waits says whether a question is one that waits for what later operations build upon. Events are
// asked for with all that came before, and the rest goes along with these.
func (a ask) waits() bool {
	switch a.kind() {
	case scenarios.Result, scenarios.Status, scenarios.Arrived:
		return true
	case scenarios.Spawns, scenarios.Running:
		return !strings.Contains(a.query, "token=")
	}
	return false
}

// finding writes what is left.
func (r *reduction) finding(walk, from int) (*Finding, error) {
	r.plan = r.plan.kept()
	s, err := r.plan.write("Found by exploration: the model says what is expected here, and the daemon showed",
		"something else.", fmt.Sprintf("Seed %d, walk %d, %s.", r.x.opts.Seed, walk, r.x.target.Name))
	if err != nil {
		return nil, err
	}
	return &Finding{Walk: walk, Says: r.first.says, From: from, To: len(r.plan.ops), Tries: r.tries,
		Scenario: s.file, Text: string(scenarios.Format(s.file))}, nil
}
