package sim

import (
	"testing"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// restarting has an operator who restarts the daemon, and reads its files again, all the time.
func restarting(m *Mix) { m.Restart, m.Reload = 300, 300 }

var daemonMutants = []mutant{
	{name: "stops what a reload left alone", want: []string{"RELOAD"}, mix: restarting, make: onOutput(func(c *corrupt, in lifecycle.Input, out *lifecycle.Output) {
		id := c.Claimed(in.Owner, in.Name)
		if v := c.Machine.View(id); in.Kind == lifecycle.InDeclare && v.State == lifecycle.Connected && len(out.Events) == 0 {
			out.Effects = append(out.Effects, lifecycle.Effect{Kind: lifecycle.EffectStop, Stage: lifecycle.StageClose, Peer: id, Gen: v.Gen})
		}
	})},
	{name: "stops a neighbour in a reload", want: []string{"RELOAD", "CALL-ABANDON"}, mix: restarting, make: onOutput(func(c *corrupt, in lifecycle.Input, out *lifecycle.Output) {
		for id := lifecycle.PeerID(1); in.Kind == lifecycle.InDeclare && len(out.Effects) > 0 && int(id) < c.Slots(); id++ {
			if v := c.Machine.View(id); v.State == lifecycle.Connected && id != c.Claimed(in.Owner, in.Name) {
				out.Effects = append(out.Effects, lifecycle.Effect{Kind: lifecycle.EffectStop, Stage: lifecycle.StageClose, Peer: id, Gen: v.Gen})
				return
			}
		}
	})},
	{name: "hides what is stuck", want: []string{"STUCK"}, make: onView(func(_ *corrupt, v *lifecycle.View) {
		if v.Stage == lifecycle.StageStuck {
			v.Stage = lifecycle.StageKill
		}
	})},
	{name: "calls stuck what was only asked", want: []string{"STUCK"}, make: onView(func(_ *corrupt, v *lifecycle.View) {
		if v.Stage == lifecycle.StageTerminate {
			v.Stage = lifecycle.StageStuck
		}
	})},
	{name: "survives its daemon", want: []string{"RESTART"}, mix: restarting, keep: true},
	{name: "lets calls run on in a drain for a restart", want: []string{"RESTART"}, mix: restarting,
		config: func(c *lifecycle.Config) { c.DrainGrace *= 100 }},
}

// TestRestarts shows that restarts of both kinds happen, leave processes behind and go on.
func TestRestarts(t *testing.T) {
	var sum Result
	for seed := uint64(1); seed <= 20; seed++ {
		o := hardOptions(seed)
		restarting(o.Mix)
		o.Record = true
		r := mustRun(t, o)
		if r.Violation != nil {
			t.Fatalf("seed %d: %v", seed, r.Violation)
		}
		for _, e := range r.Tape.Entries {
			if e.Op == OpRestart && e.Kill {
				sum.CallsCut++ // counts kills here
			}
		}
		sum.Orphans += r.Orphans
		sum.Actions[OpRestart] += r.Actions[OpRestart]
		sum.Actions[OpReload] += r.Actions[OpReload]
	}
	if kills := sum.CallsCut; kills == 0 || sum.Actions[OpRestart] <= kills || sum.Orphans == 0 || sum.Actions[OpReload] == 0 {
		t.Errorf("%d restarts, of them at most %d kills, %d orphans, %d reloads", sum.Actions[OpRestart], kills, sum.Orphans, sum.Actions[OpReload])
	}
}
