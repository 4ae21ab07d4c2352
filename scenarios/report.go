package scenarios

import (
	"errors"
	"fmt"
	"strings"
)

// Report is what a run found: one outcome for each expectation reached, in file order.
type Report struct {
	File     string
	Outcomes []Outcome
}

// Outcome is one expectation and the answer that it got.
type Outcome struct {
	Line   int
	Expect Expect
	Got    string
}

// OK reports whether the answer was the expected one.
func (o Outcome) OK() bool { return o.Got == o.Expect.Want }

// Failures returns the outcomes that are not as expected.
func (r *Report) Failures() []Outcome {
	var bad []Outcome
	for _, o := range r.Outcomes {
		if !o.OK() {
			bad = append(bad, o)
		}
	}
	return bad
}

// Err joins one *Error for each failure, and is nil when everything was as expected.
func (r *Report) Err() error {
	var errs []error
	for _, o := range r.Failures() {
		errs = append(errs, &Error{r.File, o.Line, fmt.Sprintf("%v, but got %s", o.Expect, o.Got)})
	}
	return errors.Join(errs...)
}

// Update rewrites the expectations of a file to the answers that a run of it got. An
// answer that no single line can hold, such as calls of one range that ended differently,
// is an error and leaves its line as it was.
func Update(f *File, r *Report) error {
	got := map[int]string{}
	for _, o := range r.Failures() {
		got[o.Line] = o.Got
	}
	var errs errorList
	for i, l := range f.Lines {
		e, ok := l.Command.(Expect)
		if !ok || got[i+1] == "" {
			continue
		}
		value := got[i+1]
		if err := e.Query.Kind.checkValue(strings.Fields(value)); err != nil {
			errs.add(f.Name, i+1, fmt.Errorf("cannot write the answer %q: give each call its own expect line", value))
			continue
		}
		e.Want = value
		f.Lines[i].Command = e
	}
	return errs.join()
}
