package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mayfly-mcp/mayfly/cmd/internal/simflags"
	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/node"
	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/queue"
	"github.com/mayfly-mcp/mayfly/sim/campaign"
)

// BenchmarkTenMillionSeeds: all jobs of a campaign of ten million seeds queued at once on a server that is a process,
// which a campaign never does, and then all answered with the result of a real block. It says what the server
// stores and how large it grows.
func BenchmarkTenMillionSeeds(b *testing.B) {
	const seeds, atATime = 10_000_000, 64
	block, result := realBlock(b)
	count := uint64(seeds+block-1) / uint64(block)
	store := b.TempDir()
	srv, q := bareServer(b, store)
	spec, st, err := q.Create(b.Context(), queue.Spec{ID: "x", Kind: "k", Build: "b", Jobs: count})
	if err != nil {
		b.Fatal(err)
	}
	each := func(f func(ctx context.Context, n uint64) error) time.Duration {
		began := time.Now()
		var all sync.WaitGroup
		for i := range uint64(atATime) {
			all.Go(func() {
				for n := i; n < count; n += atATime {
					if err := f(b.Context(), n); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
		return time.Since(began)
	}
	report := func(when string) {
		all, err := q.Replicas(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		var stored uint64
		for _, r := range all {
			stored += r.Bytes
		}
		b.ReportMetric(float64(stored)/(1<<20), "MiB-stored-"+when)
		b.ReportMetric(float64(highest(b, srv.cmd.Process.Pid))/(1<<20), "MiB-memory-"+when)
	}
	for b.Loop() {
		took := each(func(ctx context.Context, n uint64) error { return q.Offer(ctx, spec.ID, n, st.Round()) })
		report("queued")
		b.ReportMetric(float64(count)/took.Seconds(), "queued/s")
		took = each(func(ctx context.Context, _ uint64) error {
			job, err := q.Take(ctx, spec.ID, time.Minute)
			if err != nil || job == nil {
				return fmt.Errorf("no job: %w", err)
			}
			if first, err := q.Store(ctx, spec.ID, job.Index, result); err != nil || !first {
				return fmt.Errorf("not the first result: %w", err)
			}
			return job.Done(ctx)
		})
		report("answered")
		b.ReportMetric(float64(count)/took.Seconds(), "answered/s")
		b.ReportMetric(float64(len(result)), "B/result")
	}
}

// realBlock runs a block of a campaign of default settings.
func realBlock(b *testing.B) (size int, result []byte) {
	var c simflags.Campaign
	fs := simflags.New("block", "", os.Stderr)
	c.Define(fs)
	if simflags.Parse(fs, nil) != nil || c.Settle(fs) != nil {
		b.Fatal("the flags are wrong")
	}
	c.Options.Block, c.Options.Seeds, c.Options.Build = campaign.DefaultBlock, campaign.DefaultBlock, "any"
	result, err := campaign.RunBlock(c.Options, 0, func() bool { return false })
	if err != nil {
		b.Fatal(err)
	}
	return campaign.DefaultBlock, result
}

// bareServer is a server that is a process, and a connection to it.
func bareServer(b *testing.B, store string) (*process, *queue.Queue) {
	const login = "rack:" + secretWord
	cfg := node.Config{Name: "n", Port: free(b, 1)[0], Store: store, Login: login}
	p := spawn(b, cfg.Args()...)
	creds := file(b, "creds", login)
	for {
		q, err := queue.Open(b.Context(), queue.Config{URL: fmt.Sprint("nats://127.0.0.1:", cfg.Port), Creds: creds})
		if err == nil {
			b.Cleanup(q.Close)
			return p, q
		}
		select {
		case <-p.done:
			b.Fatal(p.out.String())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// highest is the greatest resident size of a process so far, in bytes.
func highest(b *testing.B, pid int) (n int64) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		if rest, found := strings.CutPrefix(string(line), "VmHWM:"); found {
			if _, err := fmt.Sscan(rest, &n); err != nil {
				b.Fatal(err)
			}
		}
	}
	return n << 10
}
