package wait

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// maxStacks bounds what is read of the stacks of all goroutines.
const maxStacks = 64 << 20

// header is how the stack of a goroutine begins: its number is never given again.
var header = regexp.MustCompile(`(?m)^goroutine (\d+) \[`)

// Goroutines fails the test if it ends with a goroutine that is not there now. It is called
// before whatever starts some.
func Goroutines(t testing.TB) {
	t.Helper()
	before := running()
	t.Cleanup(func() {
		t.Helper()
		if left := leftOver(Bound, before); left != "" {
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
	before := running()
	code := m.Run()
	if code != 0 {
		return code
	}
	if left := leftOver(bound, before); left != "" {
		fmt.Fprintln(os.Stderr, left)
		return 1
	}
	return 0
}

// running is the stack of every goroutine by its number. Numbers tell a leak where a count
// does not: the runner of the test before may end just as this one begins.
func running() map[string]string {
	all := stacks()
	at := header.FindAllStringSubmatchIndex(all, -1)
	found := make(map[string]string, len(at))
	for i, m := range at {
		end := len(all)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		found[all[m[2]:m[3]]] = all[m[0]:end]
	}
	return found
}

// stacks are those of all goroutines, as the runtime prints them.
func stacks() string {
	for size := 1 << 16; ; size *= 2 {
		buf := make([]byte, size)
		if n := runtime.Stack(buf, true); n < size || size >= maxStacks {
			return string(buf[:n])
		}
	}
}

// leftOver waits until every goroutine that runs did so before, and returns what to say if
// not: connections close, and the runner of tests winds up, in the background.
func leftOver(bound time.Duration, before map[string]string) string {
	if until(bound, func() bool { return len(since(before)) == 0 }) {
		return ""
	}
	left := since(before)
	return fmt.Sprintf("%d goroutines are left:\n%s", len(left), strings.Join(left, ""))
}

// since are the stacks of the goroutines that did not run before, by number.
func since(before map[string]string) []string {
	now := running()
	var left []string
	for _, id := range slices.Sorted(maps.Keys(now)) {
		if _, ok := before[id]; !ok {
			left = append(left, now[id])
		}
	}
	return left
}
