package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"

	"github.com/mayfly-mcp/mayfly/conformance"
	"github.com/mayfly-mcp/mayfly/fakes/mutants"
)

const selftestUsage = `usage: mayfly certify selftest [-run PATTERN] [-scope near|kills|must|full] [-json]
       mayfly certify selftest -matrix

Proves that the checks can fail. The reference daemon must pass all of them, and every
mutant, a daemon with one defect, must be failed by exactly the checks that its defect
concerns and by no other MUST. By default a mutant gets these checks and every MUST about
the same part of the specification; -scope must runs every MUST on it, -full all checks there
are, -scope kills none but those that must fail it. Exit code 0: so it is;
1: a check does not see a defect, or sees one that is not there; 3: something around the
daemons failed; 4: the machine was too noisy to tell.

`

// selftest is "certify selftest".
func selftest(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	fs := flag.NewFlagSet("mayfly certify selftest", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() {
		fmt.Fprint(stderr, selftestUsage)
		fs.PrintDefaults()
	}
	pattern := fs.String("run", "", "only the mutants whose name matches this regular expression, and not the reference")
	scope := fs.String("scope", string(conformance.ScopeNear), "what a mutant is tried with besides the checks that must fail it: near, kills, must or full")
	full := fs.Bool("full", false, "the same as -scope full")
	asJSON := fs.Bool("json", false, "print the matrix as JSON")
	expected := fs.Bool("matrix", false, "print which checks must fail which mutant, and run nothing")
	if code, done := parsed(fs, args, stderr); done {
		return code
	}
	if *expected {
		if err := conformance.KillMatrix(stdout); err != nil {
			return exitHarness
		}
		return exitOK
	}
	fail := func(code int, err error) int {
		fmt.Fprintf(stderr, "mayfly certify selftest: %v\n", err)
		return code
	}
	if *full {
		*scope = string(conformance.ScopeFull)
	}
	scopes := []conformance.Scope{conformance.ScopeNear, conformance.ScopeKills, conformance.ScopeMust, conformance.ScopeFull}
	if !slices.Contains(scopes, conformance.Scope(*scope)) {
		return fail(exitUsage, fmt.Errorf("-scope is %q; use near, kills, must or full", *scope))
	}
	only, err := regexp.Compile(*pattern)
	if err != nil {
		return fail(exitUsage, err)
	}
	exe, err := os.Executable()
	if err != nil {
		return fail(exitHarness, fmt.Errorf("cannot find the executable to run as daemon: %w", err))
	}
	list := mutantsOf(exe, only)
	if len(list) == 0 {
		return fail(exitUsage, fmt.Errorf("no mutant matches %q; \"mayfly certify selftest -matrix\" lists them", *pattern))
	}
	var reference *conformance.Target
	if *pattern == "" && *scope != string(conformance.ScopeKills) {
		t := conformance.Embedded(exe)
		reference = &t
	}
	m, err := conformance.SelfTest(ctx, reference, list, conformance.SelfTestOptions{Scope: conformance.Scope(*scope), Progress: selftestProgress(stderr)})
	if err != nil {
		return fail(exitHarness, err)
	}
	if err := showMatrix(m, *asJSON, stdout); err != nil {
		return fail(exitHarness, err)
	}
	return exitOf(m.Outcome())
}

// mutantsOf are the mutants as processes of this executable.
func mutantsOf(exe string, only *regexp.Regexp) (list []conformance.Mutant) {
	for _, m := range mutants.All() {
		if only.MatchString(m.Name) {
			list = append(list, conformance.Mutant{Name: m.Name, Defect: m.Defect, Target: mutantTarget(exe, m.Name)})
		}
	}
	return list
}

// mutantTarget is a mutant as a target.
func mutantTarget(exe, name string) conformance.Target {
	t := conformance.Embedded(exe)
	t.Name = name
	t.Argv = append([]string{exe, mutantCommand, name}, t.Argv[2:]...)
	return t
}

func showMatrix(m *conformance.Matrix, asJSON bool, stdout io.Writer) error {
	if !asJSON {
		return m.Write(stdout)
	}
	enc := json.NewEncoder(stdout)
	enc.SetIndent("", "  ")
	return enc.Encode(m)
}

// selftestProgress writes a line for every mutant, on a terminal only.
func selftestProgress(stderr io.Writer) func(conformance.Row) {
	if progress(stderr) == nil {
		return nil
	}
	return func(r conformance.Row) {
		fmt.Fprintf(stderr, "%-13s %s (%.1fs)\n", r.Verdict, r.Mutant, float64(r.DurationMS)/1000)
	}
}

// mutantCommand is the hidden command with which this executable becomes a mutant.
const mutantCommand = "mutant"

func runMutant(ctx context.Context, args []string, stdin io.Reader, _, stderr io.Writer) int {
	return mutants.Serve(ctx, args, stdin, stderr)
}
