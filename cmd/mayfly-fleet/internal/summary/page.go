package summary

import (
	"bytes"
	_ "embed" // the page is a file of its own
	"errors"
	"fmt"
	"html/template"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/queue"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"group": group,
	"whole": func(n int) string { return group(uint64(max(n, 0))) },
	"time":  func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") },
	"cut":   func(s string) string { return cut(s, MaxText) },
}).Parse(pageText))

// pageData is what the template sees.
type pageData struct {
	*State
	report
	Verdict    string
	Good       bool
	Done, All  uint64
	Charts     []chart
	Rows       []queue.Sample
	LeftOut    int // failures
	OtherJobs  int // in quarantine, not shown
	Commands   []command
	Results    []link
	Full       string
	Chart      map[string]int
	Replayable string // the flags that a replay needs
}

// command is a line for a shell.
type command struct{ Why, Line string }

// Write writes the page as if it were the file path, from which its links go.
func (s *State) Write(w io.Writer, path string) error {
	r, err := s.report()
	if err != nil {
		return err
	}
	d := &pageData{State: s, report: r, Done: s.Progress.Seeds, All: s.Progress.SeedsAll, Charts: charts(s.Samples, s.Unit), Rows: rows(s.Samples), Full: s.text(),
		Chart: map[string]int{"Wide": chartWide, "High": chartHigh, "Left": plotLeft, "Right": plotRight, "Top": plotTop, "Bottom": plotBottom,
			"Tick": plotBottom + tickLength, "Label": plotBottom + labelBelow}}
	if s.Outcome != nil {
		d.Done, d.All = s.Outcome.Done, s.Outcome.All
	} else {
		d.Failures = written(s.Dir)
	}
	d.LeftOut = max(0, len(d.Failures)-MaxFailures)
	d.Failures = d.Failures[:len(d.Failures)-d.LeftOut]
	for i := range d.Failures {
		d.Failures[i].open(s.Dir, path)
	}
	d.OtherJobs = max(0, len(s.Quarantine)-MaxQuarantine)
	d.Verdict, d.Good = s.verdict(d)
	d.Commands, d.Replayable = s.commands(), s.subject()
	for _, name := range []string{"summary.txt", "summary.json", "results.jsonl", "campaign.json"} {
		file := filepath.Join(s.Dir, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
			d.Results = append(d.Results, link{name, relative(path, file)})
		}
	}
	return page.Execute(w, d)
}

// Isolated are the jobs in quarantine that the page shows.
func (d *pageData) Isolated() []queue.Quarantine {
	return d.Quarantine[:len(d.Quarantine)-d.OtherJobs]
}

// verdict is how the campaign ended, in a sentence.
func (s *State) verdict(d *pageData) (text string, good bool) {
	found := len(d.Failures) + d.LeftOut + len(d.Bad) + len(d.Unreached)
	if d.Violation != nil {
		found++
	}
	switch {
	case len(s.Quarantine) > 0:
		return fmt.Sprintf("Stopped: jobs in quarantine (%d).", len(s.Quarantine)), false
	case s.State.State == queue.Cancelled:
		return "Cancelled before its end.", false
	case s.Outcome == nil:
		return "Stopped before its end, with an error.", false
	case d.Done < d.All:
		return "Not at its end yet.", false
	case s.Outcome.Failed || found > 0:
		return "Failed: " + what(d) + ".", false
	}
	return "Passed: no rule was broken.", true
}

// what says what failed.
func what(d *pageData) string {
	var all []string
	add := func(n int, text string) {
		if n > 0 {
			all = append(all, fmt.Sprintf("%s (%d)", text, n))
		}
	}
	add(len(d.Failures)+d.LeftOut, "distinct failures")
	add(len(d.Bad), "scenarios that do not hold")
	add(len(d.Unreached), "situations that were never reached")
	if d.Violation != nil {
		add(1, "a rule that can be broken")
	}
	return strings.Join(all, ", ")
}

// made is a name that was made of what the campaign is.
var made = regexp.MustCompile(`^[a-z]+-[0-9a-f]{12}$`)

// commands run the campaign again.
func (s *State) commands() []command {
	words := []string{"mayfly-fleet", "run", "-kind", s.Spec.Kind}
	if !made.MatchString(s.Spec.ID) {
		words = append(words, "-name", s.Spec.ID)
	}
	all := []command{{"on this machine, or with -nats on many", shell(append(words, s.Spec.Args...))}}
	if s.Spec.Kind == "sim" {
		all = append(all, command{"the same directory, without the fleet", shell(append([]string{"mayfly", "sim", "campaign", "-dir", "runs"}, s.Spec.Args...))})
	}
	return all
}

// subject are the flags about what is tested.
func (s *State) subject() string {
	for _, a := range s.Spec.Args {
		if strings.HasPrefix(a, "-subject=") {
			return " " + shell([]string{a})
		}
	}
	return ""
}

// plain are words that a shell leaves alone.
var plain = regexp.MustCompile(`^[A-Za-z0-9_./:=,@%+-]+$`)

// shell quotes words.
func shell(words []string) string {
	var out []string
	for _, w := range words {
		if !plain.MatchString(w) {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		out = append(out, w)
	}
	return strings.Join(out, " ")
}

// Check says early whether WriteFile will be able to write: a campaign may take a night before it does. An empty
// path, which asks for no page, is fine.
func Check(path string) error {
	if path == "" {
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp") // what is there stays
	if err == nil {
		err = errors.Join(f.Close(), os.Remove(f.Name()))
	}
	if is, missing := os.Stat(path); err == nil && missing == nil && is.IsDir() {
		err = errors.New("it is a directory")
	}
	if err != nil {
		return fmt.Errorf("the summary %s cannot be written: %w; name a file in a directory that is there", path, err)
	}
	return nil
}

// WriteFile writes the page, which is there as a whole or as it was before.
func WriteFile(path string, s *State) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("the summary %s cannot be written: %w", path, err)
		}
	}()
	var b bytes.Buffer
	if err := s.Write(&b, path); err != nil {
		return err
	}
	const readable = 0o644
	temp := path + ".tmp"
	if err = os.WriteFile(temp, b.Bytes(), readable); err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		_ = os.Remove(temp) // of a full disk it is the half, and of no directory nothing
	}
	return err
}
