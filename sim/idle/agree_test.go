package idle

import (
	"context"
	"errors"
	"flag"
	"math"
	"testing"

	"github.com/mayfly-mcp/mayfly/sim/idle/oracle"
)

var long = flag.Bool("idle.long", false, "hold the engine to the closed forms over ten million gaps per check")

// TestAgreement is the oracle table: every closed form against the machine.
func TestAgreement(t *testing.T) {
	gaps := agreeGaps
	if *long {
		gaps = 10_000_000
	}
	rows, err := Agreement(context.Background(), gaps, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		t.Logf("%-4s %-36s %-30s want %-12.6g simulated %-12.6g se %-9.2g off %.2f", r.Clause, r.Check, r.Quantity, r.Want, r.Simulated, r.SE, r.Off())
		if !r.OK() {
			t.Errorf("%s: %s is %.9g, %s says %.9g: %.1f standard errors", r.Check, r.Quantity, r.Simulated, r.Formula, r.Want, r.Off())
		}
	}
}

// TestAgreementCanFail has the table find a formula that is a tenth wrong.
func TestAgreementCanFail(t *testing.T) {
	var wrong []oracle.Check
	for _, c := range oracle.Checks() {
		if c.Kind != oracle.Alone || c.Delta == 0 {
			continue
		}
		for i := range c.Want {
			c.Want[i].Want *= 1.1
		}
		wrong = append(wrong, c)
		break
	}
	rows, err := agreement(context.Background(), wrong, agreeGaps, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if r.OK() || math.IsNaN(r.Off()) {
			t.Errorf("%s: a value that is wrong by a tenth is %.2f standard errors off", r.Quantity, r.Off())
		}
	}
}

func TestAgreementNeedsGaps(t *testing.T) {
	if _, err := Agreement(context.Background(), 10, 1); err == nil {
		t.Error("ten gaps were enough")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	// With so many gaps, making the callers alone would take minutes.
	if rows, err := Agreement(ctx, maxAgreeGaps, 1); !errors.Is(err, context.Canceled) || rows != nil {
		t.Errorf("a context that has ended: %d rows, %v", len(rows), err)
	}
}
