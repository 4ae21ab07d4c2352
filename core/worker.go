package core

import (
	"encoding/json"

	"github.com/mayfly-mcp/mayfly/core/transport"
)

// maxSpareWorkers bounds the goroutines that a host keeps for its next calls. What more are
// needed at one moment are made for one call each.
const maxSpareWorkers = 256

// worker is a goroutine that calls sessions. A caller must never be held by a session, and a
// goroutine that is reused costs less than a new one. It belongs to one caller at a time, from
// launch until that caller has received its one outcome. A caller that leaves before gives it
// up for good by closing jobs: then the outcome, however late, goes to a channel of which
// nobody knows any more, and reaches no other call.
type worker struct {
	jobs chan job     // capacity 1; closed by whoever owns the worker when it is not needed
	outs chan outcome // capacity 1: the worker never waits for its caller
}

type job struct {
	session transport.Session
	ctx     *callContext
	tool    string
	args    json.RawMessage
}

type outcome struct {
	res *transport.Result
	err error
}

func (k *worker) run() {
	for j := range k.jobs {
		res, err := j.session.Call(j.ctx, j.tool, j.args)
		k.outs <- outcome{res, err}
	}
}

// hire takes a spare worker or makes one. Called with mu held, while an incarnation lives.
func (h *Host) hire() *worker {
	if n := len(h.spare); n > 0 {
		k := h.spare[n-1]
		h.spare = h.spare[:n-1]
		return k
	}
	k := &worker{jobs: make(chan job, 1), outs: make(chan outcome, 1)}
	h.wg.Go(k.run)
	return k
}

// dismiss takes a worker back whose outcome was received. Called with mu held.
func (h *Host) dismiss(k *worker) {
	if h.closing || len(h.spare) >= maxSpareWorkers {
		close(k.jobs)
		return
	}
	h.spare = append(h.spare, k)
}

// dismissAll ends the spare workers. Called with mu held, when closing begins.
func (h *Host) dismissAll() {
	for _, k := range h.spare {
		close(k.jobs)
	}
	h.spare = nil
}
