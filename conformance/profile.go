package conformance

import (
	"fmt"
	"slices"
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

// maxQuick is what a check of the quick profile may wait by itself.
const maxQuick = 3e9

// quickChecks are those of the catalogue that take little time and need no silence.
func quickChecks() []Check {
	return slices.DeleteFunc(Catalogue(), func(c Check) bool { return c.quiet || c.cost > maxQuick })
}

// answering are checks of the catalogue that answer a question which no measurement does.
var answering = []string{"overlay-by-name", "minimal-environment"}

// timingProfile are the checks that measure, and those that answer beside them.
func timingProfile() []Check {
	return slices.DeleteFunc(Everything(), func(c Check) bool { return c.only != Timing && !slices.Contains(answering, c.ID) })
}
