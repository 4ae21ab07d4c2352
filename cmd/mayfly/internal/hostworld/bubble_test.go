package hostworld_test

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/cmd/mayfly/internal/hostworld"
)

// TestInBubbleOfAPlainBinary builds a program and gives it arguments that package testing
// would take for its own. What the program must print is what it was asked to find out.
func TestInBubbleOfAPlainBinary(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "inbubble")
	if out, err := exec.Command("go", "build", "-o", bin, "./testdata/inbubble").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command(bin, "-test.run=ours", "--", "-no-such-flag", "-test.v").Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("the program ended with %v, not with the exit status of its own choice", err)
	}
	if diff := cmp.Diff(wantOutput, strings.TrimSpace(string(out))); diff != "" {
		t.Errorf("-want +got:\n%s\nstderr:\n%s", diff, exit.Stderr)
	}
}

const wantOutput = `own flag: ours [-no-such-flag -test.v]
slept 24h0m0s
err: <nil>
slept 24h0m0s
err: <nil>
slept 24h0m0s
err: <nil>
deadlock: true
leak: true
goexit: true
panic: true
and again: <nil>
scenario: first-call-spawns.txtar 14 outcomes, err <nil> failures <nil>`

// TestInBubbleRefusesTests shows that a test gets an error instead of a second test run.
func TestInBubbleRefusesTests(t *testing.T) {
	err := hostworld.InBubble(func() { t.Error("the function ran") })
	if err == nil || !strings.Contains(err.Error(), "synctest.Test") {
		t.Errorf("error %v does not say what to do", err)
	}
}
