package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/mayfly-mcp/mayfly/conformance"
	"github.com/mayfly-mcp/mayfly/scenarios"
)

// npxPrefix names the variable with which a CI job demands the test: an npm prefix in which
// the package is installed, so that npx needs no network.
const npxPrefix = "MAYFLY_NPX_PREFIX"

// TestServerEverything drives a public server through a launcher tree and the real command.
// Where there is no npx it says so, and passes only if nobody demanded it.
func TestServerEverything(t *testing.T) {
	const id = "real-server-everything"
	f, err := scenarios.Named(id)
	if err != nil {
		t.Fatal(err)
	}
	prefix, demanded := os.LookupEnv(npxPrefix)
	if missing := conformance.Missing(f.Needs()); len(missing) > 0 {
		if demanded {
			t.Fatalf("%s is set and %v is not in PATH", npxPrefix, missing)
		}
		t.Logf("not run: it needs %v in PATH", missing)
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	run := exec.CommandContext(ctx, build(t), "run", "-in", scenarios.Live, id)
	if demanded {
		run.Dir = installed(t, prefix)
	}
	var out bytes.Buffer
	run.Stdout, run.Stderr = &out, &out
	err = run.Run()
	switch {
	case err == nil:
		t.Logf("%s", &out)
	case demanded:
		t.Errorf("%v\n%s", err, &out)
	default:
		t.Errorf("%v\n%snpx fetches the server; without a network install it and set %s", err, &out, npxPrefix)
	}
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
