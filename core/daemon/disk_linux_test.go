package daemon

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

// limitFiles lets the system refuse to let files of another process grow beyond a size. It is
// done to a child, since the log of the test binary itself is a file as well.
func limitFiles(t *testing.T, pid int, size uint64) {
	t.Helper()
	limit := syscall.Rlimit{Cur: size, Max: ^uint64(0)}
	_, _, errno := syscall.Syscall6(syscall.SYS_PRLIMIT64, uintptr(pid), syscall.RLIMIT_FSIZE,
		uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
	if errno != 0 {
		t.Fatal(errno)
	}
}

// TestAFullDisk: an edit that does not fit is refused as a whole, and afterwards all is as
// before (SPEC CF-5).
func TestAFullDisk(t *testing.T) {
	home := newHome(t)
	ctx, cancel := context.WithTimeout(t.Context(), testBound)
	defer cancel()
	c := startChild(t, home)
	agent, err := c.c.CreateAgent(ctx, "a", `{"description":"before"}`)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(layout(home).store)
	if err != nil {
		t.Fatal(err)
	}
	limitFiles(t, c.cmd.Process.Pid, uint64(info.Size()))
	long := `{"description":"` + strings.Repeat("x", 200_000) + `"}`
	for range 3 {
		_, err = c.c.UpdateAgent(ctx, agent.Id, long)
		refused(t, "an edit that does not fit", err, 500, "cannot store the change, nothing was changed")
	}
	description := func(want int) {
		t.Helper()
		if got, err := c.c.GetAgent(ctx, "a"); err != nil || len(got.GetDescription()) != want {
			t.Errorf("the description has %d bytes, %v; want %d", len(got.GetDescription()), err, want)
		}
	}
	description(len("before"))
	limitFiles(t, c.cmd.Process.Pid, ^uint64(0))
	if _, err := c.c.UpdateAgent(ctx, agent.Id, long); err != nil {
		t.Errorf("with room again: %v", err)
	}
	description(200_000)
	c.kill()
	c = startChild(t, home) // what was acknowledged is found
	description(200_000)
	c.terminate()
}
