package core_test

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mayfly-mcp/mayfly/core"
	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/core/transport"
)

// bareHost is a host over a transport that costs nothing, with n owners, each with a Connected
// peer of its own.
func bareHost(b *testing.B, n int, d bare) (*core.Host, []*core.Owner) {
	b.Helper()
	h, err := core.Open(core.Config{Dialer: d})
	must(b, err)
	b.Cleanup(func() { must(b, h.Close(bg)) })
	var owners []*core.Owner
	for i := range n {
		o, err := h.Owner("a")
		must(b, err)
		must(b, o.Declare("m", cfgOf(fmt.Sprint(i))))
		_, err = o.Dispatch(bg)
		must(b, err)
		owners = append(owners, o)
	}
	return h, owners
}

// BenchmarkCall is a call of a Connected peer through the host, and the bare session call beside
// it in the same run: what the host adds is gate, hand-over to a goroutine, and end of use.
func BenchmarkCall(b *testing.B) {
	_, owners := bareHost(b, 1, bare{})
	s, err := bare{}.Dial(bg, transport.Config{})
	must(b, err)
	b.ReportAllocs()
	var with, without time.Duration
	for b.Loop() {
		start := time.Now()
		if _, err := owners[0].Call(bg, "echo", nil); err != nil {
			b.Fatal(err)
		}
		middle := time.Now()
		if _, err := s.Call(bg, "echo", nil); err != nil {
			b.Fatal(err)
		}
		with, without = with+middle.Sub(start), without+time.Since(middle)
	}
	b.ReportMetric(float64(with-without)/float64(b.N), "added-ns/op")
}

// BenchmarkDispatch is a listing of eight Connected peers.
func BenchmarkDispatch(b *testing.B) {
	h, err := core.Open(core.Config{Dialer: bare{}})
	must(b, err)
	defer h.Close(bg)
	o, err := h.Owner("a")
	must(b, err)
	for _, n := range serverNames(8) {
		must(b, o.Declare(n, cfgOf(n)))
	}
	_, err = o.Dispatch(bg)
	must(b, err)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := o.Dispatch(bg); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCallManyPeers calls a thousand Connected peers from one processor and from all. The
// metric is how many times as many calls all of them make: 2 is the best on two. A call that
// costs nothing shows the host's one lock; one of some 30 µs, a sixth of what the SDK takes for
// a call in memory, shows what is left of the lock in life.
func BenchmarkCallManyPeers(b *testing.B) {
	for _, rounds := range []int{0, 400} {
		b.Run(fmt.Sprintf("work=%d", rounds), func(b *testing.B) { callManyPeers(b, rounds) })
	}
}

func callManyPeers(b *testing.B, rounds int) {
	_, owners := bareHost(b, 1000, bare{rounds})
	procs := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(1)
	start, used := time.Now(), cpu()
	sample := 100_000 / (1 + rounds/40)
	for i := range sample {
		if _, err := owners[i%len(owners)].Call(bg, "echo", nil); err != nil {
			b.Fatal(err)
		}
	}
	one, cpuOne := float64(time.Since(start))/float64(sample), float64(cpu()-used)/float64(sample)
	runtime.GOMAXPROCS(procs)
	var next atomic.Int64
	b.ResetTimer()
	used = cpu()
	b.RunParallel(func(pb *testing.PB) {
		for i := int(next.Add(101)); pb.Next(); i++ {
			if _, err := owners[i%len(owners)].Call(bg, "echo", nil); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(cpu()-used)/float64(b.N)/cpuOne, "cpu-ratio")
	b.ReportMetric(one/(float64(b.Elapsed())/float64(b.N)), "speedup")
}

// BenchmarkIdleDeclarations declares a million peers that are different, ten for each owner, and
// says what one of them costs in the whole host.
func BenchmarkIdleDeclarations(b *testing.B) {
	for _, each := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("owner=%d", each), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				before := heap()
				h, err := core.Open(core.Config{Dialer: bare{}})
				must(b, err)
				const n = 1_000_000
				configs := make([]transport.Config, n) // a host keeps these whoever made them
				for i := range configs {
					configs[i] = transport.Config{Command: "npx", Args: []string{"-y", "server"},
						Env: map[string]string{"TOKEN": fmt.Sprintf("token-%016d", i)}}
				}
				mid := heap()
				b.StartTimer()
				declareAll(b, h, configs, each)
				b.StopTimer()
				after := heap()
				b.ReportMetric(float64(after-mid)/n, "B/declaration")
				b.ReportMetric(float64(after-before)/n, "B/declaration+config")
				start := time.Now()
				if g := h.Gauges(); g.States[lifecycle.Disconnected] != n {
					b.Errorf("%+v", g)
				}
				b.ReportMetric(float64(time.Since(start).Microseconds())/1000, "gauges-ms")
				must(b, h.Close(bg))
				runtime.KeepAlive(configs)
				b.StartTimer()
			}
		})
	}
}

func declareAll(b *testing.B, h *core.Host, configs []transport.Config, each int) {
	names := serverNames(each)
	for i := 0; i < len(configs); i += each {
		o, err := h.Owner("a")
		must(b, err)
		for j := range each {
			must(b, o.Declare(names[j], configs[i+j]))
		}
	}
}
