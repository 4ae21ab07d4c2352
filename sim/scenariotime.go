package sim

import (
	"fmt"
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// step feeds the machine and performs what it wants. A broken invariant breaks the world.
func (w *scenarioWorld) step(in lifecycle.Input) {
	if w.broken != nil {
		return
	}
	out, err := w.safely(in)
	if err != nil {
		w.broken = err
		return
	}
	// What follows may step again, which overwrites the output: take what it says first.
	effects := append([]lifecycle.Effect(nil), out.Effects...)
	replies := append([]lifecycle.Reply(nil), out.Replies...)
	for i := range out.Events {
		w.hear(&out.Events[i])
	}
	for i := range effects {
		w.effect(&effects[i])
	}
	for i := range replies {
		w.reply(&replies[i])
	}
}

// safely turns a panic into an error, and audits after the step.
func (w *scenarioWorld) safely(in lifecycle.Input) (out lifecycle.Output, err error) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case *lifecycle.Violation:
			err = v
		default:
			err = fmt.Errorf("the lifecycle panics: %v", v)
		}
	}()
	out = w.machine.Step(w.now, in)
	if m, ok := w.machine.(Auditor); ok {
		if v := m.Audit(); v != nil {
			return out, v
		}
	}
	return out, nil
}

// after puts something on the agenda.
func (w *scenarioWorld) after(d time.Duration, do func()) {
	w.pending = append(w.pending, do)
	w.agenda.push(item{at: w.now + lifecycle.Instant(d), ref: uint64(len(w.pending) - 1)})
}

// next is when something happens by itself.
func (w *scenarioWorld) next() lifecycle.Instant {
	return min(w.agenda.at(), w.machine.Deadline())
}

// happen lets the first pending thing happen: completions before deadlines of one instant.
func (w *scenarioWorld) happen() {
	at := w.next()
	w.now = max(w.now, at)
	if w.agenda.at() == at {
		it := w.agenda.pop()
		do := w.pending[it.ref]
		w.pending[it.ref] = nil
		do()
		return
	}
	w.step(lifecycle.TimeReached())
}

// runTo lets everything happen that is due up to an instant, or until stop says so.
func (w *scenarioWorld) runTo(to lifecycle.Instant, stop func() bool) {
	for n := 0; w.broken == nil && w.next() <= to && !stop(); n++ {
		if n == w.most {
			w.broken = fmt.Errorf("one line caused more than %d steps", w.most)
			return
		}
		w.happen()
	}
}

func never() bool { return false }

// quiet lets everything of this instant happen.
func (w *scenarioWorld) quiet() error {
	w.runTo(w.now, never)
	return w.broken
}

func (w *scenarioWorld) advance(by time.Duration) error {
	to := w.now + lifecycle.Instant(by)
	w.runTo(to, never)
	w.now = to
	return w.broken
}

// await lets time pass until a condition holds, at the very instant of its cause.
func (w *scenarioWorld) await(what string, holds func() bool) {
	w.runTo(w.now+lifecycle.Instant(w.patience), holds)
	if w.broken == nil && !holds() {
		w.broken = fmt.Errorf("%s did not come true within %v", what, w.patience)
	}
}
