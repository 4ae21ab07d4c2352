package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/mayfly-mcp/mayfly/cmd/mayfly/internal/hostworld"
	"github.com/mayfly-mcp/mayfly/conformance"
	"github.com/mayfly-mcp/mayfly/core/regfile"
	"github.com/mayfly-mcp/mayfly/scenarios"
	"github.com/mayfly-mcp/mayfly/sim"
)

const runUsage = `usage: mayfly run [flags] FILE...

Runs scenario files. A FILE that is no path may be the name of a scenario that comes with
mayfly ("mayfly run first-call-spawns"). The language is described in package scenarios.

`

// liveAtOnce is how many live scenarios run side by side by default. They mostly wait, and
// each has a daemon of its own.
const liveAtOnce = 4

type runFlags struct {
	in       string
	all      bool
	update   bool
	json     bool
	parallel int

	aim    targetFlags
	target conformance.Target // of the live world
}

// runResult is what became of one file; it is the JSON of -json.
type runResult struct {
	File     string   `json:"file"`
	World    string   `json:"world"`
	Verdict  string   `json:"verdict"` // ok, failed, error, left out
	Expected int      `json:"expectations"`
	Failures []string `json:"failures,omitempty"`

	file   *scenarios.File
	report *scenarios.Report
}

// runScenarios is the subcommand run.
func runScenarios(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) int {
	var f runFlags
	fs := flag.NewFlagSet("mayfly run", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() {
		fmt.Fprint(stderr, runUsage)
		fs.PrintDefaults()
	}
	fs.StringVar(&f.in, "in", scenarios.Machine, "world: machine, host (both in virtual time) or live (a daemon and real processes)")
	fs.BoolVar(&f.all, "all", false, "run every scenario that comes with mayfly and makes sense in the world")
	fs.BoolVar(&f.update, "update", false, "rewrite the expectations of the files to what happened; read the difference before you keep it")
	fs.BoolVar(&f.json, "json", false, "print one JSON object per file")
	fs.IntVar(&f.parallel, "parallel", liveAtOnce, "live daemons at one time")
	f.aim = addTargetFlags(fs)
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		return exitUsage
	}
	if err := f.check(fs.Args()); err != nil {
		fmt.Fprintf(stderr, "mayfly run: %v\n", err)
		return exitUsage
	}
	files, err := f.files(fs.Args())
	if err != nil {
		fmt.Fprintf(stderr, "%v\n", err)
		return inputCode(err)
	}
	release, code, err := f.take(ctx, fs)
	if err != nil {
		fmt.Fprintf(stderr, "mayfly run: %v\n", err)
		return code
	}
	defer release()
	return f.run(ctx, files, stdout)
}

// take finds out what the live world drives. A target that somebody names is asked how it wants to
// be spoken to; the reference daemon needs no asking.
func (f *runFlags) take(ctx context.Context, fs *flag.FlagSet) (release func(), code int, err error) {
	release = func() {}
	for _, name := range []string{"target", "template", "config", "socket", "model"} {
		if f.in != scenarios.Live && isSet(fs, name) {
			return release, exitUsage, fmt.Errorf("-%s goes with -in live", name)
		}
	}
	if f.in != scenarios.Live {
		return release, exitOK, nil
	}
	if f.target, code, err = f.aim.target(fs); err != nil || !isSet(fs, "target") {
		return release, code, err
	}
	if f.target, release, err = conformance.Prepare(ctx, f.target); err != nil {
		return func() {}, exitHarness, err
	}
	return release, exitOK, nil
}

// check finds what is wrong with the command line.
func (f *runFlags) check(args []string) error {
	switch f.in {
	case scenarios.Machine, scenarios.Host, scenarios.Live:
	default:
		return fmt.Errorf("-in %s is no world; use machine, host or live", f.in)
	}
	switch {
	case f.all && len(args) > 0:
		return errors.New("-all takes no files")
	case f.all && f.update:
		return errors.New("-update rewrites files; name them")
	case !f.all && len(args) == 0:
		return errors.New("name a scenario file, or use -all")
	case f.parallel < 1 || f.parallel > 64:
		return fmt.Errorf("-parallel is %d; use 1 to 64", f.parallel)
	}
	return nil
}

// files reads and parses everything before anything runs.
func (f *runFlags) files(args []string) (files []*scenarios.File, err error) {
	if f.all {
		for _, file := range scenarios.All() {
			if file.RunsIn(f.in) {
				files = append(files, file)
			}
		}
		return files, nil
	}
	var errs []error
	for _, arg := range args {
		file, err := readScenario(arg)
		if err == nil && !file.RunsIn(f.in) {
			err = fmt.Errorf("%s: makes no sense in the world %q, says its line \"only\"", arg, f.in)
		}
		errs = append(errs, err)
		files = append(files, file)
	}
	return files, errors.Join(errs...)
}

func readScenario(arg string) (*scenarios.File, error) {
	if _, err := os.Stat(arg); err != nil && !strings.ContainsAny(arg, `/\.`) {
		return scenarios.Named(arg)
	}
	err := noDirectory(arg)
	var src []byte
	if err == nil {
		src, err = regfile.Read(arg, scenarios.MaxSize)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read scenario: %w", err)
	}
	return scenarios.Parse(arg, src)
}

// run executes the files and prints the results in their order.
func (f *runFlags) run(ctx context.Context, files []*scenarios.File, stdout io.Writer) int {
	results := make([]chan runResult, len(files))
	slots := make(chan struct{}, f.slots())
	var wg sync.WaitGroup
	for i, file := range files {
		results[i] = make(chan runResult, 1)
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			results[i] <- f.one(ctx, file)
		})
	}
	code := exitOK
	for i := range files {
		code = max(code, f.show(<-results[i], stdout))
	}
	wg.Wait()
	return code
}

// slots is one in virtual time, where nothing waits.
func (f *runFlags) slots() int {
	if f.in == scenarios.Live {
		return f.parallel
	}
	return 1
}

func (f *runFlags) one(ctx context.Context, file *scenarios.File) runResult {
	r := runResult{File: file.Name, World: f.in, Verdict: "ok", file: file, report: &scenarios.Report{File: file.Name}}
	if ctx.Err() != nil {
		r.Verdict, r.Failures = "error", []string{"interrupted before it began"}
		return r
	}
	if missing := conformance.Missing(file.Needs()); f.all && len(missing) > 0 {
		r.Verdict, r.Failures = "left out", []string{"it needs " + strings.Join(missing, ", ") + " in PATH"}
		return r
	}
	var err error
	switch f.in {
	case scenarios.Machine:
		r.report, err = scenarios.Run(ctx, file, sim.NewScenarioWorld())
	case scenarios.Host:
		r.report, err = hostworld.Run(ctx, file)
	case scenarios.Live:
		r.report, err = scenarios.Run(ctx, file, conformance.NewWorld(f.target))
	}
	r.Expected = len(r.report.Outcomes)
	if err == nil && r.Expected == 0 {
		err = fmt.Errorf("%s: expects nothing, so nothing was shown; add an expect line", file.Name)
	}
	if bad := r.report.Err(); bad != nil {
		r.Verdict = "failed"
		r.Failures = strings.Split(bad.Error(), "\n")
	}
	if err != nil {
		r.Verdict = "error"
		r.Failures = append(r.Failures, err.Error())
	}
	return r
}

// show prints one result, rewrites the file if asked to, and returns its exit code.
func (f *runFlags) show(r runResult, stdout io.Writer) int {
	if f.update && r.Verdict == "failed" {
		if err := rewrite(r.file, r.report); err != nil {
			r.Verdict, r.Failures = "error", append(r.Failures, err.Error())
		} else {
			r.Verdict = "updated"
		}
	}
	if f.json {
		_ = json.NewEncoder(stdout).Encode(r) // lost output ends the command with its own error
	} else {
		fmt.Fprintf(stdout, "%-8s %-7s %s: %d expectations\n", r.Verdict, r.World, r.File, r.Expected)
		for _, line := range r.Failures {
			fmt.Fprintf(stdout, "         %s\n", line)
		}
	}
	switch r.Verdict {
	case "ok", "updated", "left out":
		return exitOK
	case "failed":
		return exitFailed
	}
	return exitHarness
}

// rewrite puts the answers of a run into the file, all of them or none. A link stays a link,
// and the file keeps its mode.
func rewrite(f *scenarios.File, r *scenarios.Report) error {
	if err := scenarios.Update(f, r); err != nil {
		return err
	}
	path, err := filepath.EvalSymlinks(f.Name)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	next := path + ".new"
	err = os.WriteFile(next, scenarios.Format(f), info.Mode().Perm())
	if err == nil {
		err = os.Rename(next, path)
	}
	if err != nil {
		_ = os.Remove(next) // the error that led here says more
	}
	return err
}
