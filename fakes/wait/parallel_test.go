package wait

import (
	"flag"
	"runtime"
	"testing"
)

// TestParallel: so many tests for each processor, unless somebody said how many.
func TestParallel(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want int
	}{{nil, 3 * runtime.GOMAXPROCS(0)}, {[]string{"-test.parallel=1"}, 1}} {
		fs := flag.NewFlagSet("x", flag.ContinueOnError)
		got := fs.Int(parallelFlag, 2, "")
		if err := fs.Parse(tt.args); err != nil {
			t.Fatal(err)
		}
		if err := parallel(fs, 3); err != nil || *got != tt.want {
			t.Errorf("%q: %d tests run side by side (%v), want %d", tt.args, *got, err, tt.want)
		}
	}
	if err := parallel(flag.NewFlagSet("x", flag.ContinueOnError), 3); err == nil {
		t.Error("a command line without the flag is taken for that of go test")
	}
}
