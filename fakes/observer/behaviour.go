package observer

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Point is a moment in a peer's life at which it can be held or told to misbehave.
type Point string

// The points. The first four can be held; the last two are where a Rule can slow the exit.
const (
	Spawn      Point = "spawn"      // before the first byte of stdin is read
	Initialize Point = "initialize" // an initialize request arrived
	List       Point = "list"       // a tools/list request arrived
	Call       Point = "call"       // a tools/call request arrived
	EOF        Point = "eof"        // stdin ended
	Term       Point = "term"       // SIGTERM, SIGINT or SIGHUP arrived
)

// Action is one way to misbehave.
type Action string

// The actions. Those of the first group happen before the reply and apply everywhere,
// those of the second need a request to answer and are ignored elsewhere.
const (
	Exit        Action = "exit"         // exit with Code
	Crash       Action = "crash"        // SIGKILL to itself
	Delay       Action = "delay"        // wait For
	Noise       Action = "noise"        // N lines on stdout that are no JSON-RPC (at least one)
	Stderr      Action = "stderr"       // N bytes on stderr
	Notify      Action = "notify"       // N notifications/message (at least one)
	Ping        Action = "ping"         // a server request, whose answer is not awaited
	ListChanged Action = "list_changed" // swap in Tools and send notifications/tools/list_changed
	Fork        Action = "fork"         // start a grandchild, see Child
	CloseStdout Action = "close_stdout" // half a pipe: nothing can be answered any more
	StopReading Action = "stop_reading" // never read stdin again, so that its writer blocks

	Hang      Action = "hang"       // never answer this request
	Late      Action = "late"       // answer when the request's cancellation arrives
	Double    Action = "double"     // answer twice
	UnknownID Action = "unknown_id" // an answer to an id nobody asked, then the right one
	RPCError  Action = "rpc_error"  // answer with JSON-RPC error Code (0 means -32603)
	IsError   Action = "is_error"   // answer with isError
	Large     Action = "large"      // answer with a text of N bytes
	Empty     Action = "empty"      // answer with an empty tool list
	Garbled   Action = "garbled"    // answer with a result of the wrong shape
	Truncate  Action = "truncate"   // write half of the answer and exit with Code
)

// Rule is one misbehaviour at one point. Rules of a point run in order.
type Rule struct {
	At    Point         `json:"at"`
	Do    Action        `json:"do"`
	Tool  string        `json:"tool,omitempty"`  // only calls of this tool
	Code  int           `json:"code,omitempty"`  // exit status or JSON-RPC error code
	N     int           `json:"n,omitempty"`     // bytes or lines, at most MaxFlood
	For   time.Duration `json:"for,omitempty"`   // Delay
	Times int           `json:"times,omitempty"` // the first so many arrivals of an incarnation, in wire order; 0 is always
	Tools []Tool        `json:"tools,omitzero"`  // ListChanged
	Child Child         `json:"child,omitzero"`  // Fork
}

// Child says what kind of grandchild Fork starts. It lives until it is killed, gets a
// SIGTERM that it does not ignore, or loses the controller.
type Child struct {
	IgnoreTerm bool `json:"ignore_term,omitempty"`
	HoldStdio  bool `json:"hold_stdio,omitempty"` // keeps the peer's stdin and stdout open
	OwnGroup   bool `json:"own_group,omitempty"`  // leaves the peer's process group
}

// Tool is an entry of the tool list. A name without an implementation answers with its
// own name as text.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"inputSchema,omitempty"` // nil means an open object
}

// Behaviour is everything a peer can be told. The zero value is a healthy server.
type Behaviour struct {
	Tools      []Tool  `json:"tools,omitzero"` // nil means the default tools
	Hold       []Point `json:"hold,omitempty"`
	Rules      []Rule  `json:"rules,omitempty"`
	IgnoreEOF  bool    `json:"ignore_eof,omitempty"`
	IgnoreTerm bool    `json:"ignore_term,omitempty"`
}

// MaxFlood bounds every N of a Rule: 128 MiB, twice the largest answer SPEC CA-8 speaks of.
const MaxFlood = 128 << 20

var (
	points  = []Point{Spawn, Initialize, List, Call, EOF, Term}
	actions = []Action{
		Exit, Crash, Delay, Noise, Stderr, Notify, Ping, ListChanged, Fork, CloseStdout, StopReading,
		Hang, Late, Double, UnknownID, RPCError, IsError, Large, Empty, Garbled, Truncate,
	}
)

// Validate reports the first point, action or amount that no peer understands.
func (b Behaviour) Validate() error {
	for _, p := range b.Hold {
		if !slices.Contains(points[:4], p) {
			return fmt.Errorf("observer: cannot hold at %q: use one of %v", p, points[:4])
		}
	}
	for _, r := range b.Rules {
		if !slices.Contains(points, r.At) {
			return fmt.Errorf("observer: rule at unknown point %q: use one of %v", r.At, points)
		}
		if !slices.Contains(actions, r.Do) {
			return fmt.Errorf("observer: unknown action %q: use one of %v", r.Do, actions)
		}
		if r.N < 0 || r.N > MaxFlood {
			return fmt.Errorf("observer: rule %s at %s: n=%d is not within 0..%d", r.Do, r.At, r.N, MaxFlood)
		}
		if r.For < 0 || r.Times < 0 {
			return fmt.Errorf("observer: rule %s at %s: a negative time or count", r.Do, r.At)
		}
	}
	return nil
}
