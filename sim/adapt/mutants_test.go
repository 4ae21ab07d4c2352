package adapt_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/sim"
	"github.com/mayfly-mcp/mayfly/sim/adapt"
)

// mutant is the toy with one thing wrong.
type mutant struct {
	*keeper
	call      func(*keeper, adapt.Server, adapt.Call) bool // true if that was all
	claim     func(*keeper, adapt.Server)
	release   func(*keeper, adapt.Server) bool
	ended     func(*keeper, adapt.Server, bool) bool
	connected func(*keeper, adapt.Server, adapt.Run) bool
	exited    func(*keeper, adapt.Server)
	failed    func(*keeper, adapt.Server) bool
	next      func(*keeper, time.Duration) time.Duration
}

func (m *mutant) Call(s adapt.Server, c adapt.Call) {
	if m.call == nil || !m.call(m.keeper, s, c) {
		m.keeper.Call(s, c)
	}
}

func (m *mutant) Claim(s adapt.Server, c adapt.Claim) {
	if m.keeper.Claim(s, c); m.claim != nil {
		m.claim(m.keeper, s)
	}
}

func (m *mutant) Release(s adapt.Server, c adapt.Claim) {
	if m.release == nil || !m.release(m.keeper, s) {
		m.keeper.Release(s, c)
	}
}

func (m *mutant) Ended(s adapt.Server, c adapt.Call, lost bool) {
	if m.ended == nil || !m.ended(m.keeper, s, lost) {
		m.keeper.Ended(s, c, lost)
	}
}

func (m *mutant) Connected(s adapt.Server, r adapt.Run) {
	if m.connected == nil || !m.connected(m.keeper, s, r) {
		m.keeper.Connected(s, r)
	}
}

func (m *mutant) Exited(s adapt.Server, r adapt.Run) {
	if m.exited != nil {
		m.exited(m.keeper, s)
	}
	m.keeper.Exited(s, r)
}

func (m *mutant) Failed(s adapt.Server, r adapt.Run) {
	if m.failed == nil || !m.failed(m.keeper, s) {
		m.keeper.Failed(s, r)
	}
}

func (m *mutant) Next() time.Duration {
	if m.next != nil {
		return m.next(m.keeper, m.keeper.Next())
	}
	return m.keeper.Next()
}

// mutants are ways to be wrong, by the rule that must notice.
var mutants = map[string]func(*mutant){
	"PROC-ONE": func(m *mutant) { // does not wait for an exit
		m.call = func(k *keeper, s adapt.Server, _ adapt.Call) bool {
			if e := k.servers[s]; e.state == lifecycle.Disconnected {
				e.running = false
			}
			return false
		}
	},
	"PROC-CLAIM": func(m *mutant) { // what nobody claims runs on
		m.release = func(k *keeper, s adapt.Server) bool { k.servers[s].claims--; return true }
	},
	"SPAWN-UNASKED": func(m *mutant) { // starts what is claimed
		m.claim = func(k *keeper, s adapt.Server) {
			if e := k.servers[s]; e.state == lifecycle.Disconnected {
				k.start(s, e)
			}
		}
	},
	"RETRY": func(m *mutant) { // tries again at every call
		m.call = func(k *keeper, s adapt.Server, _ adapt.Call) bool {
			if e := k.servers[s]; e.state == lifecycle.Failed {
				e.state, e.deadline = lifecycle.Disconnected, adapt.Never
			}
			return false
		}
	},
	"CONNECT-CUT": func(m *mutant) { // a second caller ends an attempt
		m.call = func(k *keeper, s adapt.Server, _ adapt.Call) bool {
			if e := k.servers[s]; e.state == lifecycle.Connecting {
				k.host.Stop(e.run)
			}
			return false
		}
	},
	"ISOLATION": func(m *mutant) { // uses whatever is up
		m.call = func(k *keeper, s adapt.Server, c adapt.Call) bool {
			for i, e := range k.servers {
				if i > 0 && i != int(s) && e.state == lifecycle.Connected {
					k.admit(e, c)
					return true
				}
			}
			return false
		}
	},
	"ADMIT-UP": func(m *mutant) { // calls what still connects
		m.call = func(k *keeper, s adapt.Server, c adapt.Call) bool {
			e := k.servers[s]
			if e.state != lifecycle.Connecting {
				return false
			}
			k.admit(e, c)
			return true
		}
	},
	"STATUS": func(m *mutant) { // a session that is over is not
		m.failed = func(k *keeper, s adapt.Server) bool { return k.servers[s].state == lifecycle.Connected }
	},
	"EVENT-PATH": func(m *mutant) { // applies a connect that comes late
		m.connected = func(k *keeper, s adapt.Server, r adapt.Run) bool {
			if e := k.servers[s]; r == e.run && e.running {
				e.state = lifecycle.Connecting
			}
			return false
		}
	},
	"TRANSITION": func(m *mutant) { // an exit is no failure
		m.exited = func(k *keeper, s adapt.Server) {
			if e := k.servers[s]; e.state == lifecycle.Connected {
				e.state, e.deadline = lifecycle.Disconnected, adapt.Never
			}
		}
	},
	"EVICT-EARLY":    func(m *mutant) { m.idle /= 2 },
	"EVICT-LATE":     func(m *mutant) { m.idle = m.idle*5/4 + 1 },
	"EVICT-BUSY":     func(m *mutant) { m.careless = true },
	"EVICT-OFF":      func(m *mutant) { m.idle = max(m.idle, time.Second) },
	"NEVER-EVICTED":  func(m *mutant) { m.idle = 0 },
	"AGE-EARLY":      func(m *mutant) { m.retry /= 2 },
	"AGE-LATE":       func(m *mutant) { m.retry = m.retry*5/4 + 1 },
	"FAILED-FOREVER": func(m *mutant) { m.retry = adapt.Never / 2 },
	"CALL-STATE": func(m *mutant) { // a rejection is a failure
		m.ended = func(k *keeper, s adapt.Server, lost bool) bool {
			k.keepEnding(s, true)
			return true
		}
	},
	"CALL-FAILS": func(m *mutant) { // no loss is
		m.ended = func(k *keeper, s adapt.Server, _ bool) bool {
			k.keepEnding(s, false)
			return true
		}
	},
	"REPLY-NOW":  waitsFor(lifecycle.Connected),    // every call waits for a connect
	"QUEUE-IDLE": waitsFor(lifecycle.Disconnected), // starts nothing for those who wait
	"REPLY-LOST": func(m *mutant) { // forgets all but the first
		m.connected = func(k *keeper, s adapt.Server, _ adapt.Run) bool {
			if e := k.servers[s]; len(e.waiting) > 1 {
				e.waiting = e.waiting[:1]
			}
			return false
		}
	},
	"REPLY-CAUSE": func(m *mutant) { // refuses while it connects
		m.call = func(k *keeper, s adapt.Server, c adapt.Call) bool {
			if k.servers[s].state != lifecycle.Connecting {
				return false
			}
			k.host.Refuse(c)
			return true
		}
	},
	"WAIT-FIFO": func(m *mutant) { // last come, first served
		m.connected = func(k *keeper, s adapt.Server, _ adapt.Run) bool {
			slices.Reverse(k.servers[s].waiting)
			return false
		}
	},
	"PROGRESS": func(m *mutant) {
		m.next = func(k *keeper, at time.Duration) time.Duration { return min(at, k.host.Now()) }
	},
	"PANIC": func(m *mutant) { m.failed = func(*keeper, adapt.Server) bool { panic("it has failed") } },
}

// waitsFor lets calls wait in one state, whatever the keeper does of them.
func waitsFor(state lifecycle.State) func(*mutant) {
	return func(m *mutant) {
		m.call = func(k *keeper, s adapt.Server, c adapt.Call) bool {
			e := k.servers[s]
			if e.state != state {
				return false
			}
			e.waiting = append(e.waiting, c)
			return true
		}
	}
}

// keepEnding is Ended, whatever was lost.
func (k *keeper) keepEnding(s adapt.Server, lost bool) { k.Ended(s, 0, lost) }

// unreachable are rules that others come before, whatever a lifecycle of this kind does.
var unreachable = []string{"RECOVER"}

// maxSeeds is how many runs a mutant may survive.
const maxSeeds = 300

// TestEveryRuleIsCheckedOrSaidNotToBe: each rule is found broken in a mutant of the toy, or is
// listed as unchecked.
func TestEveryRuleIsCheckedOrSaidNotToBe(t *testing.T) {
	unchecked := strings.Join(good.Unchecked(), " ") + " "
	for _, rule := range sim.Rules {
		wrong, said := mutants[rule.ID], strings.Contains(unchecked, " "+rule.ID+" ")
		switch exempt := slices.Contains(unreachable, rule.ID); {
		case said && (wrong != nil || exempt), wrong != nil && exempt:
			t.Errorf("%s is both checked and not", rule.ID)
		case wrong != nil:
			t.Run(rule.ID, func(t *testing.T) { find(t, rule.ID, wrong) })
		case !said && !exempt:
			t.Errorf("%s is neither found in a mutant nor listed as unchecked", rule.ID)
		}
	}
}

// find runs a mutant until its rule breaks.
func find(t *testing.T, want string, how func(*mutant)) {
	x := adapt.Subject{Evicts: true, New: func(h adapt.Host, cfg lifecycle.Config) adapt.Lifecycle {
		m := &mutant{keeper: newKeeper(h, cfg)}
		how(m)
		return m
	}}
	others := map[string]int{}
	for seed := uint64(1); seed <= maxSeeds; seed++ {
		res := drawn(t, x, seed)
		if res.Violation != nil {
			if res.Violation.ID == want {
				return
			}
			others[res.Violation.ID]++
		}
	}
	t.Errorf("not found in %d runs, which found %v", maxSeeds, others)
}

// drawn runs the day that a seed draws for a lifecycle.
func drawn(t *testing.T, x adapt.Subject, seed uint64) *sim.Result {
	t.Helper()
	opt := sim.Options{Seed: seed, Swarm: true, Subject: x.Make()}.WithDefaults()
	opt.Swarm = false
	x.Fit(&opt)
	res, err := sim.Run(opt)
	if err != nil {
		t.Fatal(err)
	}
	return res
}
