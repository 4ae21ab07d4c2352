package lifecycle

import (
	"errors"
	"fmt"
	"time"
)

// Policy is what a declaration may set for its peer, outside the fingerprint (SPEC RE-10,
// DI-14). A zero field leaves the matter to [Config]. Where live claims differ the longest time
// wins, the Config's among them if a claim leaves the matter to it, so that nobody's peer lives
// shorter for having been joined; and one pinned claim pins the peer.
type Policy struct {
	IdleTimeout    time.Duration // replaces Config.IdleTimeout, for ageing too unless FailedRetry rules
	MinUptime      time.Duration // not stopped for want of use before it was Connected for so long
	StartTimeout   time.Duration // replaces Config.StartTimeout
	ConnectTimeout time.Duration // replaces Config.ConnectTimeout
	CallTimeout    time.Duration // replaces Config.CallTimeout
	CloseGrace     time.Duration // replaces Config.CloseGrace in stops that begin under it
	TerminateGrace time.Duration // replaces Config.TerminateGrace in stops that begin under it
	Pinned         bool          // while Connected never stopped, neither by the reaper nor to make room
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
		{"CloseGrace", p.CloseGrace}, {"TerminateGrace", p.TerminateGrace},
	} {
		if f.d < 0 {
			errs = append(errs, fmt.Errorf("policy %s is %v; use 0 for the default, or more", f.name, f.d))
		}
	}
	return errors.Join(errs...)
}

// merged is what the claims of a peer ask for together: in each field the longest wish, and
// whether some claim has none, so that the Config's value takes part.
type merged struct {
	Policy
	openIdle, openStart, openConnect, openCall, openClose, openTerminate bool
}

func mergedOf(p Policy) merged {
	return merged{Policy: p, openIdle: p.IdleTimeout == 0, openStart: p.StartTimeout == 0,
		openConnect: p.ConnectTimeout == 0, openCall: p.CallTimeout == 0,
		openClose: p.CloseGrace == 0, openTerminate: p.TerminateGrace == 0}
}

// with merges what one more claim asks for.
func (x merged) with(p Policy) merged {
	y := mergedOf(p)
	y.IdleTimeout = max(y.IdleTimeout, x.IdleTimeout)
	y.MinUptime = max(y.MinUptime, x.MinUptime)
	y.StartTimeout = max(y.StartTimeout, x.StartTimeout)
	y.ConnectTimeout = max(y.ConnectTimeout, x.ConnectTimeout)
	y.CallTimeout = max(y.CallTimeout, x.CallTimeout)
	y.CloseGrace = max(y.CloseGrace, x.CloseGrace)
	y.TerminateGrace = max(y.TerminateGrace, x.TerminateGrace)
	y.Pinned = y.Pinned || x.Pinned
	y.openIdle = y.openIdle || x.openIdle
	y.openStart = y.openStart || x.openStart
	y.openConnect = y.openConnect || x.openConnect
	y.openCall = y.openCall || x.openCall
	y.openClose = y.openClose || x.openClose
	y.openTerminate = y.openTerminate || x.openTerminate
	return y
}

// wishIn reads the policy of an input, which may be nil.
func wishIn(p *Policy) Policy {
	if p == nil {
		return Policy{}
	}
	if err := p.Validate(); err != nil {
		panic(bug("CONFIG", "%v", err))
	}
	return *p
}

// wish notes what a claim asks for. Where nobody asks for anything nothing is kept.
func (m *Machine) wish(i int32, p Policy) {
	if p != (Policy{}) {
		m.wishes = reach(m.wishes, int(i)+1)
	}
	if int(i) < len(m.wishes) {
		m.wishes[i] = p
	}
}

func (m *Machine) wishOf(i int32) Policy {
	if int(i) < len(m.wishes) {
		return m.wishes[i]
	}
	return Policy{}
}

// setPolicy changes what one claim asks for.
func (m *Machine) setPolicy(i int32, wish Policy) {
	if m.wishOf(i) != wish {
		m.wish(i, wish)
		m.mergePolicies(m.claims[i].peer)
	}
}

// joinPolicy lets a claim that joined a peer take part.
func (m *Machine) joinPolicy(id PeerID, wish Policy) {
	p := &m.peers[id]
	switch {
	case wish == Policy{} && !p.tuned:
	case p.claims.n == 1:
		m.retune(id, mergedOf(wish))
	case !p.tuned:
		m.retune(id, mergedOf(Policy{}).with(wish))
	default:
		m.retune(id, m.policies[id].with(wish))
	}
}

// mergePolicies works a peer's policy out again from its claims, after one of them changed its
// mind.
func (m *Machine) mergePolicies(id PeerID) {
	i := m.peers[id].claims.head
	all := mergedOf(m.wishOf(i))
	for i = m.inPeer[i].next; i != 0; i = m.inPeer[i].next {
		all = all.with(m.wishOf(i))
	}
	m.retune(id, all)
}

// leavePolicy is mergePolicies after a claim left. It stops as soon as nobody can ask for more,
// which for claims that agree is at the first. The policy of the last claim stays until the peer
// is released, for the stop of what runs is to be as its owner wished.
func (m *Machine) leavePolicy(id PeerID) {
	p := &m.peers[id]
	if !p.tuned || p.claims.n == 0 {
		return
	}
	before := m.policies[id]
	i := p.claims.head
	all := mergedOf(m.wishOf(i))
	for i = m.inPeer[i].next; i != 0 && all != before; i = m.inPeer[i].next {
		all = all.with(m.wishOf(i))
	}
	m.retune(id, all)
}

// retune gives a peer another policy. A running expiry follows it; budgets of what is under
// way do not.
func (m *Machine) retune(id PeerID, x merged) {
	p := &m.peers[id]
	tuned := x.Policy != Policy{}
	if tuned == p.tuned && (!tuned || m.policies[id] == x) {
		return
	}
	if p.tuned = tuned; tuned {
		m.policies = reach(m.policies, int(id)+1)
		m.policies[id] = x
	}
	m.reclass(id)
	if p.spare {
		m.shelterEnd = 0 // it may end sooner or later now
	}
}

// period returns T of a peer; 0 is never. A claim without a wish means the Config's T, and
// nothing is longer than for ever.
func (m *Machine) period(id PeerID) time.Duration {
	if !m.peers[id].tuned {
		return m.cfg.IdleTimeout
	}
	x := &m.policies[id]
	if x.IdleTimeout == 0 || x.openIdle && m.cfg.IdleTimeout == 0 {
		return m.cfg.IdleTimeout
	}
	return longest(x.IdleTimeout, x.openIdle, m.cfg.IdleTimeout)
}

// ageingPeriod is how long a Failed peer is left alone; 0 is for ever.
func (m *Machine) ageingPeriod(id PeerID) time.Duration {
	if m.cfg.FailedRetry > 0 {
		return m.cfg.FailedRetry
	}
	return m.period(id)
}

func (m *Machine) startBudget(id PeerID) time.Duration {
	if !m.peers[id].tuned {
		return m.cfg.StartTimeout
	}
	return longest(m.policies[id].StartTimeout, m.policies[id].openStart, m.cfg.StartTimeout)
}

func (m *Machine) connectBudget(id PeerID) time.Duration {
	if !m.peers[id].tuned {
		return m.cfg.ConnectTimeout
	}
	return longest(m.policies[id].ConnectTimeout, m.policies[id].openConnect, m.cfg.ConnectTimeout)
}

func (m *Machine) callBudget(id PeerID) time.Duration {
	if !m.peers[id].tuned {
		return m.cfg.CallTimeout
	}
	return longest(m.policies[id].CallTimeout, m.policies[id].openCall, m.cfg.CallTimeout)
}

func (m *Machine) closeGrace(id PeerID) time.Duration {
	if !m.peers[id].tuned {
		return m.cfg.CloseGrace
	}
	return longest(m.policies[id].CloseGrace, m.policies[id].openClose, m.cfg.CloseGrace)
}

func (m *Machine) terminateGrace(id PeerID) time.Duration {
	if !m.peers[id].tuned {
		return m.cfg.TerminateGrace
	}
	return longest(m.policies[id].TerminateGrace, m.policies[id].openTerminate, m.cfg.TerminateGrace)
}

func longest(wish time.Duration, open bool, config time.Duration) time.Duration {
	if open {
		return max(wish, config)
	}
	return wish
}

// policyInForce is what listings show of a peer that is tuned: the wishes that differ from what the
// Config would give.
func (m *Machine) policyInForce(id PeerID) Policy {
	x := m.policies[id].Policy
	unless := func(wish *time.Duration, inForce, config time.Duration) {
		if inForce == config {
			*wish = 0
		}
	}
	unless(&x.IdleTimeout, m.period(id), m.cfg.IdleTimeout)
	unless(&x.StartTimeout, m.startBudget(id), m.cfg.StartTimeout)
	unless(&x.ConnectTimeout, m.connectBudget(id), m.cfg.ConnectTimeout)
	unless(&x.CallTimeout, m.callBudget(id), m.cfg.CallTimeout)
	unless(&x.CloseGrace, m.closeGrace(id), m.cfg.CloseGrace)
	unless(&x.TerminateGrace, m.terminateGrace(id), m.cfg.TerminateGrace)
	return x
}
