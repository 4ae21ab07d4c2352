package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mayfly-mcp/mayfly/fakes/wait"
)

// TestKinds: searches and batteries run as simulations do, leave a directory that is the same on another machine,
// and have their results as JSON.
func TestKinds(t *testing.T) {
	t.Parallel()
	s := server(t)
	q := open(t, s)
	bad := file(t, "bad.txtar", "# A declaration starts nothing.\nserver S tools=echo\nagent a\ndeclare a m1 S\nexpect spawns S = 1\n")
	good := file(t, "good.txtar", "# A declaration starts nothing.\nserver S tools=echo\nagent a\ndeclare a m1 S\nexpect spawns S = 0\n")
	for name, c := range map[string]struct {
		args []string
		code int
		says string
	}{
		"explore":   {[]string{"-kind", "explore", "-agents", "1", "-configs", "1", "-faults", "exit,fail,late", "-total", "2", "-model", "0"}, exitOK, "closed       3 of 3 shards"},
		"scenarios": {[]string{"-kind=scenarios"}, exitOK, " scenarios hold, with "},
		"files":     {[]string{"--kind", "scenarios", "-files", good + "," + bad}, exitFailed, "1 of 2 scenarios hold, with 2 expectations"},
	} {
		dir := filepath.Join(t.TempDir(), name)
		args := append(append([]string{"run"}, at(s, "-workers", "2", "-name", name, "-dir", dir)...), c.args...)
		fleet(t.Context(), args...).wants(t, c.code, c.says)
		again := filepath.Join(t.TempDir(), "again")
		fleet(t.Context(), append([]string{"results"}, at(s, "-out", again, name)...)...).wants(t, c.code, c.says)
		same(t, name, again, dir)
		o := fleet(t.Context(), append([]string{"results"}, at(s, "-json", "-out", again, name)...)...).wants(t, c.code)
		if o.stdout != tree(t, dir)["summary.json"] || !json.Valid([]byte(o.stdout)) {
			t.Errorf("%s: the JSON is %s", name, o.stdout)
		}
	}
	if st, err := q.State(t.Context(), "files"); err != nil || st.State != "done" {
		t.Errorf("%+v, %v", st, err)
	}
	fleet(t.Context(), append([]string{"status"}, at(s, "explore")...)...).wants(t, exitOK, "3 of 3 shards")
}

// TestRunJSON: the JSON of run is the summary of the directory.
func TestRunJSON(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "runs")
	o := fleet(t.Context(), append([]string{"run", "-json", "-workers", "2", "-dir", dir}, quick("24")...)...).wants(t, exitFailed)
	if o.stdout != tree(t, dir)["summary.json"] {
		t.Errorf("the JSON is %s", o.stdout)
	}
}

var metricsAddress = regexp.MustCompile(`metrics on (http://127\.0\.0\.1:\d+/metrics)`)

// scrape reads the metrics of a process.
func scrape(t *testing.T, p *process) string {
	t.Helper()
	var found []string
	wait.Until(t, "the address of metrics", func() bool {
		found = metricsAddress.FindStringSubmatch(p.out.String())
		return found != nil
	})
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := c.Get(found[1])
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestMetrics: a coordinator and a worker serve metrics.
func TestMetrics(t *testing.T) {
	t.Parallel()
	s := server(t)
	lead := start(t, append(append([]string{"run"}, at(s, "-name", "m", "-metrics", "127.0.0.1:0", "-dir", filepath.Join(t.TempDir(), "runs"))...), quick("80")...)...)
	wait.Until(t, "metrics of the campaign", func() bool { return strings.Contains(scrape(t, lead), `mayfly_fleet_jobs{campaign="m"} 10`) })
	w := start(t, append([]string{"worker"}, at(s, "-metrics", "127.0.0.1:0", "-slots", "1")...)...)
	lead.ended(t, open(t, s), "m")
	if text := scrape(t, w); !strings.Contains(text, "mayfly_fleet_worker_jobs_done{worker=") || !strings.Contains(text, "} 80\n") {
		t.Errorf("the worker's metrics are\n%s", text)
	}
	fleet(t.Context(), append([]string{"run"}, at(s, "-metrics", "nowhere", "-dir", t.TempDir())...)...).wants(t, exitHarness, "use -metrics HOST:PORT")
}

// TestTheStoreIsTakenUp: everything in one process is killed; with -store the next one has what was done.
func TestTheStoreIsTakenUp(t *testing.T) {
	t.Parallel()
	store, dir := filepath.Join(t.TempDir(), "store"), filepath.Join(t.TempDir(), "runs")
	args := append([]string{"run", "-store", store, "-dir", dir, "-workers", "1", "-ack-wait", "1s"}, quick("400")...)
	all := start(t, args...)
	wait.Until(t, "some results", func() bool {
		text, _ := os.ReadFile(filepath.Join(dir, "results.jsonl")) // it may not be there yet
		return strings.Count(string(text), "\n") > 30
	})
	all.kill(t)
	fleet(t.Context(), args...).wants(t, exitFailed)
	same(t, "a store that was taken up", dir, local(t, quick("400")...))
	if info, err := os.Stat(store); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the store has mode %v, %v", info, err)
	}
}

// TestForgottenMeanwhile: a campaign that is removed ends its coordinator.
func TestForgottenMeanwhile(t *testing.T) {
	t.Parallel()
	s := server(t)
	q := open(t, s)
	led := make(chan outcome, 1)
	go func() {
		led <- fleet(t.Context(), append(append([]string{"run"}, at(s, "-name", "gone", "-dir", filepath.Join(t.TempDir(), "runs"))...), quick("80")...)...)
	}()
	only(t, q)
	wait.Until(t, "its jobs", func() bool { n, err := q.Queued(t.Context(), "gone"); return err == nil && n == 10 })
	fleet(t.Context(), append([]string{"cancel"}, at(s, "-remove", "gone")...)...).wants(t, exitOK, "campaign gone: removed")
	(<-led).wants(t, exitStopped, "the campaign was cancelled")
}
