package fakes

import (
	"time"

	"github.com/mayfly-mcp/mayfly/core/transport"
)

// Point is a place in the life of an incarnation where a server can be held or can fail.
type Point string

// The points, in order of life. Exit lies between the end of the session and the end of the
// process: an incarnation held there is down but not done.
const (
	Spawn      Point = "spawn"
	Initialize Point = "initialize"
	List       Point = "list"
	Call       Point = "call"
	Exit       Point = "exit"
)

// Action is what happens at a point. The zero value answers as a healthy server does.
type Action uint8

const (
	// Answer is the healthy course.
	Answer Action = iota
	// Fail returns Fault.Err, or a Transport error of the point's phase.
	Fail
	// Hang does not answer until the caller's context or the incarnation ends.
	Hang
	// Die ends the incarnation; the operation fails as Transport.
	Die
	// Break loses the session: Down closes and the operation fails as Transport, but the
	// process stays until it is stopped.
	Break
	// AnswerThenDie answers and dies at the same instant, so that the host hears of both in
	// either order.
	AnswerThenDie
	// DieThenAnswer closes Down and Done first and answers successfully afterwards.
	DieThenAnswer
)

// Fault is what a server does at one point.
type Fault struct {
	Do    Action
	Delay time.Duration // passes before Do
	Err   error         // for Fail, returned as it is; nil means a Transport error
	// Late ignores the caller's context: neither the delay, nor a hold, nor a hang ends
	// early, so that the answer arrives after the caller has gone.
	Late bool
}

// Rung is how a server takes one stage of the stop ladder.
type Rung struct {
	Ignore bool          // the stage has no effect
	Delay  time.Duration // between the stage and the exit
}

// Behaviour is the standing script of a server. The zero value is a healthy server with
// the default tools that connects at once and exits as soon as its input is closed.
type Behaviour struct {
	Tools []transport.Tool // nil means DefaultTools
	// Answers computes the outcome of a call that is not failed otherwise. Nil means the
	// default tools.
	Answers func(CallRecord) (*transport.Result, error)

	Spawn, Initialize, List, Call Fault

	OnClose, OnTerminate, OnKill Rung
}

// at returns the standing fault of a point.
func (b *Behaviour) at(p Point) Fault {
	switch p {
	case Spawn:
		return b.Spawn
	case Initialize:
		return b.Initialize
	case List:
		return b.List
	case Call:
		return b.Call
	case Exit:
		return Fault{}
	}
	return Fault{}
}

// rung returns how the server takes a stage.
func (b *Behaviour) rung(s transport.Stage) Rung {
	switch s {
	case transport.StageClose:
		return b.OnClose
	case transport.StageTerminate:
		return b.OnTerminate
	case transport.StageKill:
		return b.OnKill
	}
	return Rung{Ignore: true}
}
