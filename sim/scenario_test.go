package sim

import (
	"testing"

	"github.com/mayfly-mcp/mayfly/scenarios"
)

// TestScenarios runs every embedded scenario in the machine world.
func TestScenarios(t *testing.T) {
	for _, f := range scenarios.All() {
		if !f.RunsIn(scenarios.Machine) {
			continue
		}
		t.Run(f.ID(), func(t *testing.T) {
			report, err := scenarios.Run(t.Context(), f, NewScenarioWorld())
			if err != nil {
				t.Fatal(err)
			}
			if err := report.Err(); err != nil {
				t.Error(err)
			}
			if len(report.Outcomes) == 0 {
				t.Error("the scenario expects nothing")
			}
		})
	}
}
