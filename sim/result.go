package sim

import "github.com/mayfly-mcp/mayfly/core/lifecycle"

// Result is what a run did. It holds no wall-clock time: equal options give equal results.
type Result struct {
	Steps      uint64 // inputs fed
	Events     uint64 // events told
	Hash       uint64 // over every input and output
	Audits     uint64
	Evictions  uint64
	Reclaimed  uint64
	WrittenOff uint64
	CallsCut   uint64
	Orphans    uint64          // processes that a kill of the daemon left behind
	Fired      [nFaults]uint64 // by Fault
	Actions    [ops]uint64
	Inputs     [nInputs]uint64
	Effects    [8]uint64  // by lifecycle.EffectKind
	Replies    [4]uint64  // by lifecycle.ReplyKind
	Refusals   [32]uint64 // by lifecycle.Reason
	Coverage   Coverage
	Reached    Reached // situations of the catalogue
	Recovered  uint64  // claims that worked again once all faults had ended
	Excused    [nExcuses]uint64
	Violation  *Violation // nil if every check held
	Tape       *Tape      // of a recorded run and of one that found a violation
}

// Count is a line of a run's story.
type Count struct {
	N    uint64
	What string
}

// Story tells a run in a few counts, in a fixed order.
func (r *Result) Story() []Count {
	stateChanges := &r.Coverage.Transitions
	return []Count{
		{r.Actions[OpBorn], "owners born"},
		{r.Actions[OpDie], "owners died"},
		{r.Actions[OpDeclare], "declarations, moves and rotations"},
		{r.Actions[OpDispatch], "dispatches"},
		{r.Replies[lifecycle.ReplyReady], "calls admitted"},
		{r.CallsCut, "calls cut short"},
		{r.Refusals[lifecycle.ReasonFailed], "calls refused at once by a failed peer"},
		{r.Effects[lifecycle.EffectDial], "incarnations dialed"},
		{stateChanges[lifecycle.Connecting][lifecycle.Failed], "connects failed"},
		{stateChanges[lifecycle.Connected][lifecycle.Failed], "sessions failed"},
		{r.Evictions, "idle peers evicted"},
		{r.Reclaimed, "idle peers stopped to make room"},
		{r.Refusals[lifecycle.ReasonOverloaded], "refused for want of room"},
		{stateChanges[lifecycle.Failed][lifecycle.Disconnected], "failures aged"},
		{r.Effects[lifecycle.EffectStop], "rungs of the stop ladder"},
		{r.Effects[lifecycle.EffectForget], "declarations forgotten"},
		{r.Recovered, "claims that worked again once all faults had ended"},
		{r.excused(), "excuses for those that did not, or not yet"},
		{r.Actions[OpReload], "reloads of every claim"},
		{r.Actions[OpRestart], "restarts of the daemon"},
		{r.Orphans, "processes that a killed daemon left behind for a while"},
	}
}
