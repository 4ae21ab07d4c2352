package lifecycle

import (
	"errors"
	"fmt"
	"time"
)

// Policy is what a declaration may set for its peer, outside the fingerprint (SPEC RE-10,
// DI-14). A zero field leaves the matter to [Config]. Where live claims differ the longest time
// wins, and one pinned claim pins the peer.
type Policy struct {
	IdleTimeout    time.Duration // replaces Config.IdleTimeout, for ageing too
	MinUptime      time.Duration // not evicted before it has been Connected for so long
	StartTimeout   time.Duration // replaces Config.StartTimeout
	ConnectTimeout time.Duration // replaces Config.ConnectTimeout
	CallTimeout    time.Duration // replaces Config.CallTimeout
	Pinned         bool          // never evicted, neither by the reaper nor to make room
}

// Validate reports every problem at once.
func (p Policy) Validate() error {
	var errs []error
	for _, f := range []struct {
		name string
		d    time.Duration
	}{
		{"IdleTimeout", p.IdleTimeout}, {"MinUptime", p.MinUptime}, {"StartTimeout", p.StartTimeout},
		{"ConnectTimeout", p.ConnectTimeout}, {"CallTimeout", p.CallTimeout},
	} {
		if f.d < 0 {
			errs = append(errs, fmt.Errorf("policy %s is %v; use 0 for the default, or more", f.name, f.d))
		}
	}
	return errors.Join(errs...)
}

// longest merges what two claims ask for.
func (p Policy) longest(q Policy) Policy {
	return Policy{
		IdleTimeout:    max(p.IdleTimeout, q.IdleTimeout),
		MinUptime:      max(p.MinUptime, q.MinUptime),
		StartTimeout:   max(p.StartTimeout, q.StartTimeout),
		ConnectTimeout: max(p.ConnectTimeout, q.ConnectTimeout),
		CallTimeout:    max(p.CallTimeout, q.CallTimeout),
		Pinned:         p.Pinned || q.Pinned,
	}
}

// setPolicy changes what one claim asks for.
func (m *Machine) setPolicy(i int32, p *Policy) {
	var next Policy
	if p != nil {
		if err := p.Validate(); err != nil {
			panic(bug("CONFIG", "%v", err))
		}
		next = *p
	}
	if m.claims[i].policy == next {
		return
	}
	m.claims[i].policy = next
	m.mergePolicies(m.claims[i].peer)
}

// mergePolicies works a peer's policy out from its claims, and lets a running idle clock
// follow it. It costs O(claims), and only claims that ask for something call it.
func (m *Machine) mergePolicies(id PeerID) {
	p := &m.peers[id]
	var merged Policy
	for i := p.claims.head; i != 0; i = m.inPeer[i].next {
		merged = merged.longest(m.claims[i].policy)
	}
	if merged == p.policy {
		return
	}
	p.policy = merged
	if c := p.class; c != noClass {
		m.unclass(id)
		m.intoClass(id, c, p.stamp)
	}
}

func either(policy, config time.Duration) time.Duration {
	if policy > 0 {
		return policy
	}
	return config
}
