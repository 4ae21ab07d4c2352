package owner_test

import (
	"context"
	"testing"

	"github.com/mayfly-mcp/mayfly/core/owner"
)

func BenchmarkEnterExit(b *testing.B) {
	o := owner.New(context.Background(), "agent")
	defer o.Close()
	b.ReportAllocs()
	for b.Loop() {
		if !o.Enter() {
			b.Fatal("a live owner refuses")
		}
		o.Exit()
	}
}

// A child asks its parent too.
func BenchmarkEnterExitOfAChild(b *testing.B) {
	root := owner.New(context.Background(), "root")
	defer root.Close()
	o := owner.New(root.Context(), "agent")
	b.ReportAllocs()
	for b.Loop() {
		if !o.Enter() {
			b.Fatal("a live owner refuses")
		}
		o.Exit()
	}
}

func BenchmarkEnterExitParallel(b *testing.B) {
	o := owner.New(context.Background(), "agent")
	defer o.Close()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if o.Enter() {
				o.Exit()
			}
		}
	})
}

func BenchmarkAlive(b *testing.B) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	o := owner.New(ctx, "agent")
	b.ReportAllocs()
	for b.Loop() {
		if !o.Alive() {
			b.Fatal("dead")
		}
	}
}

func BenchmarkNewClose(b *testing.B) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	b.ReportAllocs()
	for b.Loop() {
		owner.New(ctx, "agent").Close()
	}
}

// The metric is what counts: bytes that a live owner keeps.
func BenchmarkCrowd(b *testing.B) {
	for b.Loop() {
		ctx, cancel := context.WithCancel(context.Background())
		_, each := crowded(ctx)
		b.ReportMetric(float64(each), "B/owner")
		cancel()
	}
}
