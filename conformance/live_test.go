package conformance

import (
	"testing"
	"time"

	"github.com/mayfly-mcp/mayfly/scenarios"
)

// TestScenariosLive runs every embedded scenario against the reference daemon.
func TestScenariosLive(t *testing.T) {
	target := reference(t)
	for _, f := range scenarios.All() {
		if !f.RunsIn(scenarios.Live) {
			continue
		}
		t.Run(f.ID(), func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			report, err := scenarios.Run(t.Context(), f, NewWorld(target))
			t.Log(time.Since(began))
			if err != nil {
				t.Error(err)
			}
			if err := report.Err(); err != nil {
				t.Error(err)
			}
		})
	}
}
