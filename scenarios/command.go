package scenarios

import (
	"strconv"
	"strings"
	"time"
)

// Command is one command of a scenario; String gives its canonical text. The set is
// sealed. World.Do gets only Server, Agent, Declare, Delete, Remove, Rename, Hold,
// Release, AwaitPoint, Kill, Quit, Break, Announce, Expire, Configure, Reload, Restart, Drain,
// Advance and Fence; Run itself deals with all others.
type Command interface {
	String() string
	command()
}

// Operation is a command that takes until its answer: Call, List, Reconnect, Upsert or WriteOff.
// Alone on a line it is awaited; behind "start NAME:" it runs while the script goes on.
type Operation interface {
	Command
	operation()
}

// The head of a file.
type (
	// Clauses names the clauses that the scenario shows.
	Clauses struct{ IDs []string }
	// Only limits the scenario to some worlds.
	Only struct{ Worlds []string }
	// Needs names executables without which the scenario cannot run.
	Needs struct{ Programs []string }
	// Set changes a setting before the world is set up: a time, or the count of a bound.
	Set struct {
		Name  string
		Value time.Duration
		Count int
	}
)

// Servers and what happens to them.
type (
	// Server introduces a server program. For Change, Run hands the world another Server
	// with the same name and the complete new behaviour.
	Server struct {
		Name      string
		Behaviour Behaviour
	}
	// Change edits the behaviour of a server.
	Change struct {
		Server string
		Edits  []Edit
	}
	// Hold makes every request that reaches a point of a server wait there.
	Hold struct {
		Server string
		Point  Point
	}
	// Release ends a Hold and lets go what waits; without a point, all holds of the server.
	Release struct {
		Server string
		Point  Point
	}
	// AwaitPoint waits until a live incarnation of a server is held at a point.
	AwaitPoint struct {
		Server string
		Point  Point
	}
	// Kill ends the live incarnations of a server with SIGKILL; with a token, only those
	// which run under it.
	Kill struct{ Server, Token string }
	// Quit makes them exit by themselves, with status 0.
	Quit struct{ Server, Token string }
	// Break ends their sessions and leaves their processes alone.
	Break struct{ Server, Token string }
	// Announce makes the live incarnations of a server list the tools that it has now, and say
	// that their list has changed.
	Announce struct{ Server string }
	// Expire ends a credential: from now on servers refuse whoever comes under it.
	Expire struct{ Token string }
)

// The daemon as a whole.
type (
	// Configure changes a setting of the running daemon.
	Configure struct{ Set Set }
	// Reload makes the daemon read its agents again: what named one server names another now.
	Reload struct{ From, To string }
	// Restart ends the daemon, by a kill or in good order, and starts it again with the agents
	// and claims that it had.
	Restart struct{ Kill bool }
	// Drain makes the daemon shut down.
	Drain struct{}
)

// Agents and their claims.
type (
	// Agent introduces an agent, a fresh owner without claims.
	Agent struct{ Name string }
	// Target is what a claim points at: a server under a credential and an environment.
	// Equal targets are equal configs; any difference makes another peer.
	Target struct {
		Server string
		Token  string // label of a credential; empty for none
		Env    []EnvVar
	}
	// EnvVar is one variable of a Target, in the order written.
	EnvVar struct{ Key, Value string }
	// Declare records a claim and starts nothing; on a taken name it moves the claim.
	Declare struct {
		Agent, MCP string
		Target     Target
		Wish       Wish
	}
	// Delete gives up one claim.
	Delete struct{ Agent, MCP string }
	// Remove ends an agent, and all its claims with it.
	Remove struct{ Agent string }
	// Rename gives an agent another name.
	Rename struct{ Agent, To string }
)

// Operations.
type (
	// Call calls a tool by name through the daemon.
	Call struct{ Agent, Tool string }
	// List lists the tools of an agent through the daemon.
	List struct{ Agent string }
	// Reconnect stops a peer and connects it again.
	Reconnect struct{ Agent, MCP string }
	// Upsert is Declare followed by an eager connect whose outcome is the answer.
	Upsert struct {
		Agent, MCP string
		Target     Target
		Wish       Wish
	}
	// WriteOff gives up what has outlived SIGKILL behind a claim.
	WriteOff struct{ Agent, MCP string }
)

// Time, calls and expectations.
type (
	// Start begins an operation under each name of a range, in order.
	Start struct {
		Calls Calls
		Op    Operation
	}
	// Await waits until started operations have ended.
	Await struct{ Calls Calls }
	// Cancel gives up started operations, as their callers would.
	Cancel struct{ Calls Calls }
	// Advance lets time pass.
	Advance struct{ By time.Duration }
	// Fence makes sure that all which was caused so far has been seen.
	Fence struct{}
	// Expect compares the answer of a query with a value. For the queries result and
	// credential Calls holds the range asked for, zero for the most recent operation.
	Expect struct {
		Query Query
		Calls Calls
		Want  string
	}
)

// Point is a place where a server can be held: on arrival of the request, before the
// server's own delay.
type Point string

// The points. There is none at the spawn: from outside, a process held before its first
// act and one held at initialize look the same.
const (
	AtInitialize Point = "initialize"
	AtList       Point = "list"
	AtCall       Point = "call"
)

// Calls is a name or a range of names with one stem, such as c1..c8; Last is empty for
// a single name.
type Calls struct{ First, Last string }

// Names returns the names of the range in order.
func (c Calls) Names() []string {
	if c.First == "" {
		return nil
	}
	if c.Last == "" {
		return []string{c.First}
	}
	stem, from := splitNumber(c.First)
	_, to := splitNumber(c.Last)
	var names []string
	for i := from; i <= to && len(names) < MaxFanout; i++ {
		names = append(names, stem+strconv.Itoa(i))
	}
	return names
}

// String returns the range as written.
func (c Calls) String() string {
	if c.Last == "" {
		return c.First
	}
	return c.First + ".." + c.Last
}

func (Clauses) command()    {}
func (Only) command()       {}
func (Needs) command()      {}
func (Set) command()        {}
func (Server) command()     {}
func (Change) command()     {}
func (Hold) command()       {}
func (Release) command()    {}
func (AwaitPoint) command() {}
func (Kill) command()       {}
func (Quit) command()       {}
func (Break) command()      {}
func (Announce) command()   {}
func (Expire) command()     {}
func (Configure) command()  {}
func (Reload) command()     {}
func (Restart) command()    {}
func (Drain) command()      {}
func (WriteOff) command()   {}
func (Agent) command()      {}
func (Declare) command()    {}
func (Delete) command()     {}
func (Remove) command()     {}
func (Rename) command()     {}
func (Call) command()       {}
func (List) command()       {}
func (Reconnect) command()  {}
func (Upsert) command()     {}
func (Start) command()      {}
func (Await) command()      {}
func (Cancel) command()     {}
func (Advance) command()    {}
func (Fence) command()      {}
func (Expect) command()     {}

func (Call) operation()      {}
func (List) operation()      {}
func (Reconnect) operation() {}
func (Upsert) operation()    {}
func (WriteOff) operation()  {}

// join puts single spaces between the words that are not empty.
func join(words ...string) string {
	var b strings.Builder
	for _, w := range words {
		if w == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w)
	}
	return b.String()
}

// option returns key=value, and nothing for an empty value.
func option(key, value string) string {
	if value == "" {
		return ""
	}
	return key + "=" + value
}
