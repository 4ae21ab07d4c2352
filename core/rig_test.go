package core_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/mayfly-mcp/mayfly/core"
	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/mayfly-mcp/mayfly/fakes"
)

// The times of every rig: T is 40 s and ticks are 10 s apart, from the opening of the host.
const (
	idle    = 40 * time.Second
	tick    = idle / 4
	connect = 30 * time.Second
	callMax = 20 * time.Second
	grace   = 2 * time.Second
)

func times() lifecycle.Config {
	return lifecycle.Config{
		IdleTimeout: idle, ConnectTimeout: connect, CallTimeout: callMax,
		CloseGrace: grace, TerminateGrace: grace, KillGrace: grace, DrainGrace: grace,
		MaxWaiters: 1024,
	}
}

var bg = context.Background()

// rig is one host over fake servers in one bubble.
type rig struct {
	t   rapid.TB
	d   *fakes.Dialer
	h   *core.Host
	rec *core.Recorder
}

// bubble runs f on a fresh rig and then ends everything: Close returns, nothing is live, no
// goroutine is left (the bubble sees to that), and the run replays identically.
func bubble(t *testing.T, f func(*rig)) { bubbleWith(t, func(*core.Config) {}, f) }

func bubbleWith(t *testing.T, edit func(*core.Config), f func(*rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, edit)
		f(r)
		r.end()
	})
}

func newRig(t rapid.TB, edit func(*core.Config)) *rig {
	t.Helper()
	r := &rig{t: t, d: fakes.NewDialer(fakes.Config{}), rec: &core.Recorder{}}
	lc := times()
	cfg := core.Config{Dialer: r.d, Lifecycle: &lc, Recorder: r.rec}
	edit(&cfg)
	h, err := core.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r.h = h
	return r
}

func (r *rig) end() {
	r.t.Helper()
	r.d.Close()
	if err := r.h.Close(bg); err != nil {
		r.t.Errorf("Close: %v", err)
	}
	if _, live := r.h.Stats(); live != 0 {
		r.t.Errorf("%d incarnations live after Close", live)
	}
	if err := r.rec.Replay(); err != nil {
		r.t.Error(err)
	}
}

func cfgOf(server string) transport.Config { return transport.Config{Command: server} }

func withToken(server, token string) transport.Config {
	return transport.Config{Command: server, Env: map[string]string{"TOKEN": token}}
}

// owner brings an owner to life that has declared the servers under their own names.
func (r *rig) owner(agent string, servers ...string) *core.Owner {
	r.t.Helper()
	o, err := r.h.Owner(agent)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, s := range servers {
		r.d.Server(s)
		must(r.t, o.Declare(s, cfgOf(s)))
	}
	return o
}

func must(t rapid.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// pass lets virtual time pass and everything happen that is due by then.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// state is the state of a claim.
func state(o *core.Owner, name string) lifecycle.State {
	for _, s := range o.List() {
		if s.Name == name {
			return s.State
		}
	}
	return lifecycle.NoState
}

func (r *rig) wantState(o *core.Owner, name string, want lifecycle.State) {
	r.t.Helper()
	if got := state(o, name); got != want {
		r.t.Errorf("%s is %v, want %v", name, got, want)
	}
}

// wantCounts compares what ever came to life of a server and what lives now.
func (r *rig) wantCounts(server string, spawns, live int) {
	r.t.Helper()
	if c := r.d.Server(server).Counts(); c.Spawns != spawns || c.Live != live {
		r.t.Errorf("%s: %d spawns and %d live, want %d and %d", server, c.Spawns, c.Live, spawns, live)
	}
}

// wantRefused checks the kind and the reason of an error.
func (r *rig) wantRefused(err error, why lifecycle.Reason) *callerr.Error {
	r.t.Helper()
	refused, ok := errors.AsType[*core.RefusedError](err)
	if !ok || refused.Reason != why {
		r.t.Fatalf("error %v (%#v), want a refusal because of %v", err, refused, why)
	}
	e, _ := errors.AsType[*callerr.Error](err)
	return e
}

func (r *rig) wantKind(err error, want callerr.Kind) {
	r.t.Helper()
	if got := callerr.KindOf(err); got != want {
		r.t.Errorf("error %v is of kind %v, want %v", err, got, want)
	}
}

// outcome is how one background call ended.
type outcome struct {
	text string
	err  error
	at   time.Duration // virtual time that it took
}

// goCall starts a call and returns where its one outcome will be.
func goCall(ctx context.Context, o *core.Owner, tool string) <-chan outcome {
	out := make(chan outcome, 1)
	start := time.Now()
	go func() {
		res, err := o.Call(ctx, tool, nil)
		text := ""
		if err == nil {
			text = res.Text()
		}
		out <- outcome{text, err, time.Since(start)}
	}()
	return out
}

// pending reports whether a call has not ended.
func pending[T any](c <-chan T) bool { return len(c) == 0 }

// story reads the events of one claim as words, up to now.
func story(t rapid.TB, s *core.Subscription, agent, name string) (out []string) {
	t.Helper()
	for _, e := range drain(t, s) {
		if e.Agent == agent && e.Name == name {
			out = append(out, word(e))
		}
	}
	return out
}

func word(e core.Event) string {
	if e.Replay {
		return "replay " + e.State.String()
	}
	return e.State.String()
}

// drain takes every queued event and fails on a gap.
func drain(t rapid.TB, s *core.Subscription) (out []core.Event) {
	t.Helper()
	synctest.Wait()
	now, cancel := context.WithCancel(bg)
	cancel()
	for {
		n, err := s.Next(now)
		if err != nil {
			if !errors.Is(err, context.Canceled) && !errors.Is(err, core.ErrEnded) {
				t.Fatal(err)
			}
			return out
		}
		if n.Gap {
			t.Fatal("a gap in a subscription that is read")
		}
		out = append(out, n.Event)
	}
}

func watch(t rapid.TB, h *core.Host) *core.Subscription {
	t.Helper()
	s, err := h.Watch()
	must(t, err)
	return s
}

func serverNames(n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("S%d", i))
	}
	return out
}
