package core

import (
	"fmt"
	"slices"
	"sync"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// Recorder keeps what the machine of one Host was fed and what it answered. The zero value
// is ready; give it to one Host through Config. It grows without bound: it is meant for tests
// and for a hunt, not for a daemon that runs for months. It holds no secret.
type Recorder struct {
	mu    sync.Mutex
	cfg   lifecycle.Config
	steps []recorded
}

type recorded struct {
	now lifecycle.Instant
	in  lifecycle.Input
	out lifecycle.Output
}

func (r *Recorder) begin(cfg lifecycle.Config) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cfg, r.steps = cfg, nil
}

func (r *Recorder) add(now lifecycle.Instant, in lifecycle.Input, out lifecycle.Output) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.steps = append(r.steps, recorded{now: now, in: in, out: cloneOutput(out)})
}

// Len returns the number of recorded steps.
func (r *Recorder) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.steps)
}

// Replay feeds the recorded inputs to a fresh machine and reports the first step whose
// output differs, which would mean that the host's run was not a function of its inputs.
func (r *Recorder) Replay() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.steps) == 0 {
		return nil // it was given to no host, and has no configuration either
	}
	m := lifecycle.New(r.cfg)
	for i, s := range r.steps {
		if got := m.Step(s.now, s.in); !sameOutput(got, s.out) {
			return fmt.Errorf("core: replay differs at step %d of %d (%s at %d): recorded %+v, replayed %+v",
				i, len(r.steps), s.in.Kind, s.now, s.out, got)
		}
	}
	return nil
}

func cloneOutput(o lifecycle.Output) lifecycle.Output {
	return lifecycle.Output{
		Effects: slices.Clone(o.Effects),
		Events:  slices.Clone(o.Events),
		Replies: slices.Clone(o.Replies),
	}
}

func sameOutput(a, b lifecycle.Output) bool {
	return slices.Equal(a.Effects, b.Effects) && slices.Equal(a.Events, b.Events) &&
		slices.Equal(a.Replies, b.Replies)
}
