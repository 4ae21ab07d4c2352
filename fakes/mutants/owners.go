package mutants

// ownerMutants are wrong about owners: the daemon is the real one, but for its registry of what
// consumers serve, which is a small one of this package. Where
// nothing is made wrong with it (shelfWord), the small one passes what the real one does.
func ownerMutants() []Mutant {
	of := func(name, defect string, w wrongs) Mutant { return Mutant{name, defect, shelved(w)} }
	return []Mutant{
		of("dead-incumbent-blocks", "the name of a dead owner is taken", wrongs{deadBlocks: true}),
		of("dead-fill-the-cap", "the cap is looked at before the dead go", wrongs{deadFill: true}),
		of("dead-counted", "the dead count for the cap for ever", wrongs{deadCounted: true}),
		of("takeover-needs-a-place", "a dead owner's name counts for the cap until it is replaced", wrongs{replacesLate: true}),
		of("prunes-only-the-name", "nothing goes but what has the wanted name", wrongs{prunesOne: true}),
		of("resolves-the-dead", "a dead owner's name is found, and then fails", wrongs{resolvesDead: true}),
		of("lists-the-dead", "listings show the dead", wrongs{listsDead: true}),
		of("unregisters-by-name", "a late stop takes out what has the name", wrongs{unregistersByName: true}),
		of("readies-by-name", "a late ready makes visible what has the name", wrongs{readiesByName: true}),
		of("duplicate-overwrites-plan", "a refused start leaves its plan on the incumbent", wrongs{overwritesPlan: true}),
		of("duplicate-strips-plan", "a refused start leaves the incumbent without a plan", wrongs{stripsPlan: true}),
		of("no-plan-is-public", "no plan lets everybody call", wrongs{noPlanIsPublic: true}),
		of("plan-apart", "the plan is looked at before it is decided who is called", wrongs{planApart: true}),
		of("plans-of-the-dead", "a dead owner's plan stays and is kept for its successor", wrongs{plansStay: true}),
		of("provider-swapped", "a refused start's body takes the place of the incumbent's", wrongs{swapsProvider: true}),
		of("plans-lost-at-respawn", "after a body without a result everything is served anew, without plans", wrongs{plansLost: true}),
		of("no-gate", "a call that was let in is delivered later, whoever died meanwhile", wrongs{noGate: true}),
		of("death-costs-the-timeout", "a call waits for a dead owner until it times out", wrongs{slowDeath: true}),
		of("identity-by-name", "a call that was given to the dead goes to who has the name next", wrongs{identityByName: true}),
		of("reader-deletes-replacement", "a reader takes out a dead name although it is another's by now", wrongs{readerDeletes: true}),
		of("readiness-inherited", "a successor is ready if the dead was", wrongs{readyInherited: true}),
		of("lease", "an owner that says nothing for a while is dead", wrongs{lease: true}),
		of("two-winners", "an entry that is not ready blocks nobody", wrongs{twoWinners: true}),
		of("registers-the-dead", "a registration takes effect after its owner's death", wrongs{registersDead: true}),
		of("kept-swallowed", "who is refused for a live incumbent is told that all is well", wrongs{keptSwallowed: true}),
		of("body-after-death", "calls are delivered to the dead", wrongs{bodyAfterDeath: true}),
		of("null-list", "a listing of nothing is null", wrongs{nullList: true}),
		of("resources-stay", "a death takes the tools and leaves the resources", wrongs{resourcesStay: true}),
		of("lists-the-unready", "listings show what is not ready", wrongs{listsUnready: true}),
		of("pages-by-position", "a page begins after so many, whoever came or went", wrongs{pagesByPosition: true}),
		of("counts-apart", "the cap is looked at apart from the registration", wrongs{countsApart: true}),
		of("tells-every-change", "each change is told by a message of its own", wrongs{tellsAll: true}),
		of("tells-no-change", "no change is told", wrongs{tellsNone: true}),
		of("refuses-a-second-stop", "a stop of what is stopped is refused", wrongs{refusesOwnStop: true}),
		of("grants-own-duplicate", "an owner may take its own name again", wrongs{grantsOwnDuplicate: true}),
		of("full-hides-duplicate", "at a full cap a duplicate is one too many", wrongs{fullHidesDuplicate: true}),
		of("ends-with-no-result", "a body without a result takes everybody's entries with it", wrongs{diesOfNoResult: true}),
	}
}

// shelfWord is the name under which the small registry has nothing wrong.
const shelfWord = "@registry"

// shelved is a daemon whose consumers are served by a small registry.
func shelved(w wrongs) func() defect {
	return func() defect { return defect{proxy: &hooks{}, shelf: newShelf(w)} }
}
