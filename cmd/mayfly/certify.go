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
	"time"

	"github.com/mayfly-mcp/mayfly/cmd/internal/simflags"
	"github.com/mayfly-mcp/mayfly/conformance"
)

const certifyUsage = `usage: mayfly certify [flags]
       mayfly certify -explore [-steps N] [-seed N] [flags]
       mayfly certify list [-json]
       mayfly certify selftest [-run PATTERN] [-scope SCOPE] [-json]
       mayfly certify rejudge [flags] DIR
       mayfly certify verify [flags] FILE
       mayfly certify adapter-protocol

Runs a daemon, the reference daemon ("mayfly serve") if no other -target is named, as a
separate process, one for each check, in a fresh home, and tells clause by clause whether it
keeps its peers alive exactly when it should. A MUST is stated by the documents that the
clauses come from, a SHOULD is implied by them, and FIELD is a stricter rule of our own. Exit
code 0: every MUST was shown to hold; 1: one does not; 3: something around the daemon failed;
4: the machine was too noisy to tell, or a MUST could not be shown. SHOULD and FIELD are shown
and leave the exit code alone; -strict lets SHOULD decide it as MUST does.

With -explore it runs no checks: it draws operations, compares all that the daemon shows with
the specification model, and writes a disagreement, made small, as a scenario for "mayfly run
-in live".

`

// runCertify is the subcommand certify.
func runCertify(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) int {
	if len(args) > 0 {
		if code, done := certifyCommand(ctx, args, stdout, stderr); done {
			return code
		}
	}
	fs := flag.NewFlagSet("mayfly certify", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() {
		fmt.Fprint(stderr, certifyUsage)
		fs.PrintDefaults()
		fmt.Fprint(stderr, targetUsage())
	}
	to := addTargetFlags(fs)
	wander := addWanderFlags(fs)
	ids := fs.String("check", "", "run only these checks, by id, with commas in between")
	profile := fs.String("profile", string(conformance.Full), "choice of checks: "+profileNames)
	cold, longer := addColdStartFlags(fs), addTFlag(fs)
	dir := fs.String("report", "mayfly-report", "directory for the report: "+reportFiles)
	also := addVerdictFlags(fs)
	asJSON := fs.Bool("json", false, "print the report as JSON in place of the table")
	parallel := fs.Int("parallel", 0, "checks side by side (default five for each processor)")
	if code, done := parsed(fs, args, stderr); done {
		return code
	}
	opts := conformance.Options{Parallel: *parallel, Rerun: rerun(fs)}
	if isSet(fs, "check") {
		checks, err := conformance.Find(strings.Split(*ids, ",")...)
		if err != nil {
			fmt.Fprintf(stderr, "mayfly certify: %v\n", err)
			return exitUsage
		}
		opts.Checks = checks
	}
	for _, err := range []error{choose(&opts, conformance.Profile(*profile), isSet(fs, "profile")), cold.join(&opts, fs), longer.join(&opts, fs), wander.check(fs)} {
		if err != nil {
			fmt.Fprintf(stderr, "mayfly certify: %v\n", err)
			return exitUsage
		}
	}
	if *parallel < 0 || *parallel > 256 {
		fmt.Fprintf(stderr, "mayfly certify: -parallel is %d; use 1 to 256\n", *parallel)
		return exitUsage
	}
	target, code, err := to.target(fs)
	if err != nil {
		fmt.Fprintf(stderr, "mayfly certify: %v\n", err)
		return code
	}
	if *wander.on {
		return wander.explore(ctx, fs, target, conformance.ExploreOptions{Parallel: *parallel}, stdout, stderr)
	}
	if err := also.read(opts.Checks != nil); err != nil {
		fmt.Fprintf(stderr, "mayfly certify: %v\n", err)
		return inputCode(err)
	}
	opts.Progress = countdown(stderr, opts.Checks)
	report, err := certify(ctx, target, opts, *dir)
	if err != nil {
		fmt.Fprintf(stderr, "mayfly certify: %v\n", err)
		return exitHarness
	}
	return also.finish(report, *dir, stdout, stderr, func() error { return show(report, *asJSON, *dir, stdout) })
}

// certifyCommand runs what the first word names, if it names something.
func certifyCommand(ctx context.Context, args []string, stdout, stderr io.Writer) (code int, done bool) {
	switch rest := args[1:]; args[0] {
	case "selftest":
		return selftest(ctx, rest, stdout, stderr), true
	case "list":
		return listChecks(rest, stdout, stderr), true
	case "adapter-protocol":
		return printProtocol(rest, stdout, stderr), true
	case "rejudge":
		return rejudge(rest, stdout, stderr), true
	case "verify":
		return verify(rest, stdout, stderr), true
	}
	return 0, false
}

// profileNames says in the usage what a profile is for.
const profileNames = "quick (what can be seen in seconds), full (the whole catalogue, which a certificate wants) or\ntiming (measurements, some minutes, and answers to the open questions of RFC 0204)"

// tFlag is T of the measurements.
type tFlag struct{ t *time.Duration }

const tFlagName = "t"

func addTFlag(fs *flag.FlagSet) tFlag {
	return tFlag{fs.Duration(tFlagName, 0, "profile timing: T of the measurements, which are made with three times it, too; a longer one\nwhere the machine is too noisy (default 5s)")}
}

// join measures with this T, if one was asked for.
func (f tFlag) join(o *conformance.Options, fs *flag.FlagSet) error {
	if !isSet(fs, tFlagName) {
		return nil
	}
	checks, err := conformance.WithT(o.Checks, *f.t)
	if err != nil {
		return fmt.Errorf("-%s: %w", tFlagName, err)
	}
	o.Checks = checks
	return nil
}

// choose makes the choice of a profile. The full one is what is run without any choice.
func choose(o *conformance.Options, p conformance.Profile, asked bool) error {
	checks, err := p.Checks()
	switch {
	case err != nil:
		return err
	case asked && o.Checks != nil:
		return errors.New("-profile and -check both choose checks; use one of them")
	case p != conformance.Full && o.Checks == nil:
		o.Checks, o.Profile = checks, p
	}
	return nil
}

// parsed parses flags and says whether that is all there is to do.
func parsed(fs *flag.FlagSet, args []string, stderr io.Writer) (code int, done bool) {
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return exitOK, true
	case err != nil:
		return exitUsage, true
	case fs.NArg() > 0:
		fmt.Fprintf(stderr, "%s: unexpected argument %q; run \"%s -h\" for the flags\n", fs.Name(), fs.Arg(0), fs.Name())
		return exitUsage, true
	}
	return 0, false
}

// isSet says whether a flag was given, with whatever value: an empty list of checks is a
// mistake, not a wish for all of them.
func isSet(fs *flag.FlagSet, name string) bool { return simflags.IsSet(fs, name) }

// certify runs the checks and writes the report. An interrupted run has none: it would take
// the place of one that says something.
func certify(ctx context.Context, target conformance.Target, opts conformance.Options, dir string) (*conformance.Report, error) {
	if err := conformance.CheckReportDir(dir); err != nil {
		return nil, err
	}
	report, err := conformance.Run(ctx, target, opts)
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, errors.New("interrupted; everything that was started has been ended, and no report was written")
	}
	return report, nil
}

func show(report *conformance.Report, asJSON bool, dir string, stdout io.Writer) error {
	if asJSON {
		enc := json.NewEncoder(stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(report)
	}
	if err := report.Table(stdout); err != nil {
		return err
	}
	_, err := fmt.Fprintf(stdout, "report: %s\n", filepath.Join(dir, conformance.ReportFile))
	return err
}

func exitOf(v conformance.Verdict) int {
	switch v {
	case conformance.Pass:
		return exitOK
	case conformance.Fail:
		return exitFailed
	case conformance.HarnessError:
		return exitHarness
	case conformance.Inconclusive, conformance.NotObserved, conformance.NotApplicable:
		return exitInconclusive
	}
	return exitHarness
}

// progress writes a line for every result, on a terminal only: elsewhere the table says it.
func progress(stderr io.Writer) func(conformance.Result) {
	f, ok := stderr.(*os.File)
	if !ok {
		return nil
	}
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return nil
	}
	return func(r conformance.Result) {
		fmt.Fprintf(stderr, "%-15s %s (%.1fs)\n", r.Verdict, r.ID, float64(r.DurationMS)/1000)
	}
}
