package observer

import (
	"encoding/json"
	"fmt"
)

// Kind says what a report is about.
type Kind string

// The kinds. The last two are the controller's own observations.
const (
	Spawned  Kind = "spawned"  // the first of every process; Spawn is set
	Reached  Kind = "reached"  // a point was reached, held or not; Point is set
	Received Kind = "received" // a message from the daemon; Method, ID, Params are set
	Sent     Kind = "sent"     // about to be written to the daemon; Method or ID is set
	Signal   Kind = "signal"   // Text is its name
	StdinEOF Kind = "eof"
	Forked   Kind = "forked"  // Code is the grandchild's pid
	Exiting  Kind = "exiting" // Code is the status; a kill leaves none
	Ended    Kind = "ended"   // the side connection closed, which the kernel does at the end of the process
	Garbage  Kind = "garbage" // something on the socket that was no report; Text says what
)

// Report is one line of the journal.
type Report struct {
	Seq   int    `json:"seq,omitempty"` // position in the journal, from 1
	Name  string `json:"name,omitempty"`
	Inc   int    `json:"inc,omitempty"` // which spawn of this name, from 1; a grandchild has its parent's
	PID   int    `json:"pid,omitempty"`
	Kind  Kind   `json:"kind"`
	Time  int64  `json:"time"` // CLOCK_MONOTONIC nanoseconds, where it happened
	Point Point  `json:"point,omitempty"`

	Method     string          `json:"method,omitempty"`
	ID         json.RawMessage `json:"id,omitempty"`
	Params     json.RawMessage `json:"params,omitempty"` // absent when larger than MaxParams
	Size       int             `json:"size,omitempty"`   // of the whole message
	Credential string          `json:"credential,omitempty"`
	Code       int             `json:"code,omitempty"`
	Text       string          `json:"text,omitempty"`
	Spawn      *SpawnInfo      `json:"spawn,omitempty"`
}

// MaxParams bounds the params that a report carries, 64 KiB; larger ones are left out.
const MaxParams = 64 << 10

// SpawnInfo is what a process found when it was started.
type SpawnInfo struct {
	PID        int          `json:"pid"`
	PPID       int          `json:"ppid"`
	PGID       int          `json:"pgid"`
	StartTime  uint64       `json:"start_time"` // field 22 of /proc/PID/stat: with the pid, an identity
	Grandchild bool         `json:"grandchild,omitempty"`
	Parent     int          `json:"parent,omitempty"` // of a grandchild: the peer that forked it
	Exec       bool         `json:"exec,omitempty"`   // it became a real server and reports nothing more
	Argv       []string     `json:"argv"`
	Env        []string     `json:"env"` // secrets included: never print it
	Cwd        string       `json:"cwd"`
	FDs        []Descriptor `json:"fds"`
}

// Descriptor is one open file of a process at its start.
type Descriptor struct {
	FD     int    `json:"fd"`
	Target string `json:"target"`
	// Inherited is false for those that carry close-on-exec, which the process opened itself.
	Inherited bool `json:"inherited"`
}

// Leaked returns the inherited descriptors other than stdin, stdout and stderr (SPEC PR-5).
func (s *SpawnInfo) Leaked() []Descriptor {
	var out []Descriptor
	for _, d := range s.FDs {
		if d.Inherited && d.FD > 2 {
			out = append(out, d)
		}
	}
	return out
}

// String prints the start without the environment.
func (s SpawnInfo) String() string {
	return fmt.Sprintf("pid %d of parent %d in group %d, %d arguments, %d variables, %d descriptors",
		s.PID, s.PPID, s.PGID, len(s.Argv), len(s.Env), len(s.FDs))
}

// String prints the report without environment, parameters and credential, so that it is
// fit for evidence.
func (r Report) String() string {
	s := fmt.Sprintf("#%d %s/%d pid %d %s", r.Seq, r.Name, r.Inc, r.PID, r.Kind)
	for _, word := range []string{string(r.Point), r.Method, string(r.ID), r.Text} {
		if word != "" {
			s += " " + word
		}
	}
	if r.Code != 0 || r.Kind == Exiting {
		s += fmt.Sprintf(" %d", r.Code)
	}
	return s
}

// ToolCall is one tools/call as a peer received it.
type ToolCall struct {
	Name, Tool string
	Inc, PID   int
	Args       json.RawMessage
	Credential string
	Time       int64
}

// String prints the call without arguments and credential.
func (c ToolCall) String() string {
	return fmt.Sprintf("%s/%d pid %d call of %s", c.Name, c.Inc, c.PID, c.Tool)
}

// Process is a process known to the controller.
type Process struct {
	Name       string // empty for one that never reported, such as a launcher
	Inc        int
	PID        int
	StartTime  uint64
	PGID       int
	Grandchild bool
	Exec       bool // a real server: its whole process group stands for it
}
