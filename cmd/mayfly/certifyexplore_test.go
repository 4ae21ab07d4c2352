package main

import (
	"testing"

	"github.com/mayfly-mcp/mayfly/conformance"
	"github.com/mayfly-mcp/mayfly/scenarios"
	"github.com/mayfly-mcp/mayfly/sim"
)

const exploredSeeds = 12

// TestExplorationsHoldInTheMachine: what the specification model says of drawn operations is what
// the machine does with them, so that a disagreement with a daemon is the daemon's.
func TestExplorationsHoldInTheMachine(t *testing.T) {
	t.Parallel()
	for seed := range uint64(exploredSeeds) {
		files, err := conformance.ExplorationFiles(seed, 300)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for i, f := range files {
			report, err := scenarios.Run(t.Context(), f, sim.NewScenarioWorld())
			if err == nil {
				err = report.Err()
			}
			if err != nil {
				t.Fatalf("seed %d, walk %d: %v\n%s", seed, i, err, scenarios.Format(f))
			}
		}
	}
}
