package sim

import (
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// Fault is a kind of trouble that servers make. A fault has fired when what it does reached
// the subject and counted there: a hang when somebody was timed out by it, a death when
// something still ran, a duplicate when it was fed.
type Fault uint8

const (
	noFault Fault = iota
	SlowConnect
	ConnectFails
	ConnectBreaks
	ConnectExits
	ConnectHangs
	Crash
	CleanExit
	SessionLost
	CallRejected
	CallLost
	CallHangs
	SlowStop
	NeedsTerminate
	NeedsKill
	Stuck
	ToolsChange
	LateCompletion
	Duplicate
	ExpiredConnect
	ExpiredCall
	DownKills
	DownConnect

	nFaults = int(DownConnect) + 1
)

// faultKinds names each fault and says of which faults drawn it comes.
var faultKinds = [nFaults]struct {
	name  string
	drawn func(*Faults) bool
}{
	SlowConnect:    {"slow connect", func(f *Faults) bool { return f.Slow+f.Heavy > 0 }},
	ConnectFails:   {"failed connect", func(f *Faults) bool { return f.Flaky*f.Fail > 0 }},
	ConnectBreaks:  {"session lost in a connect", func(f *Faults) bool { return f.Flaky*f.Fail > 0 }},
	ConnectExits:   {"exit in a connect", func(f *Faults) bool { return f.Flaky*f.Fail > 0 }},
	ConnectHangs:   {"connect without an answer", func(f *Faults) bool { return f.Hanging*f.Hang > 0 }},
	Crash:          {"crash", func(f *Faults) bool { return f.Crashy > 0 && f.Clean < 1000 }},
	CleanExit:      {"exit that says all was well", func(f *Faults) bool { return f.Crashy*f.Clean > 0 }},
	SessionLost:    {"session lost", func(f *Faults) bool { return f.Crashy > 0 }},
	CallRejected:   {"call rejected", func(f *Faults) bool { return f.Reject > 0 }},
	CallLost:       {"call lost in transport", func(f *Faults) bool { return (f.Crashy+f.Hanging)*f.Lose > 0 }},
	CallHangs:      {"call without an answer", func(f *Faults) bool { return f.Hanging*f.Hang+f.Crashy*f.Lose > 0 }},
	SlowStop:       {"slow stop", func(f *Faults) bool { return f.Stubborn > 0 }},
	NeedsTerminate: {"stop that needs SIGTERM", func(f *Faults) bool { return f.Stubborn > 0 && f.Stick < 1000 }},
	NeedsKill:      {"stop that needs SIGKILL", func(f *Faults) bool { return f.Stubborn > 0 && f.Stick < 1000 }},
	Stuck:          {"survival of SIGKILL", func(f *Faults) bool { return f.Stubborn*f.Stick > 0 }},
	ToolsChange:    {"change of tools", func(f *Faults) bool { return f.Relist > 0 }},
	LateCompletion: {"late completion", func(f *Faults) bool { return f.Late > 0 }},
	Duplicate:      {"completion twice", func(f *Faults) bool { return f.Twice > 0 }},
	ExpiredConnect: {"connect with an expired token", func(f *Faults) bool { return f.Expire > 0 }},
	ExpiredCall:    {"call with an expired token", func(f *Faults) bool { return f.Expire > 0 }},
	DownKills:      {"death with its whole server", func(f *Faults) bool { return f.Flapping > 0 }},
	DownConnect:    {"connect while its server is down", func(f *Faults) bool { return f.Flapping > 0 }},
}

// String returns the words used in reports.
func (f Fault) String() string { return faultKinds[f].name }

// FaultKinds lists every kind in the order of reports.
func FaultKinds() []Fault {
	var out []Fault
	for f := noFault + 1; int(f) < nFaults; f++ {
		out = append(out, f)
	}
	return out
}

// Draws says whether servers with these faults can make that kind of trouble.
func (f *Faults) Draws(kind Fault) bool { return faultKinds[kind].drawn(f) }

// FaultCount is how often a fault has fired in a run.
type FaultCount struct {
	Fault Fault
	Fired uint64
}

// Faults lists how often each kind has fired, in the order of FaultKinds.
func (r *Result) Faults() []FaultCount {
	var out []FaultCount
	for _, f := range FaultKinds() {
		out = append(out, FaultCount{f, r.Fired[f]})
	}
	return out
}

// The bounds from which a connect and a stop count as slow. Healthy servers stay below.
const (
	slowConnect = 8 * time.Second
	slowStop    = time.Second
)

// fired counts a fault that has reached the subject.
func (w *world) fired(f Fault) { w.result.Fired[f]++ }

// firedInConnect counts what an attempt died of, or that it was slow.
func (w *world) firedInConnect(p *peer, f Fault) {
	if p.cause != noFault {
		f = p.cause
	}
	w.fired(f)
}

// firedOverdue counts an attempt that its timeout ended.
func (w *world) firedOverdue(p *peer) {
	if p.plan.Outcome == Hangs {
		w.fired(ConnectHangs)
		return
	}
	w.fired(SlowConnect)
}

// firedBroken counts a session that ended by itself.
func (w *world) firedBroken(p *peer) {
	if p.up {
		w.fired(SessionLost)
		return
	}
	w.firedInConnect(p, ConnectBreaks)
}

// firedAsStray counts a completion that comes twice, or that nobody waits for any more.
func (w *world) firedAsStray(it item, inTime bool) {
	switch {
	case it.note&noteAgain != 0:
		w.fired(Duplicate)
	case !inTime:
		w.fired(LateCompletion)
	}
}

// firedInCall counts how a call ended, unless it was answered.
func (w *world) firedInCall(note uint32, kind lifecycle.DoneKind) {
	switch {
	case note&noteUnauthorised != 0:
		w.fired(ExpiredCall)
	case kind == lifecycle.DoneRejected:
		w.fired(CallRejected)
	case kind == lifecycle.DoneTransport:
		w.fired(CallLost)
	}
}

// firedExit counts what an incarnation died of.
func (w *world) firedExit(p *peer, note uint32, clean bool) {
	switch {
	case note&noteDown != 0:
		w.fired(DownKills)
	case p.stage != lifecycle.NoStage:
		w.firedInStop(p)
	case clean:
		w.fired(CleanExit)
	case p.up:
		w.fired(Crash)
	default:
		w.firedInConnect(p, ConnectExits)
	}
}

// firedInStop counts how an incarnation took its stop, at its exit.
func (w *world) firedInStop(p *peer) {
	switch {
	case p.plan.Obeys == lifecycle.StageStuck && p.stage == lifecycle.StageKill:
		w.fired(Stuck)
	case p.plan.Obeys == lifecycle.StageKill && p.stage == lifecycle.StageKill:
		w.fired(NeedsKill)
	case p.plan.Obeys == lifecycle.StageTerminate && p.stage >= lifecycle.StageTerminate:
		w.fired(NeedsTerminate)
	}
	if p.plan.StopTakes >= slowStop && p.plan.Obeys < lifecycle.StageStuck {
		w.fired(SlowStop)
	}
}

// firedInCut counts the hang of a call that was timed out.
func (w *world) firedInCut(t *ticket, why lifecycle.Reason) {
	if why == lifecycle.ReasonCallTimeout && t.plan.End == EndNever {
		w.fired(CallHangs)
	}
}
