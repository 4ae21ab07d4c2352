package spec_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/sim/spec"
)

// The sentences of SPEC section 13, one after the other on one registry.
func TestRegistry(t *testing.T) {
	const tool, resource = 0, 1
	const ann, bob, cid = 1, 2, 3
	r := &spec.Registry{Max: 2}
	want := func(clause string, got, want any) {
		t.Helper()
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", clause, d)
		}
	}
	want("OL-6", r.Register(1, ann, tool, "k", "ann's"), spec.Accepted)
	want("OL-26", r.Resolve(tool, "k"), uint64(0))
	want("OL-26", r.List(tool), []string{})
	want("OL-26", r.Call(1, "ann's"), spec.Unavailable)
	want("OL-28", r.Ready(1), spec.Accepted)
	want("OL-28", r.Resolve(tool, "k"), uint64(1))
	want("OL-38", r.Call(1, ""), spec.Denied)
	want("OL-38", r.Call(1, "bob's"), spec.Denied)
	want("OL-38", r.Call(1, "ann's"), spec.Accepted)
	want("OL-7", r.Register(2, bob, tool, "k", ""), spec.Duplicate)
	want("OL-8", r.Register(2, ann, tool, "k", ""), spec.Duplicate)
	want("OL-20", r.Register(2, ann, resource, "k", ""), spec.Accepted)
	want("OL-6", r.Register(3, bob, tool, "a", ""), spec.Accepted)
	want("OL-12", r.Register(4, cid, tool, "z", ""), spec.Full)
	want("OL-14", r.Register(4, cid, tool, "k", ""), spec.Duplicate)
	want("OL-20", []int{r.Holds(ann, tool), r.Holds(ann, resource)}, []int{1, 1})
	r.Ready(3)
	want("OL-22", r.List(tool), []string{"a", "k"})
	r.Died(ann)
	want("OL-22", r.List(tool), []string{"a"})
	want("OL-3", []int{r.Len(tool), r.Len(resource)}, []int{1, 0})
	want("OL-45", r.Call(1, "ann's"), spec.Unavailable)
	want("OL-38", r.Call(1, "bob's"), spec.Denied)
	want("OL-18", r.Register(5, ann, tool, "k", ""), spec.DeadOwner)
	want("OL-13", r.Register(5, cid, tool, "k", ""), spec.Accepted)
	want("OL-27", r.Ready(1), spec.DeadOwner)
	r.Unregister(1)
	want("OL-30", r.Holder(tool, "k"), uint64(5))
	want("OL-50", r.Call(1, "ann's"), spec.Unavailable)
	r.Unregister(5)
	r.Unregister(5)
	want("OL-28", r.Ready(5), spec.Gone)
	want("OL-31", r.Len(tool), 1)
}
