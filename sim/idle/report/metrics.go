package report

import (
	"math"

	"github.com/mayfly-mcp/mayfly/sim/idle"
)

// The metrics of a run. What is by the hour is by the hour of the run that was measured.

func coldShare(r *idle.Result) float64    { return r.ColdRatio() }
func delayedShare(r *idle.Result) float64 { return r.DelayedRatio() }
func failedShare(r *idle.Result) float64  { return r.FailedRatio() }

func perHour(r *idle.Result, x float64) float64 {
	if r.Span <= 0 {
		return math.NaN()
	}
	return x / r.Span.Hours()
}

func coldPerHour(r *idle.Result) float64    { return perHour(r, float64(r.Cold)) }
func delayedPerHour(r *idle.Result) float64 { return perHour(r, float64(r.Delayed)) }
func failedPerHour(r *idle.Result) float64  { return perHour(r, float64(r.FailedCalls)) }
func spawnsPerHour(r *idle.Result) float64  { return perHour(r, float64(r.Spawns)) }
func failedStarts(r *idle.Result) float64   { return perHour(r, float64(r.FailedStarts)) }
func retriesPerHour(r *idle.Result) float64 { return perHour(r, float64(r.Retries)) }
func processSeconds(r *idle.Result) float64 { return perHour(r, r.ProcessSeconds()) }
func waitHours(r *idle.Result) float64      { return perHour(r, r.WaitNanos.Seconds()/3600) }
func gibHours(r *idle.Result) float64       { return perHour(r, r.MiBHours()/1024) }
func processes(r *idle.Result) float64      { return r.MeanProcesses(r.Span) }
func peak(r *idle.Result) float64           { return float64(r.Peak) }
func addedPerCall(r *idle.Result) float64   { return r.Added.Mean }

// perConversation divides by the conversations that were measured, if there were any.
func perConversation(r *idle.Result, x float64) float64 {
	if r.PerConversation.N == 0 {
		return math.NaN()
	}
	return x / float64(r.PerConversation.N)
}

func coldPerTalk(r *idle.Result) float64    { return perConversation(r, float64(r.Cold)) }
func secondsPerTalk(r *idle.Result) float64 { return perConversation(r, r.ProcessSeconds()) }

func talk(of func(idle.Quantiles) float64) func(*idle.Result) float64 {
	return func(r *idle.Result) float64 {
		if r.PerConversation.N == 0 {
			return math.NaN()
		}
		return of(r.PerConversation)
	}
}

// failedTime is the share of the time of called peers in which they were Failed, and refused callers at once.
func failedTime(r *idle.Result) float64 {
	if r.Peers == 0 || r.Span <= 0 {
		return math.NaN()
	}
	return r.FailedNanos.Seconds() / (float64(r.Peers) * r.Span.Seconds())
}

// overBest is what the run paid over what a clairvoyant would have for the same gaps.
func overBest(r *idle.Result) float64 {
	if r.Clairvoyant == nil || !(r.Clairvoyant.Cost() > 0) {
		return math.NaN()
	}
	return r.Clairvoyant.Actual / r.Clairvoyant.Cost()
}
