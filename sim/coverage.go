package sim

import (
	"fmt"
	"io"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

const (
	nStates = int(lifecycle.Failed) + 1
	nPhases = int(lifecycle.Stopping) + 1
	nInputs = int(lifecycle.InRetain) + 1
)

// Coverage counts what a run did to the peers that its steps touched.
type Coverage struct {
	// Cells counts steps by the standing before, the input, and the standing after.
	Cells [nStates * nPhases][nInputs][nStates * nPhases]uint64
	// Transitions counts changes of state.
	Transitions [nStates][nStates]uint64
}

func (c *Coverage) count(s lifecycle.State, p lifecycle.Phase, in lifecycle.InputKind, s2 lifecycle.State, p2 lifecycle.Phase) {
	c.Cells[standing(s, p)][in][standing(s2, p2)]++
}

func standing(s lifecycle.State, p lifecycle.Phase) int { return int(s)*nPhases + int(p) }

// Covered returns the number of different cells that were reached.
func (c *Coverage) Covered() int {
	n := 0
	c.each(func(_, _, _ int, _ uint64) { n++ })
	return n
}

// each visits the cells that were reached, in a fixed order.
func (c *Coverage) each(visit func(from, in, to int, n uint64)) {
	for from := range c.Cells {
		for in := range c.Cells[from] {
			for to, n := range c.Cells[from][in] {
				if n > 0 {
					visit(from, in, to, n)
				}
			}
		}
	}
}

// Cell is one line of coverage: how often an input led from one standing to another. Input
// is empty for changes of state counted over all inputs.
type Cell struct {
	From  string `json:"from"`
	Input string `json:"input,omitempty"`
	To    string `json:"to"`
	N     uint64 `json:"n"`
}

// Reached returns the cells that were reached, in a fixed order.
func (c *Coverage) Reached() []Cell {
	var out []Cell
	c.each(func(from, in, to int, n uint64) {
		out = append(out, Cell{standingWord(from), lifecycle.InputKind(in).String(), standingWord(to), n})
	})
	return out
}

// StateChanges returns the changes of state that happened, in a fixed order.
func (c *Coverage) StateChanges() []Cell {
	var out []Cell
	for from := range c.Transitions {
		for to, n := range c.Transitions[from] {
			if n > 0 {
				out = append(out, Cell{From: stateWord(from), To: stateWord(to), N: n})
			}
		}
	}
	return out
}

// WriteTransitions prints the changes of state, one a line, in a fixed order.
func (c *Coverage) WriteTransitions(w io.Writer) {
	for _, x := range c.StateChanges() {
		fmt.Fprintf(w, "  %10d %s → %s\n", x.N, x.From, x.To)
	}
}

// WriteCells prints the cells that were reached, one a line, in a fixed order.
func (c *Coverage) WriteCells(w io.Writer) {
	for _, x := range c.Reached() {
		fmt.Fprintf(w, "  %10d %-22s %-14s → %s\n", x.N, x.From, x.Input, x.To)
	}
}

func stateWord(i int) string {
	if i == 0 {
		return "none"
	}
	return lifecycle.State(i).String()
}

func standingWord(i int) string {
	if i == 0 {
		return "none"
	}
	return lifecycle.State(i/nPhases).String() + "/" + lifecycle.Phase(i%nPhases).String()
}
