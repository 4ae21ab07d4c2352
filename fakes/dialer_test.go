package fakes_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/mayfly-mcp/mayfly/fakes"
	"github.com/mayfly-mcp/mayfly/fakes/wait"
)

// Every test runs in a bubble, which fails it when a goroutine is left: so each of them is
// a leak check too. TestMain looks after what is outside.
func TestMain(m *testing.M) { os.Exit(wait.Main(m)) }

func bubble(t *testing.T, f func(t *testing.T, d *fakes.Dialer, s *fakes.Server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := fakes.NewDialer(fakes.Config{})
		f(t, d, d.Server("srv"))
		d.Close()
		synctest.Wait()
		if n := d.Server("srv").Counts().Live; n != 0 {
			t.Errorf("%d incarnations live after Close", n)
		}
	})
}

func dial(t *testing.T, d *fakes.Dialer) transport.Session {
	t.Helper()
	s, err := d.Dial(t.Context(), transport.Config{Command: "srv", Env: map[string]string{"TOKEN": "t1"}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func closed(c <-chan struct{}) bool {
	synctest.Wait()
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// kind checks the typed error of an operation.
func kind(t *testing.T, what string, err error, k callerr.Kind, p callerr.Phase, definite bool) {
	t.Helper()
	e, ok := errors.AsType[*callerr.Error](err)
	if !ok {
		t.Errorf("%s: %v is no callerr.Error", what, err)
		return
	}
	if e.Kind != k || e.Phase != p || e.Definite != definite {
		t.Errorf("%s: %v, %v, definite %v; want %v, %v, definite %v", what, e.Kind, e.Phase, e.Definite, k, p, definite)
	}
}

func TestHealthyServer(t *testing.T) {
	bubble(t, func(t *testing.T, d *fakes.Dialer, srv *fakes.Server) {
		s := dial(t, d)
		tools, err := s.Initialize(t.Context())
		if err != nil || len(tools) != 6 || tools[0].Name != "echo" {
			t.Fatalf("tools %v, error %v", tools, err)
		}
		for _, c := range [][3]string{{"echo", `{"text":"hi"}`, "hi"}, {"add", `{"a":1,"b":2}`, "3"}, {"whoami", "", "t1"}} {
			if r, err := s.Call(t.Context(), c[0], json.RawMessage(c[1])); err != nil || r.Text() != c[2] {
				t.Errorf("%s: %v %v", c[0], r, err)
			}
		}
		for _, tool := range []string{"fail", "rpcerror", "nonesuch"} {
			_, err := s.Call(t.Context(), tool, nil)
			kind(t, tool, err, callerr.Rejected, callerr.PhaseAnswer, true)
		}
		for range 3 {
			s.Stop(transport.StageClose)
		}
		if !closed(s.Done()) || !closed(s.Down()) || s.Err() == nil {
			t.Error("not done after its input was closed")
		}
		_, err = s.Call(t.Context(), "echo", nil)
		kind(t, "call after the end", err, callerr.Transport, callerr.PhaseWrite, true)
		want := fakes.Counts{Dials: 1, Spawns: 1, MaxLive: 1, Stops: map[transport.Stage]int{1: 1, 2: 0, 3: 0}}
		if diff := cmp.Diff(want, srv.Counts()); diff != "" {
			t.Errorf("counts (-want +got):\n%s", diff)
		}
		if c := srv.Calls(); len(c) != 6 || c[2].Credential != "t1" || c[2].Tool != "whoami" || c[2].Incarnation != 1 {
			t.Errorf("calls %v", c)
		}
	})
}

func TestUnknownServerAndURL(t *testing.T) {
	bubble(t, func(t *testing.T, d *fakes.Dialer, _ *fakes.Server) {
		_, err := d.Dial(t.Context(), transport.Config{Command: "nonesuch"})
		kind(t, "dial", err, callerr.Transport, callerr.PhaseSpawn, true)
		web := d.Server("http://x/mcp")
		s, err := d.Dial(t.Context(), transport.Config{Command: "srv", URL: "http://x/mcp", Auth: "Bearer b"})
		if err != nil {
			t.Fatal(err)
		}
		if r, err := s.Call(t.Context(), "whoami", nil); err != nil || r.Text() != "Bearer b" {
			t.Errorf("whoami: %v %v", r, err)
		}
		if n := web.Counts().Live; n != 1 {
			t.Errorf("%d live", n)
		}
	})
}

// ops are the operations that pass each point.
var ops = map[fakes.Point]func(context.Context, *fakes.Dialer) error{
	fakes.Spawn: func(ctx context.Context, d *fakes.Dialer) error {
		_, err := d.Dial(ctx, transport.Config{Command: "srv"})
		return err
	},
	fakes.Initialize: session(func(ctx context.Context, s transport.Session) error { _, err := s.Initialize(ctx); return err }),
	fakes.List:       session(func(ctx context.Context, s transport.Session) error { _, err := s.List(ctx); return err }),
	fakes.Call: session(func(ctx context.Context, s transport.Session) error {
		_, err := s.Call(ctx, "echo", nil)
		return err
	}),
}

func session(f func(context.Context, transport.Session) error) func(context.Context, *fakes.Dialer) error {
	return func(ctx context.Context, d *fakes.Dialer) error {
		s, err := d.Dial(context.WithoutCancel(ctx), transport.Config{Command: "srv"})
		if err != nil {
			return err
		}
		return f(ctx, s)
	}
}

var phases = map[fakes.Point]callerr.Phase{
	fakes.Spawn: callerr.PhaseSpawn, fakes.Initialize: callerr.PhaseInitialize, fakes.List: callerr.PhaseList, fakes.Call: callerr.PhaseAnswer,
}

func TestEveryFaultAtEveryPoint(t *testing.T) {
	type outcome struct {
		fails bool
		live  int // after the operation
	}
	faults := map[fakes.Action]outcome{
		fakes.Answer: {false, 1}, fakes.Fail: {true, 1}, fakes.Die: {true, 0}, fakes.Break: {true, 1},
		fakes.AnswerThenDie: {false, 0}, fakes.DieThenAnswer: {false, 0},
	}
	for p, op := range ops {
		for do, want := range faults {
			t.Run(fmt.Sprintf("%s/%d", p, do), func(t *testing.T) {
				bubble(t, func(t *testing.T, d *fakes.Dialer, srv *fakes.Server) {
					srv.Next(p, fakes.Fault{Do: do, Delay: time.Second})
					start := time.Now()
					err := op(t.Context(), d)
					synctest.Wait()
					if took := time.Since(start); took != time.Second {
						t.Errorf("took %v", took)
					}
					if want.fails {
						kind(t, "operation", err, callerr.Transport, phases[p], p != fakes.Call)
					} else if err != nil {
						t.Error(err)
					}
					live := want.live
					if p == fakes.Spawn && want.fails {
						live = 0
					}
					if n := srv.Counts().Live; n != live {
						t.Errorf("%d live, want %d", n, live)
					}
					if err := op(t.Context(), d); err != nil {
						t.Errorf("the fault was not for once: %v", err)
					}
				})
			})
		}
	}
}

func TestHangEndsWithTheCaller(t *testing.T) {
	for p, op := range ops {
		t.Run(string(p), func(t *testing.T) {
			bubble(t, func(t *testing.T, d *fakes.Dialer, srv *fakes.Server) {
				srv.Next(p, fakes.Fault{Do: fakes.Hang}, fakes.Fault{Do: fakes.Hang})
				why := errors.New("gave up")
				ctx, cancel := context.WithCancelCause(t.Context())
				got := make(chan error, 1)
				go func() { got <- op(ctx, d) }()
				if err := srv.WaitReached(t.Context(), p); err != nil {
					t.Fatal(err)
				}
				cancel(why)
				err := <-got
				if k := callerr.KindOf(err); (p == fakes.Call || p == fakes.List) != (k == callerr.Cancelled) || !errors.Is(err, why) || !errors.Is(err, context.Canceled) {
					t.Errorf("cancelled: %v of kind %v", err, k)
				}
				timed, stop := context.WithTimeout(t.Context(), time.Minute)
				defer stop()
				kind(t, "timed out", op(timed, d), callerr.Transport, phases[p], p != fakes.Call)
			})
		})
	}
}

func TestInitializeGivenUpDuringItsListIsTransport(t *testing.T) {
	bubble(t, func(t *testing.T, d *fakes.Dialer, srv *fakes.Server) {
		srv.Next(fakes.List, fakes.Fault{Do: fakes.Hang})
		ctx, cancel := context.WithCancel(t.Context())
		s := dial(t, d)
		got := make(chan error, 1)
		go func() { _, err := s.Initialize(ctx); got <- err }()
		if err := srv.WaitReached(t.Context(), fakes.List); err != nil {
			t.Fatal(err)
		}
		cancel()
		kind(t, "initialize", <-got, callerr.Transport, callerr.PhaseList, true)
	})
}

func TestLateAnswersArriveAfterTheCallerHasGone(t *testing.T) {
	for p, op := range ops {
		t.Run(string(p), func(t *testing.T) {
			bubble(t, func(t *testing.T, d *fakes.Dialer, srv *fakes.Server) {
				srv.Next(p, fakes.Fault{Delay: time.Hour, Late: true})
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				start := time.Now()
				if err := op(ctx, d); p != fakes.Initialize && err != nil {
					t.Error(err) // after a late initialize the list sees the context
				}
				if took := time.Since(start); took != time.Hour {
					t.Errorf("took %v", took)
				}
			})
		})
	}
}

func TestHoldReleaseAndCounts(t *testing.T) {
	for p, op := range ops {
		t.Run(string(p), func(t *testing.T) {
			bubble(t, func(t *testing.T, d *fakes.Dialer, srv *fakes.Server) {
				srv.Hold(p)
				got := make(chan error, 3)
				for range 3 {
					go func() { got <- op(t.Context(), d) }()
				}
				if err := srv.WaitCount(t.Context(), p, 3); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if len(got) != 0 {
					t.Fatal("a held point let something pass")
				}
				srv.Release(p)
				for range 3 {
					if err := <-got; err != nil {
						t.Error(err)
					}
				}
				if err := op(t.Context(), d); err != nil || srv.Reached(p) != 4 {
					t.Errorf("after the release: %v, %d arrivals", err, srv.Reached(p))
				}
				srv.Hold(p)
				if n := srv.Reached(p); n != 0 {
					t.Errorf("%d arrivals since a new hold", n)
				}
				srv.Release(p)
				if c := srv.Counts(); c.MaxLive != c.Live || c.Spawns != 4 {
					t.Errorf("counts %+v", c)
				}
			})
		})
	}
}

func TestScriptedAnswersAndErrors(t *testing.T) {
	bubble(t, func(t *testing.T, d *fakes.Dialer, srv *fakes.Server) {
		mine := &callerr.Error{Kind: callerr.Rejected, Msg: "mine"}
		srv.Set(fakes.Behaviour{
			Tools:   fakes.Tools("a", "b"),
			Answers: func(c fakes.CallRecord) (*transport.Result, error) { return fakes.Text("answer to " + c.Tool), nil },
		})
		s := dial(t, d)
		if tools, err := s.Initialize(t.Context()); err != nil || len(tools) != 2 || tools[1].Name != "b" {
			t.Errorf("%v %v", tools, err)
		}
		if r, err := s.Call(t.Context(), "a", nil); err != nil || r.Text() != "answer to a" {
			t.Errorf("%v %v", r, err)
		}
		srv.Next(fakes.Call, fakes.Fault{Do: fakes.Fail, Err: mine})
		if _, err := s.Call(t.Context(), "a", nil); err != mine {
			t.Errorf("got %v", err)
		}
	})
}

func TestClosedDialerAndWaitErrors(t *testing.T) {
	bubble(t, func(t *testing.T, d *fakes.Dialer, srv *fakes.Server) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := srv.WaitReached(ctx, fakes.Call); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), `"srv": 0 of 1 arrivals at call`) {
			t.Errorf("WaitReached: %v", err)
		}
		d.Close()
		_, err := d.Dial(t.Context(), transport.Config{Command: "srv"})
		kind(t, "dial after Close", err, callerr.Transport, callerr.PhaseSpawn, true)
	})
}
