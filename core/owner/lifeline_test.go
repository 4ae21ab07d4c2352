package owner_test

import (
	"context"
	"testing"

	"github.com/mayfly-mcp/mayfly/core/owner"
	"github.com/mayfly-mcp/mayfly/fakes/wait"
)

func hasEnded(o *owner.Owner) bool {
	for _, c := range o.Lifelines() {
		select {
		case <-c:
			return true
		default:
		}
	}
	return false
}

// Whatever ends above an owner without a word is told by a lifeline, at once.
func TestLifelines(t *testing.T) {
	free := owner.New(context.Background(), "free")
	defer free.Close()
	if n := len(free.Lifelines()); n != 0 {
		t.Errorf("%d lifelines under a context that never ends", n)
	}
	ctx, cancel := context.WithCancel(context.Background())
	root := owner.New(ctx, "root")
	child := owner.New(root.Context(), "child")
	cut := owner.New(context.WithoutCancel(root.Context()), "cut off")
	sibling := owner.New(ctx, "sibling")
	all := []*owner.Owner{root, child, cut, sibling}
	for _, o := range all {
		if hasEnded(o) {
			t.Errorf("%v: something above has ended", o)
		}
	}
	sibling.Close()
	if hasEnded(sibling) || hasEnded(root) {
		t.Error("a Close, which calls the hooks itself, is told by a lifeline")
	}
	cancel()
	for _, o := range all {
		if !hasEnded(o) {
			t.Errorf("%v: the end of a context is not told", o)
		}
	}
	if got := (*owner.Token)(nil).Lifelines(); got != nil {
		t.Errorf("nobody has lifelines: %v", got)
	}
}

// A second Close comes back before the hooks have run, and Settled says so.
func TestSettled(t *testing.T) {
	wait.Until(t, "the end of the deaths of earlier tests", owner.Settled)
	o := owner.New(context.Background(), "o")
	in, goOn, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	o.OnDeath(func() { close(in); <-goOn })
	go func() { o.Close(); close(done) }()
	<-in
	o.Close()
	if owner.Settled() {
		t.Error("a hook runs, and all is said to be settled")
	}
	close(goOn)
	<-done
	wait.Until(t, "the end of the death", owner.Settled)
}
