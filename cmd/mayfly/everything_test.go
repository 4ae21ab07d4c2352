package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/mayfly-mcp/mayfly/conformance"
	"github.com/mayfly-mcp/mayfly/scenarios"
)

// TestServerEverything drives a public server through a launcher tree and the real command. It
// needs Node.js and a package, so it runs where it is asked for.
func TestServerEverything(t *testing.T) {
	const id = "real-server-everything"
	f, err := scenarios.Named(id)
	if err != nil {
		t.Fatal(err)
	}
	prefix, wanted := os.LookupEnv(npxPrefix)
	if !wanted {
		t.Logf("not run: set %s to an npm prefix that holds the package", npxPrefix)
		return
	}
	if missing := conformance.Missing(f.Needs()); len(missing) > 0 {
		t.Fatalf("%s is set and %v is not in PATH", npxPrefix, missing)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	run := exec.CommandContext(ctx, build(t), "run", "-in", scenarios.Live, id)
	run.Dir = installed(t, prefix)
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

// installed is the directory in which npx finds the package without a network: it looks there
// first, and a server starts in the directory of its daemon.
func installed(t *testing.T, prefix string) string {
	t.Helper()
	dir, err := filepath.Abs(prefix)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules", ".bin", "mcp-server-everything")); err != nil {
		t.Fatalf("%s does not hold the package: %v", npxPrefix, err)
	}
	return dir
}

// build makes the real command, as a user has it.
func build(t *testing.T) string {
	t.Helper()
	exe := filepath.Join(t.TempDir(), "mayfly")
	out, err := exec.Command("go", "build", "-o", exe, "github.com/mayfly-mcp/mayfly/cmd/mayfly").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return exe
}
