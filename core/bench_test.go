package core_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/mayfly-mcp/mayfly/core"
	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/mayfly-mcp/mayfly/fakes"
)

// ready returns n owners, each with a Connected peer of its own that answers at once.
func ready(b *testing.B, n int) (*rig, []*core.Owner) {
	b.Helper()
	r := newRig(b, func(c *core.Config) { c.Recorder = nil })
	b.Cleanup(r.end)
	var owners []*core.Owner
	for _, name := range serverNames(n) {
		o := r.owner(name, name)
		r.d.Server(name).Set(fakes.Behaviour{Answers: says("x")})
		if _, err := o.Dispatch(bg); err != nil {
			b.Fatal(err)
		}
		owners = append(owners, o)
	}
	b.ReportAllocs()
	b.ResetTimer()
	return r, owners
}

// BenchmarkBareSession is what a call costs without a host: the fake server alone.
func BenchmarkBareSession(b *testing.B) {
	d := fakes.NewDialer(fakes.Config{})
	d.Server("S").Set(fakes.Behaviour{Answers: says("x")})
	defer d.Close()
	s, err := d.Dial(bg, transport.Config{Command: "S"})
	must(b, err)
	_, err = s.Initialize(bg)
	must(b, err)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Call(bg, "echo", nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCall is the same call through the host: gate, call, end of use.
func BenchmarkCall(b *testing.B) {
	_, owners := ready(b, 1)
	for b.Loop() {
		if _, err := owners[0].Call(bg, "echo", nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDispatch is a listing of Connected peers.
func BenchmarkDispatch(b *testing.B) {
	_, owners := ready(b, 1)
	for b.Loop() {
		if _, err := owners[0].Dispatch(bg); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCallManyPeers calls many Connected peers from all processors at once.
func BenchmarkCallManyPeers(b *testing.B) {
	for _, n := range []int{100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			_, owners := ready(b, n)
			var next atomic.Int64
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					o := owners[int(next.Add(1))%n]
					if _, err := o.Call(bg, "echo", nil); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}
