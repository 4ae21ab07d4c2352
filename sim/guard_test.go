package sim

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// TestGuardHealthy guards runs of the machine under every schedule.
func TestGuardHealthy(t *testing.T) {
	for i, text := range append([]string{"fifo"}, schedules...) {
		for seed := uint64(1); seed <= 6; seed++ {
			o := drawOptions(seed + 500*uint64(i))
			o.Schedule = mustParseSchedule(t, text)
			if err := Guard(o); err != nil {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
}

// TestGuardViolation guards a run that breaks a rule, which it does each time.
func TestGuardViolation(t *testing.T) {
	o := hardOptions(3)
	o.Subject = processMutants[0].subject()
	if err := Guard(o); err != nil {
		t.Error(err)
	}
}

// chancy changes a field that no check reads, when a condition holds that differs from one
// construction or one moment to the next.
type chancy struct {
	*lifecycle.Machine
	change func(step uint64, out *lifecycle.Output)
	steps  uint64
}

func (c *chancy) Step(now lifecycle.Instant, in lifecycle.Input) lifecycle.Output {
	out := c.Machine.Step(now, in)
	c.steps++
	c.change(c.steps, &out)
	return out
}

func (c *chancy) Clone() Subject {
	x := *c
	x.Machine = c.Machine.Clone()
	return &x
}

// refusals are the steps of a run in which a ticket was refused.
func refusals(t *testing.T, o Options) (steps []uint64) {
	o.Observe = func(s *Step) {
		if slices.ContainsFunc(s.Out.Replies, func(r lifecycle.Reply) bool { return r.Kind == lifecycle.ReplyRefused }) {
			steps = append(steps, s.N)
		}
	}
	mustRun(t, o)
	return steps
}

func retryAt(out *lifecycle.Output, at lifecycle.Instant) {
	for i := range out.Replies {
		if out.Replies[i].Kind == lifecycle.ReplyRefused {
			out.Replies[i].RetryAt = at
		}
	}
}

// TestGuardFinds plants what makes programs differ from run to run, and demands the very first
// step that does.
func TestGuardFinds(t *testing.T) {
	steps := refusals(t, hardOptions(2))
	if len(steps) < 30 {
		t.Fatalf("only %d steps refuse", len(steps))
	}
	counter := lifecycle.Instant(0) // shared by all subjects, as a package variable would be
	order := map[int]bool{}
	for i := range 64 {
		order[i] = true
	}
	made := 0
	for _, c := range []struct {
		name   string
		want   uint64
		change func(made int) func(uint64, *lifecycle.Output)
	}{
		{"a counter that survives the run", steps[0], func(int) func(uint64, *lifecycle.Output) {
			return func(_ uint64, out *lifecycle.Output) { counter++; retryAt(out, counter) }
		}},
		{"a difference late in the run", steps[20], func(made int) func(uint64, *lifecycle.Output) {
			return func(step uint64, out *lifecycle.Output) {
				if step >= steps[20] {
					retryAt(out, lifecycle.Instant(made))
				}
			}
		}},
		{"the order of a map", 0, func(int) func(uint64, *lifecycle.Output) {
			return func(_ uint64, out *lifecycle.Output) {
				for i := range order {
					retryAt(out, lifecycle.Instant(i))
					break
				}
			}
		}},
	} {
		o := hardOptions(2)
		o.Subject = func(cfg lifecycle.Config) Subject {
			made++
			return &chancy{Machine: lifecycle.New(cfg), change: c.change(made)}
		}
		var d *Divergence
		if err := Guard(o); !errors.As(err, &d) {
			t.Errorf("%s: want a divergence, got %v", c.name, err)
			continue
		}
		at := slices.Index(steps, d.Step)
		if at < 0 || c.want != 0 && d.Step != c.want || c.want == 0 && at > 10 {
			t.Errorf("%s: found at step %d; the first that can differ is %d", c.name, d.Step, steps[0])
		}
		if d.Inputs || d.First == d.Second || !strings.Contains(d.Error(), "retry at") || !strings.Contains(d.Error(), "outputs differ") {
			t.Errorf("%s: the two sides are not told apart:\n%v", c.name, d)
		}
	}
}

// TestGuardFindsDeadlines plants a deadline that differs: then already the inputs do.
func TestGuardFindsDeadlines(t *testing.T) {
	made := lifecycle.Instant(0)
	o := hardOptions(2)
	o.Subject = func(cfg lifecycle.Config) Subject {
		made++
		extra := made
		c := &corrupt{Machine: lifecycle.New(cfg), fps: map[lifecycle.PeerID]lifecycle.Fingerprint{}}
		c.deadline = func(c *corrupt, d lifecycle.Instant) lifecycle.Instant {
			if d == lifecycle.Never {
				return d
			}
			return d + extra
		}
		return c
	}
	var d *Divergence
	if err := Guard(o); !errors.As(err, &d) || !d.Inputs || d.Step == 0 {
		t.Errorf("want a divergence of inputs, got %v", err)
	}
}

// sharing is a clone that shares what it should have copied.
type sharing struct{ *chancy }

func (s *sharing) Clone() Subject { return &sharing{s.chancy} }

// byNumber is a subject that takes the number that the world gave a peer for a quantity.
type byNumber struct {
	*tap
	r *renumbered
}

func (b *byNumber) Step(now lifecycle.Instant, in lifecycle.Input) lifecycle.Output {
	if in.Kind == lifecycle.InConnected {
		in.Tools = uint32(b.r.other(in.Peer))
	}
	return b.tap.Step(now, in)
}

// TestGuardVariants shows that each variant can fail.
func TestGuardVariants(t *testing.T) {
	o := hardOptions(2)
	o.Subject = func(cfg lifecycle.Config) Subject {
		return &sharing{&chancy{Machine: lifecycle.New(cfg), change: func(uint64, *lifecycle.Output) {}}}
	}
	var d *Divergence
	if err := Guard(o); !errors.As(err, &d) || d.Variant != "clones" || d.Step == 0 {
		t.Errorf("a clone that shares its machine: got %v", err)
	}
	old := variants
	defer func() { variants = old }()
	for _, v := range []variant{
		{name: "numbers as quantities", run: func(g *guard, see witness) (*Result, error) {
			return g.replay(see, quadHeap, func(p *tap, n uint64) Subject {
				return &byNumber{p, renumber(p, n).(*renumbered)}
			})
		}},
		{name: "a tape that lacks an entry", run: func(g *guard, see witness) (*Result, error) {
			part := *g
			whole := *g.tape
			whole.Entries = slices.Delete(slices.Clone(whole.Entries), len(whole.Entries)/2, len(whole.Entries)/2+20)
			part.tape = &whole
			return part.replay(see, quadHeap, bare)
		}},
	} {
		variants = []variant{v}
		if err := Guard(hardOptions(2)); !errors.As(err, &d) || d.Step == 0 {
			t.Errorf("%s: want a divergence, got %v", v.name, err)
		}
	}
}

func TestGuarded(t *testing.T) {
	n := 0
	for seed := range uint64(100_000) {
		if Guarded(seed, 20) {
			n++
		}
	}
	if n < 1800 || n > 2200 || Guarded(1, 0) || !Guarded(1, 1000) {
		t.Errorf("%d seeds of 100,000 are guarded at 20 of 1,000", n)
	}
}

// TestShapes: items come out of every shape of an agenda in the order of a stable sort.
func TestShapes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := []agenda{{}, {shape: binaryHeap}, {shape: sortedList}}
		for range rapid.IntRange(0, 60).Draw(t, "operations") {
			at := lifecycle.Instant(rapid.IntRange(0, 5).Draw(t, "at"))
			op := rapid.IntRange(0, 3).Draw(t, "what")
			var first item
			if len(all[0].heap) > 0 {
				first = all[0].heap[0]
			}
			for i := range all {
				a := &all[i]
				if len(a.heap) > 0 && a.heap[0] != first {
					t.Fatalf("shape %d begins with %+v, not %+v", i, a.heap[0], first)
				}
				switch {
				case op < 2 || len(a.heap) == 0:
					a.push(item{at: at})
				case op == 2:
					a.postpone(at)
				default:
					if got, least := a.at(), slices.MinFunc(a.heap, func(x, y item) int {
						if x.before(&y) {
							return -1
						}
						return 1
					}); got != least.at || a.pop() != least {
						t.Fatalf("shape %d gave another item than %+v", i, least)
					}
				}
			}
		}
	})
}
