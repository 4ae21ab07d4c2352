package simflags

import (
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/sim"
	"github.com/mayfly-mcp/mayfly/sim/published"
)

// Subject is the flag -subject: which lifecycle is under test.
type Subject struct {
	text string
	Make func(lifecycle.Config) sim.Subject // nil when the flag was not given, or says machine
	list bool                               // the readings were asked for

	readings published.Options
}

// String implements flag.Value.
func (s *Subject) String() string { return s.text }

// Set implements flag.Value.
func (s *Subject) Set(text string) error {
	name, readings, _ := strings.Cut(text, ":")
	switch {
	case text == "machine":
		*s = Subject{}
		return nil
	case name != "published":
		return fmt.Errorf("use machine, or published with readings after a colon; published:help lists them")
	case readings == "help":
		s.list = true
		return nil
	}
	o, err := published.Parse(readings)
	if err != nil {
		return err
	}
	s.text, s.readings, s.Make = text, o, published.New(o)
	return nil
}

// Listed prints the readings if they were asked for, which ends the command like -help.
func (s *Subject) Listed(w io.Writer) error {
	if !s.list {
		return nil
	}
	fmt.Fprint(w, published.Help())
	return flag.ErrHelp
}

// Fit takes out of a run what the subject does not know.
func (s *Subject) Fit(o *sim.Options) {
	if s.Make != nil {
		published.Fit(o)
	}
}

// Explain says which steps of the published algorithm a violation hangs on, if that is the subject. What
// cannot be explained is still printed as a violation.
func (s *Subject) Explain(w io.Writer, t *sim.Tape, stop func() bool) {
	if s.Make == nil || t == nil {
		return
	}
	e, err := published.Explain(t, s.readings, stop)
	if err != nil {
		fmt.Fprintf(w, "  not explained: %v\n", err)
		return
	}
	e.Print(w)
}

// Flag returns what a command line needs to choose the same subject again.
func (s *Subject) Flag() string {
	if s.text == "" {
		return ""
	}
	return " -subject " + s.text
}
