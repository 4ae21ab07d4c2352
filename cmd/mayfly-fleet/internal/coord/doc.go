// Package coord leads a campaign: it queues the jobs, and makes a directory of the results.
//
//	out, err := coord.Run(ctx, coord.Config{Queue: q, Spec: spec, Plan: plan, Dir: dir})
//
// It holds nothing that is lost with it. What was done is in the directory and in the queue; another one
// that is started for the same campaign, on any machine, takes up from there, also while the first one still
// runs.
//
// Jobs are queued at most Config.Window ahead of what is in the directory, so neither the queue nor this
// process grows with the campaign. What arrives out of order waits in the queue.
//
// [Collect] makes the directory of the results that are there, and queues nothing.
//
// # Promises
//
//   - The directory is what a campaign on one process leaves, byte for byte.
//   - Every result counts once, whoever computed it and how often.
//   - A job in quarantine ends the campaign with an error that says what is known of it; what is in the
//     directory stays.
//   - Samples of the campaign's course are kept in the queue, for the time after it.
package coord
