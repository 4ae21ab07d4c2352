package idle

import (
	"fmt"
	"time"
)

// GreedyDual chooses who goes when MaxLive is reached, as FaasCache does (Fuerst and Sharma, ASPLOS 2021, after Cherkasova's
// GreedyDual-Size-Frequency): the idle peer with the least clock + frequency × cost / size. Cost is what a start of
// its class takes, size the memory of one, frequency its calls since it was started, and clock the priority of the
// last that had to go, so that what is not used falls behind. Without a cap it does nothing.
//
// When peers go for want of use is left to another policy.
type GreedyDual struct {
	Retain Policy // nil is RFC{}
}

// Name returns "greedy-dual", behind the name of the policy that retains if it is not the RFC's.
func (p GreedyDual) Name() string { return joined(p.Retain, "greedy-dual") }

// Validate refuses to bind the clairvoyant, whose bound knows no cap.
func (p GreedyDual) Validate() error { return canWrap("greedy-dual", p.Retain) }

// Start returns a keeper with a heap of the idle peers.
func (p GreedyDual) Start(env Env) Keeper {
	mustBeValid(p)
	k := &greedy{Keeper: orRFC(p.Retain).Start(env), victim: nobody}
	k.watch, _ = k.Keeper.(Watching)
	for _, c := range env.Classes {
		k.worth = append(k.worth, max(c.Connect.Seconds(), leastCost)/max(c.RSS, leastSize))
	}
	return k
}

// What is less costs or holds as much as this: nothing is free.
const (
	leastCost = 1e-6 // s
	leastSize = 1e-3 // MiB
)

// nobody stands for no peer.
const nobody = -1

type greedy struct {
	Keeper          // that retains
	watch  Watching // the same, if it watches
	worth  []float64
	clock  float64
	uses   uint64 // of all peers, to order ties
	peers  []rank
	heap   []int32
	victim int32 // named, and not stopped yet
}

// rank is what is known of one peer.
type rank struct {
	Peer
	calls    uint32 // since it was started
	busy     bool   // called, and not idle since
	at       int32  // its place in the heap, 1 and up; 0 if it is not in it
	used     uint64
	priority float64
}

func (k *greedy) Called(p Peer, now, gap time.Duration, known bool) {
	x := k.rank(p)
	x.busy = true
	k.take(p.ID)
	x.calls++
	k.uses++
	x.used = k.uses
	x.priority = k.clock + float64(float64(x.calls)*k.worth[p.Class])
	k.Keeper.Called(p, now, gap, known)
}

func (k *greedy) Idle(p Peer, now time.Duration) Decision {
	k.rank(p).busy = false
	k.put(p.ID)
	return k.Keeper.Idle(p, now)
}

// Started has peers in the heap that were started for nobody.
func (k *greedy) Started(p Peer, now, took time.Duration) {
	if !k.rank(p).busy {
		k.put(p.ID)
	}
	if k.watch != nil {
		k.watch.Started(p, now, took)
	}
}

// Stopped forgets how often a peer was called, and advances the clock if it had to go.
func (k *greedy) Stopped(p Peer, now time.Duration) {
	x := k.rank(p)
	k.take(p.ID)
	if k.victim == p.ID {
		k.clock = x.priority
		k.victim = nobody
	}
	x.calls = 0
	if x.busy { // its caller waits: the call counts for the next process
		x.calls = 1
	}
	if k.watch != nil {
		k.watch.Stopped(p, now)
	}
}

// Victim names the idle peer of the least priority, and of those the one unused for longest.
func (k *greedy) Victim(time.Duration) (Peer, bool) {
	if len(k.heap) == 0 {
		return Peer{}, false
	}
	k.victim = k.heap[0]
	return k.peers[k.victim].Peer, true
}

func (k *greedy) rank(p Peer) *rank {
	k.peers = grown(k.peers, p.ID)
	x := &k.peers[p.ID]
	x.Peer = p
	return x
}

func (k *greedy) less(a, b int32) bool {
	x, y := &k.peers[a], &k.peers[b]
	if x.priority != y.priority {
		return x.priority < y.priority
	}
	return x.used < y.used
}

// put adds a peer to the heap, or leaves it where it is.
func (k *greedy) put(id int32) {
	if k.peers[id].at > 0 {
		return
	}
	k.heap = append(k.heap, id)
	k.up(len(k.heap) - 1)
}

// take takes a peer out of the heap, if it is in it.
func (k *greedy) take(id int32) {
	i := int(k.peers[id].at) - 1
	if i < 0 {
		return
	}
	k.peers[id].at = 0
	last := len(k.heap) - 1
	moved := k.heap[last]
	k.heap = k.heap[:last]
	if i < last {
		k.heap[i] = moved
		k.up(k.down(i))
	}
}

// up moves the peer at i towards the top, as far as it belongs.
func (k *greedy) up(i int) {
	id := k.heap[i]
	for i > 0 && k.less(id, k.heap[(i-1)/2]) {
		i = k.set(i, k.heap[(i-1)/2], (i-1)/2)
	}
	k.set(i, id, i)
}

// down moves the peer at i away from the top, as far as it belongs, and returns where it is.
func (k *greedy) down(i int) int {
	id := k.heap[i]
	for {
		c := 2*i + 1
		if c+1 < len(k.heap) && k.less(k.heap[c+1], k.heap[c]) {
			c++
		}
		if c >= len(k.heap) || !k.less(k.heap[c], id) {
			return k.set(i, id, i)
		}
		i = k.set(i, k.heap[c], c)
	}
}

// set places a peer, and returns where the hole is next.
func (k *greedy) set(i int, id int32, next int) int {
	k.heap[i] = id
	k.peers[id].at = int32(i + 1)
	return next
}

// orRFC is the policy that nil stands for.
func orRFC(p Policy) Policy {
	if p == nil {
		return RFC{}
	}
	return p
}

// joined names a policy that adds to another.
func joined(inner Policy, name string) string {
	if _, plain := orRFC(inner).(RFC); plain {
		return name
	}
	return inner.Name() + "+" + name
}

// canWrap refuses what cannot be added to.
func canWrap(name string, inner Policy) error {
	if f, ok := inner.(Foreseeing); ok {
		return fmt.Errorf("%s: %s knows the future and goes alone; add %s to another policy", name, f.(Policy).Name(), name)
	}
	if v, ok := inner.(validated); ok {
		return v.Validate()
	}
	return nil
}
