package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/mayfly-mcp/mayfly/cmd/internal/simflags"
	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/sim"
)

// runSim is the subcommand sim.
func runSim(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) > 0 {
		if c := find(simCommands(), args[0]); c != nil {
			return c.run(ctx, args[1:], stdin, stdout, stderr)
		}
	}
	return simulate(ctx, args, stdin, stdout, stderr, sim.NewMachine)
}

// simCommands are the subcommands of sim, which without one runs a seed.
func simCommands() []command {
	return []command{
		{"campaign", "run many seeds, resumably, and sum up what they came to", runCampaign, nil},
		{"explore", "search all states of a small world", func(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) int {
			return runExplore(ctx, args, stdout, stderr, nil)
		}, nil},
	}
}

const simUsage = `usage: mayfly sim [flags]

Drives the lifecycle machine through a busy daemon's days in virtual time and checks
every step. Equal flags give equal output, byte for byte. A broken rule ends the run with
exit code 1 and leaves a tape to replay, a small one, and a scenario. Without flags: seed 1,
200 tenants, 24 hours, with the features and faults that the seed draws.

`

// simFlags are the flags of sim.
type simFlags struct {
	options sim.Options
	subject simflags.Subject
	json    bool

	draw     simflags.Draw
	matrix   bool
	replay   string
	record   string
	failures string
	shrink   shrinkFlag
	trace    tracer
	reach    reachFlags
}

func parseSimFlags(args []string, stderr io.Writer) (*simFlags, error) {
	f := &simFlags{options: sim.Options{Config: lifecycle.DefaultConfig()}}
	o, c := &f.options, &f.options.Config
	fs := simflags.New("mayfly sim", simUsage, stderr, func() { list(stderr, "sim", simCommands()) })
	fs.Uint64Var(&o.Seed, "seed", 1, "seed of the run")
	fs.IntVar(&o.Tenants, "tenants", 200, "number of tenants")
	fs.DurationVar(&o.For, "for", 24*time.Hour, "virtual time to simulate")
	simflags.DefineConfig(fs, c)
	fs.Func("schedule", "order at one instant: fifo, random, pct:`D` or delay:K, with @SEED for a seed of its own (default fifo)", func(s string) (err error) {
		o.Schedule, err = sim.ParseSchedule(s)
		return err
	})
	f.draw.Define(fs)
	f.reach.define(fs)
	fs.Var(&f.subject, "subject", "what to test: machine (the default), or published[:reading,...], RFC 0204's algorithm; published:help lists its readings")
	fs.BoolVar(&f.json, "json", false, "print one JSON object")
	fs.BoolVar(&f.matrix, "matrix", false, "print the whole matrix of standings and inputs")
	fs.StringVar(&f.replay, "replay", "", "replay the tape in `FILE` (- for standard input) instead of drawing a run")
	fs.StringVar(&f.record, "record", "", "write the tape of the run to `FILE`")
	fs.StringVar(&f.trace.name, "trace", "", "show the run in `FILE`: a page if it ends with .html, else text")
	fs.Var(&f.shrink, "shrink", shrinkUsage)
	fs.StringVar(&f.failures, "failures", "mayfly-failures", "directory for the tapes of broken rules")
	if err := simflags.Parse(fs, args); err != nil {
		return nil, err
	}
	if err := f.subject.Listed(stderr); err != nil {
		return nil, err
	}
	if err := f.reach.check(fs); err != nil {
		return nil, err
	}
	if f.trace.name != "" && f.trace.name == f.record {
		return nil, fmt.Errorf("-trace and -record name the same file, %s; one would take the place of the other", f.record)
	}
	if f.replay != "" {
		return f, onlyWithReplay(fs)
	}
	if o.Tenants < 1 || o.For <= 0 {
		return nil, fmt.Errorf("%d tenants for %v simulate nothing; use 1 tenant and 1ns or more", o.Tenants, o.For)
	}
	o.Record = f.record != ""
	if err := f.draw.Settle(o); err != nil {
		return nil, err
	}
	f.subject.Fit(o)
	return f, o.Validate()
}

// onlyWithReplay refuses flags that a tape already answers.
func onlyWithReplay(fs *flag.FlagSet) (err error) {
	fs.Visit(func(x *flag.Flag) {
		switch x.Name {
		case "replay", "json", "matrix", "situations", "subject", "trace", "shrink":
		default:
			err = errors.Join(err, fmt.Errorf("-%s does not go with -replay: the tape says it", x.Name))
		}
	})
	return err
}

// simulate runs sim on a subject, which only tests choose.
func simulate(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, subject func(lifecycle.Config) sim.Subject) int {
	f, err := parseSimFlags(args, stderr)
	if err != nil {
		return simflags.Misused(stderr, "mayfly sim", err)
	}
	if f.options.Subject = subject; f.subject.Make != nil {
		f.options.Subject = f.subject.Make
	}
	f.options.Stop = func() bool { return ctx.Err() != nil }
	if f.reach.hunt > 0 {
		return f.runHunt(stdout, stderr)
	}
	tape, code, err := f.prepare(ctx, stdin)
	if err != nil {
		fmt.Fprintf(stderr, "mayfly sim: %v\n", err)
		return code
	}
	if err := f.trace.open(&f.options); err != nil {
		fmt.Fprintf(stderr, "mayfly sim: %v\n", err)
		return exitHarness
	}
	began := time.Now()
	res, err := f.run(tape)
	if err == nil {
		err = f.trace.close(res)
	}
	if err != nil {
		fmt.Fprintf(stderr, "mayfly sim: %v\n", err)
		return exitHarness
	}
	speed(stderr, res, time.Since(began))
	return max(f.report(stdout, stderr, res, tape), f.runGuard(stderr))
}

// prepare reads the tape to replay, if any, and makes sure that a tape can be recorded before
// the time for it is spent. The code is the one to exit with upon an error.
func (f *simFlags) prepare(ctx context.Context, stdin io.Reader) (tape *sim.Tape, code int, err error) {
	if f.record != "" {
		file, err := os.Create(f.record)
		if err != nil {
			return nil, exitHarness, fmt.Errorf("the tape cannot be written: %w", err)
		}
		return nil, exitHarness, file.Close()
	}
	if f.replay == "" {
		return nil, exitOK, nil
	}
	if tape, err = readTape(ctx, f.replay, stdin); err != nil {
		return nil, inputCode(err), err
	}
	o := &f.options
	o.Seed, o.Tenants, o.For, o.Config, o.Schedule = tape.Seed, tape.Tenants, tape.For, tape.Config, tape.Schedule
	return tape, exitOK, nil
}

func (f *simFlags) run(tape *sim.Tape) (*sim.Result, error) {
	if tape != nil {
		return sim.Replay(tape, f.options)
	}
	return sim.Run(f.options)
}

// speed is apart from the report, because it differs between runs.
func speed(w io.Writer, r *sim.Result, d time.Duration) {
	seconds := max(d.Seconds(), 1e-9)
	fmt.Fprintf(w, "speed: %.0f steps/s, %.0f events/s, %v\n", float64(r.Steps)/seconds, float64(r.Events)/seconds, d.Round(time.Millisecond))
}

// report prints the run, writes its tape where one is wanted, and returns the exit code.
func (f *simFlags) report(stdout, stderr io.Writer, r *sim.Result, replayed *sim.Tape) int {
	path, err := f.keep(r)
	if err != nil {
		fmt.Fprintf(stderr, "mayfly sim: the tape cannot be written: %v\n", err)
	}
	s := f.shrunk(stderr, r, replayed, path)
	if f.json {
		f.printJSON(stdout, r, path, s)
	} else {
		f.print(stdout, r)
		if replayed != nil {
			compare(stdout, replayed, r)
		}
		if r.Violation != nil {
			printViolation(stdout, r.Violation, path+f.subject.Flag())
			s.print(stdout, f.subject.Flag())
			f.subject.Explain(stdout, cmp.Or(r.Tape, replayed), f.options.Stop)
		}
	}
	switch {
	case r.Violation != nil:
		return exitFailed
	case err != nil:
		return exitHarness
	}
	return exitOK
}

// keep writes the tape of a run that was to be recorded or that broke a rule, and returns
// where the tape is.
func (f *simFlags) keep(r *sim.Result) (string, error) {
	path := f.record
	switch {
	case f.replay != "":
		return f.replay, nil
	case r.Tape == nil, path == "" && r.Violation == nil: // -trace records a run too
		return "", nil
	case path == "":
		if err := os.MkdirAll(f.failures, 0o777); err != nil {
			return "", err
		}
		path = filepath.Join(f.failures, fmt.Sprintf("seed-%d-%s.tape", f.options.Seed, r.Violation.ID))
	}
	file, err := os.Create(path)
	if err != nil {
		return "", err
	}
	return path, errors.Join(r.Tape.Encode(file), file.Close())
}

func (f *simFlags) print(w io.Writer, r *sim.Result) {
	o := &f.options
	fmt.Fprintf(w, "seed %d: %d tenants for %v\n", o.Seed, o.Tenants, o.For)
	for _, s := range sim.Durations(o.Config) {
		fmt.Fprintf(w, "  %-16s %v\n", s.Name, s.Value)
	}
	for _, s := range sim.Bounds(o.Config) {
		fmt.Fprintf(w, "  %-16s %d\n", s.Name, s.Value)
	}
	if o.Schedule.Kind != sim.FIFO {
		fmt.Fprintf(w, "  %-16s %v\n", "schedule", o.Schedule)
	}
	printDraw(w, o)
	fmt.Fprintf(w, "steps %d, events %d, audits of the whole state %d\n", r.Steps, r.Events, r.Audits)
	for _, l := range r.Story() {
		fmt.Fprintf(w, "  %10d %s\n", l.N, l.What)
	}
	printFired(w, o, r)
	fmt.Fprintln(w, "transitions")
	r.Coverage.WriteTransitions(w)
	fmt.Fprintf(w, "coverage: %d cells of standing × input → standing\n", r.Coverage.Covered())
	if f.matrix {
		r.Coverage.WriteCells(w)
	}
	if f.reach.situations {
		r.Reached.Write(w)
	}
	fmt.Fprintf(w, "run hash %016x\n", r.Hash)
}

// compare says whether a replay did what was recorded.
func compare(w io.Writer, t *sim.Tape, r *sim.Result) {
	id := ""
	if r.Violation != nil {
		id = r.Violation.ID
	}
	switch {
	case t.Hash == 0:
	case t.Hash == r.Hash && t.Violation == id:
		fmt.Fprintln(w, "replay: the same run as recorded")
	default:
		fmt.Fprintf(w, "replay: not the run that was recorded, which has hash %016x and breaks %q\n", t.Hash, t.Violation)
	}
}

func printViolation(w io.Writer, v *sim.Violation, path string) {
	fmt.Fprintf(w, "VIOLATION %s (SPEC %s) at step %d, %v\n  rule: %s\n  seen: %s\n",
		v.ID, v.Clause, v.Step, time.Duration(v.At), v.Text, v.Detail)
	if path != "" {
		fmt.Fprintf(w, "  replay with: mayfly sim -replay %s\n", path)
	}
}

// simReport is the JSON form of a run.
type simReport struct {
	Seed        uint64            `json:"seed"`
	Tenants     int               `json:"tenants"`
	For         string            `json:"for"`
	Config      map[string]string `json:"config"`
	Steps       uint64            `json:"steps"`
	Events      uint64            `json:"events"`
	Hash        string            `json:"hash"`
	Features    map[string]int    `json:"features,omitempty"`
	Faults      map[string]int    `json:"faults,omitempty"`
	Fired       []firedFault      `json:"fired"`
	Counts      map[string]uint64 `json:"counts"`
	Transitions []sim.Cell        `json:"transitions"`
	Coverage    []sim.Cell        `json:"coverage"`
	Situations  []situationCount  `json:"situations"`
	Excused     map[string]uint64 `json:"excused"`
	Violation   *simViolation     `json:"violation,omitempty"`
}

type simViolation struct {
	ID     string `json:"id"`
	Clause string `json:"clause"`
	Text   string `json:"text"`
	Detail string `json:"detail"`
	Step   uint64 `json:"step"`
	At     string `json:"at"`
	Tape   string `json:"tape,omitempty"`
	Small  *small `json:"small,omitempty"`
}

func (f *simFlags) printJSON(w io.Writer, r *sim.Result, path string, s *small) {
	o := &f.options
	out := simReport{Seed: o.Seed, Tenants: o.Tenants, For: o.For.String(), Steps: r.Steps, Events: r.Events,
		Hash: fmt.Sprintf("%016x", r.Hash), Config: map[string]string{}, Counts: map[string]uint64{},
		Transitions: r.Coverage.StateChanges(), Coverage: r.Coverage.Reached()}
	for _, s := range sim.Durations(o.Config) {
		out.Config[s.Name] = s.Value.String()
	}
	for _, s := range sim.Bounds(o.Config) {
		out.Config[s.Name] = strconv.Itoa(s.Value)
	}
	out.Config["schedule"] = o.Schedule.String()
	for _, l := range r.Story() {
		out.Counts[l.What] = l.N
	}
	if o.Mix != nil && o.Faults != nil {
		out.Features, out.Faults = strengthMap(o.Mix.Strengths()), strengthMap(o.Faults.Strengths())
	}
	out.Fired = firedFaults(o, r)
	out.Situations, out.Excused = situationCounts(&r.Reached), excusedMap(r)
	if v := r.Violation; v != nil {
		out.Violation = &simViolation{v.ID, v.Clause, v.Text, v.Detail, v.Step, time.Duration(v.At).String(), path, s}
	}
	writeJSON(w, out)
}
