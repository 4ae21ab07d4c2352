package oracle_test

import (
	"fmt"

	"github.com/mayfly-mcp/mayfly/sim/idle/oracle"
)

// A peer that is called twice an hour, under the default timeout of 1800 s and its ticks of 450 s.
func Example() {
	gaps := oracle.Must(oracle.NewExponential(2.0 / 3600))
	fmt.Printf("cold %.4f\n", oracle.Cold(gaps, 1800, 450))
	fmt.Printf("resident %.1f s per gap\n", oracle.Resident(gaps, 1800, 450))
	// Output:
	// cold 0.3255
	// resident 1214.1 s per gap
}

// Somebody who would pay 2250 process-seconds to avoid one cold start, and knows nothing of the traffic.
func ExampleMinimax() {
	m := oracle.Minimax(2250)
	fmt.Printf("T = %.0f s, at most %.1f times the best\n", m.Timeout, m.Ratio)
	// Output: T = 1800 s, at most 1.9 times the best
}

// What one avoided cold start costs when people's waits follow a power law.
func ExamplePrice() {
	waits := oracle.Must(oracle.NewPareto(60, 0.62))
	for _, T := range []float64{300, 1800, 3600} {
		fmt.Printf("T = %4.0f s: %.0f process-seconds\n", T, oracle.Price(waits, T))
	}
	// Output:
	// T =  300 s: 484 process-seconds
	// T = 1800 s: 2903 process-seconds
	// T = 3600 s: 5806 process-seconds
}
