package stdio

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBudget(t *testing.T) {
	for _, tc := range []struct {
		live    int
		limit   uint64
		allowed int
		warns   bool
	}{
		{100, 656, 100, false},
		{101, 656, 100, true},
		{1000, 1 << 20, 1000, false},
		{5, 0, 1, true},
		{5, 256, 1, true},
		{5, 260, 1, true},
		{5, 264, 2, true},
		{1, 10, 1, false},
		{0, 656, 100, false},
		{-1, 656, 100, false},
		{1000, math.MaxUint64, 1000, false},
		{0, math.MaxUint64, 1 << 30, false},
	} {
		allowed, warning := budget(tc.live, tc.limit)
		if allowed != tc.allowed || (warning != "") != tc.warns {
			t.Errorf("%d peers under %d: %d, %q; want %d, a warning %v", tc.live, tc.limit, allowed, warning, tc.allowed, tc.warns)
		}
	}
}

func TestDescriptorBudget(t *testing.T) {
	out, err := helper(t, "limits").Output()
	if err != nil {
		t.Fatal(err)
	}
	want := `500 of 500 under 2256: 
960 of 2000 under 4096: the limit of 4096 open files allows 960 live peers, not 2000: raise ulimit -n to 8256, or lower the cap
100 of 0 under 656: 
100 of 100 under 656: 
100 of 101 under 656: the limit of 656 open files allows 100 live peers, not 101: raise ulimit -n to 660, or lower the cap
`
	if diff := cmp.Diff(want, string(out)); diff != "" {
		t.Errorf("budgets (-want +got):\n%s", diff)
	}
}

// TestOutOfProcesses: EAGAIN is typed, explained, and leaves nothing (S01).
func TestOutOfProcesses(t *testing.T) {
	out, err := helper(t, "nproc").Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := "true 0 0\nmcp call failed: failed to spawn MCP server: \"true\": resource temporarily unavailable\n"
	if diff := cmp.Diff(want, string(out)); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if strings.Contains(string(out), "fatal") {
		t.Error("the runtime ran out of threads")
	}
}
