package adr

import "fmt"

// own is one step of an owner.
func (m *model) own(a Actor, s step) string {
	switch s {
	case plan:
		return m.registerPlan(a)
	case entry:
		return m.register(a)
	case worker:
		m.works[a], m.open[a] = true, true
		return "starts its worker"
	case markReady:
		m.ready = m.ready || m.entry == a
		return "marks its entry ready"
	case stopped:
		m.alive[a], m.works[a], m.open[a] = false, false, false
		return "its token dies and its worker ends"
	case dropped:
		m.alive[a], m.works[a], m.open[a] = false, false, m.open[a] && m.DropParks
		return "is dropped: its token dies"
	case entryOut:
		return m.unregister(a)
	}
	return m.unregisterPlan(a)
}

// registerPlan: "register_plan is owner-scoped: a plan held by a live owner is kept, a dead
// owner's plan is replaced."
func (m *model) registerPlan(a Actor) string {
	if !m.noLiveness && m.plan != nobody && m.alive[m.plan] {
		kept := fmt.Sprintf("registers its plan: the plan of the %v, who lives, is kept", m.plan)
		if !m.KeptAborts {
			return kept + "; it goes on"
		}
		m.fail(a)
		return kept + "; the start is aborted"
	}
	old := m.plan
	m.plan = a
	if old != nobody {
		return fmt.Sprintf("registers its plan in place of that of the %v", old)
	}
	return "registers its plan"
}

// register: "register() replaces a duplicate entry whose owner token is dead. A live owner keeps
// today's rejection."
func (m *model) register(a Actor) string {
	old := m.entry
	if old == nobody || !m.noLiveness && !m.alive[old] {
		m.entry, m.ready = a, false
		if old != nobody {
			return fmt.Sprintf("registers its entry in place of that of the %v, who is dead", old)
		}
		return "registers its entry"
	}
	m.fail(a)
	if !m.alive[old] {
		m.wrong.Refused = true
		return fmt.Sprintf("registers its entry: refused as a duplicate of that of the %v, who is dead; the start fails", old)
	}
	return fmt.Sprintf("registers its entry: refused as a duplicate of that of the %v; the start fails", old)
}

// unregister: "unregister_owned removes an entry only when the caller's token matches the
// entry's token".
func (m *model) unregister(a Actor) string {
	old := m.entry
	if old == nobody || !m.noLiveness && old != a {
		return "unregisters its entry: nothing of its own is there"
	}
	m.entry, m.ready = nobody, false
	if old != a {
		return fmt.Sprintf("unregisters the route: the entry is that of the %v", old)
	}
	return "unregisters its entry"
}

// unregisterPlan: "unregister_plan_owned removes a plan only when the caller's token matches the
// entry's token".
func (m *model) unregisterPlan(a Actor) string {
	old := m.plan
	if old == nobody || !m.noLiveness && old != a {
		return "unregisters its plan: nothing of its own is there"
	}
	m.plan = nobody
	if old != a {
		return fmt.Sprintf("unregisters the plan of the route: it is that of the %v", old)
	}
	return "unregisters its plan"
}

// call is one step of the caller.
func (m *model) call() string {
	m.at[Caller]++
	switch n := m.at[Caller]; {
	case n == 1 && !m.PlanReadFirst, n == 2 && m.PlanReadFirst:
		return m.resolve()
	case n <= 2:
		return m.planFor()
	case n == 3:
		return m.deliver()
	}
	m.over[Caller] = true
	return m.body()
}

// resolve: "resolve() and list_ready() skip and remove dead-owner entries."
func (m *model) resolve() string {
	if !m.noLiveness && m.entry != nobody && !m.alive[m.entry] {
		m.entry, m.ready = nobody, false
	}
	if m.entry == nobody || !m.ready {
		m.over[Caller] = true
		return "resolves the route: there is none"
	}
	m.target = m.entry
	return fmt.Sprintf("resolves the route: the entry of the %v", m.target)
}

// planFor: "plan_for ignores plans whose owner is dead." "A missing plan means unauthenticated
// pass-through."
func (m *model) planFor() string {
	p, text := m.plan, "looks up the plan: there is none"
	if p != nobody && !m.noLiveness && !m.alive[p] {
		text = fmt.Sprintf("looks up the plan: that of the %v, who is dead, is ignored", p)
		if m.DeadDenies {
			m.over[Caller] = true
			return text + "; denied"
		}
		p = nobody
	}
	if p == nobody {
		if m.over[Caller] = m.MissingDenies; m.MissingDenies {
			return text + "; denied"
		}
		return text + "; it passes unauthenticated"
	}
	if p == Incumbent && m.Known {
		m.decided = p
		return "looks up the plan: that of the incumbent admits it"
	}
	m.over[Caller] = true
	return fmt.Sprintf("looks up the plan: that of the %v denies", p)
}

// deliver: "A request that resolved an entry before its owner died sends into a dead channel. It
// returns a clean MCP error."
func (m *model) deliver() string {
	if m.works[m.target] {
		return fmt.Sprintf("sends its request to the %v", m.target)
	}
	m.over[Caller] = true
	if m.open[m.target] {
		m.wrong.Hangs = true
		return fmt.Sprintf("sends its request to the %v, who is dead and whose channel is open: nobody will ever answer", m.target)
	}
	return fmt.Sprintf("sends its request to the %v, who is dead: an error", m.target)
}

func (m *model) body() string {
	switch {
	case m.open[m.target] && !m.works[m.target]:
		m.wrong.Hangs = true
		return fmt.Sprintf("waits: the %v is dead and its channel is open, nobody will ever answer", m.target)
	case !m.works[m.target]:
		return fmt.Sprintf("is told that the %v is dead: an error", m.target)
	case m.decided == nobody:
		m.wrong.Unplanned = true
		return fmt.Sprintf("the body of the %v runs, and no plan was asked", m.target)
	case m.decided != m.target:
		m.wrong.Foreign = true
		return fmt.Sprintf("the body of the %v runs, and the plan of the %v was asked", m.target, m.decided)
	}
	return fmt.Sprintf("the body of the %v runs under its own plan", m.target)
}
