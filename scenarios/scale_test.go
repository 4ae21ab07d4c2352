package scenarios

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestScaled: every kind of time is multiplied, counts are not, and nothing else changes.
func TestScaled(t *testing.T) {
	const before = `# Says so.
clauses RE-1
only machine
set idle_timeout 4s
set max_live 3
server S tools=echo connect=1s call=200ms spawn=5ms says=1ms stop=2s fails=hang
agent a
declare a m S idle=1s terminate=2s pinned
start c1: upsert a n S connect=3s
change S connect=2s heals
configure idle_timeout 6s
advance 1s
expect spawns S = 1
`
	const after = `# Says so.
clauses RE-1
only machine
set idle_timeout 12s
set max_live 3
server S tools=echo spawn=15ms says=3ms connect=3s call=600ms fails=hang stop=6s
agent a
declare a m S idle=3s terminate=6s pinned
start c1: upsert a n S connect=9s
change S heals connect=6s
configure idle_timeout 18s
advance 3s
expect spawns S = 1
`
	f, err := Parse("x.txtar", []byte(before))
	if err != nil {
		t.Fatal(err)
	}
	was := string(Format(f))
	if diff := cmp.Diff(after, string(Format(f.Scaled(3)))); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if diff := cmp.Diff(was, string(Format(f))); diff != "" {
		t.Errorf("the original changed: %s", diff)
	}
	if diff := cmp.Diff(was, string(Format(f.Scaled(1)))); diff != "" {
		t.Errorf("once is not the same: %s", diff)
	}
}
