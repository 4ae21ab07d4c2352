// Package guided searches the simulator's seeds by what runs reach: inputs whose runs came to
// something rare for little cost have children, which are like them with a few things changed.
//
//	s, err := guided.New(guided.Options{Seed: 1})
//	for s.Progress().Steps < 1_000_000 {
//		batch := s.Next()
//		outcomes := make([]guided.Outcome, len(batch))
//		for i, in := range batch {              // anywhere, in any order, on any number of workers
//			outcomes[i], err = guided.Run(in, nil, nil)
//		}
//		err = s.Take(outcomes)
//	}
//	for _, f := range s.Finds() {
//		fmt.Println(f.Rule, f.Steps)            // sim.Run(f.Input.Options()) shows it again
//	}
//
// # What is searched
//
// An [Input] is one run written out: the seed, the size, the configuration, the strength of every
// feature and fault, and the schedule. A child is its parent with another seed, and in most cases
// with parts of a second parent or a few places changed: strengths, tenants, duration, times and bounds
// of the configuration, the schedule's kind, depth and seed. The seed draws all streams of a run
// together; only that of the schedule is apart. A share of every batch is drawn blindly.
//
// # What is reached
//
// A run reaches points, and [Points] is a set of them: situations of sim's catalogue, at several
// counts; cells of its coverage; how all claims of an owner stand together when an input of that owner
// comes; and how finely the peer of an input stands, with the rung of its stop and the numbers of
// its waiters, calls and claims. Situations alone are nearly all reached within a hundred runs and then
// guide nobody.
//
// # Who has children
//
// An input is kept as long as it holds a point, which is to say that no other reached the point, or
// none at three quarters of the cost or less. The corpus is small on purpose: it is bounded by
// dropping what gained least. What an input gains is the sum over the points that its own run and its
// children's reached, each by its rarity among all runs so far, for the steps that they cost. Parents are
// drawn by the square of that. It fades, so that a vein that is worked out is left.
//
// # In rounds
//
// A [Search] is a state machine. [Search.Next] gives the inputs of a round, as a function of the seed,
// of the round, and of the corpus at its beginning; [Search.Take] takes their outcomes in order.
// [Search.Encode] and [Decode] carry it from place to place between rounds, within [MaxState] bytes.
//
// # Promises
//
//   - Equal options and outcomes give equal searches, byte for byte, whoever ran what in which order.
//   - Every input is valid, and its run ends.
//   - What is decoded is whole and of the same catalogue of points, or refused.
//   - The cost is counted in steps of the machine, for guided and blind searches alike.
//
// # Not promised
//
// Guidance pays for what is rare. A bug that blind runs find within some hundreds is found about as soon
// without, and one of which no run shows a trace before it wakes has nothing to guide to it. README.md has
// the numbers. What the seeds after a find
// would have found is another matter: a run that breaks a rule has no children.
package guided
