package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// Rule is what the simulator holds the subject to. A check compares what the subject says
// and does with the world's own books.
type Rule struct {
	ID     string
	Clause string // of SPEC.md
	Text   string
}

// Rules lists every rule. The subject's own invariants come on top: those that it panics
// with and those that its audits return, under their own ids.
var Rules = []Rule{
	{"PROC-ONE", "ST-3", "a fingerprint has at most one live incarnation that is not written off"},
	{"PROC-GEN", "ST-2", "generations rise, and effects name the live one"},
	{"PROC-CLAIM", "PC-1", "what nobody claims is being stopped, and is forgotten once it has ended"},
	{"SPAWN-UNASKED", "CL-1", "nothing is dialed that no dispatch, ensure or reconnect asked for"},
	{"RETRY", "RE-5", "dispatches do not connect a failed peer before its failure has aged"},
	{"LADDER", "PR-2", "the rungs of a stop come in order, each exactly when the grace of the last is over"},
	{"WRITE-OFF", "ST-9", "what outlived SIGKILL is written off when an operator says so, counted as such, and nothing else is"},
	{"CONNECT-BOUND", "DI-4", "an attempt ends at the connect timeout"},
	{"CONNECT-CUT", "DI-9", "an attempt is abandoned for a timeout, a failure, a reconnect, a drain or the last claim only"},
	{"ISOLATION", "ID-2", "a call runs on an incarnation that was dialed with its own claim's configuration"},
	{"ADMIT-UP", "ST-1", "a call is admitted only to a live, initialised, unbroken incarnation"},
	{"STATUS", "ST-1", "the listed state is the truth about the process"},
	{"LISTED", "ST-7", "the listed counts of claims, waiters and calls are true"},
	{"TOOLS", "ST-6", "a connected peer lists its incarnation's tools, a peer that failed after it keeps them"},
	{"TRANSITION", "ST-1", "states change only along the diagram and for a cause"},
	{"CAP-LIVE", "PR-6", "no more incarnations live than the bound says"},
	{"CAP-DIALING", "PR-6", "no more attempts are under way than the bound says"},
	{"CAP-SPAWNING", "PR-6", "no more processes are being created than the bound says"},
	{"QUEUE-FIFO", "PR-6", "attempts that wait for room begin in the order in which they came"},
	{"QUEUE-BOUND", "PR-6", "no more attempts queue than the bound says"},
	{"QUEUE-IDLE", "PR-6", "no attempt queues while there is room"},
	{"QUEUE-WAIT", "PR-6", "no attempt queues for longer than the bound says"},
	{"RECLAIM", "RE-10", "only what nobody uses and nothing protects is stopped to make room"},
	{"CLEAN-EXIT", "CA-6", "an unused process that exits with status 0 does not fail its peer"},
	{"RELIST", "CA-10", "every owner is told of a list that was read again"},
	{"EVICT-EARLY", "RE-1", "no peer is stopped for idleness before it was unused for T"},
	{"EVICT-LATE", "RE-1", "no unused peer stays up longer than T and a tick"},
	{"EVICT-BUSY", "RE-2", "no peer is stopped for idleness while a call is in flight"},
	{"EVICT-OFF", "RE-6", "with T = 0 nothing is evicted"},
	{"AGE-EARLY", "RE-4", "no failure ages before its period is over"},
	{"AGE-LATE", "RE-4", "every failure ages within its period and a tick, calls in flight apart"},
	{"CALL-STATE", "CA-1", "an answer, a rejection or a cancellation leaves the state alone"},
	{"CALL-FAILS", "CA-2", "a call that fails in transport fails the peer"},
	{"CALL-ABANDON", "CA-8", "only admitted calls are abandoned, and for a reason that is true"},
	{"CALL-STRANDED", "CA-7", "no call stays in flight on an incarnation that has exited"},
	{"EVENT-PATH", "EV-5", "the events of one claim form a path of the state diagram"},
	{"EVENT-MISSING", "ST-5", "every owner of a peer was told its state"},
	{"EVENT-OWNER", "PC-8", "events go to live owners under names that they claim"},
	{"EVENT-REPLAY", "CL-7", "only an owner that joins is told a standing as a replay"},
	{"EVENT-SEQ", "EV-2", "events are numbered without a gap and stamped with the instant of their step"},
	{"FAREWELL", "CL-9", "a claim that leaves a peer which is not Disconnected is told so"},
	{"REPLY-ONCE", "CA-8", "a ticket is answered once, and only while it is open"},
	{"REPLY-NOW", "DI-12", "a ticket on a settled peer is answered at once"},
	{"REPLY-LOST", "DI-9", "every ticket is answered within the bounds"},
	{"REPLY-CAUSE", "DI-12", "a refusal names a reason that is true"},
	{"SETTLED", "RC-2", "a settled ticket carries the state after the attempt"},
	{"WAITERS", "DI-9", "no more callers wait for a peer than the bound says"},
	{"WAIT-FIFO", "DI-9", "who waits for a peer is answered in the order of arrival"},
	{"REASON", "ST-8", "events, listings and answers give the reason for which a peer failed"},
	{"RETRY-AT", "DI-12", "a refusal says when to try again as the listing does"},
	{"OWNER-TICKET", "CL-13", "no ticket waits for a claim that is gone"},
	{"CANCEL", "CA-4", "a ticket ends when its caller gives up"},
	{"FORGET", "CL-2", "a declaration is forgotten only when nobody claims it and nothing of it runs"},
	{"RELOAD", "CF-6", "a declaration touches no peer but those of its own claim, and one that changes nothing does nothing"},
	{"STUCK", "ST-9", "the listed rung of a stop is the one that was performed, and what survives the last is shown as stuck"},
	{"RESTART", "PR-4", "no process outlives its daemon for longer than a stop takes, and the next one knows nothing of it"},
	{"FAILED-FOREVER", "ST-4", "no peer stays failed for ever, whether or not anything touches it"},
	{"NEVER-EVICTED", "RE-3", "no peer that nobody uses stays up for ever, whether or not anything touches it"},
	{"RECOVER", "ST-4", "once all faults have ended every claim works again within the bounds, or for its failure there is an excuse"},
	{"PROGRESS", "ST-4", "a deadline that was reached does not remain due, and deadlines are for something"},
	{"DRAIN", "SH-1", "in a drain what serves no call is stopped at once, and the last exit ends it"},
	{"LEAK", "SH-1", "after a drain and the stop ladders nothing is left"},
	{"PANIC", "CF-7", "the subject does not panic"},
}

// ServedRules lists the rules of what owners serve beside the subject, in runs in which they do.
var ServedRules = []Rule{
	{"SERVED-LAW", "OL-53", "what may be registered, what is listed and what is callable follows from the living alone"},
	{"SERVED-PLAN", "OL-38", "a body runs only when its own entry's plan admits the caller, and that plan alone is asked"},
	{"SERVED-GATE", "OL-45", "what was resolved is called or answered at once, and no body begins for the dead or for what was taken out"},
}

// Violation is a broken rule: a Rule, or an invariant of the subject itself.
type Violation struct {
	Rule
	Detail string
	Step   uint64
	At     lifecycle.Instant
}

// Error implements error.
func (v *Violation) Error() string {
	return fmt.Sprintf("%s (SPEC %s) at step %d, %v: %s: %s", v.ID, v.Clause, v.Step, time.Duration(v.At), v.Text, v.Detail)
}

// fail records a violation, unless one came first.
func (w *world) fail(id, format string, args ...any) {
	if w.violation != nil || slices.Contains(w.opt.mute, id) {
		return
	}
	w.violation = &Violation{Rule: ruleOf(id), Detail: fmt.Sprintf(format, args...), Step: w.result.Steps, At: w.now}
}

// ruleOf finds a rule among the simulator's and the machine's.
func ruleOf(id string) Rule {
	for _, c := range slices.Concat(Rules, ServedRules) {
		if c.ID == id {
			return c
		}
	}
	for _, v := range lifecycle.Invariants {
		if v.ID == id {
			return Rule{v.ID, v.Clause, v.Text}
		}
	}
	return Rule{id, "-", "an unnamed rule of the subject"}
}

// step feeds one input, hashes it with its output, and checks everything that it touched.
func (w *world) step(in lifecycle.Input) {
	if w.violation != nil {
		return
	}
	w.in = in
	w.result.Steps++
	w.result.Inputs[in.Kind]++
	w.meetInput()
	w.inSubject = true
	out := w.subject.Step(w.now, in)
	w.inSubject = false
	w.hash.input(w.now, &w.in)
	w.hash.output(&out)
	if len(out.Effects)+len(out.Replies)+len(out.Events) > 0 {
		w.idleTicks = 0
	}
	for i := range out.Effects {
		w.effect(&out.Effects[i])
	}
	for i := range out.Replies {
		w.reply(&out.Replies[i])
	}
	for i := range out.Events {
		w.event(&out.Events[i])
	}
	w.checkFarewell()
	w.checkUntouched(&out)
	w.checkBereft()
	w.enqueue()
	for _, id := range w.touched {
		w.checkPeer(id)
	}
	for _, c := range w.lost {
		w.checkLost(c)
	}
	w.meetOutput(&out)
	w.touched, w.lost = w.touched[:0], w.lost[:0]
	w.epoch++
	w.inSubject = true
	w.deadline = w.subject.Deadline()
	w.inSubject = false
	w.checkDrained()
	w.checkWatches()
	if w.prober != nil {
		w.prober.judge()
	}
	if w.result.Steps%uint64(w.opt.AuditEvery) == 0 {
		w.audit()
	}
	if w.opt.Observe != nil {
		w.observe(&out)
	}
}

// checkDrained demands that a drained subject which has nothing left wants nothing more.
func (w *world) checkDrained() {
	if w.draining && w.live == 0 && w.deadline != lifecycle.Never {
		w.fail("DRAIN", "nothing runs any more and there is still a deadline at %v", time.Duration(w.deadline))
	}
}

// view asks what a listing shows.
func (w *world) view(id lifecycle.PeerID) lifecycle.View {
	w.inSubject = true
	v := w.subject.View(id)
	w.inSubject = false
	return v
}

// name describes an incarnation in a violation.
func (w *world) name(id lifecycle.PeerID) string {
	p := &w.peers[id]
	return fmt.Sprintf("peer %d generation %d (%v)", id, p.gen, w.configs[p.config].target)
}

// checkLost demands that what lost its last claim is stopping or forgotten.
func (w *world) checkLost(i int32) {
	c := &w.configs[i]
	if c.claims > 0 || c.target == (Target{}) {
		return
	}
	if c.peer == 0 || !w.peers[c.peer].live {
		w.fail("PROC-CLAIM", "%v lost its last claim and was not forgotten", c.target)
	} else if w.peers[c.peer].stage == lifecycle.NoStage {
		w.fail("PROC-CLAIM", "%s runs on without a claim", w.name(c.peer))
	}
}

// audit checks the whole state, the subject's own audit included.
func (w *world) audit() {
	w.result.Audits++
	for id := range w.peers {
		w.checkOverstay(lifecycle.PeerID(id))
	}
	w.checkStarved()
	if w.auditor == nil {
		return
	}
	if v := w.auditor.Audit(); v != nil {
		w.fail(v.ID, "%s", v.Detail)
	}
}
