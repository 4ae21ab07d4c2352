package campaign

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/mayfly-mcp/mayfly/sim"
)

// TestElsewhere: blocks that are computed elsewhere leave what those leave that are computed here.
func TestElsewhere(t *testing.T) {
	want := whole(t)
	there := buggy("") // in a process of its own it has no directory
	o := buggy(t.TempDir())
	o.Workers = 3
	o.Compute = func(_ context.Context, n uint64) ([]byte, error) {
		return RunBlock(there, n, func() bool { return false })
	}
	run(t, o)
	same(t, "another place", tree(t, o.Dir), want)
}

// TestElsewhereGoesWrong: what is computed elsewhere is checked, and what cannot be had is said. What
// was written before stays, and the same campaign goes on from there.
func TestElsewhereGoesWrong(t *testing.T) {
	want := whole(t)
	never := func() bool { return false }
	lost := errors.New("no worker is left")
	for name, c := range map[string]struct {
		spoil func(b []byte) ([]byte, error)
		says  string
	}{
		"lost":    {func([]byte) ([]byte, error) { return nil, lost }, lost.Error()},
		"torn":    {func(b []byte) ([]byte, error) { return b[:len(b)/2], nil }, "block 2 is torn"},
		"damaged": {func(b []byte) ([]byte, error) { return bytes.Replace(b, []byte("steps"), []byte("stepz"), 1), nil }, "block 2 is damaged"},
		"another": {func([]byte) ([]byte, error) { return RunBlock(buggy(""), 1, never) }, "block 2: line 1 is not seed 9"},
	} {
		o := buggy(t.TempDir())
		o.Compute = func(_ context.Context, n uint64) ([]byte, error) {
			b, err := RunBlock(buggy(""), n, never)
			if err == nil && n == 2 {
				return c.spoil(b)
			}
			return b, err
		}
		if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
		o.Compute = nil
		run(t, o)
		same(t, "a campaign whose blocks were "+name, tree(t, o.Dir), want)
	}
}

func TestRunBlockRefuses(t *testing.T) {
	never := func() bool { return false }
	o := buggy("")
	if n, err := o.Blocks(); err != nil || n != 6 {
		t.Errorf("%d blocks, %v; want 6", n, err)
	}
	if _, err := RunBlock(o, 6, never); !errors.Is(err, ErrOptions) || !strings.Contains(err.Error(), "there is no block 6") {
		t.Errorf("a block behind the last: %v", err)
	}
	if _, err := RunBlock(o, 0, func() bool { return true }); !errors.Is(err, sim.ErrStopped) {
		t.Errorf("stopped: %v", err)
	}
	o.Guard = -1
	if _, err := RunBlock(o, 0, never); !errors.Is(err, ErrOptions) {
		t.Errorf("wrong options: %v", err)
	}
}
