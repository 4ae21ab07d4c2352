package oracle

import (
	"fmt"
	"math"
)

// Worst is the largest ratio of a policy's cost to the clairvoyant's over all gaps, and the gap (and phase) that
// shows it.
type Worst struct {
	Ratio float64
	Gap   float64 // seconds; the ratio is approached by gaps just above it
	Wait  float64 // from last use + T to the tick that stops the peer; -1 when the phase is averaged
}

// WorstTimer is the worst case of an exact timer at T: 1 + max(T/B, B/T), just after T.
func WorstTimer(T, B float64) Worst {
	mustPositive("timeout", T)
	mustPositive("break-even", B)
	return Worst{Ratio: (T + B) / min(T, B), Gap: T}
}

// WorstKnown is the worst case of a reaper that ticks every delta when the gap may depend on the phase of the
// ticks: the gap ends just after a stop that came as early (T) or as late (T+delta) as possible.
// The ratio is 1 + max(B/T, (T+delta)/B).
func WorstKnown(T, delta, B float64) Worst {
	early, late := WorstTimer(T, B), WorstTimer(T+mustSpan("delta", delta), B)
	if early.Ratio >= late.Ratio {
		return early
	}
	late.Wait = delta
	return late
}

// WorstUniform is the worst case of the same reaper when nobody knows the phase: a gap just above T+delta, of which
// the peer pays T+delta/2 on average. The tick randomises for free. delta may be T at most.
func WorstUniform(T, delta, B float64) Worst {
	mustPositive("timeout", T)
	mustPositive("break-even", B)
	if mustSpan("delta", delta) > T {
		panic(fmt.Errorf("oracle: ticks every %v s for a timeout of %v s; the formula holds for ticks of T at most", delta, T))
	}
	return Worst{Ratio: (T + delta/2 + B) / min(T+delta, B), Gap: T + delta, Wait: -1}
}

// GapRatio is the mean cost of one gap of exactly this length over the clairvoyant's, by timeout T and ticks
// every delta (0 is an exact timer) at a uniform phase. A call at the instant of the stop is warm.
func GapRatio(gap, T, delta, B float64) float64 {
	mustTimes(T, delta)
	mustPositive("gap", gap)
	best := min(gap, mustPositive("break-even", B))
	switch {
	case delta > 0:
		return (fixedResident(gap, T, delta) + B*fixedCold(gap, T, delta)) / best
	case gap > T:
		return (T + B) / best
	default:
		return gap / best
	}
}

// Guarantee is the timeout with the least worst case, and that worst case.
type Guarantee struct{ Timeout, Ratio float64 }

// RFCTicks is how many times the reaper of RFC 0204 ticks per idle timeout.
const RFCTicks = 4

// Minimax is the timeout that guarantees most to someone for whom a cold start costs B process-seconds and who
// knows nothing of the traffic, with the RFC's reaper at an unknown phase: 0.8 B, never above 1.9 times the best.
func Minimax(B float64) Guarantee { return MinimaxUniform(B, RFCTicks) }

// MinimaxUniform is the same for a reaper that ticks every T/perTimeout, perTimeout >= 1: T = B m/(m+1) and ratio
// 1+(m+½)/(m+1). More ticks approach the exact timer's 2.
func MinimaxUniform(B, perTimeout float64) Guarantee {
	m := mustTicks(perTimeout)
	return Guarantee{mustPositive("break-even", B) * m / (m + 1), 1 + (m+0.5)/(m+1)}
}

// MinimaxKnown is the same against gaps that know the ticks' phase: T = B/√(1+1/m), ratio 1+√(1+1/m).
func MinimaxKnown(B, perTimeout float64) Guarantee {
	late := math.Sqrt(1 + 1/mustTicks(perTimeout))
	return Guarantee{mustPositive("break-even", B) / late, 1 + late}
}

// MinimaxTimer is the exact timer's: T = B, ratio 2.
func MinimaxTimer(B float64) Guarantee { return Guarantee{mustPositive("break-even", B), 2} }

// BreakEven is the B for which T is the minimax timeout of the RFC's reaper: what somebody who chose T
// believes a cold start to cost.
func BreakEven(T float64) float64 { return mustPositive("timeout", T) * (RFCTicks + 1) / RFCTicks }

// RandomRatio is the ratio that the best randomised exact timer guarantees, e/(e-1).
const RandomRatio = math.E / (math.E - 1)

// RandomTimeout is the quantile q in [0, 1) of the best randomised timeout, whose density is e^(x/B)/(B(e-1)) on
// [0, B]: apply it to a uniform number before each gap.
func RandomTimeout(B, q float64) float64 {
	return mustPositive("break-even", B) * math.Log1p(probability("q", q)*(math.E-1))
}

// RandomCost is the expected cost of one gap of this length under the randomised timeout: RandomRatio times
// min(gap, B), whatever the gap.
func RandomCost(gap, B float64) float64 {
	return RandomRatio * min(mustSpan("gap", gap), mustPositive("break-even", B))
}

func mustTicks(perTimeout float64) float64 {
	if !(perTimeout >= 1) || math.IsInf(perTimeout, 1) {
		panic(fmt.Errorf("oracle: %v ticks per timeout; the formula holds from 1 on", perTimeout))
	}
	return perTimeout
}
