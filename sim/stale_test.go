package sim

import (
	"testing"
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// TestStaleNews holds a subject that takes the late end of an abandoned attempt for the end of
// its successor's: a transition needs news of the newest incarnation as its cause.
func TestStaleNews(t *testing.T) {
	s := Target{Server: 1}
	plan := func(p DialPlan) *DialPlan { return &p }
	tape := &Tape{Tenants: 1, For: time.Minute, AuditEvery: 1, Config: lifecycle.DefaultConfig(), Entries: []Entry{
		{Op: OpBorn, Tenant: 1},
		{Op: OpDeclare, Tenant: 1, Name: 1, Target: s},
		{Op: OpDial, Target: s, Dial: plan(DialPlan{Outcome: Fails, After: 5 * time.Second, Obeys: lifecycle.StageClose, StopTakes: time.Millisecond, Late: true})},
		{Op: OpEnsure, Tenant: 1, Name: 1},
		{At: lifecycle.Instant(time.Second), Op: OpDial, Target: s, Dial: plan(DialPlan{Outcome: Connects, After: 20 * time.Second, Tools: 1, Obeys: lifecycle.StageClose, StopTakes: time.Millisecond})},
		{At: lifecycle.Instant(time.Second), Op: OpReconnect, Tenant: 1, Name: 1},
	}}
	if res, err := Replay(tape, Options{}); err != nil || res.Violation != nil || res.Inputs[lifecycle.InConnectFailed] != 1 {
		t.Fatalf("the machine: %v, %+v", err, res)
	}
	res, err := Replay(tape, Options{Subject: func(c lifecycle.Config) Subject {
		return &corrupt{Machine: lifecycle.New(c), fps: map[lifecycle.PeerID]lifecycle.Fingerprint{}, input: func(c *corrupt, in *lifecycle.Input) bool {
			if in.Kind == lifecycle.InConnectFailed {
				in.Gen = c.Machine.View(in.Peer).Gen
			}
			return false
		}}
	}})
	if err != nil || res.Violation == nil || res.Violation.ID != "TRANSITION" {
		t.Fatalf("a machine that takes old news for new: %v, %+v", err, res)
	}
}
