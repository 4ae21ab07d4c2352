package conformance

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Skipped  int          `xml:"skipped,attr"`
	Time     string       `xml:"time,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name      string      `xml:"name,attr"`
	Timestamp string      `xml:"timestamp,attr"`
	Tests     int         `xml:"tests,attr"`
	Failures  int         `xml:"failures,attr"`
	Errors    int         `xml:"errors,attr"`
	Skipped   int         `xml:"skipped,attr"`
	Cases     []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string      `xml:"classname,attr"`
	Name    string      `xml:"name,attr"`
	Time    string      `xml:"time,attr"`
	Failure *junitNote  `xml:"failure,omitempty"`
	Error   *junitNote  `xml:"error,omitempty"`
	Skipped *junitNote  `xml:"skipped,omitempty"`
	Out     *junitLines `xml:"system-out,omitempty"`
	Err     *junitLines `xml:"system-err,omitempty"`
}

type junitNote struct {
	Type    string `xml:"type,attr,omitempty"`
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

type junitLines struct {
	Text string `xml:",chardata"`
}

// JUnit writes the report as JUnit XML, one suite for each level. A MUST about which nothing
// is known is an error and not skipped; of the other levels it is skipped, with the reason.
func (r *Report) JUnit(w io.Writer) error {
	all := junitSuites{Name: "mayfly certify " + r.Target, Time: seconds(r.DurationMS)}
	for _, l := range []Level{Must, Should, Field} {
		s := r.junitSuite(l)
		all.Tests += s.Tests
		all.Failures += s.Failures
		all.Errors += s.Errors
		all.Skipped += s.Skipped
		all.Suites = append(all.Suites, s)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (r *Report) junitSuite(l Level) junitSuite {
	s := junitSuite{Name: string(l), Timestamp: r.Started.Format("2006-01-02T15:04:05")}
	for _, c := range r.Checks {
		if c.Level != l {
			continue
		}
		k := r.junitCase(c)
		s.Tests++
		switch {
		case k.Failure != nil:
			s.Failures++
		case k.Error != nil:
			s.Errors++
		case k.Skipped != nil:
			s.Skipped++
		}
		s.Cases = append(s.Cases, k)
	}
	return s
}

func (r *Report) junitCase(c Result) junitCase {
	k := junitCase{Class: "mayfly." + string(c.Level), Name: c.ID, Time: seconds(c.DurationMS)}
	if c.Verdict == Pass {
		k.Out = &junitLines{c.Evidence}
		return k
	}
	note := &junitNote{Type: string(c.Verdict), Message: c.Evidence, Text: strings.Join(c.Clauses, " ") + ": " + c.Title}
	if c.Expected != "" {
		note.Text += fmt.Sprintf("\nexpected: %s\nobserved: %s", c.Expected, c.Observed)
	}
	note.Text += "\nagain: " + r.again(c.ID)
	switch {
	case c.Known != nil:
		k.Skipped = &junitNote{Message: "known until " + c.Known.Expires + ": " + c.Known.Reason + ": " + c.Evidence}
	case c.Verdict == Fail:
		k.Failure = note
	case c.Verdict == NotApplicable, c.Level != Must && c.Verdict != HarnessError:
		k.Skipped = &junitNote{Message: string(c.Verdict) + ": " + c.Evidence}
	default:
		k.Error = note
	}
	if len(c.Log) > 0 {
		k.Err = &junitLines{strings.Join(c.Log, "\n")}
	}
	return k
}

func seconds(ms int64) string { return fmt.Sprintf("%.3f", float64(ms)/1000) }
