package sim

import (
	"slices"
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/scenarios"
)

// operate writes what no tenant does.
func (s *script) operate(e *Entry) {
	switch e.Op {
	case OpDown:
		s.takeDown(e.Target.Server)
	case OpDrain:
		s.shutDown()
	case OpConfigure:
		s.idle = e.Set.IdleTimeout
		s.do(scenarios.Configure{Set: scenarios.Set{Name: "idle_timeout", Value: e.Set.IdleTimeout}})
		s.do(scenarios.Configure{Set: scenarios.Set{Name: "max_live", Count: e.Set.MaxLive}})
	case OpReload:
		s.reload(e)
	case OpExpire:
		s.expire(e.Target)
	case OpRestart:
		s.restart(e.Kill)
	default:
		s.lackIf(true, e.Op.String()+" cannot be said")
	}
}

// reload moves what names one server to another, under whatever names the servers have.
func (s *script) reload(e *Entry) {
	from, to := Target{Server: e.Target.Server}, Target{Server: e.To}
	if s.split {
		s.lackIf(true, "a reload of servers that are told apart by their credentials cannot be said")
		return
	}
	a, b := s.target(from), s.target(to)
	for key, t := range s.claims {
		if t.Server == a.Server {
			t.Server = b.Server
			s.claims[key] = t
		}
	}
	s.do(scenarios.Reload{From: a.Server, To: b.Server})
}

// expire ends a credential and the older ones of its tenant.
func (s *script) expire(t Target) {
	s.gapIf(s.evenServers(), "a session that ends with its credential cannot be said")
	for k := range t.Token + 1 {
		name := tokenOf(Target{Tenant: t.Tenant, Token: k})
		if slices.Contains(s.tokens, name) {
			s.do(scenarios.Expire{Token: name})
		}
	}
}

// evenServers says whether there are servers whose sessions end with a credential.
func (s *script) evenServers() bool {
	for _, in := range s.intro {
		if s.numbers[in.Name]%2 == 0 {
			return true
		}
	}
	return false
}

// restart ends the daemon. On a tape whoever comes back is somebody new, who claims anew.
func (s *script) restart(kill bool) {
	if s.drained {
		return
	}
	s.do(scenarios.Restart{Kill: kill})
	for t := uint32(1); int(t) <= s.x.tape.Tenants; t++ {
		if s.agents[t] {
			s.remove(t)
		}
	}
}

// shutDown writes the drain that ends a run.
func (s *script) shutDown() {
	if !s.drained {
		s.drained = true
		s.do(scenarios.Drain{})
	}
}

// drainAll uses everything, drains, and waits for the stop ladders and a while.
func (s *script) drainAll() {
	for t := uint32(1); int(t) <= s.x.tape.Tenants && !s.drained; t++ {
		for _, n := range s.names[t] {
			if c, ok := s.claims[[2]uint32{t, uint32(n)}]; ok && s.agents[t] {
				s.start([2]uint32{t, uint32(n)}, scenarios.Call{Agent: s.agent(t, n), Tool: toolOf(c.Server)}, s.quick)
			}
		}
	}
	s.shutDown()
	c := &s.x.tape.Config
	for range 4 {
		s.sleep(s.now + lifecycle.Instant(max(c.CloseGrace, c.DrainGrace)+time.Millisecond))
	}
}

// dwell lets time pass in which what is wrong may come to light: connects, calls, evictions.
func (s *script) dwell() {
	c := &s.x.tape.Config
	t := s.idle
	if t == 0 {
		t = time.Second
	}
	for _, d := range []time.Duration{min(time.Second, t), t/4 + t/8, time.Second, c.CloseGrace, c.ConnectTimeout, c.CallTimeout, t + t/2} {
		s.sleep(s.now + lifecycle.Instant(d+time.Millisecond))
	}
}

// wishOf writes what a claim asks for.
func wishOf(p *lifecycle.Policy) scenarios.Wish {
	if p == nil {
		return scenarios.Wish{}
	}
	return scenarios.Wish{Idle: p.IdleTimeout, Uptime: p.MinUptime, Start: p.StartTimeout, Connect: p.ConnectTimeout,
		Call: p.CallTimeout, Close: p.CloseGrace, Terminate: p.TerminateGrace, Pinned: p.Pinned}
}

// strays are the servers of a tape some of whose completions come late or twice.
func (x *translator) strays() (late, twice map[uint32]bool) {
	late, twice = map[uint32]bool{}, map[uint32]bool{}
	held := map[[2]uint32]uint32{}
	for i := range x.played.Entries {
		e := &x.played.Entries[i]
		key := [2]uint32{e.Tenant, uint32(e.Name)}
		switch e.Op {
		case OpDeclare:
			held[key] = e.Target.Server
		case OpDial:
			late[e.Target.Server] = late[e.Target.Server] || e.Dial.Late
			twice[e.Target.Server] = twice[e.Target.Server] || e.Dial.Twice
		case OpDispatch:
			late[held[key]] = late[held[key]] || e.Call.Late
			twice[held[key]] = twice[held[key]] || e.Call.Twice
		}
	}
	return late, twice
}
