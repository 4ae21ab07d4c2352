package registry

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/mayfly-mcp/mayfly/core/owner"
)

const crowd = 10_000

func answerBack(_ context.Context, req int) (int, error) { return req, nil }

func specOf(key string) Spec[int, int] {
	return Spec[int, int]{Key: key, Plan: Public(), Body: answerBack}
}

// filled is a full table whose entries are ready, each of an owner of its own.
func filled(b testing.TB, ctx context.Context) (*Table[int, int], []*owner.Owner, []string) {
	b.Helper()
	t := New[int, int](Config{Kind: "tool", Max: crowd})
	owners, keys := make([]*owner.Owner, crowd), make([]string, crowd)
	for i := range crowd {
		owners[i], keys[i] = owner.New(ctx, "consumer"), fmt.Sprintf("tool-%05d", i)
		e, err := t.Register(owners[i].Token, specOf(keys[i]))
		if err != nil {
			b.Fatal(err)
		}
		if err := e.Ready(); err != nil {
			b.Fatal(err)
		}
	}
	b.Cleanup(func() {
		for _, o := range owners {
			o.Close()
		}
	})
	return t, owners, keys
}

// Resolve, the plan, the gate, the body and the way out, in the caller's goroutine.
func BenchmarkResolveEnterBody(b *testing.B) {
	ctx := b.Context()
	t, _, keys := filled(b, ctx)
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		e, err := t.Resolve(keys[i%crowd])
		if err != nil {
			b.Fatal(err)
		}
		if err := e.enter(ctx, Caller{}); err != nil {
			b.Fatal(err)
		}
		_, _ = e.spec.Body(ctx, i)
		e.owner.Exit()
	}
}

// The same with a goroutine for the body and a context that minds both ends.
func BenchmarkCall(b *testing.B) {
	ctx := b.Context()
	t, _, keys := filled(b, ctx)
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		e, _ := t.Resolve(keys[i%crowd])
		if _, err := e.Call(ctx, Caller{}, i); err != nil {
			b.Fatal(err)
		}
	}
}

// One place is free, and taken and given back.
func BenchmarkRegisterLastPlace(b *testing.B) {
	t, owners, keys := filled(b, context.Background())
	last := owners[crowd-1].Token
	e := t.byKey[keys[crowd-1]]
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		e.Unregister()
		e, _ = t.Register(last, specOf(keys[crowd-1]))
	}
}

func BenchmarkRefuseFull(b *testing.B) {
	for name, ctx := range contexts(b) {
		b.Run(name, func(b *testing.B) {
			t, owners, _ := filled(b, ctx)
			s := specOf("one too many")
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				if _, err := t.Register(owners[0].Token, s); err == nil {
					b.Fatal("taken")
				}
			}
		})
	}
}

// contexts are a context that never ends and one that may.
func contexts(b *testing.B) map[string]context.Context {
	return map[string]context.Context{"background": context.Background(), "one context": b.Context()}
}

func BenchmarkList(b *testing.B) {
	t, _, _ := filled(b, b.Context())
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		if got := len(t.List("", 0)); got != crowd {
			b.Fatal(got)
		}
	}
}

// From the death of the owner to the caller's answer, with a body that minds nothing.
func BenchmarkDeathAnswersCall(b *testing.B) {
	hold := make(chan struct{})
	defer close(hold)
	began, answered := make(chan struct{}), make(chan error)
	t := New[int, int](Config{Kind: "tool", Max: 1})
	s := Spec[int, int]{Key: "k", Plan: Public(), Body: func(context.Context, int) (int, error) {
		began <- struct{}{}
		<-hold
		return 0, nil
	}}
	for b.Loop() {
		b.StopTimer()
		o := owner.New(b.Context(), "o")
		e, err := t.Register(o.Token, s)
		if err == nil {
			err = e.Ready()
		}
		if err != nil {
			b.Fatal(err)
		}
		go func() { _, err := e.Call(b.Context(), Caller{}, 0); answered <- err }()
		<-began
		b.StartTimer()
		o.Close()
		if err := <-answered; err == nil {
			b.Fatal("the body answered")
		}
	}
}

// A call of one in 10,000 allocates nothing up to the end of its body.
func TestCallsAllocateNothing(t *testing.T) {
	ctx := t.Context()
	tab, _, keys := filled(t, ctx)
	i := 0
	allocs := testing.AllocsPerRun(1000, func() {
		i++
		e, err := tab.Resolve(keys[i%crowd])
		if err != nil || e.enter(ctx, Caller{}) != nil {
			t.Fatal("not admitted")
		}
		_, _ = e.spec.Body(ctx, i)
		e.owner.Exit()
	})
	if allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

// 10,000 owners with an entry each keep at most 12 MiB, and no goroutine.
func TestACrowdIsCheap(t *testing.T) {
	goroutines, before := runtime.NumGoroutine(), heap()
	tab, owners, keys := filled(t, t.Context())
	if n := int64(heap()) - int64(before); n > 12<<20 {
		t.Errorf("%d bytes", n)
	}
	if n := runtime.NumGoroutine() - goroutines; n > 0 {
		t.Errorf("%d goroutines", n)
	}
	runtime.KeepAlive(tab)
	runtime.KeepAlive(owners)
	runtime.KeepAlive(keys)
}

// What 10,000 owners with an entry each keep.
func BenchmarkCrowd(b *testing.B) {
	for range b.N {
		goroutines, before := runtime.NumGoroutine(), heap()
		t, owners, keys := filled(b, b.Context())
		b.ReportMetric(float64(heap()-before)/(1<<20), "MiB")
		b.ReportMetric(float64(runtime.NumGoroutine()-goroutines), "goroutines")
		runtime.KeepAlive(t)
		runtime.KeepAlive(owners)
		runtime.KeepAlive(keys)
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC() // what the first one found to clean up
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
