package wire

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// testBound is how long a test waits for something that must happen soon. It is only
// ever reached by a failing test.
const testBound = 30 * time.Second

func TestMain(m *testing.M) {
	code := m.Run()
	if leaked := leakedGoroutines(); leaked != "" && code == 0 {
		fmt.Fprintf(os.Stderr, "goroutines of this package outlived the tests:\n%s\n", leaked)
		code = 1
	}
	os.Exit(code)
}

// leakedGoroutines waits until no goroutine but the tests' own runs code of this
// package, and returns the stacks of those that stay.
func leakedGoroutines() string {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(testBound)
	for {
		leaked := packageStacks()
		if leaked == "" {
			return ""
		}
		select {
		case <-tick.C:
		case <-deadline:
			return leaked
		}
	}
}

func packageStacks() string {
	buf := make([]byte, 1<<20)
	var leaked []string
	for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if strings.Contains(stack, "/core/wire.") && !strings.Contains(stack, "wire.TestMain") {
			leaked = append(leaked, stack)
		}
	}
	return strings.Join(leaked, "\n\n")
}
