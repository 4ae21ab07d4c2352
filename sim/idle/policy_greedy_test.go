package idle

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestGreedyDualPriorities: by hand. Worth of a call is 0.0005 for native, 0.0125 for python, 0.2 for npx.
func TestGreedyDualPriorities(t *testing.T) {
	g := GreedyDual{}.Start(fleetEnv()).(*greedy)
	native, python, npx := Peer{ID: 4, Class: 0}, Peer{ID: 2, Class: 1}, Peer{ID: 0, Class: 2}
	use := func(p Peer, times int) {
		for range times {
			g.Called(p, 0, 0, false)
		}
		decides(t, "retention", g.Idle(p, 0), Decision{})
	}
	evict := func(want Peer) {
		t.Helper()
		got, ok := g.Victim(0)
		if !ok || got != want {
			t.Fatalf("victim %+v, want %+v", got, want)
		}
		g.Stopped(got, 0)
	}
	if _, ok := g.Victim(0); ok {
		t.Error("a victim among nobody")
	}
	use(npx, 1)     // 0.2
	use(python, 17) // 0.2125
	use(native, 30) // 0.015
	evict(native)   // the clock is 0.015
	use(native, 1)  // 0.0155: its old calls are forgotten
	evict(native)
	use(python, 1) // 18 × 0.0125 + 0.0155 = 0.2405
	evict(npx)     // the clock is 0.2
	use(native, 1) // 0.2005
	use(npx, 1)    // 0.4
	evict(native)
	evict(python)
	evict(npx)
	near(t, "clock", g.clock, 0.4, 1e-12)
}

// TestGreedyDualSparesTheBusy: in use is no victim, nor is what is stopped for another reason, which moves no clock.
func TestGreedyDualSparesTheBusy(t *testing.T) {
	g := GreedyDual{Retain: Exact{T: 5 * sec}}.Start(fleetEnv()).(*greedy)
	a, b := Peer{ID: 0}, Peer{ID: 1}
	g.Called(a, 0, 0, false)
	g.Started(a, 0, 0)
	if _, ok := g.Victim(0); ok {
		t.Error("a busy peer is a victim")
	}
	decides(t, "retention", g.Idle(a, sec), Decision{Rule: At, Stop: 6 * sec})
	g.Stopped(a, 6*sec)
	if _, ok := g.Victim(0); ok || g.clock != 0 {
		t.Errorf("a stopped peer is a victim, or the clock moved to %v", g.clock)
	}
	g.Started(b, 0, 0) // for nobody
	if p, ok := g.Victim(0); !ok || p != b {
		t.Errorf("started for nobody, and no victim: %v %v", p, ok)
	}
}

// TestGreedyDualIsTheLeast: whatever happens, the victim is the least of the idle by the formula.
func TestGreedyDualIsTheLeast(t *testing.T) {
	type model struct {
		idle     bool
		calls    int
		priority float64
		used     int
	}
	rapid.Check(t, func(t *rapid.T) {
		g := GreedyDual{}.Start(fleetEnv()).(*greedy)
		peers := make([]model, 12)
		clock, uses := 0.0, 0
		worth := []float64{0.01 / 20, 1. / 80, 20. / 100}
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			i := rapid.IntRange(0, len(peers)-1).Draw(t, "peer")
			p, m := Peer{ID: int32(i), Class: uint16(i % 3)}, &peers[i]
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				uses++
				m.calls++
				m.idle, m.used, m.priority = false, uses, clock+float64(m.calls)*worth[i%3]
				g.Called(p, 0, 0, false)
			case 1:
				if m.calls > 0 {
					m.idle = true
					g.Idle(p, 0)
				}
			case 2:
				if m.idle {
					m.idle, m.calls = false, 0
					g.Stopped(p, 0)
				}
			case 3:
				want := leastOf(len(peers), func(a, b int) bool {
					x, y := peers[a], peers[b]
					return x.priority < y.priority || x.priority == y.priority && x.used < y.used
				}, func(i int) bool { return peers[i].idle })
				got, ok := g.Victim(time.Duration(0))
				if ok != (want >= 0) || ok && int(got.ID) != want {
					t.Fatalf("victim %v %v, want %d", got.ID, ok, want)
				}
				if ok {
					clock = peers[want].priority
					peers[want].idle, peers[want].calls = false, 0
					g.Stopped(got, 0)
				}
			}
		}
	})
}

// TestGreedyHeap: whoever comes and goes, no peer is before its parent, and everybody knows its place.
func TestGreedyHeap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := &greedy{peers: make([]rank, 40)}
		for i, x := range rapid.SliceOfN(rapid.IntRange(0, 1000), 40, 40).Draw(t, "priorities") {
			g.peers[i].priority, g.peers[i].used = float64(x), uint64(i)
			g.put(int32(i))
		}
		for _, id := range rapid.SliceOfN(rapid.Int32Range(0, 39), 1, 60).Draw(t, "leave or come back") {
			if g.peers[id].at > 0 {
				g.take(id)
			} else {
				g.put(id)
			}
			for i, id := range g.heap {
				if int(g.peers[id].at) != i+1 || i > 0 && g.less(id, g.heap[(i-1)/2]) {
					t.Fatalf("peer %d at %d of %v", id, i, g.heap)
				}
			}
		}
	})
}

func leastOf(n int, less func(a, b int) bool, in func(int) bool) int {
	var all []int
	for i := range n {
		if in(i) {
			all = append(all, i)
		}
	}
	if len(all) == 0 {
		return -1
	}
	return slices.MinFunc(all, func(a, b int) int {
		if less(a, b) {
			return -1
		}
		return 1
	})
}
