package fakes_test

import (
	"testing"
	"time"

	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/mayfly-mcp/mayfly/fakes"
)

func TestStopLadder(t *testing.T) {
	bubble(t, func(t *testing.T, d *fakes.Dialer, srv *fakes.Server) {
		srv.Set(fakes.Behaviour{OnClose: fakes.Rung{Ignore: true}, OnTerminate: fakes.Rung{Delay: time.Minute}, OnKill: fakes.Rung{Ignore: true}})
		s := dial(t, d)
		s.Stop(transport.StageClose)
		if !closed(s.Down()) || closed(s.Done()) {
			t.Error("an ignored close must end the session and not the process")
		}
		start := time.Now()
		s.Stop(transport.StageTerminate)
		s.Stop(transport.StageKill)
		<-s.Done()
		if took := time.Since(start); took != time.Minute {
			t.Errorf("the slow exit took %v", took)
		}
		if c := srv.Counts(); c.Stops[transport.StageKill] != 1 || c.Live != 0 {
			t.Errorf("counts %+v", c)
		}

		srv.Update(func(b *fakes.Behaviour) { b.OnTerminate.Ignore = true })
		stuck := dial(t, d)
		stuck.Stop(transport.StageKill)
		<-time.After(24 * time.Hour)
		if closed(stuck.Done()) {
			t.Error("a process that SIGKILL does not end has ended")
		}
		srv.Die()
		if !closed(stuck.Done()) {
			t.Error("Die did not end a stuck process")
		}
	})
}

func TestHoldAtExit(t *testing.T) {
	bubble(t, func(t *testing.T, d *fakes.Dialer, srv *fakes.Server) {
		srv.Hold(fakes.Exit)
		s := dial(t, d)
		s.Stop(transport.StageKill)
		if err := srv.WaitReached(t.Context(), fakes.Exit); err != nil {
			t.Fatal(err)
		}
		if closed(s.Done()) || !closed(s.Down()) {
			t.Error("held at exit: must be down and not done")
		}
		srv.Release(fakes.Exit)
		if !closed(s.Done()) {
			t.Error("released and not done")
		}
		srv.Hold(fakes.Exit)
		s = dial(t, d)
		s.Stop(transport.StageKill)
		if err := srv.WaitReached(t.Context(), fakes.Exit); err != nil {
			t.Fatal(err)
		}
		// Nobody releases this one: the bubble's Close must end it.
	})
}

func TestEndOfAnIncarnationEndsItsCalls(t *testing.T) {
	ends := map[string]func(*fakes.Server, transport.Session){
		"die":   func(srv *fakes.Server, _ transport.Session) { srv.Die() },
		"break": func(srv *fakes.Server, _ transport.Session) { srv.Break() },
		"stop":  func(_ *fakes.Server, s transport.Session) { s.Stop(transport.StageClose) },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, d *fakes.Dialer, srv *fakes.Server) {
				// Late, so that only the incarnation can end it.
				srv.Next(fakes.Call, fakes.Fault{Do: fakes.Hang, Late: true})
				s := dial(t, d)
				got := make(chan error, 1)
				go func() { _, err := s.Call(t.Context(), "echo", nil); got <- err }()
				if err := srv.WaitReached(t.Context(), fakes.Call); err != nil {
					t.Fatal(err)
				}
				end(srv, s)
				kind(t, "call", <-got, callerr.Transport, callerr.PhaseAnswer, false)
				if !closed(s.Down()) || closed(s.Done()) == (name == "break") {
					t.Errorf("down %v, done %v", closed(s.Down()), closed(s.Done()))
				}
			})
		})
	}
}
