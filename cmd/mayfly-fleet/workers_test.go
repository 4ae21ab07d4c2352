package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/queue"
	"github.com/mayfly-mcp/mayfly/fakes/wait"
)

// joined waits until a worker of this process id is on the list, and does something if busy.
func joined(t *testing.T, q *queue.Queue, pid int, busy bool) {
	t.Helper()
	wait.Until(t, fmt.Sprintf("worker %d", pid), func() bool {
		ws, err := q.Workers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range ws {
			if w.PID == pid && (!busy || len(w.Current) > 0) {
				return true
			}
		}
		return false
	})
}

// only is the name of the only campaign of a server, once there is one.
func only(t *testing.T, q *queue.Queue) (id string) {
	t.Helper()
	wait.Until(t, "a campaign", func() bool {
		ids, err := q.Campaigns(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(ids) > 0 {
			id = ids[0]
		}
		return id != ""
	})
	return id
}

// TestWorkersAreKilled: workers are processes, some of which are killed and one of which stops for a while; the
// coordinator is killed and started again; and the directory is that of a quiet campaign on one machine.
func TestWorkersAreKilled(t *testing.T) {
	t.Parallel()
	s := server(t)
	q := open(t, s)
	args := quick("400")
	dir := filepath.Join(t.TempDir(), "runs")
	lead := append(append([]string{"run"}, at(s, "-dir", dir, "-ack-wait", "1s", "-window", "20")...), args...)
	first := start(t, lead...)
	victims := []*process{start(t, append([]string{"worker"}, at(s, "-slots", "1")...)...), start(t, append([]string{"worker"}, at(s, "-slots", "1")...)...)}
	frozen := start(t, append([]string{"worker"}, at(s, "-slots", "1")...)...)
	for _, v := range victims {
		joined(t, q, v.cmd.Process.Pid, false)
	}
	id := only(t, q)
	farther := func(n uint64) {
		wait.Until(t, fmt.Sprintf("%d jobs", n), func() bool {
			p, err := q.Progress(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			return p.Arrived >= n
		})
	}
	farther(10)
	victims[0].kill(t)
	if err := frozen.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	first.kill(t)
	second := start(t, lead...)
	farther(30)
	victims[1].kill(t)
	start(t, append([]string{"worker"}, at(s, "-slots", "2")...)...)
	if err := frozen.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	second.ended(t, q, id)
	if second.code != exitFailed {
		t.Errorf("exit code %d, want %d:\n%s", second.code, exitFailed, second.out.String())
	}
	want := local(t, args...)
	same(t, "workers that were killed", dir, want)
	again := filepath.Join(t.TempDir(), "again")
	fleet(t.Context(), append([]string{"results"}, at(s, "-out", again, id)...)...).wants(t, exitFailed, tree(t, want)["summary.txt"])
	same(t, "the results, on another machine", again, want)
	findings, err := q.Findings(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range tree(t, want) {
		if !strings.HasPrefix(name, "failures/") {
			continue
		}
		if got, err := q.Finding(t.Context(), id, name); err != nil || string(got) != text {
			t.Errorf("the finding %s is not what it should be (%v); there are %v", name, err, findings)
		}
	}
	if samples, err := q.Samples(t.Context(), id); err != nil || len(samples) == 0 || samples[len(samples)-1].Seeds != 400 {
		t.Errorf("samples %+v, %v; want the last one at 400 seeds", samples, err)
	}
}

// TestTwoCoordinators: two of them for one campaign, each with a directory, leave the same, and each job has
// one result.
func TestTwoCoordinators(t *testing.T) {
	t.Parallel()
	s := server(t)
	q := open(t, s)
	args := quick("160")
	dirs := []string{filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")}
	done := make(chan outcome, len(dirs))
	for _, dir := range dirs {
		go func() {
			done <- fleet(t.Context(), append(append([]string{"run"}, at(s, "-workers", "1", "-window", "6", "-dir", dir)...), args...)...)
		}()
	}
	for range dirs {
		(<-done).wants(t, exitFailed)
	}
	want := local(t, args...)
	for _, dir := range dirs {
		same(t, "one of two coordinators", dir, want)
	}
	fleet(t.Context(), append([]string{"status"}, at(s, only(t, q))...)...).wants(t, exitOK, ": done, kind sim", "jobs: 20, 20 summed up, 20 results there, 0 queued or under way, 0 in quarantine")
}

// TestTheDirectoryIsInUse: a second coordinator of the same directory is refused.
func TestTheDirectoryIsInUse(t *testing.T) {
	t.Parallel()
	s := server(t)
	q := open(t, s)
	dir := filepath.Join(t.TempDir(), "runs")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first := make(chan outcome, 1)
	args := append(append([]string{"run"}, at(s, "-dir", dir)...), quick("80")...) // nobody works for it
	go func() { first <- fleet(ctx, args...) }()
	only(t, q)
	wait.Until(t, "the directory", func() bool { _, err := os.Stat(filepath.Join(dir, "results.jsonl")); return err == nil })
	fleet(t.Context(), args...).wants(t, exitHarness, "is in use by another campaign")
	cancel()
	(<-first).wants(t, exitStopped, "stopped, 80 of 80 remain; the same command again goes on in "+dir)
}

// TestControl: a campaign that is paused is left alone, with no more queued than its window; it is resumed,
// cancelled, started again, and forgotten.
func TestControl(t *testing.T) {
	t.Parallel()
	s := server(t)
	q := open(t, s)
	dir := filepath.Join(t.TempDir(), "runs")
	lead := append(append([]string{"run"}, at(s, "-dir", dir, "-name", "mine", "-window", "5")...), quick("160")...)
	led := make(chan outcome, 1)
	go func() { led <- fleet(t.Context(), lead...) }()
	only(t, q)
	queued := func(n int) {
		wait.Until(t, fmt.Sprintf("%d queued jobs", n), func() bool {
			is, err := q.Queued(t.Context(), "mine")
			if err != nil || is > 5 {
				t.Fatalf("%d jobs are queued, more than the window: %v", is, err)
			}
			return is == n
		})
	}
	queued(5)
	fleet(t.Context(), append([]string{"pause"}, at(s, "mine")...)...).wants(t, exitOK, "campaign mine: paused")
	w := start(t, append([]string{"worker"}, at(s)...)...)
	joined(t, q, w.cmd.Process.Pid, false)
	fleet(t.Context(), append([]string{"status"}, at(s)...)...).wants(t, exitOK, "campaign mine: paused, kind sim", "0 results there, 5 queued", "1 workers")
	fleet(t.Context(), append([]string{"results"}, at(s, "-out", filepath.Join(t.TempDir(), "none"), "mine")...)...).wants(t, exitStopped, "there is no such result: job 0 of mine")
	fleet(t.Context(), append([]string{"cancel"}, at(s, "mine")...)...).wants(t, exitOK, "campaign mine: cancelled")
	(<-led).wants(t, exitStopped, "the campaign was cancelled")
	queued(0)
	fleet(t.Context(), lead...).wants(t, exitFailed)
	same(t, "a campaign that was cancelled and started again", dir, local(t, quick("160")...))
	fleet(t.Context(), append([]string{"status"}, at(s, "-json")...)...).wants(t, exitOK, `"state": "done"`, `"kind": "sim"`)
	fleet(t.Context(), append([]string{"cancel"}, at(s, "-remove", "mine")...)...).wants(t, exitOK, "campaign mine: removed")
	fleet(t.Context(), append([]string{"status"}, at(s)...)...).wants(t, exitOK, "no campaign is there")
	if err := w.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	wait.Closed(t, "a worker that was told to stop", w.done)
	if w.code != exitOK {
		t.Errorf("exit code %d of a worker that was told to stop:\n%s", w.code, w.out.String())
	}
	if ws, err := q.Workers(t.Context()); err != nil || len(ws) > 0 {
		t.Errorf("workers that are gone are on the list: %+v, %v", ws, err)
	}
}
