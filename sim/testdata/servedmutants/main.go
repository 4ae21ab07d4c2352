// Command servedmutants runs one mutant of the registry after the other, until the simulator finds
// it out, and shrinks what it found. It is built with an overlay only, see servedmutants_test.go.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/mayfly-mcp/mayfly/core/registry"
	"github.com/mayfly-mcp/mayfly/sim"
)

// Found is how a mutant was found out; Check is empty if it was not.
type Found struct {
	Check, Clause string
	Seeds, Steps  uint64
	Small         string
}

func main() {
	mutants, err := strconv.Atoi(os.Args[1])
	check(err)
	seeds, err := strconv.ParseUint(os.Args[2], 10, 64)
	check(err)
	out := json.NewEncoder(os.Stdout)
	for m := 0; m <= mutants; m++ {
		registry.Mutant = m
		check(out.Encode(hunt(seeds)))
	}
}

// hunt runs the mutant that is awake under seeds from 1 on.
func hunt(seeds uint64) Found {
	for seed := uint64(1); seed <= seeds; seed++ {
		res, err := sim.Run(sim.Options{Seed: seed, Swarm: true, AuditEvery: 500})
		check(err)
		if v := res.Violation; v != nil {
			small, _, err := sim.Shrink(res.Tape, sim.ShrinkOptions{})
			check(err)
			c, err := sim.ToScenario(small, sim.ScenarioOptions{Name: "x.txtar"})
			check(err)
			if c.Gap == "" {
				check(fmt.Errorf("a scenario claims to show what it cannot ask for: %s", c.Sentence))
			}
			_, entries, _ := strings.Cut(small.String(), "begin\n")
			return Found{v.ID, v.Clause, seed, uint64(len(res.Tape.Entries)), strings.TrimSuffix(entries, "end\n")}
		}
	}
	return Found{Seeds: seeds}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "servedmutants:", registry.Mutant, err)
		os.Exit(1)
	}
}
