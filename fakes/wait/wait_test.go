package wait

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// soon is a bound for what will never happen.
const soon = 20 * time.Millisecond

// probe is a test that may fail.
type probe struct {
	testing.TB
	failed  string
	cleanup []func()
}

func (p *probe) Helper()                        {}
func (p *probe) Cleanup(f func())               { p.cleanup = append(p.cleanup, f) }
func (p *probe) Fatal(args ...any)              { p.failed = fmt.Sprint(args...) }
func (p *probe) Fatalf(format string, a ...any) { p.failed = fmt.Sprintf(format, a...) }

func TestClosed(t *testing.T) {
	done := make(chan struct{})
	p := &probe{}
	closed(p, soon, "the end", done)
	if p.failed != "the end did not happen within 20ms" {
		t.Errorf("an open channel: %q", p.failed)
	}
	close(done)
	p = &probe{}
	if Closed(p, "the end", done); p.failed != "" {
		t.Errorf("a closed one: %q", p.failed)
	}
}

func TestUntil(t *testing.T) {
	if until(soon, func() bool { return false }) {
		t.Error("what never happened did")
	}
	looks := 0
	if !until(Bound, func() bool { looks++; return looks == 3 }) || looks != 3 {
		t.Errorf("%d looks, want 3", looks)
	}
	looks = 0
	if !until(0, func() bool { looks++; return looks > 1 }) {
		t.Error("the time was up, and nobody looked once more")
	}
	p := &probe{}
	if Until(p, "it", func() bool { return true }); p.failed != "" {
		t.Errorf("%q", p.failed)
	}
}

func TestContext(t *testing.T) {
	p := &probe{}
	ctx := Context(p)
	if end, ok := ctx.Deadline(); !ok || ctx.Err() != nil || time.Until(end) > Bound {
		t.Errorf("deadline %v %v, %v", end, ok, ctx.Err())
	}
	for _, f := range p.cleanup {
		f()
	}
	if ctx.Err() == nil {
		t.Error("it outlived the test")
	}
}

// runner is a package of tests that leaves a goroutine, while one of before it ends.
type runner struct {
	code         int
	hold, ending chan struct{}
}

func (r runner) Run() int {
	if r.ending != nil {
		close(r.ending)
	}
	if r.hold != nil {
		go leftBehind(r.hold)
	}
	return r.code
}

func leftBehind(hold chan struct{}) { <-hold }

func TestMainTellsOfLeaks(t *testing.T) {
	if got := check(runner{}, soon); got != 0 {
		t.Errorf("nothing left: %d", got)
	}
	if got := check(runner{code: 3}, soon); got != 3 {
		t.Errorf("failed tests: %d, want 3", got)
	}
	before, ending := running(), make(chan struct{})
	go leftBehind(ending)
	hold := make(chan struct{})
	defer close(hold)
	if got := check(runner{hold: hold, ending: ending}, soon); got != 1 {
		t.Errorf("a goroutine left: %d, want 1", got)
	}
	if left := leftOver(soon, before); !strings.Contains(left, "leftBehind") {
		t.Errorf("it is not named in %q", left)
	}
}

func TestGoroutines(t *testing.T) {
	p := &probe{}
	Goroutines(p)
	hold := make(chan struct{})
	go leftBehind(hold)
	close(hold)
	if p.cleanup[0](); p.failed != "" {
		t.Errorf("one that ends by itself: %q", p.failed)
	}
}

func TestFiles(t *testing.T) {
	before := Files()
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	if got := Files(); got != before+1 {
		t.Errorf("%d descriptors, want %d", got, before+1)
	}
	_ = f.Close()
	if got := Files(); got != before {
		t.Errorf("%d descriptors, want %d", got, before)
	}
}
