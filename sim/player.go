package sim

import "github.com/mayfly-mcp/mayfly/core/lifecycle"

// player is a tape as a source. Dial plans wait for their target in the order of the tape,
// whatever the time, so that they are still found when other entries were deleted.
type player struct {
	actions []Entry
	done    int
	plans   map[Target][]DialPlan
}

func newPlayer(t *Tape) *player {
	p := &player{plans: map[Target][]DialPlan{}}
	for i := range t.Entries {
		e := &t.Entries[i]
		if e.Op == OpDial {
			p.plans[e.Target] = append(p.plans[e.Target], *e.Dial)
			continue
		}
		p.actions = append(p.actions, *e)
	}
	return p
}

func (p *player) at() lifecycle.Instant {
	if p.done == len(p.actions) {
		return lifecycle.Never
	}
	return p.actions[p.done].At
}

func (p *player) next(e *Entry) {
	*e = p.actions[p.done]
	p.done++
}

func (p *player) dial(t Target) DialPlan {
	plans := p.plans[t]
	if len(plans) == 0 {
		return healthy
	}
	p.plans[t] = plans[1:]
	return plans[0]
}
