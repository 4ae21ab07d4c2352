package core

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// Whatever is added and dropped, names agree with a plain map, numbers stay dense, and an index
// is kept exactly when there are many.
func TestNamesAgainstAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var n names
		want := map[string]lifecycle.NameID{}
		most := 0
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			name := rapid.StringMatching(`[a-p]`).Draw(t, "name")
			if id, held := n.find(name); held {
				n.drop(id)
				delete(want, name)
			} else {
				want[name] = n.add(name)
			}
			most = max(most, len(want))
			for _, name := range slices.Sorted(maps.Keys(want)) {
				if id, held := n.find(name); !held || id != want[name] || n.of(id) != name {
					t.Fatalf("%q is %d, %v; want %d", name, id, held, want[name])
				}
			}
			if len(n.all) != most || len(n.all)-len(n.free) != len(want) {
				t.Fatalf("%d numbers, %d free, for %d names and %d at most", len(n.all), len(n.free), len(want), most)
			}
		}
		if (n.ids != nil) != (most > fewNames) || n.ids != nil && !maps.Equal(n.ids, want) {
			t.Fatalf("index %v for %v", n.ids, want)
		}
		if _, held := n.find(""); held {
			t.Fatal("a free number has a name")
		}
	})
}
