package idle_test

import (
	"fmt"

	"github.com/mayfly-mcp/mayfly/sim/idle"
)

// A spec names a policy, what is added to it, and what both need of the configuration.
func ExampleParsePolicy() {
	preset, err := idle.ParsePolicy("exact:t=10m + greedy-dual:max=200 + retry:base=2s")
	if err != nil {
		fmt.Println(err)
		return
	}
	c := idle.Config{Servers: idle.DefaultMix()}
	if err := preset.Apply(&c); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Policy.Name())
	fmt.Println(c.Machine.MaxLive)

	_, err = idle.ParsePolicy("hybird")
	fmt.Println(fmt.Sprint(err)[:50])
	// Output:
	// exact:t=10m+greedy-dual+retry:base=2s
	// 200
	// policy: there is no "hybird" (did you mean "hybrid
}
