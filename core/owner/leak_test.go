package owner_test

import (
	"bytes"
	"context"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/mayfly-mcp/mayfly/core/owner"
)

// collected runs the collector until the channel is closed, or gives up after many rounds.
func collected(freed <-chan struct{}) bool {
	for range 100 {
		runtime.GC()
		select {
		case <-freed:
			return true
		case <-time.After(10 * time.Millisecond):
		}
	}
	return false
}

// reports makes a context whose lost owners arrive on a channel.
func reports() (context.Context, <-chan *owner.Token) {
	lost := make(chan *owner.Token, 16)
	return owner.WithLeakReport(context.Background(), func(t *owner.Token) { lost <- t }), lost
}

// nextReport collects until somebody is reported.
func nextReport(lost <-chan *owner.Token) *owner.Token {
	for range 100 {
		runtime.GC()
		select {
		case t := <-lost:
			return t
		case <-time.After(10 * time.Millisecond):
		}
	}
	return nil
}

//go:noinline
func lose(ctx context.Context, name string) *owner.Token {
	o := owner.New(ctx, name)
	o.OnDeath(func() {})
	return o.Token
}

// A lost owner is reported once and not killed, though its token, its hooks, its context, a
// watched parent context and a parent owner all stay.
func TestLostOwnerIsReported(t *testing.T) {
	base, lost := reports()
	ctx, cancel := context.WithCancelCause(base)
	defer cancel(nil)
	root := owner.New(ctx, "root")
	defer root.Close()
	tok := lose(root.Context(), "lost")
	if got := nextReport(lost); got != tok {
		t.Fatalf("reported %v, want %v", got, tok)
	}
	if !tok.Alive() || !tok.Enter() {
		t.Error("the report killed its owner")
	}
	tok.Exit()
	cancel(errGiven)
	if tok.Alive() {
		t.Error("a lost owner survives its context")
	}
}

// The dead are not reported, whatever they died of; the canary shows that the collector came by.
func TestTheDeadAreNotReported(t *testing.T) {
	base, lost := reports()
	for _, d := range deaths()[:8] {
		func() {
			ctx, cancel := context.WithCancelCause(base)
			defer cancel(nil)
			d.die(owner.New(ctx, "dead"), cancel)
		}()
	}
	canary := lose(base, "canary")
	if got := nextReport(lost); got != canary {
		t.Errorf("reported %v", got)
	}
	if len(lost) != 0 {
		t.Errorf("%d more reports", len(lost))
	}
}

// An owner whose function runs is not lost, though nobody else refers to it.
func TestRunningOwnerIsNotLost(t *testing.T) {
	ctx, lost := reports()
	err := owner.New(ctx, "running").Run(func(context.Context) error {
		canary := lose(ctx, "canary")
		if got := nextReport(lost); got != canary {
			t.Errorf("reported %v", got)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// Without a report function, and with a nil one, the warning goes to slog, id and name in it.
func TestDefaultReport(t *testing.T) {
	old := slog.Default()
	defer slog.SetDefault(old)
	for _, ctx := range []context.Context{context.Background(), owner.WithLeakReport(context.Background(), nil)} {
		lines := make(lineWriter, 16)
		slog.SetDefault(slog.New(slog.NewTextHandler(lines, nil)))
		tok := lose(ctx, "forgotten")
		line := ""
		for i := 0; i < 100 && !strings.Contains(line, "forgotten"); i++ {
			runtime.GC()
			select {
			case line = <-lines:
			case <-time.After(10 * time.Millisecond):
			}
		}
		if !strings.Contains(line, "level=WARN") || !strings.Contains(line, "forgotten") {
			t.Errorf("warned %q about %v", line, tok)
		}
	}
}

type lineWriter chan string

func (w lineWriter) Write(p []byte) (int, error) {
	w <- string(bytes.Clone(p))
	return len(p), nil
}

// OL-51: a dead owner is garbage, under a context and a parent that live on.
func TestDeadOwnerIsCollected(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	root := owner.New(ctx, "root")
	defer root.Close()
	freed := make(chan struct{})
	func() {
		o := owner.New(root.Context(), "agent")
		o.OnDeath(func() {})
		runtime.AddCleanup(o.Token, func(c chan struct{}) { close(c) }, freed)
		o.Close()
	}()
	if !collected(freed) {
		t.Error("a dead owner is kept")
	}
	runtime.KeepAlive(root)
}

const crowd = 10_000

// crowded makes a crowd under one context and returns it with the bytes that each took.
func crowded(ctx context.Context) (owners []*owner.Owner, each uint64) {
	owners = make([]*owner.Owner, crowd)
	before := heap()
	for i := range owners {
		owners[i] = owner.New(ctx, "agent")
	}
	return owners, (heap() - before) / crowd
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// OL-5: no goroutine per owner, alive or dead, and at most 1.2 KiB each.
func TestACrowdIsCheap(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	parent := owner.New(ctx, "parent")
	defer parent.Close()
	before := runtime.NumGoroutine()
	owners, each := crowded(parent.Context())
	if n := runtime.NumGoroutine() - before; n > 0 {
		t.Errorf("%d goroutines for %d owners", n, crowd)
	}
	if each > 1229 {
		t.Errorf("%d bytes per owner", each)
	}
	parent.Close()
	if n := runtime.NumGoroutine() - before; n > 0 {
		t.Errorf("%d goroutines after a death that took %d owners along", n, crowd)
	}
	for _, o := range owners {
		if o.Alive() {
			t.Fatalf("%v outlives its parent", o)
		}
	}
}
