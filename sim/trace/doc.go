// Package trace shows a simulated run to people: as a page with a lane for each peer and each
// tenant, and as text with a line for each event.
//
//	page := trace.NewPage(0)
//	res, err := sim.Run(sim.Options{Seed: 7, Observe: page.Step})
//	err = page.Write(file, "seed 7", res)
//
// Both forms are fed by sim's Options.Observe, step by step, and can be fed together with [Both].
//
// # Names
//
// Nothing is called by a number that another event could shift: a peer is the target that it
// was dialed for and the count of that target's incarnations (s3/t1.0 #2), a ticket is its
// tenant's, its name's and a count of that tenant's tickets (t1 m1 #4). Two texts of similar runs
// therefore differ where the runs do, and not from there to the end.
//
// # The page
//
// One file without references to others: spans for the states of a peer and for the lives of an
// owner, a bar for each call in its tenant's lane and an arrow to the incarnation that it ran on,
// the step that broke a rule marked across all lanes. It can be filtered by tenant, stretched,
// and laid out by time or by step, since a day of a daemon is mostly silence. Without scripts
// it shows everything but the arrows.
//
// # Not promised
//
// A page keeps the last events only, as many as it was told, and says how many it left out. The
// forms are for people: they change when something is better said otherwise.
package trace
