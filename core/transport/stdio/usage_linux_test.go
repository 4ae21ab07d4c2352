package stdio

import (
	"errors"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/mayfly-mcp/mayfly/core/transport"
)

// usage asks a session that has something to tell.
func usage(t *testing.T, s *session) transport.Usage {
	t.Helper()
	u, err := s.Usage()
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestUsage against a child that says when it has taken what it was told to take.
func TestUsage(t *testing.T) {
	s := connect(t, Options{}, "")
	before := usage(t, s)
	if before.Processes != 1 || before.RSS <= 0 {
		t.Errorf("at rest: %+v", before)
	}
	const burn, size = 200 * time.Millisecond, 64 << 20
	call(t, s, "burn", map[string]any{"n": burn.Milliseconds()})
	burnt := usage(t, s)
	// Both kinds of time are rounded to clock ticks, at both ends.
	if got := burnt.CPU - before.CPU; got < burn-4*clockTick {
		t.Errorf("%v of processor time taken, want %v", got, burn)
	}
	call(t, s, "hold-memory", map[string]any{"n": size})
	if got := usage(t, s).RSS - burnt.RSS; got < size*9/10 {
		t.Errorf("%d bytes more, want %d", got, size)
	}
	s.Stop(transport.StageKill)
	await(t, "Done", s.Done())
	if u, err := s.Usage(); !errors.Is(err, errNothingLeft) || u != (transport.Usage{}) {
		t.Errorf("after the end: %+v, %v", u, err)
	}
}

// TestUsageOfATree counts what is below the direct child, and what has left its group.
func TestUsageOfATree(t *testing.T) {
	s := connect(t, Options{}, "launcher")
	tree := usage(t, s)
	if tree.Processes != 4 { // two launchers, a shell, the server
		t.Errorf("%+v, want 4 processes", tree)
	}
	call(t, s, "hold-memory", map[string]any{"n": 32 << 20})
	if got := usage(t, s).RSS - tree.RSS; got < 32<<20*9/10 {
		t.Errorf("%d bytes more, want those of the server", got)
	}
	escapee := pidOf(t, s, "spawn-escapee")
	if got := usage(t, s).Processes; got != 5 {
		t.Errorf("%d processes, want the one in another group as well", got)
	}
	if err := syscall.Kill(escapee, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end of the one in another group", func() bool { return usage(t, s).Processes == 4 })
}

// TestUsageOfAnotherGroup: a session that is over does not tell of who has its number now.
func TestUsageOfAnotherGroup(t *testing.T) {
	sc := passOf(map[ident]string{{77, 5}: ""}, nil, nil)
	st := sc.procs[77]
	st.user, st.system, st.pages = 3, 4, 5
	sc.procs[77] = st
	want := transport.Usage{CPU: 70 * time.Millisecond, RSS: 5 * int64(os.Getpagesize()), Processes: 1}
	if u, err := (&process{pid: 77}).usage(sc); err != nil || u != want {
		t.Errorf("%+v, %v; want %+v", u, err, want)
	}
	if u, err := (&process{pid: 77, reaped: true}).usage(sc); !errors.Is(err, errNothingLeft) {
		t.Errorf("%+v, %v", u, err)
	}
	if u, err := (&process{pid: 78}).usage(sc); !errors.Is(err, errNothingLeft) {
		t.Errorf("%+v, %v", u, err)
	}
}
