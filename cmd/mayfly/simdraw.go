package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/mayfly-mcp/mayfly/sim"
)

// printDraw prints what a run is made of, a line for features and one for faults. A tape says it
// by itself.
func printDraw(w io.Writer, o *sim.Options) {
	if o.Mix == nil || o.Faults == nil {
		return
	}
	fmt.Fprintf(w, "features: %s\n", drawn(o.Mix.Strengths()))
	fmt.Fprintf(w, "faults: %s\n", drawn(o.Faults.Strengths()))
}

// drawn lists what there is with its strength, and then what there is not.
func drawn(all []sim.Strength) string {
	var there, absent []string
	for _, s := range all {
		if s.Value == 0 {
			absent = append(absent, s.Name)
			continue
		}
		there = append(there, fmt.Sprintf("%s %d", s.Name, s.Value))
	}
	text := strings.Join(there, ", ")
	if len(absent) > 0 {
		text += "; absent: " + strings.Join(absent, ", ")
	}
	return text
}

// firedFault is a fault of a report.
type firedFault struct {
	Fault string `json:"fault"`
	Fired uint64 `json:"fired"`
}

// firedFaults lists the faults that were drawn with how often each has fired, those that never did
// among them. Of a replay, whose tape does not tell what was drawn, those that have fired.
func firedFaults(o *sim.Options, r *sim.Result) []firedFault {
	var out []firedFault
	for _, c := range r.Faults() {
		if c.Fired > 0 || o.Faults != nil && o.Faults.Draws(c.Fault) {
			out = append(out, firedFault{c.Fault.String(), c.Fired})
		}
	}
	return out
}

func printFired(w io.Writer, o *sim.Options, r *sim.Result) {
	fmt.Fprintln(w, "faults that were drawn")
	for _, f := range firedFaults(o, r) {
		word := fmt.Sprintf("fired %d", f.Fired)
		if f.Fired == 0 {
			word = "never fired"
		}
		fmt.Fprintf(w, "  %-32s %s\n", f.Fault, word)
	}
}

// strengthMap is the form of a draw in JSON, whose keys are sorted.
func strengthMap(all []sim.Strength) map[string]int {
	out := map[string]int{}
	for _, s := range all {
		out[s.Name] = s.Value
	}
	return out
}
