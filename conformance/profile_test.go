package conformance

import (
	"slices"
	"testing"
)

// idsOf are the ids of checks, and clausesOf the MUSTs that they show.
func idsOf(checks []Check) (out []string) {
	for _, c := range checks {
		out = append(out, c.ID)
	}
	return out
}

func clausesOf(checks []Check) map[string]bool {
	out := map[string]bool{}
	for _, c := range checks {
		for _, id := range c.Clauses {
			if clauseTags[id].level() == Must {
				out[id] = true
			}
		}
	}
	return out
}

func checksOf(t *testing.T, p Profile) []Check {
	t.Helper()
	checks, err := p.Checks()
	if err != nil {
		t.Fatal(err)
	}
	return checks
}

// TestQuickProfile: it leaves out what takes long and needs silence, and no MUST.
func TestQuickProfile(t *testing.T) {
	quick, full := checksOf(t, Quick), checksOf(t, Full)
	shown := clausesOf(quick)
	for _, c := range full {
		for _, id := range c.Clauses {
			if clauseTags[id].level() == Must && !shown[id] {
				t.Errorf("no check of the quick profile shows %s", id)
			}
		}
	}
	slow := 0
	for _, c := range quick {
		if c.quiet || c.only != "" {
			t.Errorf("%s is in the quick profile", c.ID)
		}
		if c.cost > maxQuick {
			slow++
		}
	}
	if slow == 0 || slow > 6 || len(quick) >= len(full) {
		t.Errorf("%d of %d checks, %d of them slow", len(quick), len(full), slow)
	}
	if !slices.IsSortedFunc(quick, func(a, b Check) int {
		return slices.Index(idsOf(full), a.ID) - slices.Index(idsOf(full), b.ID)
	}) {
		t.Error("the quick profile is not in the order of the catalogue")
	}
}

// TestTimingProfile: its measurements are found by name, and are no part of a certificate.
func TestTimingProfile(t *testing.T) {
	timing, full := idsOf(checksOf(t, Timing)), idsOf(checksOf(t, Full))
	for _, id := range []string{timingIdle, timingRetry, timingSpawn, timingPeers, timingConnect, timingReconnect, "overlay-by-name"} {
		if !slices.Contains(timing, id) {
			t.Errorf("the timing profile lacks %s", id)
		}
		if found, err := Find(id); err != nil || len(found) != 1 {
			t.Errorf("%s is not found by name: %v", id, err)
		}
	}
	for _, c := range timingChecks() {
		if slices.Contains(full, c.ID) {
			t.Errorf("%s is part of a certificate", c.ID)
		}
		if !c.quiet {
			t.Errorf("something may run beside %s", c.ID)
		}
	}
	if !slices.Equal(full, idsOf(Catalogue())) {
		t.Error("the full profile is not the catalogue")
	}
}

func TestUnknownProfile(t *testing.T) {
	if _, err := Profile("swift").Checks(); err == nil || err.Error() != `there is no profile "swift"; use one of [quick full timing]` {
		t.Errorf("%v", err)
	}
}
