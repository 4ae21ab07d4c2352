package conformance

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// mutantPatience is short, since many mutants fail by keeping a check waiting.
const mutantPatience = 5 * time.Second

// kills says which checks must fail a mutant, and what their evidence must say, so that
// none of them fails for another reason; a bar stands between alternatives. One without words is run, and may do as it likes.
var kills = []struct{ mutant, check, says string }{
	{"full-environment", "minimal-environment", "of the daemon reached a server"},
	{"shell-in-between", "own-process-group", "that it does not lead"},
	{"inherits-descriptors", "no-inherited-descriptors", "inherited 1 descriptors, the first is 7"},
	{"one-credential-for-all", "credentials-apart", "another agent's credential"},
	{"one-credential-for-all", "token-rotation", "expect credential = t2"},
	{"logs-configurations", "no-secret-shown", "a secret is shown"},
	{"secret-in-error", "no-secret-shown", "a secret is shown"},
	{"shows-env", "no-secret-shown", "a secret is shown"},
	{"connects-one-by-one", "connects-side-by-side", "connects wait for each other"},
	{"spawns-twice", "64-callers-one-spawn", "was spawned 2 times"},
	{"rejection-is-failure", "rejections-leave-state", "was shown as"},
	{"rejection-is-failure", "error-texts", `want an error that begins with "mcp tool error: "`},
	{"hides-lost-calls", "error-texts", `want an error that begins with "mcp call failed: "`},
	{"calls-twice", "64-callers-one-spawn", "128 calls arrived"},
	{"never-cancels", "late-reply", "was not told"},
	{"answers-of-others", "notification-first", "was answered"},
	{"answers-of-others", "double-reply", "was answered"},
	{"never-kills", "whole-tree-ends", "processes of the server are left"},
	{"deserts-servers", "whole-tree-ends", "processes of the server are left"},
	{"deserts-servers", auditID, "outlived its daemon"},
	{"deserts-servers", "claim-move-last-out", "expect running S = 0"},
	{"blind-to-death", "death-with-reason", "waiting for an event"},
	{"half-times", "eviction-measured", "before T"},
	{"half-times", "connect-timeout-measured", "before its timeout"},
	{"half-times", "call-timeout-measured", "before its timeout"},
	{"double-times", "eviction-measured", "late"},
	{"double-times", "connect-timeout-measured", "its timeout is"},
	{"double-times", "call-timeout-measured", "its timeout is"},
	{"forgets-agents", "kill-9-keeps-the-acknowledged", "after the restart the daemon knows"},
	{"steals-homes", "second-daemon-refused", "keeps running|cannot reach the daemon"},
	{"starts-anywhere", "unusable-home", "keeps running"},
	{"exits-with-1", "sigterm-ends-everything", "exit status 1"},
	{"exits-with-1", "registration-starts-nothing", "exit status 1"},
	{"exits-with-1", "own-process-group", ""}, // comes to an orderly end, for the audit
	{"exits-with-1", auditID, "exit status 1"},
	{"keeps-its-socket", "sigterm-ends-everything", "socket file"},
	{"mute-to-pings", "server-ping", "waiting for a matching report"},
	{"hides-its-end", "kill-9-leaves-no-server", "are still alive"},
	{"hides-lost-calls", "cut-answer", `was answered "fine"`},
	{"hides-lost-calls", "peer-stops-reading", `was answered "fine"`},
	{"one-call-at-a-time", "peer-stops-reading", "a sibling had to wait|was answered"},
	{"dies-of-a-lost-call", "huge-answer", "ended by itself"},
	{"vague-errors", "spawn-error-names-command", `the error is "failed"`},
	{"jams", "silent-client-delays-nobody", "unread on another connection"},
	{"crashes-on-a-bad-frame", "frame-undecodable", "ended by itself"},
	{"crashes-on-a-bad-frame", "frame-invalid-utf8", "ended by itself"},
	{"answers-a-bad-frame", "frame-undecodable", "it was answered"},
	{"code-500-for-all", "frame-empty", "want an error 400"},
	{"code-500-for-all", "frame-retired-variant", "want an error 410"},
	{"code-500-for-all", "unknown-ids", "want 404"},
	{"mute-errors", "wrong-types", "does not name"},
	{"connects-at-registration", "registration-starts-nothing", "want 0"},
	{"connects-at-registration", "first-call-spawns", "expect spawns S = 0"},
	{"keeps-half-a-refused-request", "duplicate-mcps", "the listings changed"},
	{"accepts-duplicates", "duplicate-mcps", "was accepted"},
	{"upsert-is-lazy", "upsert-answers", "was answered MCP_STATUS_DISCONNECTED"},
	{"no-failed-events", "death-with-reason", "waiting for an event"},
	{"events-to-one-owner", "owners-own-names", "expect events b"},
	{"failure-clears-tools", "transport-failure-keeps-tools", "expect tools a m1 = 2"},
}

// mutantsAtOnce bounds how many mutants run side by side.
const mutantsAtOnce = 10

// TestMutants proves that the checks can fail: each defect is seen by the checks that it
// concerns.
func TestMutants(t *testing.T) {
	t.Parallel()
	var order []string
	checks := map[string][]string{}
	for _, k := range kills {
		if checks[k.mutant] == nil {
			order = append(order, k.mutant)
		}
		checks[k.mutant] = append(checks[k.mutant], k.check)
	}
	var wg sync.WaitGroup
	slots := make(chan struct{}, mutantsAtOnce)
	for i, name := range order {
		if i%mutantStep != 0 {
			continue
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			killMutant(t, name, checks[name])
		})
	}
	wg.Wait()
}

// killMutant shows that every check sees the defect. On a machine that is too busy a check may
// lose its patience before it comes to the point, so it gets more, twice.
func killMutant(t *testing.T, name string, ids []string) {
	wrong := []string{"it never ran"}
	for patience := mutantPatience; len(wrong) > 0 && patience <= 16*mutantPatience; patience *= 4 {
		wrong = survivals(name, runMutant(t, name, ids, patience))
	}
	for _, w := range wrong {
		t.Error(w)
	}
}

// survivals says which checks did not see the defect of a mutant.
func survivals(name string, results []Result) (wrong []string) {
	for _, k := range kills {
		if k.mutant != name || k.says == "" {
			continue
		}
		at := slices.IndexFunc(results, func(r Result) bool { return r.ID == k.check })
		if at < 0 {
			wrong = append(wrong, fmt.Sprintf("%s: %s gave no result", name, k.check))
			continue
		}
		r := results[at]
		says := func(text string) bool { return strings.Contains(r.Evidence, text) }
		if r.Verdict != Fail || !slices.ContainsFunc(strings.Split(k.says, "|"), says) {
			wrong = append(wrong, fmt.Sprintf("%s: %s is %s: %s\nwant FAIL with %q\n%s",
				name, k.check, r.Verdict, r.Evidence, k.says, strings.Join(r.Log, "\n")))
		}
	}
	return wrong
}

func runMutant(t *testing.T, name string, ids []string, patience time.Duration) []Result {
	var own []string
	for _, id := range ids {
		if id != auditID {
			own = append(own, id)
		}
	}
	list, err := Find(own...)
	if err != nil {
		t.Error(err)
		return nil
	}
	for i := range list {
		list[i].quiet, list[i].timed = false, false // their margins are wide, and the test is to be quick
	}
	report, err := Run(t.Context(), mutant(t, name), Options{Checks: list, Parallel: 3, patience: patience})
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return nil
	}
	return report.Checks
}
