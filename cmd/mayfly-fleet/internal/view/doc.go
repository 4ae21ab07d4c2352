// Package view shows a campaign while it runs: as a table on a terminal, as lines elsewhere, and as metrics.
//
//	v := view.New(os.Stderr, "seeds")
//	v.Progress(p) // as often as there is something new
//	v.Workers(ws)
//	v.Close()     // the terminal is as it was
//
//	m, err := view.Serve(addr, view.Campaign(id, v.Now)) // Prometheus, on /metrics
//
// # Promises
//
// On a terminal the table is drawn anew in its place, with a bounded number of rows. Elsewhere a line comes no more
// often than every [LineEvery], and one at the end.
package view
