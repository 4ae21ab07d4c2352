package campaign

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/sim"
)

// tapeOf makes a tape of the lines of entries.
func tapeOf(t *testing.T, entries string) *sim.Tape {
	t.Helper()
	o := sim.Options{}.WithDefaults()
	empty := sim.Tape{Tenants: o.Tenants, For: o.For, AuditEvery: o.AuditEvery, Config: o.Config}
	text := strings.Replace(empty.String(), "begin\n", "begin\n"+entries, 1)
	tape, err := sim.Decode("test", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return tape
}

// TestShape: tapes of one shape differ in times and numbers only.
func TestShape(t *testing.T) {
	a := Shape(tapeOf(t, `0s t7 born
0s t7 declare m3 s9/t7.4 idle=5s
1s t7 dispatch m3 never 3s late
1s dial s9/t7.4 exits 2s tools=1 obeys=kill stop=1s lives=3s
2s t7 declare m1 s4
2s dial s4 connects 2s tools=1 obeys=close stop=1s
3s t2 born
3s t2 declare m1 s9/t2.1
4s restart kill 5s
5s reload s4 s9
6s down s9 7s
7s expire t2.1
`))
	b := Shape(tapeOf(t, `0s t1 born
0s t1 declare m1 s1/t1.0 idle=6s
1s t1 dispatch m1 never 8s late
2s t1 declare m2 s2
2s dial s2 connects 4s tools=9 obeys=close stop=2s
2s dial s1/t1.0 exits 9s tools=2 obeys=kill stop=3s lives=4s
4s t2 born
5s t2 declare m4 s1/t2.3
6s restart kill 1s
7s reload s2 s1
8s down s1 9s
9s expire t2.3
`))
	want := `t1 born
t1 declare m1 s1/t1.k1 idle
t1 dispatch m1 never late
t1 declare m2 s2
t2 born
t2 declare m1 s1/t2.k1
restart kill
reload s2 s1
down s1
expire t2.k1
s1/t1.k1 exits obeys=kill lives
s2 connects obeys=close
`
	if d := cmp.Diff(want, a); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(a, b); d != "" {
		t.Errorf("another shape: %s", d)
	}
	if shapeID(a) == shapeID("t1 born\n") {
		t.Error("two shapes have one name")
	}
}

// TestShapesDiffer: what is done, by whom, in which order and with which outcome is the shape.
func TestShapesDiffer(t *testing.T) {
	seen := map[string]string{}
	for _, entries := range []string{
		"0s t1 born\n0s t2 born\n0s t1 die\n",
		"0s t1 born\n0s t2 born\n0s t2 die\n",
		"0s t1 born\n0s t1 die\n0s t2 born\n",
		"0s t1 born\n0s t1 declare m1 s1\n0s t1 dispatch m1 answered 0s\n",
		"0s t1 born\n0s t1 declare m1 s1\n0s t1 dispatch m1 rejected 0s\n",
		"0s t1 born\n0s t1 declare m1 s1\n0s t1 dispatch m1 answered 0s twice\n",
		"0s t1 born\n0s t1 declare m1 s1\n0s t1 declare m2 s1\n",
		"0s t1 born\n0s t1 declare m1 s1\n0s t1 declare m2 s2\n",
		"0s t1 born\n0s t1 declare m1 s1\n0s t1 declare m1 s2\n",
		"0s t1 born\n0s t1 declare m1 s1/t1.0\n0s t1 declare m1 s1/t1.1\n",
		"0s t1 born\n0s t1 declare m1 s1/t1.0\n0s t1 declare m1 s2/t1.0\n",
		"0s restart kill 1s\n", "0s restart drain 1s\n", "0s drain\n",
	} {
		shape := Shape(tapeOf(t, entries))
		if other, taken := seen[shape]; taken {
			t.Errorf("these have one shape:\n%s\n%s", entries, other)
		}
		seen[shape] = entries
	}
}
