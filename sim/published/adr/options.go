package adr

// Options decide the steps that the document leaves open, or depart from one that it states. The
// zero value is the plain reading.
type Options struct {
	// KeptAborts ends a start whose plan was not taken because a live owner's was kept. Open:
	// "a plan held by a live owner is kept", and nothing of what becomes of the newcomer's.
	KeptAborts bool
	// EntryFirst registers the entry before the plan. Open: the text has no order of the two.
	EntryFirst bool
	// MissingDenies denies a call when there is no plan. A departure: "A missing plan means
	// unauthenticated pass-through".
	MissingDenies bool
	// DeadDenies denies a call while the plan that is held is a dead owner's. A departure:
	// "plan_for ignores plans whose owner is dead".
	DeadDenies bool
	// DeadLast lets a stop, and the cleanup of a failed start, give up entry and plan while the
	// token lives, and drop it last. Open: the unregister of a stop compares tokens, which says
	// that there is one and not whether it lives.
	DeadLast bool
	// PlanOutFirst takes the plan out before the entry. Open: the text has no order.
	PlanOutFirst bool
	// PlanReadFirst has a call look up the plan before it resolves the entry. Open.
	PlanReadFirst bool
	// DropParks leaves the channel open when a consumer is dropped without a stop, with nobody
	// behind it. Decision input 3 says so ("the bridge detaches and parks on rx.recv()
	// forever. The channel stays open"); the zero value is the consequence, which says
	// otherwise ("sends into a dead channel. It returns a clean MCP error").
	DropParks bool
}

// rules are Options and what else tells the text from what was before it.
type rules struct {
	Options
	noLiveness bool // names alone decide: who is dead is not known
}

// Literal is the document's registry.
func Literal(o Options) Semantics {
	return modelled("literal", rules{Options: o})
}

// Before is the registry without liveness: a duplicate name is refused whoever holds it, a plan
// is written and taken out by the name of its route, and so is an entry.
func Before() Semantics {
	return modelled("before", rules{Options: Options{DropParks: true}, noLiveness: true})
}

func modelled(name string, r rules) Semantics {
	return Semantics{name, func(f Fate) World {
		m := newModel(&r, f)
		return &m
	}, &r}
}
