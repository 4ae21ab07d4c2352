package conformance

import (
	"context"
	"time"
)

// measured is eviction-measured with a longer T.
const measured = "eviction-measured-slowly"

// Sizes of the slow measurement. A tick of 0.30 T is late in one phase of six, by a twentieth of
// T at most, so that twentieth must be told apart from noise.
const (
	slowBatch, slowBatches = 48, 4
	// grainsPerT is the part of T that noise may be. With more of it, of the late phases there remain
	// too few to be told from the few that a sound daemon is granted.
	grainsPerT = 100
)

// slowT is T on a machine where things take so many times longer than on a quiet one.
func slowT(slowness time.Duration) time.Duration { return 18*time.Second + slowness*6*time.Second }

// slowly is the measurement of the eviction with a T of which a twentieth can be seen. The uses
// are spread over two thirds of T, so that some lie in every phase of any tick up to that, and for
// a tick of 0.30 T at two moments, of which one may be noisy.
func slowly(t time.Duration) Check {
	return Check{ID: measured, Title: "An unused peer is stopped not before T and not later than T and a tick after its last use.",
		Clauses: []string{"RE-1", "RE-3"}, cost: slowBatches * 3 * t, quiet: true,
		run: func(ctx context.Context, p *probe) (string, error) {
			return p.measureEvictions(ctx, evictionPlan{idle: t, perBatch: slowBatch, batches: slowBatches, spread: 2 * t / 3, grain: t / grainsPerT})
		}}
}

// slow reports whether the mutant differs from the reference by so little time that it is tried
// again with nothing beside it when that is in doubt.
func (e expectation) slow() bool {
	_, ok := e.says(measured)
	return ok
}
