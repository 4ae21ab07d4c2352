package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/jobs"
	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/queue"
)

// page reads a page.
func page(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestHTML: the page of a campaign shows its failures, its curves and who worked, and is the same wherever it is made
// of the same directory; the directory holds nothing more for it.
func TestHTML(t *testing.T) {
	t.Parallel()
	s := server(t)
	dir := t.TempDir()
	first, again := filepath.Join(dir, "first", "page.html"), filepath.Join(dir, "again", "page.html")
	for _, d := range []string{"first", "again"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	runs := filepath.Join(dir, "first", "runs")
	fleet(t.Context(), append([]string{"run"}, at(s, append(quick("160"), "-name", "mine", "-workers", "2", "-dir", runs, "-html", first)...)...)...).wants(t, exitFailed)
	fleet(t.Context(), append([]string{"results"}, at(s, "-out", filepath.Join(dir, "again", "runs"), "-html", again, "mine")...)...).wants(t, exitFailed)
	same(t, "with a page", runs, local(t, quick("160")...))
	text := page(t, first)
	for _, want := range []string{"Failed: distinct failures (", "160 of 160", "20 of 20", `<svg role="img"`, "AGE-EARLY (SPEC RE-4), shape", `/small.tape">small.tape</a>`,
		"t1 born", "mayfly-fleet run -kind sim -name mine", "-subject=published", "Workers that were seen"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if text != page(t, again) {
		t.Error("the page of the same results is another one")
	}
}

// TestHTMLOfWhatStopped: a campaign that was stopped by a job in quarantine has a page too, and it shows the log; a
// page that cannot be written is an error.
func TestHTMLOfWhatStopped(t *testing.T) {
	t.Parallel()
	s := server(t)
	q := open(t, s)
	dir := t.TempDir()
	path := filepath.Join(dir, "page.html")
	bad := append([]string{"run"}, at(s, append(quick("80"), "-name", "mine", "-dir", filepath.Join(dir, "runs"), "-html", filepath.Join(dir, "none", "x.html"), "-workers", "1")...)...)
	fleet(t.Context(), bad...).wants(t, exitHarness, "x.html cannot be written") // before it begins
	if _, err := os.Stat(filepath.Join(dir, "runs")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a campaign ran whose page cannot be written: %v", err)
	}
	bad[len(bad)-3] = path
	fleet(t.Context(), bad...).wants(t, exitFailed)
	poison(t, q, "mine", 3, "the log says <why>")
	fleet(t.Context(), append([]string{"results"}, at(s, "-out", filepath.Join(dir, "runs"), "-html", path, "mine")...)...).wants(t, exitFailed)
	if text := page(t, path); !strings.Contains(text, "Stopped: jobs in quarantine (1).") || !strings.Contains(text, "the log says &lt;why&gt;") {
		t.Error("the page does not show the quarantine")
	}
}

// poison puts a job into quarantine.
func poison(t *testing.T, q *queue.Queue, id string, index uint64, log string) {
	t.Helper()
	err := q.Attempt(t.Context(), id, index, queue.Attempt{Worker: "w", What: "failed", Log: log})
	if err == nil {
		err = q.Isolate(t.Context(), id, index, 1)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestPageThatFails: when nothing but the page of a campaign fails, its outcome is shown nevertheless.
func TestPageThatFails(t *testing.T) {
	t.Parallel()
	var out, errs safe
	o := &jobs.Outcome{Done: 1, All: 1, Failed: true, Write: func(w io.Writer) { fmt.Fprintln(w, "what a night came to") }}
	code := conclude(&out, &errs, o, andPage(nil, os.ErrPermission), false, "run", "d")
	outcome{code, out.String(), errs.String()}.wants(t, exitHarness, "what a night came to", "has its results and no page: permission denied")
	var none safe
	if code := conclude(&none, &errs, nil, andPage(os.ErrClosed, os.ErrPermission), false, "run", "d"); code != exitHarness || none.String() != "" {
		t.Errorf("exit code %d with %q on the output; want %d, and nothing of a campaign that failed", code, none.String(), exitHarness)
	}
}
