package hostworld

import (
	"errors"
	"flag"
	"fmt"
	"runtime/debug"
	"sync"
	"testing"
	"testing/synctest"
)

// InBubble runs f in a bubble of testing/synctest, outside of a test. It returns when f and
// every goroutine that f started have ended. A deadlock in the bubble and a Goexit of f are
// errors; a panic of f is raised again in the caller. Calls wait for one another.
//
// Nothing inside may wait for a channel, lock or context from outside, and what is made
// inside must not be touched from outside.
//
// The bubble needs a running test, and the only documented way to one in a plain program is
// testing.Main, which parses the command line and exits the process when its tests are over.
// Neither comes to pass: flag.CommandLine has been parsed, with no arguments, before
// testing.Main looks at it, and the one test that it runs never ends. It lives in a goroutine
// of its own and runs one bubble after another. The price is that flag.CommandLine lists
// flags of package testing from then on: parse a FlagSet of your own, or parse before.
//
// A test has a bubble of its own: InBubble refuses to work while go test runs tests.
func InBubble(f func()) error {
	if err := bubbles.start(); err != nil {
		return err
	}
	reply := make(chan bubbleResult)
	bubbles.requests <- bubbleRequest{f, reply}
	r := <-reply
	if r.panicked != nil {
		panic(r.panicked)
	}
	return r.err
}

// bubbles is the endless test of this process.
var bubbles = bubbleServer{requests: make(chan bubbleRequest)}

type bubbleServer struct {
	once     sync.Once
	err      error
	requests chan bubbleRequest
}

type bubbleRequest struct {
	f     func()
	reply chan bubbleResult
}

type bubbleResult struct {
	err      error
	panicked any
}

func (s *bubbleServer) start() error {
	s.once.Do(func() {
		if testing.Testing() && flag.Parsed() {
			s.err = errors.New("hostworld: tests are running: use synctest.Test for the bubble")
			return
		}
		testing.Init()
		if !flag.Parsed() {
			s.err = flag.CommandLine.Parse(nil)
		}
		if s.err == nil {
			go testing.Main(matchAll, []testing.InternalTest{{Name: "bubbles", F: s.serve}}, nil, nil)
		}
	})
	return s.err
}

func matchAll(string, string) (bool, error) { return true, nil }

// serve is the test that never ends. Its replies leave from outside the bubble.
func (s *bubbleServer) serve(t *testing.T) {
	for r := range s.requests {
		r.reply <- bubble(t, r.f)
	}
}

// bubble runs f in one bubble. f gets a goroutine of its own, so that neither its panic nor
// its Goexit can end the test.
func bubble(t *testing.T, f func()) (r bubbleResult) {
	defer func() {
		if p := recover(); p != nil {
			r = bubbleResult{err: fmt.Errorf("hostworld: the bubble did not end: %v", p)}
		}
	}()
	synctest.Test(t, func(*testing.T) {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			r.err = errors.New("hostworld: the function in the bubble ended its goroutine")
			defer func() {
				if p := recover(); p != nil {
					r.panicked = fmt.Sprintf("%v\n\n%s", p, debug.Stack())
				}
			}()
			f()
			r.err = nil
		}()
		<-ended
	})
	return r
}
