package published

import (
	"fmt"
	"io"
	"time"

	"github.com/mayfly-mcp/mayfly/sim"
)

// maxExplainReplays bounds the work of an explanation. A tape that is not minimal by then is
// explained as it is.
const maxExplainReplays = 5_000

// Explanation says what it takes to break a rule, and which steps it hangs on.
type Explanation struct {
	Options   Options
	Tape      *sim.Tape      // the smallest that was found
	Violation *sim.Violation // that it ends in
	Steps     []Step         // each of them alone, read in the kindest way, makes the tape hold
}

// Explain makes a tape small that breaks a rule of the published algorithm, and finds the steps that the
// rule hangs on, by reading each in the kindest way and replaying. Stop is asked now and then
// whether to give up.
func Explain(t *sim.Tape, o Options, stop func() bool) (*Explanation, error) {
	small, _, err := sim.Shrink(t, sim.ShrinkOptions{Subject: New(o), MaxReplays: maxExplainReplays, Stop: stop})
	if err != nil {
		return nil, err
	}
	e := &Explanation{Options: o, Tape: small}
	if e.Violation, err = violation(small, o); err != nil {
		return nil, err
	}
	for _, s := range Steps {
		kinder := o
		if *s.field(&kinder) == s.Kindest {
			continue
		}
		*s.field(&kinder) = s.Kindest
		switch v, err := violation(small, kinder); {
		case err != nil:
			return nil, err
		case v == nil:
			e.Steps = append(e.Steps, s)
		}
	}
	return e, nil
}

func violation(t *sim.Tape, o Options) (*sim.Violation, error) {
	res, err := sim.Replay(t, sim.Options{Subject: New(o), Record: true})
	if err != nil {
		return nil, err
	}
	return res.Violation, nil
}

// Print writes an explanation for people.
func (e *Explanation) Print(w io.Writer) {
	fmt.Fprintf(w, "  least that breaks it, at %v:\n", time.Duration(e.Violation.At))
	for i := range e.Tape.Entries {
		fmt.Fprintf(w, "    %s\n", e.Tape.Entries[i].String())
	}
	fmt.Fprintf(w, "  seen there: %s\n", e.Violation.Detail)
	for _, s := range e.Steps {
		kind := "an open step, read as"
		if s.Stated {
			kind = "stated:"
		}
		fmt.Fprintf(w, "  hangs on %s: %s\n    %s %s; with %s=%s the rule holds here\n    RFC 0204, %s: \"%s\"\n",
			s.Name, s.Text, kind, s.reading(e.Options), s.Name, s.Readings[s.Kindest], s.Section, s.Quote)
	}
	if len(e.Steps) == 0 {
		fmt.Fprintln(w, "  no single step mends it")
	}
}
