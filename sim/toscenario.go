package sim

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/scenarios"
)

// MaxScenarioEntries bounds the tapes that become scenarios. Nobody reads longer ones.
const MaxScenarioEntries = 200

// ScenarioOptions says how a tape becomes a scenario.
type ScenarioOptions struct {
	Name    string                         // of the file
	Subject func(lifecycle.Config) Subject // that broke the rule; nil means NewMachine
	Correct func(lifecycle.Config) Subject // that keeps it; nil means NewMachine
}

// Counterexample is a tape as a scenario.
type Counterexample struct {
	File *scenarios.File
	// Sentence says in plain words which rule breaks, and stands on top of the file.
	Sentence string
	// Gap says why the scenario does not show the violation, and is empty if it does: then a
	// correct lifecycle passes the file and the subject fails it.
	Gap string
}

// ToScenario writes a tape as a scenario, best after Shrink. The expectations are what a
// correct lifecycle does where the subject does something else, at the instant of the
// violation or after it; the tape is attached.
//
// Not everything that the simulator checks can be asked for in a scenario, and not everything
// that it does can be said in one: then the file holds what can be said, and Gap says the rest.
func ToScenario(t *Tape, o ScenarioOptions) (*Counterexample, error) {
	if o.Subject == nil {
		o.Subject = NewMachine
	}
	if o.Correct == nil {
		o.Correct = NewMachine
	}
	if len(t.Entries) > MaxScenarioEntries {
		return nil, fmt.Errorf("the tape has %d entries, a scenario at most %d (MaxScenarioEntries): shrink it first", len(t.Entries), MaxScenarioEntries)
	}
	res, err := Replay(t, Options{Subject: o.Subject, Record: true})
	switch {
	case err != nil:
		return nil, err
	case res.Violation == nil:
		return nil, errors.New("the tape breaks no rule with this subject, so no scenario shows anything")
	}
	x := &translator{tape: t, played: res.Tape, broken: res.Violation, opt: o}
	return x.translate()
}

// translator makes a scenario of a tape.
type translator struct {
	tape   *Tape
	played *Tape // with the plan of every incarnation
	broken *Violation
	opt    ScenarioOptions
	wide   bool // questions that not every world can answer are asked, too
}

// translate tries one way of writing after the other, the plainest first.
func (x *translator) translate() (*Counterexample, error) {
	var scripts []*script
	manners := x.manners()
	for _, x.wide = range []bool{false, true} { // what everybody can be asked tells more to more people
		for i, m := range manners {
			if !x.wide {
				scripts = append(scripts, x.write(m))
			}
			if f := x.tell(scripts[i]); f != nil {
				return x.finish(f, ""), nil
			}
		}
	}
	first := scripts[0]
	if f := x.demandAny(manners); f != nil {
		return x.finish(f, ""), nil
	}
	f, err := x.describe(first)
	if err != nil {
		return nil, err
	}
	return x.finish(f, x.gap(first)), nil
}

// gap says why no scenario shows the violation.
func (x *translator) gap(s *script) string {
	gaps := s.gaps
	if what, ok := unseen[x.broken.ID]; ok {
		gaps = append([]string{what + " is not to be seen in a scenario"}, gaps...)
	}
	if len(gaps) == 0 {
		return "a correct lifecycle gives the same answers to everything that a scenario can ask for"
	}
	return strings.Join(gaps, "; ")
}

// unseen is what rules are about that no scenario asks for.
var unseen = map[string]string{
	"LISTED":    "how many callers wait",
	"CANCEL":    "whether a caller that gave up still counts",
	"PROGRESS":  "how often a lifecycle asks to be woken",
	"REPLY-NOW": "the instant of an answer",

	"SERVED-LAW":  "what owners serve",
	"SERVED-PLAN": "who is admitted to what owners serve",
	"SERVED-GATE": "how a call of what owners serve ends",
}

// manners are the ways of writing, the plainest first: those that ask for the least of a world,
// then those that take the longest to read.
func (x *translator) manners() (all []manner) {
	ways := []manner{{}, {probe: true}, {early: true}, {leave: true}, {apart: true}, {apart: true, probe: true},
		{dwell: true}, {dwell: true, apart: true}, {drain: true}}
	if x.tape.Config.MaxSpawning > 0 {
		ways = append(ways, manner{slow: true, dwell: true})
	}
	if x.has(func(e *Entry) bool { return e.Op == OpDispatch }) {
		ways = append(ways, manner{claimless: true})
	}
	ends := []bool{false}
	if x.has(func(e *Entry) bool { return e.Op == OpDispatch && e.Call.End == EndTransport }) {
		ends = []bool{false, true}
	}
	for _, lost := range ends {
		for _, w := range ways {
			for _, m := range []manner{{quick: true, await: true}, {quick: true}, {}} {
				w.quick, w.await, w.lost, w.idle = m.quick, m.await, lost, x.tape.Config.IdleTimeout
				all = append(all, w)
			}
		}
	}
	return all
}

// has says whether a tape holds an entry of some kind.
func (x *translator) has(is func(*Entry) bool) bool {
	for i := range x.played.Entries {
		if is(&x.played.Entries[i]) {
			return true
		}
	}
	return false
}

// sentence says in plain words what a violation on a tape is and how it is seen: by a run of the
// scenario or, where that does not show it, by a replay of the tape.
func (x *translator) sentence(gap string) string {
	clause := ""
	if x.broken.Clause != "-" {
		clause = ", SPEC " + x.broken.Clause
	}
	how := fmt.Sprintf("run it with `mayfly run %s`", x.opt.Name)
	if gap != "" {
		how = "this scenario does not show it, the tape below does"
	}
	found := ""
	if x.tape.Seed != 0 { // a tape that nobody drew from a seed has none
		found = fmt.Sprintf(", found with seed %d", x.tape.Seed)
	}
	return fmt.Sprintf("Breaks the rule that %s (%s%s)%s; %s.", x.broken.Text, x.broken.ID, clause, found, how)
}

// finish puts the head on a file and the tape behind it.
func (x *translator) finish(f *scenarios.File, gap string) *Counterexample {
	sentence := x.sentence(gap)
	head := []scenarios.Line{{Comment: "# " + sentence}}
	if gap != "" {
		head = []scenarios.Line{{Comment: "# Does not show what was found: " + gap + "."}, {Comment: "# " + sentence}}
	}
	head = append(head, scenarios.Line{}, scenarios.Line{Comment: "# Seen on the tape: " + oneLine(x.broken.Detail)})
	f.Lines = append(head, f.Lines...)
	f.Attachments = []scenarios.Attachment{{Name: "tape", Data: x.tape.String()}}
	return &Counterexample{File: f, Sentence: sentence, Gap: gap}
}

// oneLine makes a comment of whatever a subject said when it panicked.
func oneLine(s string) string {
	const most = 400
	clean := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0xfffd {
			return ' '
		}
		return r
	}, s)
	if len(clean) > most {
		clean = strings.ToValidUTF8(clean[:most], "") + " ..."
	}
	return clean
}
