package sim

import (
	"testing"

	"github.com/mayfly-mcp/mayfly/scenarios"
)

// failing says by which planted bug the scenarios are failed that no live daemon runs: a bug in
// what the scenario is about, where there is one.
var failing = map[string]string{
	"connects-take-turns":        "dials one too many",
	"credential-ends":            "fails a peer for an answer",
	"drain-ends-everything":      "only asks nicely in a drain",
	"events-say-why":             "tells no reason",
	"exits-in-peace":             "fails what went in peace",
	"first-come-first-served":    "serves the last to come first",
	"killed-daemon-comes-back":   "dials upon a declaration",
	"late-news-changes-nothing":  "has a longer connect timeout",
	"launcher-has-its-own-time":  "refuses for a wrong reason",
	"longest-wish-wins":          "lets the shorter wish win",
	"lost-call-fails-its-peer":   "forgives a transport failure",
	"new-tools-are-told":         "tells of the old list",
	"pinned-and-young":           "has no respect for what is pinned or young",
	"rejected-connect-says-so":   "never forgets",
	"reload-moves-what-changed":  "stops the wrong generation",
	"restart-keeps-the-claims":   "only asks nicely in a drain",
	"room-is-made-by-the-unused": "lets one too many live",
	"room-that-does-not-come":    "queues one too many",
	"settings-change-under-way":  "is not told of a new configuration",
	"spawns-take-turns":          "spawns one too many",
	"times-of-a-claim":           "ignores start budgets",
	"told-twice":                 "drops an event",
	"too-many-wait":              "lets too many wait",
	"wished-graces":              "forgets the graces that were wished",
	"written-off":                "dials beside what is stuck",
}

// TestScenariosCanFail: of the scenarios that no live daemon runs each is failed by its bug.
func TestScenariosCanFail(t *testing.T) {
	all, n := allMutants(), 0
	for _, f := range scenarios.All() {
		if f.RunsIn(scenarios.Live) || !f.RunsIn(scenarios.Machine) {
			continue
		}
		n++
		m := all[failing[f.ID()]]
		if m == nil {
			t.Errorf("%s: name a planted bug that fails it", f.ID())
			continue
		}
		report, err := scenarios.Run(t.Context(), f, &scenarioWorld{make: m.subject(), most: maxTriedSteps})
		if err == nil && report.Err() == nil {
			t.Errorf("%s passes with the bug %q", f.ID(), m.name)
		}
	}
	if n != len(failing) {
		t.Errorf("%d scenarios and %d bugs", n, len(failing))
	}
}
