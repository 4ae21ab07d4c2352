package registry_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/mayfly-mcp/mayfly/core/owner"
	"github.com/mayfly-mcp/mayfly/core/registry"
	"github.com/mayfly-mcp/mayfly/fakes/wait"
)

// What goroutines do at once has an order that explains every answer (OL-16, OL-17, OL-23).
// Windows are small, since the search for the order is exponential in what overlaps.
const (
	windows    = 300
	goers      = 5
	opsOfGoer  = 4
	searchTime = 20 * time.Second // a window takes milliseconds; unknown is a failure
)

// op is what one goroutine asks. Entries are known by the start that made them.
type op struct {
	kind  string // register, ready, unregister, die, resolve, list
	key   string
	owner int
}

// outcome is what it was told: "ok", "duplicate", "full", "dead", "out", the owner that was
// found, or the keys that were listed.
type outcome string

// slot is an entry in the model's state.
type slot struct {
	owner int
	ready bool
}

// state is small and compared by its text.
type state struct {
	dead  [goers]bool
	slots [3]slot // by key, in the order of linearKeys; owner -1 is free
}

// Two places and three keys: many a register meets the cap.
const (
	linearKeys = "abc"
	linearCap  = 2
)

func linearModel() porcupine.Model {
	return porcupine.Model{
		Init: func() any {
			return state{slots: [3]slot{{owner: -1}, {owner: -1}, {owner: -1}}}
		},
		Step: func(st, in, out any) (bool, any) {
			next, want := apply(st.(state), in.(op))
			return want == out.(outcome), next
		},
		Equal: func(a, b any) bool { return a.(state) == b.(state) },
		DescribeOperation: func(in, out any) string {
			return fmt.Sprintf("%v: %s", in, out)
		},
	}
}

func apply(s state, o op) (state, outcome) {
	i := strings.Index(linearKeys, o.key)
	switch o.kind {
	case "register":
		return s.register(i, o.owner)
	case "ready":
		if s.dead[o.owner] {
			return s, "dead"
		}
		if s.slots[i].owner != o.owner {
			return s, "out"
		}
		s.slots[i].ready = true
		return s, "ok"
	case "unregister":
		if s.slots[i].owner == o.owner {
			s.slots[i] = slot{owner: -1}
		}
		return s, "ok"
	case "die":
		s.dead[o.owner] = true
		for k := range s.slots {
			if s.slots[k].owner == o.owner {
				s.slots[k] = slot{owner: -1}
			}
		}
		return s, "ok"
	case "resolve":
		if s.slots[i].owner < 0 || !s.slots[i].ready {
			return s, "none"
		}
		return s, outcome(fmt.Sprint(s.slots[i].owner))
	default:
		listed := ""
		for k, sl := range s.slots {
			if sl.owner >= 0 && sl.ready {
				listed += linearKeys[k : k+1]
			}
		}
		return s, outcome(listed)
	}
}

func (s state) register(i, o int) (state, outcome) {
	held := 0
	for _, sl := range s.slots {
		if sl.owner >= 0 {
			held++
		}
	}
	switch {
	case s.dead[o]:
		return s, "dead"
	case s.slots[i].owner >= 0:
		return s, "duplicate"
	case held >= linearCap:
		return s, "full"
	}
	s.slots[i] = slot{owner: o}
	return s, "ok"
}

func TestLinearizable(t *testing.T) {
	wait.Goroutines(t)
	for seed := range uint64(windows) {
		ops := window(seed)
		res, info := porcupine.CheckOperationsVerbose(linearModel(), ops, searchTime)
		if res != porcupine.Ok {
			_ = info
			var all strings.Builder
			for _, o := range ops {
				fmt.Fprintf(&all, "%d [%d %d] %v: %s\n", o.ClientId, o.Call, o.Return, o.Input, o.Output)
			}
			t.Fatalf("seed %d: %s\n%s", seed, res, all.String())
		}
	}
}

// window lets goroutines loose on one table, each with an owner of its own, and returns what
// they asked and were told.
func window(seed uint64) []porcupine.Operation {
	tab := newTable(linearCap)
	var clock atomic.Int64
	var mu sync.Mutex
	var all []porcupine.Operation
	var wg sync.WaitGroup
	begin := make(chan struct{})
	for g := range goers {
		rng := rand.New(rand.NewPCG(seed, uint64(g)))
		ctx, cancel := context.WithCancel(context.Background())
		a := &goer{tab: tab, id: g, owner: owner.New(ctx, fmt.Sprint(g)), cancel: cancel, rng: rng, held: map[string]*entry{}}
		wg.Go(func() {
			defer cancel()
			defer a.owner.Close()
			<-begin
			for range opsOfGoer {
				o := a.draw()
				call := clock.Add(1)
				out := a.perform(o)
				back := clock.Add(1)
				mu.Lock()
				all = append(all, porcupine.Operation{ClientId: g, Input: o, Call: call, Output: out, Return: back})
				mu.Unlock()
			}
			a.last(&clock, &mu, &all)
		})
	}
	close(begin)
	wg.Wait()
	return all
}

// last is the death at the end, which others may see too.
func (a *goer) last(clock *atomic.Int64, mu *sync.Mutex, all *[]porcupine.Operation) {
	o := op{kind: "die", owner: a.id}
	call := clock.Add(1)
	out := a.perform(o)
	back := clock.Add(1)
	mu.Lock()
	defer mu.Unlock()
	*all = append(*all, porcupine.Operation{ClientId: a.id, Input: o, Call: call, Output: out, Return: back})
}

type goer struct {
	tab    *table
	id     int
	owner  *owner.Owner
	cancel context.CancelFunc
	rng    *rand.Rand
	held   map[string]*entry
}

// draw is a step that makes sense for this goroutine: it is ready with what it registered.
func (a *goer) draw() op {
	o := op{owner: a.id, key: string(linearKeys[a.rng.IntN(len(linearKeys))])}
	switch n := a.rng.IntN(10); {
	case a.held[o.key] == nil && n < 5:
		o.kind = "register"
	case a.held[o.key] != nil && n < 5:
		o.kind = "ready"
	case a.held[o.key] != nil && n < 6:
		o.kind = "unregister"
	case n == 7:
		o.kind = "die"
	case n == 8:
		o.kind, o.key = "list", ""
	default:
		o.kind = "resolve"
	}
	return o
}

func (a *goer) perform(o op) outcome {
	switch o.kind {
	case "register":
		e, err := a.tab.Register(a.owner.Token, saying(o.key, fmt.Sprint(a.id)))
		if err == nil {
			a.held[o.key] = e
		}
		return told(err)
	case "ready":
		return told(a.held[o.key].Ready())
	case "unregister":
		a.held[o.key].Unregister()
		delete(a.held, o.key)
		return "ok"
	case "die":
		if a.rng.IntN(2) == 0 {
			a.cancel()
		} else {
			a.owner.Close()
		}
		return "ok"
	case "resolve":
		e, err := a.tab.Resolve(o.key)
		if err != nil {
			return "none"
		}
		return outcome(e.Owner().String()[len(e.Owner().String())-2 : len(e.Owner().String())-1])
	default:
		return outcome(strings.ReplaceAll(names(a.tab), " ", ""))
	}
}

func told(err error) outcome {
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, new(*registry.DuplicateError)):
		return "duplicate"
	case errors.As(err, new(*registry.FullError)):
		return "full"
	case errors.Is(err, registry.ErrDeadOwner):
		return "dead"
	default:
		return "out"
	}
}
