package idle

import (
	"encoding/binary"
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

type peerPhase uint8

const (
	absent  peerPhase = iota // nothing runs
	dialing                  // a start is under way
	up                       // it runs
)

// peer is what the engine knows of one process slot.
type peer struct {
	Peer
	phase    peerPhase
	failed   bool // Failed, as owners were told
	used     bool // somebody's call has ended
	reaped   bool // stopped for want of use since the last use
	woken    bool // being started, or started, by a policy
	retried  bool // its start is a retry
	inFlight int32
	waiting  int32
	token    uint32 // of the idle period; changes with every use
	failures int32  // in a row
	spells   uint32 // in Failed so far: a retry belongs to one
	gen      lifecycle.Generation
	slot     lifecycle.PeerID
	owner    lifecycle.OwnerID // who called it first, under
	name     lifecycle.NameID  // this name
	lastUse  int64             // end of the last call
	since    int64             // begin of the idle spell, while up and unused
	dialed   int64
	failedAt int64
	idle     int64         // kept unused since the last use, earlier spells
	until    int64         // when a woken one is stopped, 0 as the machine thinks
	due      int64         // from when on any call ends
	dueOf    uint32        // the idle period of this token
	armed    int64         // the event that looks at it, 0 if there is none
	shortest time.Duration // timeout of the agent that asks for least
	weather  weather
}

// directPeers is how many of a tenant's peers are found without a hash.
const directPeers = 32

// tenant is an owner, its claims and its conversation.
type tenant struct {
	owner lifecycle.OwnerID // 0: not born yet
	peers []int32           // peer + 1 by number, as far as claimed
	talk  talk
}

func mix(h, x uint64) uint64 {
	h ^= x + 0x9e3779b97f4a7c15 + h<<6 + h>>2
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// peerOf finds the peer behind a tenant's number, and claims it at the first call.
func (e *engine) peerOf(who, number uint32) int32 {
	if int(who) < len(e.tenants) && int(number) < len(e.tenants[who].peers) {
		if i := e.tenants[who].peers[number]; i > 0 {
			return i - 1
		}
	} else if number >= directPeers {
		if i := e.spare[uint64(who)<<32|uint64(number)]; i > 0 {
			return i - 1
		}
	}
	return e.claim(who, number)
}

func (e *engine) claim(who, number uint32) int32 {
	for int(who) >= len(e.tenants) {
		e.tenants = append(e.tenants, tenant{})
	}
	t := &e.tenants[who]
	if t.owner == 0 {
		e.born++
		t.owner = e.born
		e.step(lifecycle.OwnerBorn(t.owner))
	}
	i := e.peerFor(who, number)
	if number < directPeers {
		for int(number) >= len(t.peers) {
			t.peers = append(t.peers, 0)
		}
		t.peers[number] = i + 1
	} else {
		e.spare[uint64(who)<<32|uint64(number)] = i + 1
	}
	p := &e.peers[i]
	in := lifecycle.Declare(0, t.owner, lifecycle.NameID(number), fingerprintOf(i, p.Key))
	in.Policy = e.wish(p, who)
	if p.owner == 0 {
		p.owner, p.name = t.owner, lifecycle.NameID(number)
	}
	e.step(in)
	return i
}

// wish is what a tenant's claim asks for.
func (e *engine) wish(p *peer, who uint32) *lifecycle.Policy {
	if e.cfg.Agents == nil {
		return nil
	}
	d := e.cfg.Agents(who)
	if d <= 0 {
		d = e.cfg.Machine.IdleTimeout
	}
	if e.cfg.ShortestWins {
		if p.shortest == 0 || d < p.shortest {
			p.shortest = d
		}
		return nil
	}
	return &lifecycle.Policy{IdleTimeout: d}
}

// peerFor makes the peer, unless one that it shares exists.
func (e *engine) peerFor(who, number uint32) int32 {
	group := uint64(who)
	if e.cfg.Share > 1 {
		group = uint64(who) / uint64(e.cfg.Share)
		if i := e.shared[group<<32|uint64(number)]; i > 0 {
			return i - 1
		}
	}
	i := int32(len(e.peers))
	key := mix(mix(mix(e.cfg.Seed, 1), group), uint64(number))
	e.peers = append(e.peers, peer{Peer: Peer{ID: i, Class: e.drawClass(key), Key: key}})
	e.classes[e.peers[i].Class].peers++
	if e.cfg.Share > 1 {
		e.shared[group<<32|uint64(number)] = i + 1
	}
	return i
}

func fingerprintOf(i int32, key uint64) (fp lifecycle.Fingerprint) {
	binary.LittleEndian.PutUint32(fp[:], uint32(i))
	binary.LittleEndian.PutUint64(fp[8:], key)
	return fp
}

// indexOf is the peer of an effect's fingerprint.
func indexOf(fp *lifecycle.Fingerprint) int32 { return int32(binary.LittleEndian.Uint32(fp[:])) }

// place notes in which slot of the subject a peer is.
func (e *engine) place(id lifecycle.PeerID, i int32) {
	for int(id) >= len(e.bySlot) {
		e.bySlot = append(e.bySlot, 0)
	}
	e.bySlot[id] = i
	e.peers[i].slot = id
}

// setClasses turns the mix into a table of cumulated weights.
func (e *engine) setClasses() {
	total := 0.0
	for _, p := range e.cfg.Servers {
		total += p.Weight
		e.weights = append(e.weights, total)
		e.classes = append(e.classes, class{name: p.Server.Name(), rss: p.Server.RSS()})
	}
}

// drawClass is the same in every run of a seed, whatever happens in it.
func (e *engine) drawClass(key uint64) uint16 {
	u := float64(mix(key, 2)>>11) / (1 << 53) * e.weights[len(e.weights)-1]
	for i, w := range e.weights {
		if u < w {
			return uint16(i)
		}
	}
	return uint16(len(e.weights) - 1)
}
