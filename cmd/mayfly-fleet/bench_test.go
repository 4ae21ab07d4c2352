package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/mayfly-mcp/mayfly/cmd/internal/simflags"
	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/embedded"
	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/queue"
	"github.com/mayfly-mcp/mayfly/sim/campaign"
)

// benchSeeds are those of one campaign: with few blocks the last of them, which one worker runs while
// the other has none, would be a good part of it.
const benchSeeds = 8000

// BenchmarkThroughput: a campaign by two workers that are processes, over a server, and the same one in one process
// with two goroutines, in turns, the other one first each time. The ratios are of their speeds and of the processor time
// that they need, all processes together; 1 means that the way over the queue costs nothing. On a machine that
// others use the second one is the one to trust: more processes get more of such a machine.
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
	var crew []*exec.Cmd
	for range 2 {
		c := exec.Command(exe, fleetWord, "worker", "-nats", s.URL, "-creds", s.Creds, "-slots", "1")
		if err := c.Start(); err != nil {
			b.Fatal(err)
		}
		crew = append(crew, c)
		defer func() {
			_ = c.Process.Kill() // it may have ended
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
	var here, there spent
	for n := 1; b.Loop(); n++ {
		args := []string{fmt.Sprint("-seeds=", benchSeeds), fmt.Sprint("-first=", benchSeeds*n), "-reach=0"}
		dir := b.TempDir()
		over := func() {
			there.add(func() {
				if o := fleet(b.Context(), append([]string{"run", "-nats", s.URL, "-creds", s.Creds, "-dir", filepath.Join(dir, "there")}, args...)...); o.code != exitOK {
					b.Fatal(o)
				}
			})
		}
		alone := func() { here.add(func() { benchLocal(b, filepath.Join(dir, "here"), args) }) }
		if n%2 == 0 {
			over, alone = alone, over
		}
		over()
		alone()
	}
	for _, c := range crew {
		_ = c.Process.Kill() // it is of no use any more
		_ = c.Wait()
		there.cpu += c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	}
	b.ReportMetric(here.wall.Seconds()/there.wall.Seconds(), "ratio")
	b.ReportMetric(here.cpu.Seconds()/there.cpu.Seconds(), "cpu-ratio")
	b.ReportMetric(float64(b.N)*benchSeeds/there.wall.Seconds(), "seeds/s")
}

// spent is time that something took.
type spent struct{ wall, cpu time.Duration }

// add does something, and adds what this process spent on it.
func (s *spent) add(f func()) {
	before, began := processor(), time.Now()
	f()
	s.wall += time.Since(began)
	s.cpu += processor() - before
}

// processor is the processor time of this process until now.
func processor() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// benchLocal runs a campaign in this process alone.
func benchLocal(b *testing.B, dir string, args []string) {
	var c simflags.Campaign
	fs := simflags.New("local", "", os.Stderr)
	c.Define(fs)
	if simflags.Parse(fs, args) != nil || c.Settle(fs) != nil {
		b.Fatal("the flags are wrong")
	}
	c.Options.Dir, c.Options.Workers = dir, 2
	if _, err := campaign.Run(b.Context(), c.Options); err != nil {
		b.Fatal(err)
	}
}
