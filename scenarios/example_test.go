package scenarios_test

import (
	"fmt"

	"github.com/mayfly-mcp/mayfly/scenarios"
)

// An error names file and line and says what to write instead.
func ExampleParse() {
	_, err := scenarios.Parse("demo.txtar", []byte(`# A call of an agent that nobody introduced.
server S tools=echo
agent alice
declare alice m1 S
call alcie echo
expect runing S = 1
`))
	fmt.Println(err)
	// Output:
	// demo.txtar:6: expect: there is no query "runing" (did you mean "running"?): write status|tools|events|spawns|running|calls|result|credential|refusal|retry|claims|inflight|told|generation|written-off|replays|reasons|order|peers
}

// Format writes what was parsed in its one canonical form.
func ExampleFormat() {
	f, err := scenarios.Parse("demo.txtar", []byte("set idle_timeout   120s   # T\nserver S ignores=term,eof\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s", scenarios.Format(f))
	// Output:
	// set idle_timeout 2m  # T
	// server S tools=echo ignores=eof,term
}
