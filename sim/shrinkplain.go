package sim

import (
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// simplify makes entries plain and times round, and says whether anything changed.
func (s *shrinker) simplify() bool {
	changed := s.plainCalls()
	changed = s.plainPolicies() || changed
	changed = s.plainDials() || changed
	changed = s.plainChanges() || changed
	changed = s.plainOutages() || changed
	changed = s.plainServed() || changed
	changed = s.merge() || changed
	s.number()
	changed = s.plainConfig() || changed
	changed = s.squeeze() || changed
	changed = s.roundTimes() || changed
	changed = s.shorten() || changed
	return changed
}

// change tries the best tape with one entry changed. A change that changes nothing is none.
func (s *shrinker) change(i int, change func(e *Entry)) bool {
	before := s.best.Entries[i].String()
	t := s.edited(func(k int, e *Entry) {
		if k == i {
			change(e)
		}
	})
	return t.Entries[i].String() != before && s.try(t, endless)
}

// plainCall is a call that is answered at once.
var plainCall = CallPlan{End: EndAnswered}

func (s *shrinker) plainCalls() (changed bool) {
	some := false
	all := s.edited(func(_ int, e *Entry) {
		if e.Op == OpDispatch && e.Call != plainCall {
			e.Call, some = plainCall, true
		}
	})
	if some && s.try(all, endless) {
		return true
	}
	for i := range s.best.Entries {
		if s.best.Entries[i].Op != OpDispatch {
			continue
		}
		if s.change(i, func(e *Entry) { e.Call = plainCall }) {
			changed = true
			continue
		}
		changed = s.change(i, func(e *Entry) { e.Call.Late, e.Call.Twice = false, false }) || changed
		changed = s.change(i, func(e *Entry) { e.Call.Late = false }) || changed
		changed = s.change(i, func(e *Entry) { e.Call.Twice = false }) || changed
		changed = s.change(i, func(e *Entry) { e.Call.End = EndAnswered }) || changed
		changed = s.best.Entries[i].Call.End == EndTransport && s.change(i, func(e *Entry) { e.Call.End = EndNever }) || changed
		changed = s.roundest(s.best.Entries[i].Call.Takes, func(d time.Duration) bool {
			return s.change(i, func(e *Entry) { e.Call.Takes = d })
		}) || changed
	}
	return changed
}

func (s *shrinker) plainPolicies() (changed bool) {
	for i := range s.best.Entries {
		if s.best.Entries[i].Policy == nil {
			continue
		}
		if s.change(i, func(e *Entry) { e.Policy = nil }) {
			changed = true
			continue
		}
		changed = s.change(i, func(e *Entry) { e.Policy.Pinned = false }) || changed
		for k := range wishes(s.best.Entries[i].Policy) {
			changed = s.roundest(*wishes(s.best.Entries[i].Policy)[k].value, func(d time.Duration) bool {
				return s.change(i, func(e *Entry) { *wishes(e.Policy)[k].value = d })
			}) || changed
		}
	}
	return changed
}

// plainDials makes servers healthy in whatever does not matter.
func (s *shrinker) plainDials() (changed bool) {
	for i := range s.best.Entries {
		if s.best.Entries[i].Op != OpDial {
			continue
		}
		for _, plain := range []func(p *DialPlan){
			func(p *DialPlan) { *p = healthy },
			func(p *DialPlan) { o := p.Outcome; *p = healthy; p.Outcome = o },
			func(p *DialPlan) { p.Lives, p.LosesOnly, p.Clean = 0, false, false },
			func(p *DialPlan) { p.Relists, p.Retools = 0, 0 },
			func(p *DialPlan) { p.Spawns, p.Starts = 0, 0 },
			func(p *DialPlan) { p.Late = false },
			func(p *DialPlan) { p.Twice = false },
			func(p *DialPlan) { p.LosesOnly = false },
			func(p *DialPlan) { p.Clean = false },
			func(p *DialPlan) { p.Tools = healthy.Tools },
			func(p *DialPlan) { p.Outcome = Connects },
			func(p *DialPlan) { p.Obeys, p.StopTakes = healthy.Obeys, healthy.StopTakes },
			func(p *DialPlan) { p.StopTakes = healthy.StopTakes },
			func(p *DialPlan) { p.refuse(lifecycle.StageTerminate) },
			func(p *DialPlan) { p.refuse(lifecycle.StageKill) },
			func(p *DialPlan) { p.After = healthy.After },
		} {
			changed = s.change(i, func(e *Entry) { plain(e.Dial) }) || changed
		}
		for k := range s.best.Entries[i].Dial.times() {
			changed = s.roundest(*s.best.Entries[i].Dial.times()[k], func(d time.Duration) bool {
				return s.change(i, func(e *Entry) { *e.Dial.times()[k] = d })
			}) || changed
		}
	}
	return changed
}

// refuse makes a server that takes its time one that obeys another rung at once.
func (p *DialPlan) refuse(until lifecycle.Stage) {
	if p.StopTakes > healthy.StopTakes {
		p.Obeys, p.StopTakes = until, healthy.StopTakes
	}
}

// times are the places of all times of a plan.
func (p *DialPlan) times() []*time.Duration {
	return []*time.Duration{&p.After, &p.Spawns, &p.Starts, &p.Relists, &p.StopTakes, &p.Lives}
}

// plainChanges makes reconfigurations change one thing, and that to a round value, if the run
// cannot begin with it.
func (s *shrinker) plainChanges() (changed bool) {
	for i := len(s.best.Entries) - 1; i >= 0; i-- {
		if s.best.Entries[i].Op != OpConfigure {
			continue
		}
		t := s.keeping(func(k int, _ *Entry) bool { return k != i })
		t.Config.IdleTimeout, t.Config.MaxLive = s.best.Entries[i].Set.IdleTimeout, s.best.Entries[i].Set.MaxLive
		if s.try(t, endless) {
			changed = true
			continue
		}
		changed = s.change(i, func(e *Entry) { e.Set.MaxLive = s.best.Config.MaxLive }) || changed
		changed = s.change(i, func(e *Entry) { e.Set.IdleTimeout = s.best.Config.IdleTimeout }) || changed
		changed = s.roundest(s.best.Entries[i].Set.IdleTimeout, func(d time.Duration) bool {
			return (d == 0 || d >= MinPeriod) && s.change(i, func(e *Entry) { e.Set.IdleTimeout = d })
		}) || changed
	}
	return changed
}

// plainOutages makes restarts peaceful, and them and outages short, if a server whose connect
// fails will not do.
func (s *shrinker) plainOutages() (changed bool) {
	for i := range s.best.Entries {
		if s.failInstead(i) {
			changed = true
			continue
		}
		if s.best.Entries[i].Kill {
			changed = s.change(i, func(e *Entry) { e.Kill = false }) || changed
		}
		if span := s.best.Entries[i].Span; span > 0 {
			changed = s.roundest(span, func(d time.Duration) bool {
				return s.change(i, func(e *Entry) { e.Span = d })
			}) || changed
		}
	}
	return changed
}

// failInstead makes the next incarnation of a target fail, in place of its server's outage or the
// end of its credential.
func (s *shrinker) failInstead(i int) bool {
	x := s.best.Entries[i]
	if x.Op != OpDown && x.Op != OpExpire {
		return false
	}
	for k := range s.best.Entries {
		e := &s.best.Entries[k]
		hit := e.Target.Server == x.Target.Server
		if x.Op == OpExpire {
			hit = e.Target.Tenant == x.Target.Tenant && e.Target.Token <= x.Target.Token
		}
		if e.Op != OpDeclare || !hit {
			continue
		}
		fails := healthy
		fails.Outcome = Fails
		if s.change(i, func(e *Entry) { *e = Entry{At: x.At, Op: OpDial, Target: s.best.Entries[k].Target, Dial: &fails} }) {
			return true
		}
	}
	return false
}

// plainServed makes plans public, and calls such that nobody dies in them.
func (s *shrinker) plainServed() (changed bool) {
	for i := range s.best.Entries {
		changed = s.change(i, func(e *Entry) { e.Serve = 0 }) || changed
	}
	return changed
}

// plainConfig gives settings their defaults, or else round values.
func (s *shrinker) plainConfig() (changed bool) {
	plain := lifecycle.DefaultConfig()
	set := func(edit func(c *lifecycle.Config)) bool {
		t := *s.best
		edit(&t.Config)
		return t.Config != s.best.Config && s.try(&t, endless)
	}
	if fifo := *s.best; fifo.Schedule != (Schedule{}) {
		fifo.Schedule = Schedule{}
		changed = s.try(&fifo, endless)
	}
	if set(func(c *lifecycle.Config) { *c = plain }) {
		return true
	}
	for k, d := range bounds(&plain) {
		for _, n := range []int{*d.value, 1, 2} {
			now := *bounds(&s.best.Config)[k].value
			if now != *d.value && (n == *d.value || n < now) && set(func(c *lifecycle.Config) { *bounds(c)[k].value = n }) {
				changed = true
				break
			}
		}
	}
	for k, d := range durations(&plain) {
		if set(func(c *lifecycle.Config) { *durations(c)[k].value = *d.value }) {
			changed = true
			continue
		}
		if now := *durations(&s.best.Config)[k].value; now != *d.value {
			changed = s.roundest(now, func(x time.Duration) bool {
				return set(func(c *lifecycle.Config) { *durations(c)[k].value = x })
			}) || changed
		}
	}
	return changed
}

// maxSqueezed is the number of entries up to which bounds are lowered together with an entry.
const maxSqueezed = 64

// squeeze makes a bound one smaller and leaves one action out that filled it: neither alone
// would show anything.
func (s *shrinker) squeeze() bool {
	if len(s.best.Entries) > maxSqueezed {
		return false
	}
	usual := lifecycle.DefaultConfig()
	for k := range bounds(&usual) {
		now := *bounds(&s.best.Config)[k].value
		if now < 2 || now == *bounds(&usual)[k].value {
			continue
		}
		for i := len(s.best.Entries) - 1; i >= 0; i-- {
			for n := 1; n <= 2; n++ {
				t := s.keeping(func(at int, _ *Entry) bool { return at < i || at >= i+n })
				*bounds(&t.Config)[k].value = now - 1
				if s.try(t, endless) {
					return true
				}
			}
		}
	}
	return false
}
