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
	all       *[]*keeper                     // of every server
	call      func(*mutant, adapt.Call) bool // true if that was all
	ended     func(*mutant, bool) bool
	connected func(*mutant) bool
	failed    func(*mutant) bool
	exited    func(*mutant) bool
	released  func(*mutant) bool
	next      func(*mutant, time.Duration) time.Duration
}

func (m *mutant) Call(c adapt.Call) {
	if m.call == nil || !m.call(m, c) {
		m.keeper.Call(c)
	}
}

func (m *mutant) Ended(lost bool) {
	if m.ended == nil || !m.ended(m, lost) {
		m.keeper.Ended(lost)
	}
}

func (m *mutant) Connected() {
	if m.connected == nil || !m.connected(m) {
		m.keeper.Connected()
	}
}

func (m *mutant) Failed() {
	if m.failed == nil || !m.failed(m) {
		m.keeper.Failed()
	}
}

func (m *mutant) Exited() {
	if m.exited == nil || !m.exited(m) {
		m.keeper.Exited()
	}
}

func (m *mutant) Released() {
	if m.released == nil || !m.released(m) {
		m.keeper.Released()
	}
}

func (m *mutant) Next() time.Duration {
	if m.next != nil {
		return m.next(m, m.keeper.Next())
	}
	return m.keeper.Next()
}

// mutants are ways to be wrong, by the rule that must notice.
var mutants = map[string]func(*mutant){
	"PROC-ONE": func(m *mutant) { // does not wait for an exit
		m.call = func(m *mutant, _ adapt.Call) bool {
			m.Running = m.Running && m.State != lifecycle.Disconnected
			return false
		}
	},
	"PROC-CLAIM": func(m *mutant) { // what nobody claims runs on
		m.released = func(*mutant) bool { return true }
	},
	"SPAWN-UNASKED": func(m *mutant) { // starts again what has exited
		m.exited = func(m *mutant) bool { m.Start(); return true }
	},
	"RETRY": func(m *mutant) { // tries again at every call
		m.call = func(m *mutant, _ adapt.Call) bool {
			if m.State == lifecycle.Failed {
				m.State = lifecycle.Disconnected
			}
			return false
		}
	},
	"CONNECT-CUT": func(m *mutant) { // a second caller ends an attempt
		m.call = func(m *mutant, _ adapt.Call) bool {
			if m.State == lifecycle.Connecting {
				m.Halt()
			}
			return false
		}
	},
	"ISOLATION": func(m *mutant) { // uses whatever is up
		m.call = func(m *mutant, c adapt.Call) bool {
			for _, k := range *m.all {
				if k != m.keeper && k.State == lifecycle.Connected {
					k.Admit(c)
					return true
				}
			}
			return false
		}
	},
	"ADMIT-UP": func(m *mutant) { // calls what still connects
		m.call = func(m *mutant, c adapt.Call) bool {
			if m.State != lifecycle.Connecting {
				return false
			}
			m.Admit(c)
			return true
		}
	},
	"STATUS": func(m *mutant) { // a session that is over is not
		m.failed = func(m *mutant) bool { return m.State == lifecycle.Connected }
	},
	"EVENT-PATH": func(m *mutant) { // what loses its session is connecting
		m.failed = func(m *mutant) bool {
			if m.State != lifecycle.Connected {
				return false
			}
			m.State = lifecycle.Connecting
			return true
		}
	},
	"TRANSITION": func(m *mutant) { // an exit is no failure
		m.failed = func(m *mutant) bool {
			if m.Running || m.State != lifecycle.Connected {
				return false
			}
			m.Stop()
			return true
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
		m.ended = func(m *mutant, _ bool) bool { m.keeper.Ended(true); return true }
	},
	"CALL-FAILS": func(m *mutant) { // no loss is
		m.ended = func(m *mutant, _ bool) bool { m.keeper.Ended(false); return true }
	},
	"REPLY-NOW":  waitsFor(lifecycle.Connected),    // every call waits for a connect
	"QUEUE-IDLE": waitsFor(lifecycle.Disconnected), // starts nothing for those who wait
	"REPLY-LOST": func(m *mutant) { // forgets all but the first
		m.connected = func(m *mutant) bool {
			m.Waiting = m.Waiting[:min(len(m.Waiting), 1)]
			return false
		}
	},
	"REPLY-CAUSE": func(m *mutant) { // refuses while it connects
		m.call = func(m *mutant, c adapt.Call) bool {
			if m.State != lifecycle.Connecting {
				return false
			}
			m.Refuse(c)
			return true
		}
	},
	"WAIT-FIFO": func(m *mutant) { // last come, first served
		m.connected = func(m *mutant) bool { slices.Reverse(m.Waiting); return false }
	},
	"PROGRESS": func(m *mutant) {
		m.next = func(m *mutant, at time.Duration) time.Duration { return min(at, m.Now()) }
	},
	"PANIC": func(m *mutant) { m.failed = func(*mutant) bool { panic("it has failed") } },
}

// waitsFor lets calls wait in one state, whatever the keeper does of them.
func waitsFor(state lifecycle.State) func(*mutant) {
	return func(m *mutant) {
		m.call = func(m *mutant, c adapt.Call) bool {
			if m.State != state {
				return false
			}
			m.Wait(c)
			return true
		}
	}
}

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
		var all []*keeper
		return adapt.Each(func(p *adapt.Peer, cfg lifecycle.Config) *mutant {
			m := &mutant{keeper: newKeeper(p, cfg), all: &all}
			all = append(all, m.keeper)
			how(m)
			return m
		})(h, cfg)
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
