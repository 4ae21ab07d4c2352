package core_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mayfly-mcp/mayfly/core"
	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/mayfly-mcp/mayfly/fakes"
)

// TestRandomHistories lets random owners do random things to random servers that fail at
// random points, in one bubble for each history. At every moment of quiet the folded events
// are the state (EV-4), and at the end nothing is left and the run replays.
func TestRandomHistories(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rapid.SyncTest(rt, func(rt *rapid.T) {
			m := newMonkey(rt)
			rt.Repeat(map[string]func(*rapid.T){
				"":          m.check,
				"owner":     m.birth,
				"die":       m.death,
				"rename":    m.rename,
				"declare":   m.declare,
				"release":   m.release,
				"call":      m.call,
				"list":      m.list,
				"ensure":    m.ensure,
				"reconnect": m.reconnect,
				"cancel":    m.cancel,
				"fault":     m.fault,
				"kill":      m.kill,
				"ladder":    m.ladder,
				"advance":   m.advance,
				"changed":   m.changed,
				"quit":      m.quit,
				"reorder":   m.reorder,
				"configure": m.configure,
			})
			m.end(rt)
		})
	})
}

// monkey is the state of one history.
type monkey struct {
	*rig
	owners  []*core.Owner
	born    int
	open    []context.CancelFunc // operations that may not have ended
	started int
	ended   chan error
	sub     *core.Subscription
	small   *core.Subscription // read now and then only, so that it overflows
	view    view
	lagging view
}

// view is what a subscriber believes: the state by claim.
type view map[claim]belief

type claim struct {
	owner lifecycle.OwnerID
	name  string
}

type belief struct {
	State lifecycle.State
	Tools int
}

const maxOperations = 10_000 // of one history; the channel of outcomes holds them all

var monkeyServers = []string{"S", "R"}

func newMonkey(t *rapid.T) *monkey {
	m := &monkey{
		rig:   newRig(t, func(c *core.Config) { c.EventQueue = 8; c.MaxSpawns = 1 }),
		ended: make(chan error, maxOperations), view: view{}, lagging: view{},
	}
	for _, s := range monkeyServers {
		m.d.Server(s + " one")
		m.d.Server(s + " two")
	}
	m.sub, m.small = watch(t, m.h), watch(t, m.h)
	return m
}

// perform runs an operation beside the history. It must end with one outcome.
func (m *monkey) perform(f func(context.Context) error) {
	ctx, cancel := context.WithCancel(bg)
	m.open = append(m.open, cancel)
	m.started++
	go func() {
		defer cancel()
		m.ended <- f(ctx)
	}()
	synctest.Wait()
}

func (m *monkey) owner(t *rapid.T) *core.Owner {
	if len(m.owners) == 0 {
		m.birth(t)
	}
	return rapid.SampledFrom(m.owners).Draw(t, "owner")
}

func (m *monkey) name(t *rapid.T) string {
	return rapid.SampledFrom([]string{"m", "n"}).Draw(t, "name")
}

func (m *monkey) server(t *rapid.T) *fakes.Server {
	key := rapid.SampledFrom(monkeyServers).Draw(t, "server")
	return m.d.Server(key + rapid.SampledFrom([]string{" one", " two"}).Draw(t, "token"))
}

func (m *monkey) birth(t *rapid.T) {
	m.born++
	o, err := m.h.Owner(fmt.Sprintf("agent%d", m.born))
	must(t, err)
	m.owners = append(m.owners, o)
}

func (m *monkey) death(t *rapid.T) {
	o := m.owner(t)
	o.Close()
	for i := range m.owners {
		if m.owners[i] == o {
			m.owners = append(m.owners[:i:i], m.owners[i+1:]...)
			break
		}
	}
}

func (m *monkey) rename(t *rapid.T) { m.owner(t).Rename("renamed") }

// declare uses a server of its own for each token, so that the fakes count incarnations by
// server and credential.
func (m *monkey) declare(t *rapid.T) {
	key := rapid.SampledFrom(monkeyServers).Draw(t, "server")
	token := rapid.SampledFrom([]string{"one", "two"}).Draw(t, "token")
	must(t, m.owner(t).DeclareWith(m.name(t), transport.Config{
		Command: key + " " + token, Env: map[string]string{"TOKEN": token}}, m.terms(t)))
}

// terms never keep two owners apart: the fakes count incarnations by server.
func (m *monkey) terms(t *rapid.T) core.Terms {
	span := rapid.SampledFrom([]time.Duration{0, 0, 5 * time.Second, 2 * idle})
	return core.Terms{Policy: lifecycle.Policy{
		IdleTimeout: span.Draw(t, "idle"), MinUptime: span.Draw(t, "uptime"), StartTimeout: span.Draw(t, "start"),
		CallTimeout: span.Draw(t, "call"), Pinned: rapid.IntRange(0, 9).Draw(t, "pinned") == 0,
	}}
}

// changed lets a server announce another list.
func (m *monkey) changed(t *rapid.T) {
	s := m.server(t)
	n := rapid.IntRange(0, 3).Draw(t, "tools")
	s.Update(func(b *fakes.Behaviour) { b.Tools = fakes.Tools([]string{"echo", "fail", "crash"}[:n]...) })
	s.Changed()
}

func (m *monkey) quit(t *rapid.T) { m.server(t).Quit() }

func (m *monkey) reorder(t *rapid.T) { m.owner(t).Reorder([]string{m.name(t)}) }

// configure makes room scarce or plentiful.
func (m *monkey) configure(t *rapid.T) {
	l := times()
	l.MaxLive, l.MaxDialing = rapid.IntRange(0, 3).Draw(t, "live"), rapid.IntRange(0, 2).Draw(t, "dialing")
	l.QueueTimeout = time.Duration(rapid.IntRange(1, 60).Draw(t, "queue")) * time.Second
	must(t, m.h.Configure(l))
}

func (m *monkey) release(t *rapid.T) { m.owner(t).Release(m.name(t)) }

func (m *monkey) call(t *rapid.T) {
	o, tool := m.owner(t), rapid.SampledFrom([]string{"echo", "fail", "crash", "nosuch"}).Draw(t, "tool")
	m.perform(func(ctx context.Context) error { _, err := o.Call(ctx, tool, nil); return err })
}

func (m *monkey) list(t *rapid.T) {
	o := m.owner(t)
	m.perform(func(ctx context.Context) error { _, err := o.Dispatch(ctx); return err })
}

func (m *monkey) ensure(t *rapid.T) {
	o, name := m.owner(t), m.name(t)
	m.perform(func(ctx context.Context) error { _, err := o.Ensure(ctx, name); return err })
}

func (m *monkey) reconnect(t *rapid.T) {
	o, name := m.owner(t), m.name(t)
	m.perform(func(ctx context.Context) error { _, err := o.Reconnect(ctx, name); return err })
}

func (m *monkey) cancel(t *rapid.T) {
	if len(m.open) == 0 {
		return
	}
	rapid.SampledFrom(m.open).Draw(t, "operation")()
}

func (m *monkey) fault(t *rapid.T) {
	p := rapid.SampledFrom([]fakes.Point{fakes.Spawn, fakes.Initialize, fakes.List, fakes.Call}).Draw(t, "point")
	f := fakes.Fault{
		Do:    rapid.SampledFrom([]fakes.Action{fakes.Answer, fakes.Fail, fakes.Hang, fakes.Die, fakes.Break, fakes.AnswerThenDie, fakes.DieThenAnswer}).Draw(t, "action"),
		Delay: time.Duration(rapid.IntRange(0, 40).Draw(t, "delay")) * time.Second,
		Late:  rapid.Bool().Draw(t, "late") && p != fakes.Spawn,
	}
	m.server(t).Next(p, f)
}

func (m *monkey) kill(t *rapid.T) {
	if s := m.server(t); rapid.Bool().Draw(t, "whole") {
		s.Die()
	} else {
		s.Break()
	}
}

func (m *monkey) ladder(t *rapid.T) {
	rung := rapid.Custom(func(t *rapid.T) fakes.Rung {
		return fakes.Rung{Ignore: rapid.Bool().Draw(t, "ignore"), Delay: time.Duration(rapid.IntRange(0, 3).Draw(t, "delay")) * time.Second}
	})
	b := fakes.Behaviour{OnClose: rung.Draw(t, "close"), OnTerminate: rung.Draw(t, "terminate")}
	m.server(t).Update(func(old *fakes.Behaviour) { old.OnClose, old.OnTerminate = b.OnClose, b.OnTerminate })
}

func (m *monkey) advance(t *rapid.T) {
	pass(time.Duration(rapid.SampledFrom([]int{1, 2, 5, 10, 20, 30, 40, 50}).Draw(t, "seconds")) * time.Second)
}

// check compares, whenever all is quiet, what subscribers believe with what is true.
func (m *monkey) check(t *rapid.T) {
	synctest.Wait()
	m.follow(t, m.sub, m.view)
	m.agree(t, m.view)
	if rapid.IntRange(0, 9).Draw(t, "read the lagging one") == 0 {
		m.follow(t, m.small, m.lagging)
		m.agree(t, m.lagging)
	}
	for _, s := range monkeyServers {
		for _, token := range []string{" one", " two"} {
			if c := m.d.Server(s + token).Counts(); c.MaxLive > 1 {
				t.Fatalf("ONE-LIVE: %s: %+v", s+token, c)
			}
		}
	}
}

// follow folds what a subscription has to say into a view, and holds it to the paths of the
// state diagram (SPEC EV-5).
func (m *monkey) follow(t *rapid.T, s *core.Subscription, v view) {
	now, cancel := context.WithCancel(bg)
	cancel()
	for {
		n, err := s.Next(now)
		if errors.Is(err, context.Canceled) || errors.Is(err, core.ErrEnded) {
			return
		}
		must(t, err)
		if n.Gap {
			clear(v)
			for _, st := range n.Snapshot {
				v[claim{st.Owner, st.Name}] = belief{st.State, len(st.Tools)}
			}
			continue
		}
		e, c := n.Event, claim{n.Event.Owner, n.Event.Name}
		old := v[c]
		if old.State == lifecycle.NoState {
			old.State = lifecycle.Disconnected
		}
		if !allowed(old.State, e) {
			t.Fatalf("EV-5: %v follows %v at %+v", e.State, old.State, e)
		}
		tools := len(e.Tools)
		if e.State == lifecycle.Failed {
			tools = old.Tools
		}
		v[c] = belief{e.State, tools}
	}
}

// allowed are the edges of the diagram. A replay begins a path anywhere, or tells of another
// tool list.
func allowed(from lifecycle.State, e core.Event) bool {
	if e.Replay {
		return from == lifecycle.Disconnected || from == lifecycle.Connected && e.State == from
	}
	switch e.State {
	case lifecycle.Connecting:
		return from == lifecycle.Disconnected || from == lifecycle.Failed
	case lifecycle.Connected:
		return from == lifecycle.Connecting
	case lifecycle.Failed:
		return from == lifecycle.Connecting || from == lifecycle.Connected
	case lifecycle.Disconnected:
		return from != lifecycle.Disconnected
	case lifecycle.NoState:
	}
	return false
}

// agree compares a view with the rows of every living owner.
func (m *monkey) agree(t *rapid.T, v view) {
	for _, o := range m.owners {
		for _, s := range o.List() {
			got, want := v[claim{s.Owner, s.Name}], belief{s.State, len(s.Tools)}
			if got.State == lifecycle.NoState {
				got.State = lifecycle.Disconnected
			}
			if s.State == lifecycle.Failed && got.State == lifecycle.Failed {
				got.Tools = want.Tools // a replay of Failed does not carry the list
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("EV-4: %d %s: -is +believed:\n%s", s.Owner, s.Name, diff)
			}
		}
	}
}

// end closes the host, counts the outcomes and replays the run.
func (m *monkey) end(t *rapid.T) {
	must(t, m.h.Close(bg))
	synctest.Wait()
	if len(m.ended) != m.started {
		t.Fatalf("%d operations were started, %d have ended", m.started, len(m.ended))
	}
	m.follow(t, m.sub, m.view)
	m.agree(t, m.view)
	m.rig.end()
}
