package observer

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
)

// Journal returns everything recorded so far, in order.
func (c *Controller) Journal() []Report {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.journal)
}

// Dropped counts the reports that a full journal could not keep. They still count in
// Spawns and Reached.
func (c *Controller) Dropped() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dropped
}

// Wait returns the first journal entry after position from that matches, waiting for it
// if need be. From 0 is from the beginning; the Seq of a report is its position.
func (c *Controller) Wait(ctx context.Context, from int, match func(Report) bool) (Report, error) {
	return c.wait(ctx, "a matching report", func() (Report, bool) {
		for from < len(c.journal) {
			from++
			if r := c.journal[from-1]; match(r) {
				return r, true
			}
		}
		return Report{}, false
	})
}

// wait runs ready, with c.mu held, whenever something was recorded.
func (c *Controller) wait(ctx context.Context, what string, ready func() (Report, bool)) (Report, error) {
	for {
		c.mu.Lock()
		r, ok := ready()
		changed, n := c.changed, len(c.journal)
		c.mu.Unlock()
		if ok {
			return r, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Report{}, fmt.Errorf("observer: waiting for %s, %d reports so far: %w", what, n, context.Cause(ctx))
		}
	}
}

// Calls returns the tools/call requests that arrived at peers of a name; every name if empty.
// Behaviour that is set after a call is in the list does not concern it, unless it is held.
func (c *Controller) Calls(name string) []ToolCall {
	type request struct {
		pid int
		id  string
	}
	journal := c.Journal()
	arrived := map[request]bool{}
	for _, r := range journal {
		if r.Kind == Reached && r.Point == Call {
			arrived[request{r.PID, string(r.ID)}] = true
		}
	}
	var out []ToolCall
	for _, r := range journal {
		if !arrived[request{r.PID, string(r.ID)}] {
			continue
		}
		if r.Kind != Received || r.Method != "tools/call" || name != "" && r.Name != name {
			continue
		}
		var params struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		}
		_ = json.Unmarshal(r.Params, &params) // params of the wrong shape, or too large to keep, name no tool
		out = append(out, ToolCall{
			Name: r.Name, Tool: params.Name, Inc: r.Inc, PID: r.PID,
			Args: params.Arguments, Credential: r.Credential, Time: r.Time,
		})
	}
	return out
}

// record appends a report and wakes the waiters; c.mu is held.
func (c *Controller) record(r Report) {
	if r.Kind == Reached {
		s := c.script(r.Name)
		s.reached[r.Point]++
		if s.reached[r.Point] == 1 {
			r.Seq = len(c.journal) + 1
			s.last[r.Point] = r
		}
	}
	if len(c.journal) < maxJournal {
		r.Seq = len(c.journal) + 1
		c.journal = append(c.journal, r)
	} else {
		c.dropped++
	}
	close(c.changed)
	c.changed = make(chan struct{})
}
