package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/mayfly-mcp/mayfly/sim"
)

// TestSimSubject: another subject is chosen, found wanting and named in the line that replays it; the
// same days with the kindest reading of it hold.
func TestSimSubject(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "failures")
	day := []string{"-tenants", "40", "-for", "4h", "-failures", dir, "-subject"}
	o := simRun(t, sim.NewMachine, "", append(day, "published")...)
	wants(t, o, exitFailed, "VIOLATION ", ".tape -subject published\n", "hangs on ", "RFC 0204, ")
	wants(t, simRun(t, sim.NewMachine, "", append(day, "published:mended")...), exitOK)
	wants(t, simRun(t, sim.NewMachine, "", append(day, "machine")...), exitOK)
}

func TestSimSubjectIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"rfc":              "use machine, or published",
		"published:clock":  "use dispatch, answer, in-flight",
		"published:a=b":    "published:help",
		"machine:mended":   "use machine, or published",
		"published:mended": "no usage error",
	} {
		o := simRun(t, sim.NewMachine, "", "-subject", text, "-tenants", "0")
		if want == "no usage error" {
			want = "0 tenants"
		}
		if o.code != exitUsage || !strings.Contains(o.stderr, want) {
			t.Errorf("-subject %s: exit code %d, want %d and %q in\n%s", text, o.code, exitUsage, want, o.stderr)
		}
	}
	o := simRun(t, sim.NewMachine, "", "-subject", "published:help")
	if o.code != exitOK || !strings.Contains(o.stderr, "failed-call") {
		t.Errorf("published:help: exit code %d\n%s", o.code, o.stderr)
	}
}
