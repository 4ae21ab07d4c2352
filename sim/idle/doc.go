// Package idle runs the daemon's own lifecycle machine under days of traffic to see what an idle
// timeout costs: processes kept on one side, callers who wait for a start on the other.
package idle
