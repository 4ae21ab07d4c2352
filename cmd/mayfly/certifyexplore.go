package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/mayfly-mcp/mayfly/conformance"
	"github.com/mayfly-mcp/mayfly/scenarios"
)

// wanderFlags are those of "certify -explore".
type wanderFlags struct {
	on    *bool
	steps *int
	seed  *uint64
}

func addWanderFlags(fs *flag.FlagSet) wanderFlags {
	return wanderFlags{
		on:    fs.Bool("explore", false, "drive the daemon with drawn operations in place of the checks, and compare all it shows with the specification model; a disagreement is shrunk and written as a scenario into the directory of -report"),
		steps: fs.Int("steps", conformance.DefaultSteps, "operations of -explore"),
		seed:  fs.Uint64("seed", 1, "of -explore: the same seed gives the same operations"),
	}
}

// check finds what does not go together.
func (f wanderFlags) check(fs *flag.FlagSet) error {
	for _, name := range []string{"steps", "seed"} {
		if !*f.on && isSet(fs, name) {
			return fmt.Errorf("-%s goes with -explore", name)
		}
	}
	if !*f.on {
		return nil
	}
	for _, name := range []string{"check", "profile", "server", "npx-prefix", "known", "badge", "junit", "html", "sign", "certificate"} {
		if fs.Lookup(name) != nil && isSet(fs, name) {
			return fmt.Errorf("-%s does not go with -explore, which runs no checks", name)
		}
	}
	if *f.steps < 1 || *f.steps > conformance.MaxSteps {
		return fmt.Errorf("-steps is %d; use 1 to %d", *f.steps, conformance.MaxSteps)
	}
	return nil
}

// explored is the JSON of -explore.
type explored struct {
	*conformance.Exploration
	File string `json:"file,omitempty"` // of the scenario
}

// explore is "certify -explore".
func (f wanderFlags) explore(ctx context.Context, fs *flag.FlagSet, target conformance.Target, o conformance.ExploreOptions, stdout, stderr io.Writer) int {
	dir, asJSON := fs.Lookup("report").Value.String(), fs.Lookup("json").Value.String() == "true"
	fail := func(err error) int {
		fmt.Fprintf(stderr, "mayfly certify: %v\n", err)
		return exitHarness
	}
	if err := conformance.CheckReportDir(dir); err != nil {
		return fail(err)
	}
	o.Seed, o.Steps = *f.seed, *f.steps
	if progress(stderr) != nil {
		o.Progress = func(s string) { fmt.Fprintln(stderr, s) }
	}
	e, err := conformance.Explore(ctx, target, o)
	if err != nil {
		return fail(err)
	}
	out := explored{Exploration: e}
	if e.Found != nil {
		if out.File, err = writeFinding(e, dir); err != nil {
			return fail(err)
		}
	}
	if asJSON {
		enc := json.NewEncoder(stdout)
		enc.SetIndent("", "  ")
		err = enc.Encode(out)
	} else if _, err = io.WriteString(stdout, e.Summary()); err == nil && out.File != "" {
		_, err = fmt.Fprintf(stdout, "scenario: %s\nagain: mayfly run -in live%s %s\n", out.File, targetWords(fs), out.File)
	}
	if err != nil {
		return fail(err)
	}
	return exitOf(e.Verdict)
}

// targetWords are the flags that name a target other than the default one, for a shell.
func targetWords(fs *flag.FlagSet) (words string) {
	for _, name := range []string{"target", "template", "config", "socket", "model"} {
		if isSet(fs, name) {
			words += " -" + name + " " + quoted(veiled(fs.Lookup(name).Value.String()))
		}
	}
	return words
}

// writeFinding writes the shrunk scenario, under a name of its own for every seed and walk.
func writeFinding(e *conformance.Exploration, dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	kind := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '-'
	}, strings.ToLower(e.Target))
	path := filepath.Join(dir, fmt.Sprintf("explored-%s-%d-%d.txtar", kind, e.Seed, e.Found.Walk))
	return path, os.WriteFile(path, scenarios.Format(e.Found.Scenario), 0o644)
}
