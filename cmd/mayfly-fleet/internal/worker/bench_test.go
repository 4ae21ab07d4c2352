package worker

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/coord"
	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/embedded"
	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/jobs"
	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/queue"
)

// crew does a campaign of jobs of 100 ms with so many workers, each with a connection of its own, and returns
// how long that takes once all have joined.
func crew(b *testing.B, workers int, n uint64) time.Duration {
	s, err := embedded.Start(embedded.Config{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	ctx, cancel := context.WithCancel(b.Context())
	p := &plan{n, func(ctx context.Context, n uint64, _ jobs.Env) ([]byte, error) {
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
		}
		return fine(n)
	}}
	q, err := queue.Open(ctx, s.Queue())
	if err != nil {
		b.Fatal(err)
	}
	defer q.Close()
	spec, st, err := q.Create(ctx, queue.Spec{ID: "x", Kind: "planted", Build: "b", Jobs: n})
	if err != nil {
		b.Fatal(err)
	}
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	for i := range workers {
		own, err := queue.Open(ctx, queue.Config{URL: s.URL, Creds: s.Creds})
		if err != nil {
			b.Fatal(err)
		}
		w := New(Config{Queue: own, Build: "b", ID: fmt.Sprint("w", i), Parse: func(string, []string, []jobs.File) (jobs.Plan, error) { return p, nil }})
		all.Go(func() {
			defer own.Close()
			_ = w.Run(ctx) // the campaign says how it went
		})
	}
	for joined := 0; joined < workers; {
		ws, err := q.Workers(ctx)
		if err != nil {
			b.Fatal(err)
		}
		joined = len(ws)
	}
	began := time.Now()
	out, err := coord.Run(ctx, coord.Config{Queue: q, Spec: spec, State: st, Plan: p, Dir: filepath.Join(b.TempDir(), "runs")})
	if err != nil || out.Done != n {
		b.Fatal(out, err)
	}
	return time.Since(began)
}

// BenchmarkManyWorkers: how many times faster than one worker 64 are, at jobs of 100 ms.
func BenchmarkManyWorkers(b *testing.B) {
	const workers, each = 64, 50
	for b.Loop() {
		one := crew(b, 1, each)
		many := crew(b, workers, workers*each)
		b.ReportMetric(float64(workers)*one.Seconds()/many.Seconds(), "times")
		b.ReportMetric(one.Seconds()/each*1000, "ms/job-alone")
	}
}
