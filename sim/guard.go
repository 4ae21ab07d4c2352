package sim

import (
	"fmt"
	"iter"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// maxLockstep bounds how often two runs that differed are led side by side: what depends on
// chance may agree the next time.
const maxLockstep = 4

// Divergence says where two runs parted that should have been one. It is an error.
type Divergence struct {
	Seed    uint64
	Variant string // what the second run had differently
	Step    uint64 // the first that differs, from 1; 0 if the runs never parted again
	Inputs  bool   // already its inputs differ: a deadline or an answer before it did, unseen
	First   string // the step in the first run: a line for its input and one for each output
	Second  string
}

// Error implements error.
func (d *Divergence) Error() string {
	if d.Step == 0 {
		return fmt.Sprintf("seed %d: %s gave another run once, and the same %d times after that", d.Seed, d.Variant, maxLockstep)
	}
	what := "outputs differ upon equal inputs"
	if d.Inputs {
		what = "inputs differ"
	}
	return fmt.Sprintf("seed %d: %s gives another run from step %d on, whose %s\nfirst run:\n%s\nsecond run:\n%s",
		d.Seed, d.Variant, d.Step, what, d.First, d.Second)
}

// Cloner is a Subject that can be copied. The copy shares nothing with it and goes on alike.
type Cloner interface{ Clone() Subject }

// Guarded says whether a seed is among those, so many in a thousand, that are guarded.
func Guarded(seed uint64, perMille int) bool {
	_, x := splitmix(seed ^ 0x6775617264) // not the seed itself: seeds come in rows
	return x%1000 < uint64(max(perMille, 0))
}

// Guard makes sure that a run depends on its options alone. It runs them, runs them again, and
// replays the tape: with other heaps, with peers that have other numbers, and, if the subject
// can be cloned, continuing on clones from random points on. All must do the same in every step.
// The error is a *[Divergence] at the first step that differs, or about the options.
//
// It costs about six runs, and the memory of a tape.
func Guard(opt Options) error {
	opt = opt.WithDefaults()
	if err := opt.Validate(); err != nil {
		return err
	}
	opt.Observe = nil
	g := &guard{opt: opt}
	first, err := g.trace(func(see witness) (*Result, error) { return g.draw(see, true) })
	if err != nil {
		return err
	}
	g.tape = first.tape
	for _, v := range variants {
		if v.clones && cloneOf(opt.Subject(opt.Config)) == nil {
			continue
		}
		if err := g.compare(first, v); err != nil {
			return err
		}
	}
	return nil
}

// witness sees what goes in and out of the subject itself.
type witness func(now lifecycle.Instant, in *lifecycle.Input, out *lifecycle.Output)

// variant is a way to run the same.
type variant struct {
	name   string
	clones bool
	run    func(g *guard, see witness) (*Result, error)
}

var variants = []variant{
	{name: "the same options", run: func(g *guard, see witness) (*Result, error) { return g.draw(see, false) }},
	{name: "the tape", run: func(g *guard, see witness) (*Result, error) { return g.replay(see, quadHeap, bare) }},
	{name: "a binary heap", run: func(g *guard, see witness) (*Result, error) { return g.replay(see, binaryHeap, bare) }},
	{name: "a sorted list", run: func(g *guard, see witness) (*Result, error) { return g.replay(see, sortedList, bare) }},
	{name: "other numbers of peers", run: func(g *guard, see witness) (*Result, error) { return g.replay(see, quadHeap, renumber) }},
	{name: "clones", clones: true, run: func(g *guard, see witness) (*Result, error) { return g.replay(see, quadHeap, restore) }},
}

type guard struct {
	opt  Options
	tape *Tape
}

// trace is a run in short.
type trace struct {
	steps     uint64
	hash      digest
	violation string
	tape      *Tape
}

func (g *guard) trace(run func(witness) (*Result, error)) (trace, error) {
	t := trace{hash: newDigest}
	res, err := run(func(now lifecycle.Instant, in *lifecycle.Input, out *lifecycle.Output) {
		t.steps++
		t.hash.input(now, in)
		t.hash.output(out)
	})
	if err != nil {
		return t, err
	}
	if res.Violation != nil {
		t.violation = fmt.Sprintf("%s at step %d", res.Violation.ID, res.Violation.Step)
	}
	t.tape = res.Tape
	return t, nil
}

func (g *guard) compare(first trace, v variant) error {
	second, err := g.trace(func(see witness) (*Result, error) { return v.run(g, see) })
	if err != nil {
		return err
	}
	if second.hash == first.hash && second.steps == first.steps && second.violation == first.violation {
		return nil
	}
	d := &Divergence{Seed: g.opt.Seed, Variant: v.name}
	for range maxLockstep {
		if g.lockstep(v, d) {
			return d
		}
	}
	if second.violation != first.violation {
		d.Step, d.First, d.Second = min(first.steps, second.steps)+1, "breaks "+or(first.violation), "breaks "+or(second.violation)
	}
	return d
}

func or(violation string) string {
	if violation == "" {
		return "no rule"
	}
	return violation
}

// moment is a step of one of two runs that are led side by side, valid until its next one.
type moment struct {
	now lifecycle.Instant
	in  *lifecycle.Input
	out *lifecycle.Output
}

// lockstep leads two runs side by side up to the first step that differs.
func (g *guard) lockstep(v variant, d *Divergence) bool {
	a, stopA := iter.Pull(g.moments(func(g *guard, see witness) (*Result, error) { return g.draw(see, false) }))
	defer stopA()
	b, stopB := iter.Pull(g.moments(v.run))
	defer stopB()
	for step := uint64(1); ; step++ {
		x, more := a()
		y, too := b()
		if !more && !too {
			return false
		}
		inputs := more != too || x.digest(true) != y.digest(true)
		if inputs || x.digest(false) != y.digest(false) {
			d.Step, d.Inputs, d.First, d.Second = step, inputs, x.text(), y.text()
			return true
		}
	}
}

// moments is a run as a sequence; it is given up when nobody wants the next one.
func (g *guard) moments(run func(*guard, witness) (*Result, error)) iter.Seq[moment] {
	return func(yield func(moment) bool) {
		over := false
		led := *g
		led.opt.Stop = func() bool { return over }
		_, _ = run(&led, func(now lifecycle.Instant, in *lifecycle.Input, out *lifecycle.Output) {
			over = over || !yield(moment{now, in, out})
		}) // a run that cannot be made ends early, which is a divergence
	}
}

func (m *moment) digest(input bool) digest {
	d := newDigest
	if m.in == nil {
		return d
	}
	if input {
		d.input(m.now, m.in)
	} else {
		d.output(m.out)
	}
	return d
}

// draw runs the options. It does not go through Run, which would run a violation twice.
func (g *guard) draw(see witness, record bool) (*Result, error) {
	opt := g.opt
	opt.Record = record
	opt.Subject = tapped(opt.Subject, see, bare)
	return simulate(opt, func(w *world) source { return newWorkload(w) })
}

// replay runs the tape with another heap and with the subject in a wrapper.
func (g *guard) replay(see witness, s shape, wrap func(*tap, uint64) Subject) (*Result, error) {
	return Replay(g.tape, Options{Subject: tapped(g.opt.Subject, see, wrap), Stop: g.opt.Stop, shape: s})
}
