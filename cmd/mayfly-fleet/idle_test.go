package main

import (
	"flag"
	"path/filepath"
	"testing"

	"github.com/mayfly-mcp/mayfly/cmd/internal/idleflags"
	"github.com/mayfly-mcp/mayfly/sim/idle/report"
)

// playedHere is the directory that "mayfly idle -report" writes with these flags.
func playedHere(t *testing.T, args ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "report")
	f := idleflags.New()
	fs := flag.NewFlagSet("mayfly idle", flag.ContinueOnError)
	f.Define(fs)
	if err := fs.Parse(append([]string{"-report", dir}, args...)); err != nil {
		t.Fatal(err)
	}
	b, err := f.Settle(t.Context(), fs)
	if err != nil {
		t.Fatal(err)
	}
	r, err := b.Play(t.Context())
	if err == nil {
		r.Say()
		err = report.Write(dir, r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestIdle: a bench whose cells two workers play has the report of "mayfly idle -report" with the same flags, byte for byte,
// and so has the directory that another machine makes of the results.
func TestIdle(t *testing.T) {
	t.Parallel()
	s := server(t)
	bench := []string{"-tenants", "4", "-for", "2d", "-seeds", "2", "-timeout", "5m,30m", "-gaps", "10000", "-policy", "rfc", "-policy", "clairvoyant", "-exact=false"}
	dir, again := filepath.Join(t.TempDir(), "sweep"), filepath.Join(t.TempDir(), "again")
	run := append(append([]string{"run"}, at(s, "-kind", "idle", "-name", "sweep", "-workers", "2", "-dir", dir, "-json")...), bench...)
	o := fleet(t.Context(), run...).wants(t, exitOK, "17 of 17 runs")
	want := playedHere(t, bench...)
	same(t, "the fleet's report", filepath.Join(dir, "report"), want)
	if o.stdout != tree(t, want)["report.json"] {
		t.Error("the JSON is not that of the report")
	}
	fleet(t.Context(), append([]string{"results"}, at(s, "-out", again, "sweep")...)...).wants(t, exitOK, " -report DIR ")
	same(t, "a directory of the results", again, dir)
	fleet(t.Context(), "run", "-kind", "idle", "-dir", t.TempDir(), "-timeout", "0s").wants(t, exitUsage, "-timeout: 0s is no time that can be played")
	fleet(t.Context(), "run", "-kind", "idle", "-dir", t.TempDir(), "-trace", "nowhere.csv").wants(t, exitUsage, "nowhere.csv")
}
