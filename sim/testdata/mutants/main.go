// Command mutants runs one mutant of the lifecycle machine after the other, until the simulator
// finds it out. It is built with an overlay only, in which the machine holds every mutant
// of the table and lifecycle.Mutant says which one is awake; see mutants_test.go.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/sim"
)

// Found is how a mutant was found out; Check is empty if it was not.
type Found struct {
	Mutant int
	Check  string
	Clause string
	Seeds  uint64 // that it took
	Steps  uint64 // in the last of them
}

func main() {
	mutants, err := strconv.Atoi(os.Args[1])
	check(err)
	seeds, err := strconv.ParseUint(os.Args[2], 10, 64)
	check(err)
	out := json.NewEncoder(os.Stdout)
	for m := 0; m <= mutants; m++ {
		lifecycle.Mutant = m
		check(out.Encode(hunt(m, seeds)))
	}
}

// hunt runs one mutant under seeds from 1 on.
func hunt(mutant int, seeds uint64) Found {
	for seed := uint64(1); seed <= seeds; seed++ {
		res, err := sim.Run(sim.Options{Seed: seed, Swarm: true, AuditEvery: 500})
		check(err)
		if v := res.Violation; v != nil {
			return Found{mutant, v.ID, v.Clause, seed, v.Step}
		}
	}
	return Found{Mutant: mutant, Seeds: seeds}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}
