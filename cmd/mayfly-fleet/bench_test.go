package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/mayfly-mcp/mayfly/cmd/internal/simflags"
	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/embedded"
	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/queue"
	"github.com/mayfly-mcp/mayfly/sim/campaign"
)

// BenchmarkThroughput: a campaign by two workers that are processes, over a server, and the same one in one process
// with two goroutines, in turns. The ratio is of their speeds; 1 means that the way over the queue costs nothing.
func BenchmarkThroughput(b *testing.B) {
	s, err := embedded.Start(embedded.Config{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	q, err := queue.Open(b.Context(), s.Queue())
	if err != nil {
		b.Fatal(err)
	}
	defer q.Close()
	exe, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	for range 2 {
		c := exec.Command(exe, fleetWord, "worker", "-nats", s.URL, "-creds", s.Creds, "-slots", "1")
		if err := c.Start(); err != nil {
			b.Fatal(err)
		}
		defer func() {
			_ = c.Process.Kill() // it is of no use any more
			_ = c.Wait()
		}()
	}
	for joined := 0; joined < 2; {
		ws, err := q.Workers(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		joined = len(ws)
	}
	var here, there time.Duration
	first := 1
	for b.Loop() {
		args := []string{"-seeds=1000", fmt.Sprint("-first=", first), "-reach=0"}
		first += 1000
		dir := b.TempDir()
		began := time.Now()
		if o := fleet(b.Context(), append([]string{"run", "-nats", s.URL, "-creds", s.Creds, "-dir", filepath.Join(dir, "there")}, args...)...); o.code != exitOK {
			b.Fatal(o)
		}
		there += time.Since(began)
		var c simflags.Campaign
		fs := simflags.New("local", "", os.Stderr)
		c.Define(fs)
		if simflags.Parse(fs, args) != nil || c.Settle(fs) != nil {
			b.Fatal("the flags are wrong")
		}
		c.Options.Dir, c.Options.Workers = filepath.Join(dir, "here"), 2
		began = time.Now()
		if _, err := campaign.Run(b.Context(), c.Options); err != nil {
			b.Fatal(err)
		}
		here += time.Since(began)
	}
	b.ReportMetric(here.Seconds()/there.Seconds(), "ratio")
	b.ReportMetric(float64(b.N)*1000/there.Seconds(), "seeds/s")
}
