package endpoint_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/core/endpoint"
)

// clientsPrefix names the variable with which a CI job asks for these tests: an npm prefix in
// which the official inspector and the official conformance suite are installed.
const clientsPrefix = "MAYFLY_CLIENTS_PREFIX"

// program is the path of a command of the prefix, "" if nobody asks for these tests, which
// need Node.js.
func program(t *testing.T, name string) string {
	t.Helper()
	prefix, wanted := os.LookupEnv(clientsPrefix)
	if !wanted {
		t.Logf("not run: set %s to an npm prefix that holds %s", clientsPrefix, name)
		return ""
	}
	path := filepath.Join(prefix, "node_modules", ".bin", name)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%s does not hold %s: %v", clientsPrefix, name, err)
	}
	return path
}

// run starts a command and returns all that it says, with an error if it fails.
func run(t *testing.T, name string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// The official inspector lists and calls a tool while its owner dies and a successor takes the
// name over. What it says is the transcript.
func TestInspector(t *testing.T) {
	inspector := program(t, "mcp-inspector")
	if inspector == "" {
		return
	}
	p := serve(t, endpoint.Config{})
	first, second := newOwner(t), newOwner(t)
	var transcript strings.Builder
	ask := func(want string, fine bool, args ...string) {
		t.Helper()
		said, err := run(t, inspector, append([]string{"--cli", p.url + "/mcp", "--transport", "http", "--method"}, args...)...)
		fmt.Fprintf(&transcript, "$ mcp-inspector --cli URL --method %s\n%s", strings.Join(args, " "), said)
		if (err == nil) != fine || !strings.Contains(strings.ReplaceAll(said, `\"`, `"`), want) {
			t.Errorf("%v: %v; want %q in\n%s", args, err, want, said)
		}
	}
	note := func(line string) { transcript.WriteString("# " + line + "\n") }
	call := []string{"tools/call", "--tool-name", "search", "--tool-arg", "q=mayfly"}

	ask(`"tools": []`, true, "tools/list")
	add(t, p.Shared(), first, saying("search", "A answers"))
	note("A registers search")
	ask(`"name": "search"`, true, "tools/list")
	ask(`A answers search {"q":"mayfly"}`, true, call...)
	first.Close()
	note("A dies")
	ask(`tool "search" is not available`, false, call...)
	ask(`"tools": []`, true, "tools/list")
	add(t, p.Shared(), second, saying("search", "B answers"))
	note("B registers search")
	ask(`"name": "search"`, true, "tools/list")
	ask(`B answers search {"q":"mayfly"}`, true, call...)
	t.Logf("\n%s", transcript.String())
}

// exceptions are the scenarios of the official suite that the endpoint does not pass, and why
// it need not. One that passes is out of date.
var exceptions = map[string]string{
	"completion-complete":           "completions are not served: entries are tools, resources and templates",
	"resources-subscribe":           "subscriptions to single resources are not served: list_changed tells of what comes and goes",
	"resources-unsubscribe":         "subscriptions to single resources are not served",
	"prompts-get-simple":            "prompts are not served: consumers register tools, resources and templates",
	"prompts-get-with-args":         "prompts are not served",
	"prompts-get-embedded-resource": "prompts are not served",
	"prompts-get-with-image":        "prompts are not served",
	"server-sse-polling":            "a stream that was lost is not resumed, which the suite warns of: answers are not stored",
}

// The official suite passes, but for the exceptions.
func TestServerSuite(t *testing.T) {
	suite := program(t, "conformance")
	if suite == "" {
		return
	}
	p := serve(t, endpoint.Config{})
	addFixtures(t, p.Shared(), newOwner(t))
	list, err := run(t, suite, "list", "--server")
	if err != nil {
		t.Fatalf("%v\n%s", err, list)
	}
	var all []string
	for _, m := range regexp.MustCompile(`(?m)^ *- (\S+)$`).FindAllStringSubmatch(list, -1) {
		all = append(all, m[1])
	}
	dir := t.TempDir()
	said, _ := run(t, suite, "server", "--url", p.url, "--suite", "all", "-o", dir) // it fails if one does
	done := verdicts(t, dir)
	for _, complaint := range judge(all, done, exceptions) {
		t.Error(complaint)
	}
	passed, checks := 0, 0
	for _, name := range all {
		if len(done[name].wrong) == 0 {
			passed++
		}
		checks += done[name].right
		t.Logf("%-30s %d checks passed; not passed: %q; exception: %s", name, done[name].right, done[name].wrong, exceptions[name])
	}
	t.Logf("%d of %d scenarios passed (%d checks), %d exceptions", passed, len(all), checks, len(exceptions))
	if t.Failed() {
		t.Log(said)
	}
}

// verdict is what the suite found in a scenario.
type verdict struct {
	right int
	wrong []string // failures and warnings
}

// verdicts reads the results that the suite left in a directory.
func verdicts(t *testing.T, dir string) map[string]verdict {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "server-*", "checks.json"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]verdict{}
	for _, file := range files {
		var checks []struct{ ID, Status, ErrorMessage string }
		data, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(data, &checks)
		}
		if err != nil {
			t.Fatal(err)
		}
		var v verdict
		for _, c := range checks {
			switch c.Status {
			case "SUCCESS":
				v.right++
			case "INFO":
			default:
				v.wrong = append(v.wrong, c.ID+": "+c.ErrorMessage)
			}
		}
		all[scenario.ReplaceAllString(filepath.Base(filepath.Dir(file)), "$1")] = v
	}
	return all
}

// scenario finds the name in that of a result: server-NAME-TIME.
var scenario = regexp.MustCompile(`^server-(.*)-\d{4}-\d\d-\d\dT.*$`)

// judge says what is wrong with the verdicts on all scenarios. What is listed as an exception
// must fail.
func judge(all []string, done map[string]verdict, except map[string]string) (complaints []string) {
	for _, name := range all {
		v, ran := done[name]
		why, excepted := except[name]
		passed := ran && len(v.wrong) == 0 && v.right > 0
		switch {
		case !ran:
			complaints = append(complaints, name+" did not run")
		case excepted && passed:
			complaints = append(complaints, name+" passes and is an exception: take it off the table")
		case excepted && why == "":
			complaints = append(complaints, name+" is an exception without a reason")
		case !excepted && !passed:
			complaints = append(complaints, fmt.Sprintf("%s: %d checks passed, %q did not", name, v.right, v.wrong))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(except)) {
		if !slices.Contains(all, name) {
			complaints = append(complaints, name+" is an exception and no scenario")
		}
	}
	if len(all) == 0 {
		complaints = append(complaints, "there are no scenarios")
	}
	return complaints
}

func TestTheJudgeOfTheSuite(t *testing.T) {
	good, bad := verdict{right: 1}, verdict{right: 1, wrong: []string{"x: no"}}
	for name, c := range map[string]struct {
		all    []string
		done   map[string]verdict
		except map[string]string
		want   []string
	}{
		"fine":      {[]string{"a", "b"}, map[string]verdict{"a": good, "b": bad}, map[string]string{"b": "why"}, nil},
		"fails":     {[]string{"a"}, map[string]verdict{"a": bad}, nil, []string{`a: 1 checks passed, ["x: no"] did not`}},
		"no checks": {[]string{"a"}, map[string]verdict{"a": {}}, nil, []string{`a: 0 checks passed, [] did not`}},
		"stale":     {[]string{"a"}, map[string]verdict{"a": good}, map[string]string{"a": "why"}, []string{"a passes and is an exception: take it off the table"}},
		"no reason": {[]string{"a"}, map[string]verdict{"a": bad}, map[string]string{"a": ""}, []string{"a is an exception without a reason"}},
		"unknown":   {[]string{"a"}, map[string]verdict{"a": good}, map[string]string{"z": "why"}, []string{"z is an exception and no scenario"}},
		"not run":   {[]string{"a"}, nil, map[string]string{"a": "why"}, []string{"a did not run"}},
		"nothing":   {nil, nil, nil, []string{"there are no scenarios"}},
	} {
		if d := cmp.Diff(c.want, judge(c.all, c.done, c.except)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}
