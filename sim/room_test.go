package sim

import (
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// withoutEviction has bounds that bite and no reaper, so that what stops a healthy peer is a lack
// of room.
func withoutEviction(c *lifecycle.Config) {
	crowded(c)
	c.IdleTimeout, c.FailedRetry = 0, 20*time.Second
}

// wishing changes what claims ask for.
func wishing(f func(*lifecycle.Policy)) func(*corrupt) {
	return onInput(func(_ *corrupt, in *lifecycle.Input) bool {
		if in.Kind == lifecycle.InDeclare && in.Policy != nil {
			p := *in.Policy
			f(&p)
			in.Policy = &p
		}
		return false
	})
}

var roomMutants = []mutant{
	{name: "lets one too many live", want: []string{"CAP-LIVE"}, world: crowded, config: func(c *lifecycle.Config) { c.MaxLive++ }},
	{name: "dials one too many", want: []string{"CAP-DIALING", "RECLAIM"}, world: crowded, config: func(c *lifecycle.Config) { c.MaxDialing++ }},
	{name: "spawns one too many", want: []string{"CAP-SPAWNING", "RECLAIM"}, world: crowded, config: func(c *lifecycle.Config) { c.MaxSpawning++ }},
	{name: "queues one too many", want: []string{"QUEUE-BOUND"}, world: crowded, config: func(c *lifecycle.Config) { c.MaxQueued++ }},
	{name: "leaves room unused", want: []string{"QUEUE-IDLE"}, world: crowded, config: func(c *lifecycle.Config) { c.MaxDialing-- }},
	{name: "queues for too long", want: []string{"QUEUE-WAIT", "REPLY-CAUSE"}, world: crowded, config: func(c *lifecycle.Config) { c.QueueTimeout *= 3 }},
	{name: "refuses before its time", want: []string{"REPLY-CAUSE"}, world: crowded, config: func(c *lifecycle.Config) { c.QueueTimeout /= 2 }},
	{name: "serves the last first", want: []string{"QUEUE-FIFO"}, world: crowded, make: onOutput(func(c *corrupt, in lifecycle.Input, out *lifecycle.Output) {
		for i, e := range out.Effects {
			for id := lifecycle.PeerID(1); e.Kind == lifecycle.EffectDial && int(id) < c.Slots(); id++ {
				if v := c.Machine.View(id); v.Queued && v.Gen > 0 {
					out.Effects[i].Peer, out.Effects[i].Gen, out.Effects[i].FP = id, v.Gen+1, c.fps[id]
					return
				}
			}
		}
	})},
	{name: "has no respect for what is pinned or young", want: []string{"RECLAIM", "EVICT-EARLY"}, world: withoutEviction,
		make: wishing(func(p *lifecycle.Policy) { p.Pinned, p.MinUptime = false, 0 })},
	{name: "pins everything", want: []string{"QUEUE-IDLE", "NEVER-EVICTED", "EVICT-LATE"}, world: withoutEviction,
		make: wishing(func(p *lifecycle.Policy) { p.Pinned = true })},
	{name: "stops what is in use for others", want: []string{"RECLAIM", "ADMIT-UP"}, world: withoutEviction, make: onOutput(func(c *corrupt, in lifecycle.Input, out *lifecycle.Output) {
		for id := lifecycle.PeerID(1); c.Load().Queued > 1 && c.Load().Live == 6 && int(id) < c.Slots(); id++ {
			if v := c.Machine.View(id); v.State == lifecycle.Connected && v.InFlight > 0 && in.Kind == lifecycle.InDispatch {
				out.Effects = append(out.Effects, lifecycle.Effect{Kind: lifecycle.EffectStop, Stage: lifecycle.StageClose, Peer: id, Gen: v.Gen})
				return
			}
		}
	})},
	{name: "counts the wait for room as connecting", want: []string{"CONNECT-CUT"}, world: crowded, make: impatient},
	{name: "lets the shorter wish win", want: []string{"EVICT-EARLY"}, world: ageing, make: wishing(func(p *lifecycle.Policy) { p.IdleTimeout /= 2 })},
	{name: "is not told of a new configuration", want: []string{"EVICT-LATE", "EVICT-EARLY"}, world: ageing,
		make: onInput(func(_ *corrupt, in *lifecycle.Input) bool { return in.Kind == lifecycle.InConfigure })},
	{name: "ignores start budgets", want: []string{"CONNECT-CUT", "CONNECT-BOUND"}, make: wishing(func(p *lifecycle.Policy) { p.StartTimeout = 0 })},
	{name: "fails what went in peace", want: []string{"CLEAN-EXIT"}, world: func(c *lifecycle.Config) { c.IdleTimeout, c.FailedRetry = 0, 20*time.Second }, make: onInput(func(_ *corrupt, in *lifecycle.Input) bool {
		in.Clean = false
		return false
	})},
	{name: "keeps a new list to itself", want: []string{"RELIST"}, make: dropEvents(func(in lifecycle.Input, _ lifecycle.Event) bool { return in.Kind == lifecycle.InRelisted })},
	{name: "tells of the old list", want: []string{"RELIST"}, make: onOutput(func(c *corrupt, in lifecycle.Input, out *lifecycle.Output) {
		for i := range out.Events {
			if in.Kind == lifecycle.InRelisted {
				out.Events[i].Tools++
			}
		}
	})},
}

// impatient fails an attempt as soon as its wait for room and its connect together took too long.
func impatient(c *corrupt) {
	since := map[lifecycle.PeerID]lifecycle.Instant{}
	c.input = func(c *corrupt, in *lifecycle.Input) bool {
		for id := lifecycle.PeerID(1); int(id) < c.Slots(); id++ {
			v := c.Machine.View(id)
			switch at, waited := since[id]; {
			case v.Queued && !waited:
				since[id] = c.Now()
			case !v.Queued && v.Phase != lifecycle.Dialing:
				delete(since, id)
			case v.Phase == lifecycle.Dialing && waited && in.Kind == lifecycle.InTimeReached && c.Now() > at+lifecycle.Instant(30*time.Second):
				*in = lifecycle.ConnectFailed(id, v.Gen)
				return false
			}
		}
		return false
	}
}
