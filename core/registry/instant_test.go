package registry

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/mayfly-mcp/mayfly/core/owner"
)

// moment is a context that dies at a moment of the test's choice: right after somebody was
// told that it lives, or when somebody asks for its end.
type moment struct {
	context.Context
	gone          bool
	onErr, onDone func()
}

func (m *moment) Err() error {
	if m.gone {
		return context.Canceled
	}
	if f := m.onErr; f != nil {
		m.onErr = nil
		f()
	}
	return nil
}

func (m *moment) Done() <-chan struct{} {
	if f := m.onDone; f != nil {
		m.onDone = nil
		f()
	}
	return nil
}

// The first dies after the page has shown it, then the second before the page comes to it. A
// page with the first alone was never true.
func TestPageIsOfOneInstant(t *testing.T) {
	first, second := &moment{Context: context.Background()}, &moment{Context: context.Background()}
	tab := New[int, int](Config{Kind: "tool", Max: 9})
	for i, m := range []*moment{first, second} {
		o := owner.New(m, "o")
		defer o.Close()
		e, err := tab.Register(o.Token, specOf(fmt.Sprint(i)))
		if err != nil || e.Ready() != nil {
			t.Fatal(err)
		}
	}
	first.onErr = func() { first.gone, second.gone = true, true }
	if got := tab.List("", 0); len(got) != 0 {
		t.Errorf("%d are listed, the first of them %q", len(got), got[0].Key())
	}
	first.gone, second.gone = false, false
	first.onErr = func() { first.gone, second.gone = true, true }
	if got := tab.Len(); got == 1 {
		t.Error("one is counted, and there were two and then none")
	}
}

// A registrant that dies on the way is told so (OL-18).
func TestDeathDuringRegister(t *testing.T) {
	m := &moment{Context: context.Background()}
	tab := New[int, int](Config{Kind: "tool", Max: 1})
	o := owner.New(m, "o")
	defer o.Close()
	m.onDone = func() { m.gone = true }
	if _, err := tab.Register(o.Token, specOf("k")); !errors.Is(err, ErrDeadOwner) {
		t.Errorf("%v", err)
	}
}

// Nothing stays parked (OL-51): not for the dead, and of an entry that was taken out not even
// while its owner lives.
func TestNothingIsKept(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	tab := New[int, int](Config{Kind: "tool", Max: 9})
	var owners []*owner.Owner
	for i := range 5 {
		owners = append(owners, owner.New(ctx, "o"))
		e, err := tab.Register(owners[i].Token, specOf(fmt.Sprint(i)))
		if err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			e.Unregister()
		}
	}
	if tab.order.Len() != 2 || len(tab.byKey) != 2 {
		t.Errorf("%d in order, %d by key; want 2", tab.order.Len(), len(tab.byKey))
	}
	for _, o := range owners {
		o.Close()
	}
	if tab.order.Len()+len(tab.byKey)+len(tab.estates)+len(tab.lifelines) != 0 {
		t.Errorf("%d in order, %d by key, %d estates, %d lifelines are left", tab.order.Len(), len(tab.byKey), len(tab.estates), len(tab.lifelines))
	}
}

// A death that somebody else has under way counts for the cap before its hooks have run.
func TestDeathUnderWayFreesThePlace(t *testing.T) {
	tab := New[int, int](Config{Kind: "tool", Max: 1})
	o, next := owner.New(context.Background(), "o"), owner.New(context.Background(), "next")
	defer next.Close()
	in, goOn, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	o.OnDeath(func() { close(in); <-goOn })
	if _, err := tab.Register(o.Token, specOf("k")); err != nil {
		t.Fatal(err)
	}
	go func() { o.Close(); close(done) }()
	<-in
	o.Close() // comes back at once
	if _, err := tab.Register(next.Token, specOf("other")); err != nil {
		t.Error(err)
	}
	close(goOn)
	<-done
}
