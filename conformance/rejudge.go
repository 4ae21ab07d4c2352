package conformance

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// Bounds of a capture that is read.
const (
	maxCapture     = 512 << 20 // bytes
	maxCaptureLine = 16 << 20  // bytes of one line
)

// Report judges a capture: the verdict on each check by the first attempt at it whose window
// was quiet enough, on noise if there is none, and one on what the daemons left behind.
func (c *Capture) Report() *Report { return c.judged(granted) }

func (c *Capture) judged(m margins) *Report {
	r := &Report{
		Schema: ReportSchema, Suite: c.run.Suite, Target: c.run.Target.Name, Started: c.run.Started,
		DurationMS: c.end.DurationMS, Partial: c.run.Partial, Profile: c.run.Profile, Rerun: c.run.Rerun, Noise: c.end.Noise, capture: c,
		Dialect: c.run.Dialect,
	}
	seen := map[string][]observation{}
	for _, info := range c.run.Checks {
		a, result := c.counted(m, info)
		r.Checks = append(r.Checks, result)
		seen[info.ID] = a.Seen
	}
	r.Answers = evidence{r.Checks, seen}.answers()
	r.Checks = append(r.Checks, c.end.Audit.result())
	return r
}

// counted is the attempt that the verdict on a check rests on.
func (c *Capture) counted(m margins, info checkInfo) (*attemptRecord, Result) {
	var last *attemptRecord
	var result Result
	for i := range c.attempts {
		if c.attempts[i].Check != info.ID {
			continue
		}
		last = &c.attempts[i]
		var quiet bool
		if result, quiet = m.result(info, last); quiet {
			break
		}
	}
	return last, result
}

// ErrCapture marks a capture that cannot be judged: not one, cut off, edited into nonsense, or
// of another version.
var ErrCapture = errors.New("no capture that this mayfly can judge")

// refused is an error that says what is wrong with a capture.
func refused(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrCapture, fmt.Sprintf(format, args...))
}

// ReadCapture reads the capture in a report directory, or a file.
func ReadCapture(path string) (*Capture, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, CaptureFile)
	}
	file, err := readBounded(path, maxCapture)
	if err != nil {
		return nil, fmt.Errorf("cannot read the capture: %w", err)
	}
	c, err := parseCapture(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// readBounded reads a regular file up to a limit.
func readBounded(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file", path)
	case info.Size() > limit:
		return nil, fmt.Errorf("%s has %d bytes; %d are the most that is read", path, info.Size(), limit)
	}
	return os.ReadFile(path)
}

// parseCapture reads the lines of a capture.
func parseCapture(file []byte) (*Capture, error) {
	c := &Capture{}
	c.sealed(file)
	sc := bufio.NewScanner(bytes.NewReader(file))
	sc.Buffer(nil, maxCaptureLine)
	line := 0
	for sc.Scan() {
		line++
		if err := c.line(line, sc.Bytes()); err != nil {
			return nil, err
		}
	}
	switch err := sc.Err(); {
	case err != nil:
		return nil, refused("line %d: %v", line+1, err)
	case line == 0:
		return nil, refused("it is empty")
	case c.end.Record == "":
		return nil, refused("it is cut off after line %d of a run of %d checks; copy it again, or run them again", line, len(c.run.Checks))
	}
	return c, c.validate()
}

// line takes one line. The first one decides whether the others can be understood.
func (c *Capture) line(no int, text []byte) error {
	var kind struct {
		Record string `json:"record"`
		Schema int    `json:"schema"`
		Suite  string `json:"suite"`
	}
	if err := json.Unmarshal(text, &kind); err != nil {
		return refused("line %d is no JSON value, or a half one: %v", no, err)
	}
	switch {
	case c.end.Record != "":
		return refused("line %d comes after the end", no)
	case (no == 1) != (kind.Record == recordRun):
		return refused("line %d is a %q; the first line, and no other, says what was run", no, kind.Record)
	case no == 1 && kind.Schema != CaptureSchema:
		return refused("it has schema %d, and this mayfly reads schema %d; use the mayfly that made it", kind.Schema, CaptureSchema)
	case no == 1 && kind.Suite != Suite:
		return refused("it was made by suite %q, and this is suite %q, whose verdicts do not compare; use the mayfly that made it", kind.Suite, Suite)
	}
	switch kind.Record {
	case recordRun:
		return strict(no, text, &c.run)
	case recordAttempt:
		var a attemptRecord
		err := strict(no, text, &a)
		c.attempts = append(c.attempts, a)
		return err
	case recordEnd:
		return strict(no, text, &c.end)
	}
	return refused("line %d is a %q, which is nothing that a capture has", no, kind.Record)
}

// strict decodes one value with no field that is not known.
func strict(no int, text []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return refused("line %d: %v", no, err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return refused("line %d holds more than one value", no)
	}
	return nil
}

// validate holds a capture to what every run leaves: checks that are named once, and attempts
// at each of them, counted from one.
func (c *Capture) validate() error {
	if len(c.attempts) != c.end.Attempts {
		return refused("it has %d attempts, and its end speaks of %d", len(c.attempts), c.end.Attempts)
	}
	known := map[string]int{}
	for i, info := range c.run.Checks {
		if _, twice := known[info.ID]; twice || info.ID == "" || len(info.Clauses) == 0 {
			return refused("check %d, %q, is there twice, or names no clause", i+1, info.ID)
		}
		known[info.ID] = i
	}
	tries := make([]int, len(known))
	for _, a := range c.attempts {
		i, ok := known[a.Check]
		if !ok {
			return refused("it has an attempt at %q, which was not to be run", a.Check)
		}
		if tries[i]++; a.Try != tries[i] {
			return refused("attempt %d at %s is missing, or out of order", tries[i], a.Check)
		}
		if err := a.validate(); err != nil {
			return err
		}
	}
	if i := slices.Index(tries, 0); i >= 0 {
		return refused("it has no attempt at %s", c.run.Checks[i].ID)
	}
	return nil
}

// validate refuses what no runner writes.
func (a *attemptRecord) validate() error {
	for i, o := range a.Seen {
		switch {
		case !slices.Contains(observationKinds, o.Kind):
			return refused("observation %d of %s has the kind %q, which this judge does not know", i+1, a.Check, o.Kind)
		case o.Min > o.Max || o.Limit < 0 || o.Overshoot < 0:
			return refused("observation %d of %s is no interval: [%v, %v]", i+1, a.Check, o.Min, o.Max)
		}
	}
	e := a.Ending
	switch e.How {
	case endedWell, endedRefused, endedLost, endedDeadline, endedStopped, endedAdapter, endedOther:
	case endedRuled:
		if !slices.Contains([]Verdict{Pass, Fail, Inconclusive, NotObserved, NotApplicable, HarnessError}, e.Verdict) {
			return refused("%s ended with the verdict %q, which there is not", a.Check, e.Verdict)
		}
		if e.By < 0 || e.By > len(a.Seen) {
			return refused("%s ended by observation %d of %d", a.Check, e.By, len(a.Seen))
		}
	default:
		return refused("%s ended as %q, which this judge does not know", a.Check, e.How)
	}
	return nil
}

// Changes says what a report says otherwise than one from before, a line for each check.
func (r *Report) Changes(before *Report) (lines []string) {
	for _, now := range r.Checks {
		i := slices.IndexFunc(before.Checks, func(c Result) bool { return c.ID == now.ID })
		switch {
		case i < 0:
			lines = append(lines, fmt.Sprintf("%s is %s; the report before did not have it", now.ID, now.Verdict))
		case before.Checks[i].Verdict != now.Verdict:
			lines = append(lines, fmt.Sprintf("%s was %s and is %s: %s", now.ID, before.Checks[i].Verdict, now.Verdict, now.Evidence))
		}
	}
	return lines
}
