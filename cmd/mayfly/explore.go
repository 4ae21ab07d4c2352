package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/mayfly-mcp/mayfly/cmd/internal/simflags"
	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/sim/explore"
)

const exploreUsage = `usage: mayfly sim explore [flags]

Searches every state that the lifecycle machine can get into with a few agents, configs and
faults, breadth first, and checks each step. A broken rule ends the search with exit code 1
and the shortest way to it. Times that differ make the space larger. Equal flags give equal output, byte for byte; speed is on stderr.
Exit code 4 means that -max-states ended the search, so nothing is said about the rest.

`

// exploreFlags are the flags of sim explore.
type exploreFlags struct {
	simflags.Explore
	json   bool
	record string
	made   bool // record was not there before
}

func parseExploreFlags(args []string, stderr io.Writer) (*exploreFlags, error) {
	f := &exploreFlags{}
	fs := simflags.New("mayfly sim explore", exploreUsage, stderr)
	f.Define(fs)
	fs.BoolVar(&f.json, "json", false, "print one JSON object")
	fs.StringVar(&f.record, "record", "", "write the way to a broken rule as a tape of mayfly sim to `FILE`")
	if err := simflags.Parse(fs, args); err != nil {
		return nil, err
	}
	return f, f.Settle()
}

// runExplore searches a subject, which only tests choose.
func runExplore(ctx context.Context, args []string, stdout, stderr io.Writer, subject func(lifecycle.Config) explore.Subject) int {
	f, err := parseExploreFlags(args, stderr)
	if err != nil {
		return simflags.Misused(stderr, "mayfly sim explore", err)
	}
	f.Options.Subject = subject
	f.Options.Stop = func() bool { return ctx.Err() != nil }
	if err := f.try(); err != nil {
		fmt.Fprintf(stderr, "mayfly sim explore: the tape cannot be written: %v\n", err)
		return exitHarness
	}
	defer f.clear()
	began := time.Now()
	r, err := explore.Run(f.Options)
	if err != nil {
		fmt.Fprintf(stderr, "mayfly sim explore: %v\n", err)
		return exitHarness
	}
	d := time.Since(began)
	fmt.Fprintf(stderr, "speed: %.2f million states a minute, %v\n", float64(r.States)/1e6/max(d.Minutes(), 1e-9), d.Round(time.Millisecond))
	if f.json {
		f.printJSON(stdout, r)
	} else {
		f.print(stdout, r)
	}
	if err := f.keep(r); err != nil {
		fmt.Fprintf(stderr, "mayfly sim explore: no tape: %v\n", err)
	}
	switch {
	case r.Violation != nil:
		return exitFailed
	case r.Full:
		return exitInconclusive
	}
	return exitOK
}

// try makes sure that a tape can be written before the time for the search is spent. What is in
// the file stays until there is one.
func (f *exploreFlags) try() error {
	if f.record == "" {
		return nil
	}
	_, err := os.Stat(f.record)
	f.made = errors.Is(err, os.ErrNotExist)
	file, err := os.OpenFile(f.record, os.O_WRONLY|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	return file.Close()
}

// clear takes away the file that a tape was to be in, if there is none.
func (f *exploreFlags) clear() {
	if f.made {
		_ = os.Remove(f.record) // it is empty
	}
}

// keep writes the tape of a broken rule where one is wanted.
func (f *exploreFlags) keep(r *explore.Result) error {
	if f.record == "" || r.Violation == nil {
		return nil
	}
	tape, err := explore.Tape(f.Options, r.Moves)
	if err != nil {
		return err
	}
	file, err := os.Create(f.record)
	if err != nil {
		return err
	}
	f.made = false
	return errors.Join(tape.Encode(file), file.Close())
}

// closure says in words how far the search came.
func (f *exploreFlags) closure(r *explore.Result) string {
	switch {
	case r.Violation != nil:
		return "ended at a broken rule"
	case r.Closed:
		return "closed: there are no other states"
	case r.Full:
		return fmt.Sprintf("not closed: ended at %d states (-max-states)", f.Options.States)
	}
	return fmt.Sprintf("not closed: ended at depth %d (-depth)", f.Options.Depth)
}

func (f *exploreFlags) print(w io.Writer, r *explore.Result) {
	o := &f.Options
	fmt.Fprintf(w, "%d agents with %d names and %d calls, %d configs, faults %s, total %d, drain %t\n", o.Agents, o.Names, o.Calls, o.Configs, o.Faults, o.Total, o.Drain)
	fmt.Fprintf(w, "states       %d\ntransitions  %d\ndepth        %d\nspace        %s\n", r.States, r.Transitions, r.Depth, f.closure(r))
	fmt.Fprintf(w, "a state was missed with probability below %d in 1000000000 (64-bit fingerprints)\n", r.Collision())
	fmt.Fprintf(w, "what leads away from %d states was held to the model of the specification, too\n", r.Modelled)
	for _, c := range r.Counts() {
		fmt.Fprintf(w, "  %10d %s\n", c.N, c.What)
	}
	if v := r.Violation; v != nil {
		fmt.Fprintf(w, "VIOLATION %s (SPEC %s)\n  rule: %s\n  seen: %s\n  after:\n", v.ID, v.Clause, v.Text, v.Detail)
		for _, l := range explore.Explain(f.Options, r.Moves) {
			fmt.Fprintf(w, "    %s\n", l)
		}
	}
}

// exploreReport is the JSON form of a search.
type exploreReport struct {
	Agents      int               `json:"agents"`
	Names       int               `json:"names"`
	Calls       int               `json:"calls"`
	Configs     int               `json:"configs"`
	Faults      string            `json:"faults"`
	Total       int               `json:"total"`
	Drain       bool              `json:"drain"`
	States      int               `json:"states"`
	Modelled    int               `json:"modelled"`
	Transitions uint64            `json:"transitions"`
	Depth       int               `json:"depth"`
	Closed      bool              `json:"closed"`
	Full        bool              `json:"full"`
	Levels      []int             `json:"levels"`
	Counts      map[string]uint64 `json:"counts"`
	Violation   *exploreViolation `json:"violation,omitempty"`
}

type exploreViolation struct {
	ID     string   `json:"id"`
	Clause string   `json:"clause"`
	Text   string   `json:"text"`
	Detail string   `json:"detail"`
	Path   []string `json:"path"`
}

func (f *exploreFlags) printJSON(w io.Writer, r *explore.Result) {
	o := &f.Options
	out := exploreReport{Agents: o.Agents, Names: o.Names, Calls: o.Calls, Configs: o.Configs, Faults: o.Faults.String(), Total: o.Total, Drain: o.Drain,
		States: r.States, Modelled: r.Modelled, Transitions: r.Transitions, Depth: r.Depth, Closed: r.Closed, Full: r.Full, Levels: r.Levels, Counts: map[string]uint64{}}
	for _, c := range r.Counts() {
		out.Counts[c.What] = c.N
	}
	if v := r.Violation; v != nil {
		out.Violation = &exploreViolation{v.ID, v.Clause, v.Text, v.Detail, explore.Explain(f.Options, r.Moves)}
	}
	writeJSON(w, out)
}
