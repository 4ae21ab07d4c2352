// Package report turns the summaries of a sweep of the idle bench into answers: what each idle timeout costs and saves,
// what one avoided cold start is paid with, which timeout is best at a price and how sure that is.
//
//	f, err := report.NewFrontier(ticks, exact) // summaries of idle.Sweep, one for each timeout
//	best := f.Recommend(report.Price{BreakEven: 2250})
//	r := report.Report{Setup: setup, Frontier: f, Recommendation: best}
//	r.Say()               // sentences
//	r.Text(os.Stdout)     // tables
//	report.Write(dir, &r) // JSON, CSV, SVG, PNG and one HTML page that needs nothing else
//
// # Numbers
//
// A number of a cell is the mean of its runs, one for each seed, and half the width of its 95 % interval by Student's
// t. What compares two timeouts compares them seed by seed, since runs of one seed meet the same callers.
// A price is a ratio of two mean differences, and its interval is that of a ratio estimator. With one seed there is no
// interval: it is left out of tables and null in JSON.
//
// # What it costs
//
// Price has two currencies. In process-seconds, an hour costs the process-seconds of that hour, and B for each
// cold start in it. In money, it costs the memory of its processes, and what waiting costs: by the hour of waiting, by the
// call that waits, by the call that fails. Only the choice depends on it; the frontier shows what was measured.
//
// # Promises
//
// Everything but Write is a pure function of its arguments: the same summaries give the same bytes of JSON, CSV, SVG and
// HTML. The HTML page is one file, loads nothing, has a table beside every plot and a text for every picture.
// Write puts a report in place as a whole, and never over a directory that holds anything else.
//
// # What is not promised
//
// Intervals say how much seeds differ. They say nothing of how far the traffic or the servers are from yours.
// The best of a list of timeouts is the best of that list. The bootstrap resamples the seeds, and few seeds make
// a coarse one. Nothing here is safe for concurrent use with a writer of the same value.
package report
