package campaign

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/mayfly-mcp/mayfly/scenarios"
	"github.com/mayfly-mcp/mayfly/sim"
)

// Failure is a distinct failure: a rule, and the shape of the small tapes that break it.
type Failure struct {
	Finding
	Count uint64   `json:"count"` // seeds that hit it
	Seeds []uint64 `json:"seeds"` // the first FirstSeeds of them
}

// Finding is what the first seed of a failure showed.
type Finding struct {
	ID       string `json:"id"`
	Clause   string `json:"clause,omitempty"`
	Text     string `json:"text,omitempty"`
	Shape    string `json:"shape,omitempty"` // "" if further seeds were not shrunk
	Seed     uint64 `json:"seed"`
	Detail   string `json:"detail,omitempty"`
	Of       int    `json:"of,omitempty"`      // entries of its tape
	Entries  int    `json:"entries,omitempty"` // of the small one
	Minimal  bool   `json:"minimal"`
	Form     string `json:"form,omitempty"` // what the shape stands for
	Sentence string `json:"sentence,omitempty"`
	Gap      string `json:"gap,omitempty"` // why no scenario shows it
	Dir      string `json:"dir,omitempty"` // in the campaign's directory
}

// The rule of what depends on more than its options, and the shape of what could not be shrunk.
const (
	determinism = "DETERMINISM"
	unshrunk    = "unshrunk"
)

const findingName = "failure.json"

// dirOf names the directory of a failure.
func dirOf(id, shape string) string {
	clean := func(s string) string {
		const most = 40
		s = strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
				return r
			}
			return '-'
		}, s)
		return s[:min(len(s), most)]
	}
	return path.Join(failuresDir, clean(id)+"-"+clean(shape))
}

// failureKey tells failures apart.
type failureKey struct{ id, shape string }

// book holds the failures in the order in which seeds found them.
type book struct {
	all      []*Failure
	index    map[failureKey]*Failure
	findings map[failureKey]*Finding // written, whether or not their block is
	shrinks  map[string]int          // by rule
}

func newBook() *book {
	return &book{index: map[failureKey]*Failure{}, findings: map[failureKey]*Finding{}, shrinks: map[string]int{}}
}

// add counts the failures of an acknowledged line.
func (k *book) add(l *line) {
	if l.Violation != "" {
		k.count(failureKey{l.Violation, l.Shape}, l.Seed)
	}
	if l.Divergence != "" {
		k.count(failureKey{determinism, l.Divergence}, l.Seed)
	}
}

func (k *book) count(key failureKey, seed uint64) {
	f := k.index[key]
	if f == nil {
		f = &Failure{Finding: Finding{ID: key.id, Shape: key.shape, Seed: seed}}
		if x := k.findings[key]; x != nil {
			f.Finding = *x
		}
		k.index[key] = f
		k.all = append(k.all, f)
	}
	f.Count++
	if len(f.Seeds) < FirstSeeds {
		f.Seeds = append(f.Seeds, seed)
	}
}

// find settles the shapes of a block's failures, and writes those that are new. It depends on
// the lines before alone.
func (c *campaign) find(b *block) error {
	for i := range b.lines {
		l := &b.lines[i]
		if l.Violation != "" && c.book.shrinks[l.Violation] < c.opt.Shrinks && len(c.book.findings) < MaxDistinct {
			c.book.shrinks[l.Violation]++
			if err := c.shrink(l); err != nil {
				return err
			}
		}
		if l.Divergence != "" && c.book.findings[failureKey{determinism, l.Divergence}] == nil {
			if err := c.diverge(l); err != nil {
				return err
			}
		}
	}
	return nil
}

// again takes up the failures of a block that was read. What is not there as it should be, as
// the files of a failure are written before its block but the machine may have lost power, is
// found again.
func (c *campaign) again(b *block) error {
	for i := range b.lines {
		l := &b.lines[i]
		if l.Shape != "" {
			c.book.shrinks[l.Violation]++
			key := failureKey{l.Violation, l.Shape}
			if c.book.findings[key] == nil && !c.load(key) {
				if err := c.shrink(l); err != nil {
					return err
				}
			}
		}
		if key := (failureKey{determinism, l.Divergence}); l.Divergence != "" && c.book.findings[key] == nil && !c.load(key) {
			if err := c.diverge(l); err != nil {
				return err
			}
		}
	}
	return nil
}

// load reads a finding, and says whether it is there.
func (c *campaign) load(key failureKey) bool {
	var x Finding
	text, err := os.ReadFile(c.store.path(path.Join(dirOf(key.id, key.shape), findingName)))
	if err != nil || json.Unmarshal(text, &x) != nil || x.ID != key.id || x.Shape != key.shape {
		return false
	}
	c.book.findings[key] = &x
	return true
}

// rerun runs a seed again for its tape.
func (c *campaign) rerun(seed uint64) (sim.Options, *sim.Result, error) {
	o := c.opt.Draw(seed)
	o.Stop, o.Observe, o.Record = c.stopped, nil, true
	o = o.WithDefaults()
	r, err := sim.Run(o)
	if c.stopped() {
		err = sim.ErrStopped
	}
	return o, r, err
}

// shrink gives a line its shape, and writes the failure if it is the first of it.
func (c *campaign) shrink(l *line) error {
	o, r, err := c.rerun(l.Seed)
	if err != nil {
		return err
	}
	x := &Finding{ID: l.Violation, Shape: unshrunk, Seed: l.Seed, Of: len(r.Tape.Entries)}
	files := map[string][]byte{fmt.Sprintf("seed-%d.tape", l.Seed): []byte(r.Tape.String())}
	if v := r.Violation; v == nil || v.ID != l.Violation {
		x.Gap = "the seed did not break the rule again"
	} else {
		x.Clause, x.Text, x.Detail = v.Clause, v.Text, v.Detail
		err = c.small(x, o, r.Tape, files)
	}
	if c.stopped() {
		return sim.ErrStopped
	}
	if err != nil {
		x.Gap = err.Error()
	}
	l.Shape = x.Shape
	return c.keep(x, files)
}

// small makes the small tape and the scenario of a failure.
func (c *campaign) small(x *Finding, o sim.Options, t *sim.Tape, files map[string][]byte) error {
	small, stats, err := sim.Shrink(t, sim.ShrinkOptions{Subject: o.Subject, MaxReplays: shrinkReplays, Stop: c.stopped})
	if err != nil {
		return fmt.Errorf("not shrunk: %w", err)
	}
	x.Entries, x.Minimal, x.Form = stats.To, stats.Minimal, Shape(small)
	x.Shape = shapeID(x.Form)
	if c.book.findings[failureKey{x.ID, x.Shape}] != nil {
		return nil
	}
	files["small.tape"] = []byte(small.String())
	name := path.Join(dirOf(x.ID, x.Shape), "scenario.txtar")
	s, err := sim.ToScenario(small, sim.ScenarioOptions{Name: name, Subject: o.Subject})
	if err != nil {
		return fmt.Errorf("no scenario: %w", err)
	}
	x.Sentence, x.Gap = s.Sentence, s.Gap
	files["scenario.txtar"] = scenarios.Format(s.File)
	return nil
}

// diverge writes the first seed that depends on more than its options in some way.
func (c *campaign) diverge(l *line) error {
	o, r, err := c.rerun(l.Seed)
	if err != nil {
		return err
	}
	text := "the seed did the same when it was run again\n"
	if err := sim.Guard(o); err != nil {
		text = err.Error() + "\n"
	}
	if c.stopped() {
		return sim.ErrStopped
	}
	return c.keep(&Finding{ID: determinism, Clause: "-", Text: "a run depends on its options alone", Shape: l.Divergence, Seed: l.Seed, Of: len(r.Tape.Entries)},
		map[string][]byte{fmt.Sprintf("seed-%d.tape", l.Seed): []byte(r.Tape.String()), "divergence.txt": []byte(text)})
}

// keep writes a failure that is new. The finding comes last: with it the directory is complete.
func (c *campaign) keep(x *Finding, files map[string][]byte) error {
	key := failureKey{x.ID, x.Shape}
	if c.book.findings[key] != nil {
		return nil
	}
	x.Dir = dirOf(x.ID, x.Shape)
	for name, text := range files { // in any order: each is a file of its own
		if err := c.store.write(path.Join(x.Dir, name), text); err != nil {
			return err
		}
	}
	if err := c.store.writeJSON(path.Join(x.Dir, findingName), x); err != nil {
		return err
	}
	c.book.findings[key] = x
	return nil
}
