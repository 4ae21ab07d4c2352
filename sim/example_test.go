package sim_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/sim"
)

// A run that finds nothing says what it did.
func ExampleRun() {
	res, err := sim.Run(sim.Options{Seed: 7, Tenants: 20, For: 6 * time.Hour})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("violation:", res.Violation)
	fmt.Println("every peer ended:", res.Coverage.Transitions[lifecycle.Connected][lifecycle.Disconnected] > 0)
	// Output:
	// violation: <nil>
	// every peer ended: true
}

// A tape is text, and may be written by hand.
func ExampleReplay() {
	tape, err := sim.Decode("late.tape", strings.NewReader(`mayfly tape 3
seed 0
tenants 1
for 2h0m0s
audit-every 1
idle-timeout 30m0s
failed-retry 0s
start-timeout 0s
connect-timeout 30s
call-timeout 30s
close-grace 2s
terminate-grace 2s
kill-grace 5s
drain-grace 5s
queue-timeout 0s
max-waiters 16
max-live 0
max-dialing 0
max-spawning 0
max-queued 0
begin
0s t1 born
0s t1 declare m1 s1
1s t1 dispatch m1 answered 300ms
end
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := sim.Replay(tape, sim.Options{})
	fmt.Println(err, res.Violation, "evictions:", res.Evictions)
	// Output:
	// <nil> <nil> evictions: 1
}
