package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/mayfly-mcp/mayfly/fakes/wait"
	"github.com/mayfly-mcp/mayfly/sim/guided"
)

// searchedHere is the search that one loop comes to, written down.
func searchedHere(t *testing.T, o guided.Options, rounds int) string {
	t.Helper()
	s, err := guided.New(o)
	if err != nil {
		t.Fatal(err)
	}
	for range rounds {
		var outcomes []guided.Outcome
		for _, in := range s.Next() {
			out, err := guided.Run(in, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			outcomes = append(outcomes, out)
		}
		if err = s.Take(outcomes); err != nil {
			t.Fatal(err)
		}
	}
	text, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + "\n"
}

// TestGuided: a search on two workers is that of one loop, byte for byte, on one worker too, and so is what another machine
// makes of the results.
func TestGuided(t *testing.T) {
	t.Parallel()
	s := server(t)
	search := []string{"-kind", "guided", "-rounds", "4", "-batch", "16", "-inputs", "3", "-seed", "5"}
	want := searchedHere(t, guided.Options{Seed: 5, Batch: 16}, 4)
	for _, workers := range []string{"1", "2"} {
		dir, again := filepath.Join(t.TempDir(), "search"), filepath.Join(t.TempDir(), "again")
		fleet(t.Context(), append(append([]string{"run"}, at(s, "-name", "w"+workers, "-workers", workers, "-dir", dir)...), search...)...).wants(t, exitOK, "rounds       4 of 4")
		if tree(t, dir)["search.json"] != want {
			t.Errorf("%s workers came to another search", workers)
		}
		fleet(t.Context(), append([]string{"results"}, at(s, "-out", again, "w"+workers)...)...).wants(t, exitOK)
		same(t, "a directory of the results", again, dir)
	}
	fleet(t.Context(), "run", "-kind", "guided", "-rounds", "0", "-dir", t.TempDir()).wants(t, exitUsage, "-rounds is 0")
}

// TestGuidedLeaderKilled: whoever leads dies, and another one goes on from the round that was shared; what was found is
// among the findings, shrunk, and the directory is that of a search that nothing happened to.
func TestGuidedLeaderKilled(t *testing.T) {
	t.Parallel()
	s := server(t)
	q := open(t, s)
	search := []string{"-kind", "guided", "-rounds", "12", "-batch", "4", "-inputs", "1", "-subject", "published"}
	lead := func(name, dir string) []string {
		return append(append([]string{"run"}, at(s, "-name", name, "-workers", "1", "-ack-wait", "1s", "-dir", dir)...), search...)
	}
	quiet, dir := filepath.Join(t.TempDir(), "quiet"), filepath.Join(t.TempDir(), "search")
	fleet(t.Context(), lead("quiet", quiet)...).wants(t, exitFailed, "FOUND ")
	first := start(t, lead("killed", filepath.Join(t.TempDir(), "lost"))...)
	wait.Until(t, "a round", func() bool {
		text, err := q.Share("killed").Get(t.Context(), "round.2")
		return err == nil && len(text) > 0 || ended(first)
	})
	first.kill(t)
	shared, err := q.Share("killed").Keys(t.Context())
	if err != nil || len(shared) >= 13 {
		t.Fatalf("it was killed too late: %v, %v", shared, err)
	}
	fleet(t.Context(), lead("killed", dir)...).wants(t, exitFailed, "rounds       12 of 12")
	same(t, "a search whose leader was killed", dir, quiet)
	same(t, "what it found", filepath.Join(dir, "finds"), filepath.Join(quiet, "finds"))
	names, err := q.Findings(t.Context(), "killed")
	if all := strings.Join(names, "\n"); err != nil || !strings.Contains(all, "finds/failures/") || !strings.Contains(all, "small.tape") || !strings.Contains(all, "scenario.txtar") {
		t.Errorf("findings are %v, %v", names, err)
	}
	fleet(t.Context(), append([]string{"cancel"}, at(s, "-remove", "killed")...)...).wants(t, exitOK)
	if left, err := q.Share("killed").Keys(t.Context()); err != nil || len(left) > 0 {
		t.Errorf("%v are left, %v", left, err)
	}
}

// ended says whether a process has.
func ended(p *process) bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}
