package sim

import "github.com/mayfly-mcp/mayfly/core/lifecycle"

// player is a tape as a source. Dial plans wait for their target in the order of the tape,
// whatever the time, so that they are still found when other entries were deleted. It copies
// nothing of the tape, which may be large.
type player struct {
	left  []Entry // dial plans among them are passed over
	plans map[Target][]*DialPlan
}

func newPlayer(t *Tape) *player {
	p := &player{left: t.Entries, plans: map[Target][]*DialPlan{}}
	for i := range t.Entries {
		if e := &t.Entries[i]; e.Op == OpDial {
			p.plans[e.Target] = append(p.plans[e.Target], e.Dial)
		}
	}
	p.pass()
	return p
}

// pass goes to the next action.
func (p *player) pass() {
	for len(p.left) > 0 && p.left[0].Op == OpDial {
		p.left = p.left[1:]
	}
}

func (p *player) at() lifecycle.Instant {
	if len(p.left) == 0 {
		return lifecycle.Never
	}
	return p.left[0].At
}

func (p *player) next(e *Entry) {
	*e = p.left[0]
	p.left = p.left[1:]
	p.pass()
}

func (p *player) dial(t Target) DialPlan {
	plans := p.plans[t]
	if len(plans) == 0 {
		return healthy
	}
	p.plans[t] = plans[1:]
	return *plans[0]
}
