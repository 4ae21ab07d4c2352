package core_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/core"
	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/mayfly-mcp/mayfly/fakes"
)

// diary is an observer that writes everything down.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) add(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

func (d *diary) Connected(took time.Duration, why lifecycle.Reason) {
	d.add("connect %v %v", took, why)
}
func (d *diary) Called(took time.Duration, kind callerr.Kind) { d.add("call %v %d", took, kind) }

// read returns what was written since the last read.
func (d *diary) read() []string {
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	out := d.lines
	d.lines = nil
	return out
}

// The observer is told of every attempt and every call once, whoever shares the peer, with the
// time that the thing itself took; listings and owners that come and go are neither.
func TestObserver(t *testing.T) {
	var d diary
	bubbleWith(t, func(c *core.Config) { c.Observer = &d }, func(r *rig) {
		want := func(lines ...string) {
			t.Helper()
			if diff := cmp.Diff(lines, d.read()); diff != "" {
				t.Error(diff)
			}
		}
		o, other := r.owner("a", "S"), r.owner("b", "S")
		srv := r.d.Server("S")
		srv.Next(fakes.Initialize, fakes.Fault{Delay: 3 * time.Second})
		srv.Next(fakes.Call, fakes.Fault{Delay: time.Second})
		must(t, (<-goCall(bg, o, "echo")).err)
		want("connect 3s -", "call 1s 0")
		_, err := o.Dispatch(bg)
		must(t, err)
		want()

		ctx, cancel := context.WithTimeout(bg, 2*time.Second)
		defer cancel()
		srv.Next(fakes.Call, fakes.Fault{Do: fakes.Hang})
		<-goCall(ctx, o, "echo")
		<-goCall(bg, o, "fail")
		want(fmt.Sprintf("call 2s %d", callerr.Cancelled), fmt.Sprintf("call 0s %d", callerr.Rejected))

		must(t, other.Release("S")) // no transition of the peer
		srv.Next(fakes.Call, fakes.Fault{Do: fakes.Hang})
		<-goCall(bg, o, "echo") // a failure, but of no attempt
		want(fmt.Sprintf("call %v %d", callMax, callerr.Transport))
		if g := r.h.Gauges(); g.Failures[lifecycle.ReasonCallTimeout] != 1 || g.States[lifecycle.Failed] != 1 || g.Owners != 2 {
			t.Errorf("%+v", g)
		}
		srv.Next(fakes.Initialize, fakes.Fault{Do: fakes.Fail, Delay: time.Second})
		o.Reconnect(bg, "S")
		srv.Next(fakes.Initialize, fakes.Fault{Do: fakes.Hang})
		o.Reconnect(bg, "S")
		want("connect 1s connect", "connect 30s connect-timeout")
		o.Reconnect(bg, "S")
		srv.Die()
		pass(time.Second)
		want("connect 0s -")
		if g := r.h.Gauges(); len(g.Failures) != 4 || g.Failures[lifecycle.ReasonExited] != 1 {
			t.Errorf("%+v", g.Failures)
		}
	})
}

// ID-5, SE-3: the log tells of every transition once, with whom and why, and neither it nor any
// error, row, event or step shows a credential.
func TestLogsTellEverythingButSecrets(t *testing.T) {
	const secret = "canary-5f1d"
	var log bytes.Buffer
	edit := func(c *core.Config) {
		c.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	bubbleWith(t, edit, func(r *rig) {
		o, other := r.owner("researcher"), r.owner("other")
		s := watch(t, r.h)
		for _, x := range []*core.Owner{o, other} {
			r.d.Server("S")
			must(t, x.Declare("m", transport.Config{Command: "S", Args: []string{"-v"}, Auth: secret,
				Env: map[string]string{"TOKEN": secret, "OTHER": secret}}))
		}
		_, err := o.Call(bg, "echo", nil)
		must(t, err)
		r.d.Server("S").Next(fakes.Call, fakes.Fault{Do: fakes.Die})
		_, failed := o.Call(bg, "echo", nil)
		_, refused := o.Call(bg, "echo", nil)
		o.Reconnect(bg, "m")
		must(t, other.Release("m"))
		shown := fmt.Sprintf("%+v %+v %v %v %#v %+v %+v", o.List(), drain(t, s), failed, refused, refused, r.h.Gauges(), r.h.Settings())
		o.Close()
		synctest.Wait()
		text := log.String()
		for what, x := range map[string]string{"the log": text, "what is shown": shown} {
			if strings.Contains(x, secret) {
				t.Errorf("%s holds the secret", what)
			}
		}
		var states []string
		for line := range strings.Lines(text) {
			_, rest, _ := strings.Cut(line, "state=")
			state, _, _ := strings.Cut(rest, " ")
			states = append(states, state)
		}
		want := []string{"connecting", "connected", "failed", "connecting", "connected"}
		if diff := cmp.Diff(want, states); diff != "" {
			t.Errorf("%s\n%s", diff, text)
		}
		for _, part := range []string{"level=WARN", "agent=researcher", "name=m", "generation=2", "reason=", "exit", "owner=1"} {
			if !strings.Contains(text, part) {
				t.Errorf("the log lacks %s:\n%s", part, text)
			}
		}
	})
}

// PR-6: the log says of a peer that was stopped to make room why, and of one that idled out not.
func TestLogTellsWhoMadeRoom(t *testing.T) {
	var log bytes.Buffer
	edit := func(c *core.Config) {
		l := times()
		l.MaxLive, c.Lifecycle = 2, &l
		c.Logger = slog.New(slog.NewTextHandler(&log, nil))
	}
	bubbleWith(t, edit, func(r *rig) {
		o := r.owner("researcher", "old", "new")
		for _, n := range []string{"old", "new"} {
			_, err := o.Ensure(bg, n)
			must(t, err)
			pass(time.Second)
		}
		next := r.owner("b", "R")
		must(t, (<-goCall(bg, next, "echo")).err)
		pass(2 * times().IdleTimeout)
		synctest.Wait()
		var told []string
		for line := range strings.Lines(log.String()) {
			if strings.Contains(line, "state=disconnected") {
				_, name, _ := strings.Cut(line, " name=")
				name, _, _ = strings.Cut(strings.TrimSpace(name), " ")
				told = append(told, fmt.Sprint(name, strings.Contains(line, "to make room") &&
					strings.Contains(line, "level=INFO") && strings.Contains(line, "agent=researcher") && strings.Contains(line, "peer=")))
			}
		}
		if diff := cmp.Diff([]string{"oldtrue", "newfalse", "Rfalse"}, told); diff != "" {
			t.Errorf("%s\n%s", diff, log.String())
		}
	})
}
