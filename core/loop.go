package core

import (
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// feed takes the lock for one step. It is how completions reach the machine.
func (h *Host) feed(in lifecycle.Input) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.step(in)
}

// step feeds one input and hands its output on, all under mu, so that events, replies and
// effects leave in the order of the machine's decisions.
func (h *Host) step(in lifecycle.Input) {
	h.settle(h.advance(in))
}

// advance feeds one input. Its output must be settled before mu is released.
func (h *Host) advance(in lifecycle.Input) lifecycle.Output {
	h.now()
	out := h.machine.Step(h.last, in)
	if h.cfg.Recorder != nil {
		h.cfg.Recorder.add(h.last, in, out)
	}
	return out
}

// now reads the clock into last. The machine's time never runs backwards: after a clock did, it
// goes on from where it was, so that no deadline is further away than before. A clock that
// jumps ahead says that so much time has passed, and is believed.
func (h *Host) now() lifecycle.Instant {
	at := h.skew + lifecycle.Instant(h.cfg.Clock.Since(h.origin))
	if at < h.last {
		h.skew += h.last - at
		at = h.last
	}
	h.last = at
	return at
}

// settle publishes events before it answers tickets: whoever gets an answer and then looks
// at the events finds what led to it.
func (h *Host) settle(out lifecycle.Output) {
	if len(out.Events) > 0 {
		h.publish(out.Events, out.Reclaimed)
	}
	for i := range out.Effects {
		h.perform(&out.Effects[i])
	}
	for i := range out.Replies {
		h.answer(&out.Replies[i])
	}
	h.arm()
	h.checkIdle()
}

// arm keeps the one timer no later than the machine's deadline (DESIGN D2). A timer that is
// armed for an earlier moment is left alone: it fires, finds nothing due and is armed anew,
// which costs less than to move it at every call.
//
// A deadline that is over although its timer has not fired yet is met here, after the input
// that came first: a busy host must not make it wait for a lock, and a clock that jumped ahead
// may have left its timers behind.
func (h *Host) arm() {
	at := h.machine.Deadline()
	if at < h.last {
		h.step(lifecycle.TimeReached())
		return
	}
	if at >= h.armed {
		return
	}
	wait := max(0, time.Duration(at-h.last))
	h.armed = at
	if h.timer != nil && h.timer.Stop() {
		h.wg.Done()
	}
	h.wg.Add(1)
	h.timerSeq++
	seq := h.timerSeq
	h.timer = h.cfg.Clock.AfterFunc(wait, func() { h.onTimer(seq) })
}

// onTimer wakes the machine. A timer that fired before Stop could prevent it, and was
// replaced meanwhile, is recognised by its number and ignored.
func (h *Host) onTimer(seq uint64) {
	defer h.wg.Done()
	h.mu.Lock()
	defer h.mu.Unlock()
	if seq != h.timerSeq || h.armed == lifecycle.Never {
		return
	}
	if behind := h.armed - h.now(); behind > 0 {
		h.skew += behind // the clock was set back, but so much time has passed at least
	}
	h.armed = lifecycle.Never
	if h.machine.Deadline() <= h.now() {
		h.step(lifecycle.TimeReached())
		return
	}
	h.arm()
}
