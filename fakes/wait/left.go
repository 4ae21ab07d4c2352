package wait

import (
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"
)

// maxStacks bounds what is printed of the stacks of a leak.
const maxStacks = 1 << 20

// Goroutines fails the test if it ends with more goroutines than there are now. It is called
// before whatever starts some.
func Goroutines(t testing.TB) {
	t.Helper()
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		t.Helper()
		if left := goroutines(Bound, before); left != "" {
			t.Fatal(left)
		}
	})
}

// Files counts the open descriptors of this process, with the one that counts.
func Files() int {
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		panic(err)
	}
	return len(names)
}

// Main runs the tests of a package. Its result, the status to exit with, is bad also when
// goroutines are left after the last one.
func Main(m interface{ Run() int }) int { return check(m, Bound) }

// check is Main with a bound.
func check(m interface{ Run() int }, bound time.Duration) int {
	before := runtime.NumGoroutine()
	code := m.Run()
	if code != 0 {
		return code
	}
	if left := goroutines(bound, before); left != "" {
		fmt.Fprintln(os.Stderr, left)
		return 1
	}
	return 0
}

// goroutines waits until no more are left than there were, and returns what to say if not:
// connections close, and the runner of tests winds up, in the background.
func goroutines(bound time.Duration, before int) string {
	if until(bound, func() bool { return runtime.NumGoroutine() <= before }) {
		return ""
	}
	buf := make([]byte, maxStacks)
	return fmt.Sprintf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, buf[:runtime.Stack(buf, true)])
}
