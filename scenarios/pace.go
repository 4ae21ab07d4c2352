package scenarios

import (
	_ "embed"
	"fmt"
	"path"
	"strings"
	"time"
)

// paceTable has a line for each expectation of a scenario of the module that would be wrong if
// the lines before it had taken too long, since then a timeout ends what it asks for:
//
//	FILE FACTOR LINE DUE SLACK
//
// It is worked out with the machine in virtual time; a test of the simulator writes it.
//
//go:embed pace.txt
var paceTable string

// Pace is the time at which an expectation is meant to be asked, and by how much it may be
// late. The time is that since the world was set up, in a world where nothing but what the
// scenario says takes time.
type Pace struct{ Due, Slack time.Duration }

// PaceOf returns the pace of a line of a scenario of the module, scaled by a factor. Lines that
// are not listed may be late by any time.
func PaceOf(f *File, factor, line int) (Pace, bool) {
	p, ok := paces[paceKey{path.Base(f.Name), factor, line}]
	return p, ok
}

// PaceFactors are the factors at which the pace of the module's scenarios is known.
func PaceFactors() []int { return []int{1, 2, 4} }

type paceKey struct {
	file         string
	factor, line int
}

// paces is the table, by what it is asked for.
var paces = readPaces(paceTable)

func readPaces(table string) map[paceKey]Pace {
	all := map[paceKey]Pace{}
	for row := range strings.Lines(table) {
		if strings.HasPrefix(row, "#") {
			continue
		}
		var k paceKey
		var due, slack string
		_, err := fmt.Sscan(row, &k.file, &k.factor, &k.line, &due, &slack)
		p := Pace{}
		if err == nil {
			p.Due, err = time.ParseDuration(due)
		}
		if err == nil {
			p.Slack, err = time.ParseDuration(slack)
		}
		if err != nil {
			panic(fmt.Sprintf("SCN-4: pace.txt does not read: %q: %v", row, err))
		}
		all[k] = p
	}
	return all
}
