package conformance

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// figures are the numbers of an answer for a terminal: those that are named by a row and a
// quantile as a table, the others a line each.
func (a Answer) figures() string {
	var b strings.Builder
	tw := tabwriter.NewWriter(&b, 0, 4, 2, ' ', 0)
	row := ""
	for _, n := range a.Numbers {
		if name, quantile, is := n.cell(); is && name != row {
			if row == "" {
				fmt.Fprint(tw, "    SERVER\tCALL\tN\tP50 ms\tP95 ms\tP99 ms")
			}
			row = name
			class, call, _ := strings.Cut(name, " ")
			fmt.Fprintf(tw, "\n    %s\t%s\t%d\t%s", class, call, n.Samples, n.figure())
		} else if is && quantile != "" {
			fmt.Fprintf(tw, "\t%s", n.figure())
		}
	}
	if row != "" {
		fmt.Fprintln(tw)
	}
	_ = tw.Flush() // into memory
	for _, n := range a.Numbers {
		if _, _, is := n.cell(); !is {
			fmt.Fprintf(&b, "    %s\n", n)
		}
	}
	return b.String()
}

// cell splits the name of a number such as "npx-everything cold p95".
func (n Number) cell() (row, quantile string, is bool) {
	words := strings.Fields(n.Name)
	if len(words) != 3 || words[2][0] != 'p' {
		return "", "", false
	}
	return words[0] + " " + words[1], words[2], true
}

// figure is a value with its interval, and with its confidence where that is not the usual one.
func (n Number) figure() string {
	s := fmt.Sprintf("%s [%s, %s]", brief(n.Value), brief(n.Low), brief(n.High))
	if n.Confidence < wanted {
		s += fmt.Sprintf(" %d%%", int(100*n.Confidence))
	}
	return s
}

// brief is a number of milliseconds with three digits or none behind the point.
func brief(v float64) string {
	switch {
	case v < 10 && v > -10:
		return fmt.Sprintf("%.2f", v)
	case v < 100 && v > -100:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}
