// Package summary writes what a campaign came to as one HTML page, which needs nothing beside it.
//
//	s, err := summary.Gather(ctx, q, id, "runs", out)
//	err = summary.WriteFile("runs/summary.html", s)
//
// The page shows how the campaign ended, its totals, its coverage over seeds and over time, each distinct failure
// with its small tape and its scenario, the workers that were seen with its jobs, the jobs in quarantine with their
// logs, and the command that runs it again. It is also written of a campaign that stopped: then most of all
// somebody looks for the reason.
//
// # Promises
//
//   - Equal states and directories give equal bytes.
//   - All text is escaped, whoever wrote it: a log comes from another machine. The page has no script, loads nothing,
//     and forbids its reader's browser both.
//   - Links lead to files of the results directory, relative to the page, so both can be moved together.
//   - Curves have a title, a description and a table of their points, for those who do not see them.
//   - The page is bounded: [MaxFailures], [MaxQuarantine], [MaxText]. What is left out is said.
//
// # Not promised
//
// Workers are those that a coordinator saw. One that came and went between two looks, or while no
// coordinator ran, is not on the page; its results are.
package summary
