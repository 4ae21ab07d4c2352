package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

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
	options explore.Options
	json    bool
	record  string
	made    bool // record was not there before
}

func parseExploreFlags(args []string, stderr io.Writer) (*exploreFlags, error) {
	f := &exploreFlags{options: explore.Options{Config: explore.DefaultConfig()}}
	o, c := &f.options, &f.options.Config
	fs := newFlags("mayfly sim explore", exploreUsage, stderr)
	fs.IntVar(&o.Agents, "agents", 2, "agents that claim and call")
	fs.IntVar(&o.Configs, "configs", 2, "configs that they may claim")
	fs.IntVar(&o.Names, "names", 1, "names that each may claim under")
	fs.IntVar(&o.Calls, "calls", 1, "calls that each may have open")
	fs.IntVar(&o.Total, "total", 0, "faults of all kinds together on one way; 0 does not bound them")
	fs.IntVar(&o.Depth, "depth", explore.MaxDepth, "moves from the beginning")
	fs.IntVar(&o.States, "max-states", 20<<20, fmt.Sprintf("states to keep, %d bytes each", explore.BytesPerState))
	fs.BoolVar(&o.Drain, "drain", true, "let the machine be drained")
	fs.IntVar(&o.Model, "model", 50_000, "the first states from which every move is also held to the model of the specification, each for some 0.1 ms")
	defineConfig(fs, c, "idle-timeout", "connect-timeout", "call-timeout", "max-live")
	fs.BoolVar(&f.json, "json", false, "print one JSON object")
	fs.StringVar(&f.record, "record", "", "write the way to a broken rule as a tape of mayfly sim to `FILE`")
	faults := fs.String("faults", "none", "how often what goes wrong on one way: none, each, or a list such as exit,late=2; each may begin a list")
	if err := parseFlags(fs, args); err != nil {
		return nil, err
	}
	var err error
	if o.Faults, err = explore.ParseFaults(*faults); err != nil {
		return nil, err
	}
	return f, o.Validate()
}

// runExplore searches a subject, which only tests choose.
func runExplore(ctx context.Context, args []string, stdout, stderr io.Writer, subject func(lifecycle.Config) explore.Subject) int {
	f, err := parseExploreFlags(args, stderr)
	if err != nil {
		return misused(stderr, "mayfly sim explore", err)
	}
	f.options.Subject = subject
	f.options.Stop = func() bool { return ctx.Err() != nil }
	if err := f.try(); err != nil {
		fmt.Fprintf(stderr, "mayfly sim explore: the tape cannot be written: %v\n", err)
		return exitHarness
	}
	defer f.clear()
	began := time.Now()
	r, err := explore.Run(f.options)
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
	tape, err := explore.Tape(f.options, r.Moves)
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
		return fmt.Sprintf("not closed: ended at %d states (-max-states)", f.options.States)
	}
	return fmt.Sprintf("not closed: ended at depth %d (-depth)", f.options.Depth)
}

func (f *exploreFlags) print(w io.Writer, r *explore.Result) {
	o := &f.options
	fmt.Fprintf(w, "%d agents with %d names and %d calls, %d configs, faults %s, total %d, drain %t\n", o.Agents, o.Names, o.Calls, o.Configs, o.Faults, o.Total, o.Drain)
	fmt.Fprintf(w, "states       %d\ntransitions  %d\ndepth        %d\nspace        %s\n", r.States, r.Transitions, r.Depth, f.closure(r))
	fmt.Fprintf(w, "a state was missed with probability below %d in 1000000000 (64-bit fingerprints)\n", r.Collision())
	fmt.Fprintf(w, "what leads away from %d states was held to the model of the specification, too\n", r.Modelled)
	for _, c := range r.Counts() {
		fmt.Fprintf(w, "  %10d %s\n", c.N, c.What)
	}
	if v := r.Violation; v != nil {
		fmt.Fprintf(w, "VIOLATION %s (SPEC %s)\n  rule: %s\n  seen: %s\n  after:\n", v.ID, v.Clause, v.Text, v.Detail)
		for _, l := range explore.Explain(f.options, r.Moves) {
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
	o := &f.options
	out := exploreReport{Agents: o.Agents, Names: o.Names, Calls: o.Calls, Configs: o.Configs, Faults: o.Faults.String(), Total: o.Total, Drain: o.Drain,
		States: r.States, Modelled: r.Modelled, Transitions: r.Transitions, Depth: r.Depth, Closed: r.Closed, Full: r.Full, Levels: r.Levels, Counts: map[string]uint64{}}
	for _, c := range r.Counts() {
		out.Counts[c.What] = c.N
	}
	if v := r.Violation; v != nil {
		out.Violation = &exploreViolation{v.ID, v.Clause, v.Text, v.Detail, explore.Explain(f.options, r.Moves)}
	}
	writeJSON(w, out)
}
