// Package oracle holds what is known in closed form about idle timeouts: how often a call finds its
// server stopped, how long servers stay resident for it, and which timeout is best, when the gaps
// between calls follow a known law and a reaper looks every so often.
//
// The bench of package idle drives the real machine through traffic. Nobody can tell from its
// numbers whether they are right, unless some of them are known beforehand. This package knows them, and
// shares no code with the bench: it is mathematics on float64 seconds. Checks lists the
// situations with their expected values; a test of the bench reproduces each within four standard errors.
//
// The smallest use, the price of the default timeout for a peer called twice an hour:
//
//	gaps := oracle.Must(oracle.NewExponential(2.0 / 3600))
//	cold := oracle.Cold(gaps, 1800, 450)         // 0.3255 of the calls wait for a start
//	resident := oracle.Resident(gaps, 1800, 450) // 1214 process-seconds between two calls
//
// # The model
//
// One peer is called after independent gaps X with survival S(u) = P(X > u), measured from the stamp of
// the last use to the next call. The reaper ticks every delta seconds, at a phase independent of
// the calls, and stops the peer at the first tick at or after last use + T. Calls and connects take no time
// unless a function says otherwise. Then the peer is stopped at age T+R, where R is uniform on [0, delta)
// and independent of the gap, for every law and every delta: everything else here follows from that.
// RFC 0204's reaper has delta = T/4; delta = 0 means an exact timer.
//
// # Units and arguments
//
// Times are seconds, rates are calls per second, B is the break-even: the cost of one cold
// start divided by the cost of one resident process-second, so it is in seconds too. Costs are in process-seconds.
// A constructor of a law returns an error for parameters that make no law; everything else panics, with
// the argument's name and value, when it is given what no caller should compute (a negative time, a NaN).
//
// All functions are pure and safe for concurrent use. None promises a bound on its error; the tests
// hold closed forms against quadrature to nine digits for timeouts from milliseconds to days.
package oracle
