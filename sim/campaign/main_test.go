package campaign

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// dirVar tells the test binary to be a campaign, which its parent may kill.
const dirVar = "MAYFLY_TEST_CAMPAIGN"

func TestMain(m *testing.M) {
	if dir := os.Getenv(dirVar); dir != "" {
		os.Exit(child(dir))
	}
	os.Exit(m.Run())
}

// child runs the campaign of buggy seeds and says a line for each block.
func child(dir string) int {
	o := buggy(dir)
	o.Progress = func(p Progress) { fmt.Println(p.Done) }
	if _, err := Run(context.Background(), o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// killed starts a campaign in a process of its own and kills it after it has said so many lines,
// in the midst of whatever it does then. It says whether the process was at its end by itself.
func killed(t *testing.T, dir string, lines int) bool {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), dirVar+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewScanner(out)
	for range lines {
		if !said.Scan() {
			break
		}
	}
	_ = cmd.Process.Kill() // it may have ended
	for said.Scan() {
	}
	return cmd.Wait() == nil
}
