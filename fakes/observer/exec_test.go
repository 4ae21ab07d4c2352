package observer_test

import (
	"strings"
	"testing"

	"github.com/mayfly-mcp/mayfly/fakes/observer"
)

// TestExecBecomesTheCommand starts a launcher that leaves its server behind: the incarnation
// is alive until the server is gone as well.
func TestExecBecomesTheCommand(t *testing.T) {
	ctl := listen(t)
	script := `sleep 600 & echo "$TOKEN $! $$"; read line; exit 0`
	c := spawn(t, []string{"TOKEN=tk"}, ctl.ExecArgs("real", []string{"sh", "-c", script})...)
	said := strings.Fields(c.line())
	if len(said) != 3 || said[0] != "tk" {
		t.Fatalf("the command said %q", said)
	}
	if got := ctl.Spawns("real"); got != 1 {
		t.Errorf("%d spawns, want 1", got)
	}
	procs := ctl.Processes("real")
	if len(procs) != 1 || procs[0].PID != c.cmd.Process.Pid || !procs[0].Exec {
		t.Fatalf("processes %+v, started %d", procs, c.cmd.Process.Pid)
	}
	if _, err := ctl.Wait(within(t), 0, func(r observer.Report) bool { return r.Kind == observer.Ended }); err != nil {
		t.Errorf("the side connection survived the exec: %v", err)
	}
	c.write("go")
	if got := c.ended(); got != 0 {
		t.Errorf("the launcher ended with %d", got)
	}
	if got := ctl.Live("real"); got != 1 {
		t.Errorf("%d alive after the launcher's end, want 1: sleep is left", got)
	}
	if !ctl.KillProcess(procs[0]) {
		t.Error("nothing was killed")
	}
	if err := ctl.WaitGone(within(t), "real"); err != nil {
		t.Error(err)
	}
}

func TestCloseEndsAWholeRealServer(t *testing.T) {
	ctl := listen(t)
	c := spawn(t, nil, ctl.ExecArgs("real", []string{"sh", "-c", `trap "" TERM; sleep 600 & echo up; wait`})...)
	if got := c.line(); got != "up" {
		t.Fatalf("the command said %q", got)
	}
	left := ctl.Close()
	if len(left) != 1 || left[0].Name != "real" {
		t.Errorf("killed %+v, want the one server", left)
	}
	if left := ctl.Processes(""); len(left) > 0 {
		t.Errorf("still alive: %+v", left)
	}
}

func TestExecErrors(t *testing.T) {
	ctl := listen(t)
	for _, tt := range []struct {
		args []string
		code int
		say  string
	}{
		{[]string{"peer", "-exec", "sh"}, observer.ExitUsage, "-exec needs -side"},
		{ctl.Args("x", "-exec"), observer.ExitUsage, "and a command"},
		{ctl.ExecArgs("x", []string{"no-such-program-here"}), observer.ExitExec, "in PATH?"},
	} {
		c := spawn(t, nil, tt.args...)
		if got := c.ended(); got != tt.code || !strings.Contains(c.stderr.String(), tt.say) {
			t.Errorf("%v: exit %d, stderr %q", tt.args, got, c.stderr)
		}
	}
	if got := ctl.Spawns("x"); got != 0 {
		t.Errorf("%d spawns of a command that is not there", got)
	}
}
