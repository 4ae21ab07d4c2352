package conformance

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Profile is a choice of checks.
type Profile string

// The profiles.
const (
	Quick  Profile = "quick"  // what can be seen of every MUST in seconds
	Full   Profile = "full"   // the catalogue: what a certificate covers
	Timing Profile = "timing" // measurements that take minutes, and the answers that they give
)

// Profiles lists them, the quickest first.
func Profiles() []Profile { return []Profile{Quick, Full, Timing} }

// Checks are those of a profile, in the order of the catalogue.
func (p Profile) Checks() ([]Check, error) {
	switch p {
	case Quick:
		return quickChecks(), nil
	case Full:
		return Catalogue(), nil
	case Timing:
		return timingProfile(), nil
	}
	return nil, fmt.Errorf("there is no profile %q; use one of %v", string(p), Profiles())
}

// maxQuick is what a check of the quick profile may wait by itself, unless it is the shortest
// that shows a MUST.
const maxQuick = 3 * time.Second

// quickChecks are those of the catalogue that wait little and need no silence, and for each MUST
// that none of them shows the shortest one that does.
func quickChecks() []Check {
	all := slices.DeleteFunc(Catalogue(), func(c Check) bool { return c.quiet })
	byCost := slices.Clone(all)
	slices.SortStableFunc(byCost, func(a, b Check) int { return cmp.Compare(a.cost, b.cost) })
	chosen, shown := map[string]bool{}, map[string]bool{}
	for _, c := range byCost {
		more := slices.ContainsFunc(c.Clauses, func(id string) bool { return clauseTags[id].level() == Must && !shown[id] })
		if c.cost > maxQuick && !more {
			continue
		}
		chosen[c.ID] = true
		for _, id := range c.Clauses {
			shown[id] = true
		}
	}
	return slices.DeleteFunc(all, func(c Check) bool { return !chosen[c.ID] })
}

// answering are checks of the catalogue that answer a question which no measurement does.
var answering = []string{"overlay-by-name", "minimal-environment"}

// timingProfile are the checks that measure, and those that answer beside them.
func timingProfile() []Check {
	return slices.DeleteFunc(Everything(), func(c Check) bool { return c.only != Timing && !slices.Contains(answering, c.ID) })
}
