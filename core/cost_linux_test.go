package core_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mayfly-mcp/mayfly/core"
	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/mayfly-mcp/mayfly/core/transport/stdio"
)

// cpu is the processor time that this process has used. Unlike the wall clock it does not count
// what other processes of the machine did meanwhile.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkAdded is what the host adds to a bare session call, in processor time of one run.
func BenchmarkAdded(b *testing.B) {
	_, owners := bareHost(b, 1, bare{})
	s, err := bare{}.Dial(bg, transport.Config{})
	must(b, err)
	b.ReportAllocs()
	b.ResetTimer()
	start := cpu()
	for range b.N {
		if _, err := owners[0].Call(bg, "echo", nil); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	with := cpu() - start
	start = cpu()
	for range b.N {
		if _, err := s.Call(bg, "echo", nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(with-(cpu()-start))/float64(b.N), "added-cpu-ns/op")
}

// BenchmarkBadNeighbours compares the 99th percentile of calls of a hundred healthy peers beside
// one that hangs, one that floods and one that does not read, with the same without them. The
// two are measured in turns, so that the machine's other work falls on both.
func BenchmarkBadNeighbours(b *testing.B) {
	_, owners := bareHost(b, 100, bare{})
	bad, err := core.Open(core.Config{Dialer: vicious{}})
	must(b, err)
	defer bad.Close(bg)
	var crowd []*core.Owner
	for i := range 100 {
		o, err := bad.Owner("a")
		must(b, err)
		must(b, o.Declare("m", cfgOf(fmt.Sprint(i))))
		_, err = o.Dispatch(bg)
		must(b, err)
		crowd = append(crowd, o)
	}
	ctx, cancel := context.WithCancel(bg)
	var busy sync.WaitGroup
	for _, vice := range []string{"hangs", "floods", "deaf"} {
		o, err := bad.Owner(vice)
		must(b, err)
		must(b, o.Declare("m", cfgOf(vice)))
		for range 8 {
			busy.Go(func() { o.Call(ctx, "echo", nil) })
		}
	}
	var alone, beside []time.Duration
	b.ResetTimer()
	for i := range b.N {
		alone = append(alone, timed(b, owners[i%100]))
		beside = append(beside, timed(b, crowd[i%100]))
	}
	b.StopTimer()
	cancel()
	busy.Wait()
	b.ReportMetric(float64(p99(beside))/float64(p99(alone)), "p99-ratio")
	b.ReportMetric(float64(p99(beside)), "p99-ns")
}

func timed(b *testing.B, o *core.Owner) time.Duration {
	start := time.Now()
	if _, err := o.Call(bg, "echo", nil); err != nil {
		b.Fatal(err)
	}
	return time.Since(start)
}

func p99(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)*99/100]
}

// vicious are bare sessions of which some hang, announce changes all the time, or ignore that
// their caller has gone.
type vicious struct{ bare }

func (v vicious) Dial(ctx context.Context, cfg transport.Config) (transport.Session, error) {
	s, err := v.bare.Dial(ctx, cfg)
	return &viciousSession{s.(*bareSession), cfg.Command, make(chan struct{}, 1)}, err
}

type viciousSession struct {
	*bareSession
	vice    string
	changed chan struct{}
}

func (s *viciousSession) Call(ctx context.Context, tool string, args json.RawMessage) (*transport.Result, error) {
	switch s.vice {
	case "hangs":
		<-ctx.Done()
		return nil, ctx.Err()
	case "deaf":
		<-s.done
		return nil, context.Canceled
	case "floods":
		pause := time.NewTicker(100 * time.Microsecond) // as fast as a pipe delivers, not as a loop runs
		defer pause.Stop()
		for {
			select {
			case s.changed <- struct{}{}:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			<-pause.C
		}
	}
	return s.bareSession.Call(ctx, tool, args)
}

func (s *viciousSession) Heard() <-chan struct{}   { return nil }
func (s *viciousSession) Changed() <-chan struct{} { return s.changed }
func (s *viciousSession) Clean() bool              { return false }

// BenchmarkSpawn starts a real process, shakes hands and lists its tools through the host, and
// by hand with the SDK, in turns.
func BenchmarkSpawn(b *testing.B) {
	exe, err := os.Executable()
	must(b, err)
	h, err := core.Open(core.Config{Dialer: stdio.New(stdio.Options{})})
	must(b, err)
	defer h.Close(bg)
	o, err := h.Owner("a")
	must(b, err)
	var through, byHand time.Duration
	for i := range b.N {
		name := fmt.Sprint(i)
		start := time.Now()
		must(b, o.Declare(name, transport.Config{Command: exe, Env: map[string]string{peerMode: "server", "N": name}}))
		s, err := o.Ensure(bg, name)
		if err != nil || len(s.Tools) != 1 {
			b.Fatalf("%+v, %v", s, err)
		}
		through += time.Since(start)
		must(b, o.Release(name))
		byHand += spawnByHand(b, exe)
	}
	b.ReportMetric(float64(through)/float64(byHand), "ratio")
	b.ReportMetric(float64(through.Microseconds())/float64(b.N), "us/spawn")
}

func spawnByHand(b *testing.B, exe string) time.Duration {
	start := time.Now()
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), peerMode+"=server")
	client := mcp.NewClient(&mcp.Implementation{Name: "by hand", Version: "1"}, nil)
	s, err := client.Connect(bg, &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: stdio.DefaultProtocol})
	must(b, err)
	list, err := s.ListTools(bg, nil)
	if err != nil || len(list.Tools) != 1 {
		b.Fatalf("%+v, %v", list, err)
	}
	took := time.Since(start)
	s.Close()
	return took
}

// BenchmarkTransition is one transition of a peer that ten thousand owners share, with a
// subscriber that reads and ninety-nine that never do.
func BenchmarkTransition(b *testing.B) {
	h, err := core.Open(core.Config{Dialer: bare{}})
	must(b, err)
	defer h.Close(bg)
	var o *core.Owner
	for range 10_000 {
		o, err = h.Owner("a")
		must(b, err)
		must(b, o.Declare("m", cfgOf("S")))
	}
	var events, gaps atomic.Int64
	for range 99 {
		_, err := h.Watch()
		must(b, err)
	}
	reader, err := h.Watch()
	must(b, err)
	go func() {
		for {
			switch n, err := reader.Next(bg); {
			case err != nil:
				return
			case n.Gap:
				gaps.Add(1)
			default:
				events.Add(1)
			}
		}
	}()
	b.ResetTimer()
	start := cpu()
	for range b.N {
		if _, err := o.Reconnect(bg, "m"); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64((cpu()-start).Microseconds())/float64(3*b.N), "cpu-us/transition")
	b.ReportMetric(float64(events.Load())/float64(b.N), "events-read/op")
	b.ReportMetric(float64(gaps.Load())/float64(b.N), "gaps/op")
}
