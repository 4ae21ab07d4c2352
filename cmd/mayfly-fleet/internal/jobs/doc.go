// Package jobs is what the fleet can do: its kinds of campaigns, each cut into jobs that any machine of
// the same build can run, with the same result.
//
//	kind, err := jobs.Find("sim")
//	plan := kind.New()
//	plan.Define(fs)                       // its flags
//	err = plan.Settle(fs, nil)            // after they were parsed
//	result, err := plan.Run(ctx, 3, env)  // job 3, on any machine
//	out, err := plan.Assemble(ctx, a)     // all results together, in a directory
//
// [Plan.Args] describes a plan to other processes, and [Parse] makes it of the description again.
//
// # Kinds
//
//	sim        seeds in blocks, as mayfly sim campaign runs them; leaves the same directory, byte for byte
//	explore    an exhaustive search of mayfly sim explore, a job for each multiset of faults of the size -total
//	guided     a search of package sim/guided, a job for some inputs of a round
//	idle       what mayfly idle -report plays, a job for each cell and seed; leaves the same report, byte for byte
//	scenarios  a battery of scenario files through the lifecycle machine, a job for each
//
// # A new kind
//
// It implements [Plan] and is listed in [Kinds]. Its jobs may look at what other jobs found, through
// [Env.Share]. What they do then depends on the order in which machines work, unless they wait for each other: a plan that is
// [Paced] has its jobs queued only when those before them are summed up, and shares in [Plan.Assemble] what the next ones
// need. guided does so, in rounds, and keeps the promises.
//
// # Promises
//
//   - Equal descriptions give equal results for each job, on every machine of one build.
//   - [Plan.Assemble] writes the same directory, byte for byte, however its results come.
//   - A job that is told to stop ends soon, with [ErrStopped].
package jobs
