package hostworld

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/mayfly-mcp/mayfly/scenarios"
)

// TestFiles runs every scenario of the collection against the real host.
func TestFiles(t *testing.T) {
	for _, f := range scenarios.All() {
		t.Run(f.ID(), func(t *testing.T) {
			if !f.RunsIn(scenarios.Host) {
				return
			}
			if err := inTest(t, f, nil); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// inTest runs a file in a bubble of the test. The error is nil if the host did what the file
// expects.
func inTest(t *testing.T, f *scenarios.File, wrap func(transport.Dialer) transport.Dialer) (err error) {
	synctest.Test(t, func(*testing.T) {
		w := New()
		w.wrap = wrap
		report, runErr := scenarios.Run(context.Background(), f, w)
		if err = runErr; err == nil {
			err = report.Err()
		}
	})
	return err
}
