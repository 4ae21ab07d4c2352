package guided

import (
	"errors"
	"fmt"
	"slices"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/sim"
)

// maxRule bounds the name of a rule in an outcome.
const maxRule = 64

// maxLooks bounds a run, by how often sim asks whether to stop. It ends what hardly gets on, a crowd
// that aims at instants a nanosecond apart say, in the same place everywhere.
const maxLooks = 100

// Outcome is what a run came to.
type Outcome struct {
	Steps     uint64 `json:"steps"` // of the machine, which is what a search pays
	Points    Points `json:"points"`
	Violation string `json:"violation,omitempty"` // the id of the first rule that broke
}

// check reports what is wrong with an outcome that came from elsewhere.
func (o *Outcome) check() error {
	if len(o.Violation) > maxRule {
		return fmt.Errorf("the violation has a name of %d bytes; at most %d are read", len(o.Violation), maxRule)
	}
	return o.Points.check()
}

// Run runs an input on a subject; nil means the machine. It depends on nothing else, and so may
// be done anywhere. Stop is asked now and then whether to give up, which is the error
// sim.ErrStopped; nil means never. Other errors are about the input, or about a subject that does
// not do the same twice.
func Run(in Input, subject func(lifecycle.Config) sim.Subject, stop func() bool) (Outcome, error) {
	return run(in, subject, stop, maxLooks)
}

func run(in Input, subject func(lifecycle.Config) sim.Subject, stop func() bool, most int) (Outcome, error) {
	if err := in.Validate(); err != nil {
		return Outcome{}, err
	}
	if subject == nil {
		subject = sim.NewMachine
	}
	w := newWatcher()
	o := in.Options()
	looks, tired := 0, false
	o.Stop = func() bool {
		looks++
		tired = looks > most
		return tired || stop != nil && stop()
	}
	o.Observe = w.step
	o.Subject = func(c lifecycle.Config) sim.Subject {
		w.begin()
		return subject(c)
	}
	res, err := sim.Run(o)
	if errors.Is(err, sim.ErrStopped) {
		if tired {
			return Outcome{Steps: w.steps}, nil
		}
		return Outcome{}, err
	}
	if err != nil {
		return Outcome{}, fmt.Errorf("seed %d: %w", in.Seed, err)
	}
	out := Outcome{Steps: res.Steps, Points: points(res, w)}
	if res.Violation != nil {
		out.Violation = res.Violation.ID
	}
	return out, nil
}

// points lists what a run reached.
func points(res *sim.Result, w *watcher) Points {
	var p Points
	for i, n := range res.Reached {
		for l := range levelOf(n) {
			p = append(p, situationPoint(i, l))
		}
	}
	for from := range res.Coverage.Cells {
		for in := range res.Coverage.Cells[from] {
			for to, n := range res.Coverage.Cells[from][in] {
				if n > 0 {
					p = append(p, cellPoint(from, in, to))
				}
			}
		}
	}
	for i := range w.companies {
		p = append(p, uint32(firstCompany+i))
	}
	for i := range w.fine {
		p = append(p, uint32(firstFine+i))
	}
	slices.Sort(p)
	return p
}
