package fakes

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/mayfly-mcp/mayfly/core/transport"
)

// born dials a server of a dialer that ends with the test.
func born(t *testing.T) (*Server, transport.Session, transport.Reporter) {
	t.Helper()
	d := NewDialer(Config{})
	srv := d.Server("srv")
	t.Cleanup(d.Close)
	s, err := d.Dial(context.Background(), transport.Config{Command: "srv"})
	if err != nil {
		t.Fatal(err)
	}
	return srv, s, s.(transport.Reporter)
}

// told reports whether a channel has something now.
func told(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestTheFirstMessage(t *testing.T) {
	srv, s, r := born(t)
	if told(r.Heard()) {
		t.Error("a server was heard before it said anything")
	}
	srv.Next(Initialize, Fault{Do: Fail})
	if _, err := s.Initialize(t.Context()); err == nil || told(r.Heard()) {
		t.Errorf("a handshake that failed: error %v, heard %v; want an error and silence", err, told(r.Heard()))
	}
	srv.Speak()
	srv.Speak()
	if !told(r.Heard()) {
		t.Error("a message was not heard")
	}
	_, s, r = born(t)
	if _, err := s.Initialize(t.Context()); err != nil || !told(r.Heard()) {
		t.Errorf("the answer to initialize: error %v, heard %v", err, told(r.Heard()))
	}
}

func TestChangesAreCoalesced(t *testing.T) {
	srv, _, r := born(t)
	for range 1000 {
		srv.Changed()
	}
	if !told(r.Changed()) || told(r.Changed()) {
		t.Error("a thousand announcements should be told once")
	}
	srv.Changed()
	if !told(r.Changed()) || !told(r.Heard()) {
		t.Error("an announcement after the last one was read is lost, or was not heard")
	}
}

func TestCleanExits(t *testing.T) {
	for _, tc := range []struct {
		name  string
		end   func(*Server, transport.Session)
		clean bool
	}{
		{"by itself", func(srv *Server, _ transport.Session) { srv.Quit() }, true},
		{"a crash", func(srv *Server, _ transport.Session) { srv.Die() }, false},
		{"a stop", func(_ *Server, s transport.Session) { s.Stop(transport.StageClose) }, false},
		{"by itself after a stop", func(srv *Server, s transport.Session) {
			srv.Update(func(b *Behaviour) { b.OnClose.Ignore = true })
			s.Stop(transport.StageClose)
			srv.Quit()
		}, false},
		{"a crash, then by itself", func(srv *Server, s transport.Session) {
			srv.Die()
			s.(*session).quit()
		}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv, s, r := born(t)
				tc.end(srv, s)
				<-s.Done()
				if r.Clean() != tc.clean {
					t.Errorf("clean is %v, want %v", r.Clean(), tc.clean)
				}
			})
		})
	}
}
