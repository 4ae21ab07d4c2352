package adr

// step is what an owner does next.
type step int8

const (
	plan  step = iota
	entry      // register the entry
	worker
	markReady
	stopped // the token dies, the worker is ended with it
	dropped // the token dies and nobody is told
	entryOut
	planOut
)

// part is what an owner does in a run: its steps, and from cleanup on those of a failed start.
type part struct {
	steps   []step
	cleanup int
}

// setup is what does not change in a run. States of one run share it.
type setup struct {
	*rules
	Fate
	parts [2]part
}

// model is the state of a run under the document's rules, or under those before it. It is a
// value: equal ones go on equally. Each owner registers once, so an entry is named by its owner.
type model struct {
	*setup
	at      [actors]int8 // next step; the caller's is its count
	over    [actors]bool
	alive   [2]bool
	works   [2]bool // somebody takes what comes from the channel
	open    [2]bool // the channel takes what is sent
	did     [2][planOut + 1]bool
	failed  [2]bool // the start has, and the cleanup goes on
	entry   Actor
	ready   bool
	plan    Actor
	target  Actor // of the call
	decided Actor // whose plan admitted it; nobody's: it passed without
	wrong   Wrong
}

func newModel(r *rules, f Fate) model {
	s := &setup{rules: r, Fate: f}
	s.parts[Incumbent] = part{append(r.start(), r.end(f.End)...), 0}
	s.parts[Starter] = part{r.start(), 0}
	if f.Start == Fails {
		s.parts[Starter].steps = r.start()[:2]
	}
	m := model{setup: s, entry: nobody, plan: nobody, target: nobody, decided: nobody}
	for o := range s.parts {
		p := &s.parts[o]
		p.cleanup = len(p.steps)
		p.steps = append(p.steps, r.stop()...)
		m.alive[o] = true
	}
	if f.Start == Absent {
		m.over[Starter], m.alive[Starter] = true, false
	}
	return m
}

func (r *rules) start() []step {
	if r.EntryFirst {
		return []step{entry, plan, worker, markReady}
	}
	return []step{plan, entry, worker, markReady}
}

// stop is a stop, and the cleanup of a start that failed.
func (r *rules) stop() []step {
	if r.DeadLast {
		return append(r.out(), stopped)
	}
	return append([]step{stopped}, r.out()...)
}

func (r *rules) out() []step {
	if r.PlanOutFirst {
		return []step{planOut, entryOut}
	}
	return []step{entryOut, planOut}
}

func (r *rules) end(e End) []step {
	switch e {
	case Stops:
		return r.stop()
	case Drops:
		return []step{dropped}
	case StopsLate:
		return append([]step{dropped}, r.out()...)
	}
	return nil
}

func (m *model) Left(a Actor) bool { return !m.over[a] }

func (m *model) Close() {}

// Do takes a step of a call or of an owner.
func (m *model) Do(a Actor) string {
	if a == Caller {
		return m.call()
	}
	s := m.parts[a].steps[m.at[a]]
	m.at[a]++
	fresh := !m.failed[a]
	text := m.own(a, s)
	m.did[a][s] = !fresh || !m.failed[a]
	m.settle(a)
	return text
}

// settle ends an owner's part, or has it go on to the cleanup of a start that is to fail, and
// skips what the cleanup finds nothing to undo of.
func (m *model) settle(a Actor) {
	p := &m.parts[a]
	if int(m.at[a]) == p.cleanup {
		m.failed[a] = m.failed[a] || a == Starter && m.Start == Fails
		m.over[a] = !m.failed[a]
	}
	for m.failed[a] && int(m.at[a]) < len(p.steps) && m.idle(a, p.steps[m.at[a]]) {
		m.at[a]++
	}
	m.over[a] = m.over[a] || int(m.at[a]) == len(p.steps)
}

// idle reports that a step of the cleanup undoes what was not done.
func (m *model) idle(a Actor, s step) bool {
	return s == entryOut && !m.did[a][entry] || s == planOut && !m.did[a][plan]
}

// fail sends an owner to the cleanup of its start. Of the step that failed there is nothing to undo.
func (m *model) fail(a Actor) {
	m.failed[a] = true
	m.at[a] = int8(m.parts[a].cleanup)
}

func (m *model) Wrong() Wrong {
	w := m.wrong
	for o := range m.alive {
		if a := Actor(o); m.over[a] && m.alive[a] && m.entry == a && m.ready && m.plan != a {
			w.Survivor = true
		}
	}
	return w
}
