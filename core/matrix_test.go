package core_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mayfly-mcp/mayfly/core"
	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/fakes"
)

// faults are all the ways in which a point can go wrong.
var faults = map[string]fakes.Fault{
	"fail":             {Do: fakes.Fail},
	"slow":             {Delay: 3 * time.Second},
	"hang":             {Do: fakes.Hang},
	"hang for ever":    {Do: fakes.Hang, Late: true},
	"late":             {Delay: 10 * time.Minute, Late: true},
	"late failure":     {Do: fakes.Fail, Delay: 10 * time.Minute, Late: true},
	"die":              {Do: fakes.Die},
	"break":            {Do: fakes.Break},
	"answer then die":  {Do: fakes.AnswerThenDie},
	"die then answer":  {Do: fakes.DieThenAnswer},
	"typed as refused": {Do: fakes.Fail, Err: &callerr.Error{Kind: callerr.Refused, Msg: "not a kind of the seam"}},
	"untyped":          {Do: fakes.Fail, Err: fmt.Errorf("no kind at all")},
}

// exits are ways to take the stop ladder.
var exits = map[string]fakes.Behaviour{
	"at once":      {},
	"slowly":       {OnClose: fakes.Rung{Delay: grace + time.Second}},
	"on terminate": {OnClose: fakes.Rung{Ignore: true}},
	"on kill":      {OnClose: fakes.Rung{Ignore: true}, OnTerminate: fakes.Rung{Ignore: true}},
	"at a tie":     {OnClose: fakes.Rung{Delay: grace}, OnTerminate: fakes.Rung{Delay: grace}},
	"stuck": {OnClose: fakes.Rung{Ignore: true}, OnTerminate: fakes.Rung{Ignore: true},
		OnKill: fakes.Rung{Delay: 3 * grace}},
}

// TestFaultMatrix puts every fault at every point, under every way to exit, while a healthy
// sibling works on: each call gets exactly one outcome within its bounds, the states at the
// end are the truth, and nothing is left.
func TestFaultMatrix(t *testing.T) {
	for _, p := range []fakes.Point{fakes.Spawn, fakes.Initialize, fakes.List, fakes.Call} {
		for fault := range faults {
			if p == fakes.Spawn && fault == "hang for ever" {
				continue // the seam promises that Dial obeys its context, and the host relies on it
			}
			for exit := range exits {
				t.Run(fmt.Sprintf("%s/%s/%s", p, fault, exit), func(t *testing.T) {
					bubble(t, func(r *rig) { workload(r, p, faults[fault], exits[exit]) })
				})
			}
		}
	}
}

func workload(r *rig, p fakes.Point, f fakes.Fault, exit fakes.Behaviour) {
	srv := r.d.Server("S")
	srv.Set(exit)
	srv.Next(p, f, f)
	a, b := r.owner("a", "S", "healthy"), r.owner("b", "S")
	r.d.Server("healthy").Update(func(b *fakes.Behaviour) { b.Tools = fakes.Tools("saw"); b.Answers = says("sawn") })

	calls := []<-chan outcome{goCall(bg, a, "echo"), goCall(bg, b, "echo"), goCall(bg, b, "whoami")}
	ctx, cancel := context.WithTimeout(bg, time.Second)
	defer cancel()
	calls = append(calls, goCall(ctx, a, "echo"))
	saw := goCall(bg, a, "saw")
	synctest.Wait()
	pass(2 * time.Minute)
	for i, c := range calls {
		if pending(c) {
			r.t.Errorf("call %d has no outcome", i)
			continue
		}
		if got := <-c; got.at > connect+callMax+3*grace {
			r.t.Errorf("call %d took %v", i, got.at)
		}
	}
	if got := <-saw; got.err != nil {
		r.t.Errorf("the healthy sibling: %v", got.err)
	}
	r.truth(a, "S")
	r.truth(b, "S")
	r.revive(a)
	if c := srv.Counts(); c.MaxLive > 1 {
		r.t.Errorf("%d incarnations lived at one time", c.MaxLive)
	}
}

// truth compares a row with what the server knows (SPEC ST-1).
func (r *rig) truth(o *core.Owner, name string) {
	r.t.Helper()
	live := r.d.Server(name).Counts().Live
	for _, s := range o.List() {
		if s.Name != name {
			continue
		}
		switch {
		case s.State == lifecycle.Connected && live != 1,
			s.State == lifecycle.Disconnected && !s.Stopping && live != 0,
			s.State == lifecycle.Connecting,
			s.State == lifecycle.Failed && s.Error == "",
			s.InFlight != 0:
			r.t.Errorf("%d live, row %+v", live, s)
		}
	}
}

// revive shows that no fault is for ever: once the server is healthy a reconnect works.
func (r *rig) revive(o *core.Owner) {
	r.t.Helper()
	r.d.Server("S").Set(fakes.Behaviour{})
	for range 4 { // as many faults as can be left over
		if s, err := o.Reconnect(bg, "S"); err == nil && s.State == lifecycle.Connected {
			if got := <-goCall(bg, o, "echo"); got.err == nil {
				return
			}
		}
		pass(time.Second)
	}
	r.t.Errorf("no reconnect helps: %+v", o.List()[0])
}
