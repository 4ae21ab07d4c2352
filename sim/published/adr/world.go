package adr

import "fmt"

// Actor is one of the three who take steps.
type Actor int8

// The actors. The first two are owners too.
const (
	Incumbent Actor = iota
	Starter
	Caller
	actors
)

const nobody Actor = -1

func (a Actor) String() string {
	switch a {
	case Incumbent:
		return "incumbent"
	case Starter:
		return "starter"
	case Caller:
		return "caller"
	}
	return "nobody"
}

// End is what becomes of the incumbent once it has started.
type End int8

// The ends.
const (
	Lives     End = iota
	Stops         // a clean stop
	Drops         // aborted, unwound or dropped without a stop
	StopsLate     // dropped, and a stop follows
	ends
)

func (e End) String() string {
	return [ends]string{"lives", "stops", "is dropped", "is dropped, stopped late"}[e]
}

// Start is what the starter does.
type Start int8

// The starts.
const (
	Absent Start = iota
	Full
	Fails // once plan and entry are registered the worker cannot be started; the start cleans up
	starts
)

func (s Start) String() string { return [starts]string{"none", "starts", "fails midway"}[s] }

// Fate is what happens in a world, in whatever order.
type Fate struct {
	End
	Start
	// Known reports that the caller has a token which the incumbent's plan admits, and the
	// starter's does not. Otherwise no plan admits it.
	Known bool
}

func (f Fate) String() string {
	who := "stranger"
	if f.Known {
		who = "known to the incumbent"
	}
	return fmt.Sprintf("incumbent %v, starter: %v, caller: %s", f.End, f.Start, who)
}

// Fates goes through all of them, for range.
func Fates(yield func(Fate) bool) {
	for e := range ends {
		for s := range starts {
			if !yield(Fate{e, s, false}) || !yield(Fate{e, s, true}) {
				return
			}
		}
	}
}

// Wrong is what goes wrong in one interleaving.
type Wrong struct {
	Unplanned bool // a body ran without any plan having decided
	Foreign   bool // a body ran because the plan of somebody else admitted
	Survivor  bool // a live and ready owner has no plan of its own
	Refused   bool // a start was refused because of a dead owner
	Hangs     bool // a call will never be answered
	Late      bool // a body began after its owner's death
}

// Bad reports that a body ran which its owner's plan did not admit.
func (w Wrong) Bad() bool { return w.Unplanned || w.Foreign }

// Tally counts interleavings: all of them, and those in which something went wrong.
type Tally struct {
	All, Bad, Survivors, Refusals, Hangs, Late int
}

func tallyOf(w Wrong) Tally {
	return Tally{1, one(w.Bad()), one(w.Survivor), one(w.Refused), one(w.Hangs), one(w.Late)}
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Add is the sum of two.
func (t Tally) Add(o Tally) Tally {
	return Tally{t.All + o.All, t.Bad + o.Bad, t.Survivors + o.Survivors, t.Refusals + o.Refusals, t.Hangs + o.Hangs, t.Late + o.Late}
}

func (t Tally) String() string {
	return fmt.Sprintf("%d interleavings: %d bad calls, %d survivors, %d refusals, %d hangs, %d late bodies",
		t.All, t.Bad, t.Survivors, t.Refusals, t.Hangs, t.Late)
}

// World is one run of a semantics.
type World interface {
	// Left reports whether an actor has steps left. The next of them can always be taken.
	Left(Actor) bool
	// Do takes an actor's next step and says what it did.
	Do(Actor) string
	// Wrong is what has gone wrong so far. The survivors are those who have no steps left.
	Wrong() Wrong
	// Close ends a world, whatever steps are left.
	Close()
}

// Semantics is one set of rules for the registry.
type Semantics struct {
	Name string
	New  func(Fate) World

	rules *rules // of a model, whose states can be kept
}
