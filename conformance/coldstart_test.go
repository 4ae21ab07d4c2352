package conformance

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// briefPlan is a cold-start measurement for a test.
var briefPlan = coldPlan{idle: time.Second, rounds: 2, warm: 1, reporter: 2, budget: 5 * time.Minute}

// coldMeasured runs the cold-start check with a plan and classes, and returns what a report makes of it.
func coldMeasured(t *testing.T, target Target, plan coldPlan, classes []serverClass) (Result, Answer, []observation) {
	t.Helper()
	c := coldStartCheck(ColdStart{})
	c.run = func(ctx context.Context, p *probe) (string, error) { return p.coldStart(ctx, plan, classes, nil) }
	report, err := Run(t.Context(), target, Options{Checks: []Check{c}})
	if err != nil {
		t.Fatal(err)
	}
	seen := report.Capture().attempts[0].Seen
	a, ok := coldStartAnswer(evidence{results: report.Checks, seen: map[string][]observation{coldStartID: seen}})
	if !ok {
		t.Fatalf("there is no answer; the check: %+v", report.Checks[0])
	}
	return report.Checks[0], a, seen
}

// coldSamples are the samples of a phase of a class.
func coldSamples(seen []observation, class, phase string) (out []observation) {
	for _, o := range seen {
		if strings.HasPrefix(o.What, coldSeries+class+"/"+phase+"/") {
			out = append(out, o)
		}
	}
	return out
}

// TestColdStartLive measures the reference daemon for a moment: every call that was taken for cold
// took at least the start of its server, in every class, and what is not there is said.
func TestColdStartLive(t *testing.T) {
	t.Parallel()
	target := reference(t)
	const start = 50 * time.Millisecond
	classes := []serverClass{
		{id: "observer-0", title: "at once", call: echoCall, peers: 2},
		{id: "observer-0.05s", title: "a moment", call: echoCall, start: start, peers: 2},
		{id: "go-sdk", title: "with the SDK", command: []string{target.Peer, "peer", goServerWord}, call: echoCall, peers: 1},
		{id: "node-everything", title: "of Node.js", call: echoCall, peers: 1, absent: "node is not in PATH"},
	}
	result, answer, seen := coldMeasured(t, target, briefPlan, classes)
	if result.Verdict != Pass || !strings.Contains(result.Evidence, "10 calls after an eviction started one server each") {
		t.Fatalf("%s: %s", result.Verdict, result.Evidence)
	}
	for _, x := range classes[:3] {
		cold, first := coldSamples(seen, x.id, coldCall), coldSamples(seen, x.id, firstCall)
		if len(cold) != x.peers*briefPlan.rounds || len(first) != x.peers {
			t.Errorf("%s: %d calls after an eviction and %d before any, of %d peers in %d rounds", x.id, len(cold), len(first), x.peers, briefPlan.rounds)
		}
		for _, o := range append(cold, first...) {
			if o.Min < x.start {
				t.Errorf("%s took %v, and its server takes %v to start", o.What, o.Min, x.start)
			}
		}
	}
	for _, o := range slices.Concat(coldSamples(seen, "node-everything", coldCall), coldSamples(seen, "node-everything", firstCall)) {
		t.Errorf("%s was measured, and is not there", o.What)
	}
	const want = "node-everything is NOT-APPLICABLE: node is not in PATH"
	if !strings.Contains(answer.Words, want) || !strings.Contains(result.Evidence, "node-everything: NOT-APPLICABLE: node is not in PATH") {
		t.Errorf("what is left out is not said:\n%s\n%s", answer.Words, result.Evidence)
	}
}

// TestColdStartLeftOut: a server of the caller's that does not work is left out, which is said
// and is no failure of the daemon.
func TestColdStartLeftOut(t *testing.T) {
	t.Parallel()
	target := reference(t)
	classes := []serverClass{
		{id: "observer-0", title: "at once", call: echoCall, peers: 1},
		{id: "yours-broken", title: "ends at once", command: []string{"false"}, call: echoCall, peers: 1},
	}
	plan := briefPlan
	plan.rounds = 1
	result, answer, seen := coldMeasured(t, target, plan, classes)
	if result.Verdict != Pass || len(coldSamples(seen, "yours-broken", firstCall)) > 0 {
		t.Errorf("%s: %s", result.Verdict, result.Evidence)
	}
	if want := "yours-broken is NOT-OBSERVED: a call of yours-broken was answered"; !strings.Contains(answer.Words, want) {
		t.Errorf("want %q in:\n%s", want, answer.Words)
	}
}

// TestColdStartThroughAdapter: what stands between the checks and a daemon is no hindrance, and a
// capture that is read again gives the same answer.
func TestColdStartThroughAdapter(t *testing.T) {
	t.Parallel()
	exe := reference(t).Peer
	target := Target{Name: "program", Adapter: true, Argv: []string{exe, "adapter"}, Peer: exe}
	c := coldStartCheck(ColdStart{})
	plan := coldPlan{idle: time.Second, rounds: 1, warm: 1, reporter: 1, budget: 5 * time.Minute}
	c.run = func(ctx context.Context, p *probe) (string, error) {
		return p.coldStart(ctx, plan, []serverClass{{id: "observer-0", title: "at once", call: echoCall, peers: 1}}, nil)
	}
	report, err := Run(t.Context(), target, Options{Checks: []Check{c}})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Answers) != 1 || len(report.Answers[0].Words) == 0 || report.Checks[0].Verdict != Pass {
		t.Fatalf("%s: %s; answers %+v", report.Checks[0].Verdict, report.Checks[0].Evidence, report.Answers)
	}
	file, err := report.Capture().encode()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), CaptureFile)
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	again, err := ReadCapture(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(report.Answers, again.Report().Answers); diff != "" {
		t.Errorf("(-first +again):\n%s", diff)
	}
}

// TestColdStartMissingNode: programs and packages that are not there make a class not applicable,
// with the reason.
func TestColdStartMissingNode(t *testing.T) {
	dir := t.TempDir()
	reasons := func(o ColdStart) map[string]string {
		out := map[string]string{}
		for _, c := range o.classes("mayfly") {
			out[c.id] = c.absent
		}
		return out
	}
	program := func(path string) {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
	if got := reasons(ColdStart{Prefix: dir}); got["npx-everything"] != "npx is not in PATH" || got["node-memory"] != "node is not in PATH" || got["go-sdk"] != "" {
		t.Errorf("without Node.js: %v", got)
	}
	program(filepath.Join(dir, "node"))
	program(filepath.Join(dir, "npx"))
	if got := reasons(ColdStart{}); !strings.Contains(got["npx-everything"], "npm install --prefix DIR @modelcontextprotocol/server-everything@") {
		t.Errorf("without a prefix: %v", got)
	}
	program(filepath.Join(dir, "node_modules", ".bin", "mcp-server-everything"))
	got := reasons(ColdStart{Prefix: dir})
	if got["npx-everything"] != "" || got["node-everything"] != "" || got["node-memory"] != "the npm prefix does not hold server-memory" {
		t.Errorf("with one package: %v", got)
	}
}

func TestParseServer(t *testing.T) {
	got, err := ParseServer("mine:list_issues=tool-server --flag 'two words'")
	if diff := cmp.Diff(Server{Name: "mine", Tool: "list_issues", Command: []string{"tool-server", "--flag", "two words"}}, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, bad := range []string{"", "mine", "=cmd", "mine=", "Mine=cmd", "a/b=cmd", "mine=it's"} {
		if s, err := ParseServer(bad); err == nil {
			t.Errorf("%q is taken for %+v", bad, s)
		}
	}
	checks := []Check{coldStartCheck(ColdStart{})}
	if _, err := WithColdStart(checks, ColdStart{Servers: make([]Server, maxServers+1)}); err == nil {
		t.Error("there is no bound on servers")
	}
	if _, err := WithColdStart(nil, ColdStart{}); err == nil {
		t.Error("servers are taken where nothing measures them")
	}
	if with, err := WithColdStart(checks, ColdStart{Prefix: "x"}); err != nil || len(with) != 1 || with[0].ID != coldStartID {
		t.Errorf("%v %v", with, err)
	}
}

// TestColdStartSaysNoSecret: the words of the caller's command do not come into a capture.
func TestColdStartSaysNoSecret(t *testing.T) {
	o := ColdStart{Prefix: "/somewhere/deep", Servers: []Server{{Name: "mine", Command: []string{"sh", "--token=very-secret"}}}}
	if diff := cmp.Diff([]string{"--token=very-secret", "/somewhere/deep"}, o.unsaid()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	r := &rig{target: Target{Peer: "peer"}, dir: "dir"}
	r.conceal(o.unsaid())
	if said := r.say("cannot run sh --token=very-secret in /somewhere/deep/x"); said != "cannot run sh *** in ***/x" {
		t.Errorf("it says %q", said)
	}
}
