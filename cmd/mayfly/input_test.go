package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFilesThatCannotBeGotAt: whatever flag or argument names one, the exit code is that of the
// environment, and one sentence says which file it is. What is wrong inside a file is usage.
func TestFilesThatCannotBeGotAt(t *testing.T) {
	dir := t.TempDir()
	junk := filepath.Join(dir, "junk.txtar")
	if err := os.WriteFile(junk, []byte("nonsense\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	absent, beneath := filepath.Join(dir, "absent.txtar"), filepath.Join(junk, "x.txtar")
	for _, flags := range []string{"sim -replay", "run", "certify -known", "certify -key", "certify -target exec:true -template",
		"certify rejudge", "certify rejudge -known", "certify verify", "certify verify -pub"} {
		for _, path := range []string{dir, absent, beneath} {
			args := append(strings.Fields(flags), path)
			if strings.HasSuffix(flags, "e -known") || strings.HasSuffix(flags, "-pub") {
				args = append(args, dir) // which comes second
			}
			badFile(t, args, path, exitHarness)
		}
	}
	for _, flags := range []string{"sim -replay", "run", "certify -known", "certify -key"} {
		badFile(t, append(strings.Fields(flags), junk), junk, exitUsage)
	}
	for _, flags := range []string{"sim -tenants 1 -for 1m -record", "sim -tenants 1 -for 1m -trace", "sim explore -faults each -record",
		"sim campaign -seeds 1 -dir", "certify -report"} {
		badFile(t, append(strings.Fields(flags), beneath), junk, exitHarness)
	}
	badFile(t, strings.Fields("sim explore -faults each -record "+dir), dir, exitHarness)
	for _, name := range []string{absent, junk} {
		if text, err := os.ReadFile(name); string(text) != map[string]string{junk: "nonsense\n"}[name] {
			t.Errorf("%s became %q, %v", name, text, err)
		}
	}
}

// badFile runs a command that is to end at once because of a file.
func badFile(t *testing.T, args []string, path string, code int) {
	t.Helper()
	var out, err bytes.Buffer
	if got := run(t.Context(), args, strings.NewReader(""), &out, &err); got != code {
		t.Errorf("%q: exit code %d, want %d: %s", args, got, code, err.String())
	}
	if said := strings.TrimSuffix(err.String(), "\n"); !strings.Contains(said, path) || strings.Contains(said, "\n") || strings.Contains(said, "speed") {
		t.Errorf("%q: stderr names %s in one sentence? %q", args, path, said)
	}
}

// TestTapeFromAPipe: a pipe is read like a file, and leaves nothing behind.
func TestTapeFromAPipe(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", filepath.Join(dir, "spool"))
	tape := filepath.Join(dir, "a.tape")
	if err := os.Mkdir(os.Getenv("TMPDIR"), 0o777); err != nil {
		t.Fatal(err)
	}
	var out, replayed, err bytes.Buffer
	if code := run(t.Context(), []string{"sim", "-tenants", "2", "-for", "1h", "-record", tape}, strings.NewReader(""), &out, &err); code != exitOK {
		t.Fatalf("exit code %d: %s", code, err.String())
	}
	text, e := os.ReadFile(tape)
	if e != nil {
		t.Fatal(e)
	}
	pipe := io.MultiReader(bytes.NewReader(text))
	if code := run(t.Context(), []string{"sim", "-replay", "-"}, pipe, &replayed, &err); code != exitOK || !strings.Contains(replayed.String(), "the same run as recorded") {
		t.Errorf("exit code %d: %s%s", code, replayed.String(), err.String())
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestRecordOfNothing: a search that breaks no rule leaves no tape, and what was there stays.
func TestRecordOfNothing(t *testing.T) {
	dir := t.TempDir()
	old, fresh := filepath.Join(dir, "old"), filepath.Join(dir, "fresh")
	if err := os.WriteFile(old, []byte("of before\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{old, fresh} {
		var out, err bytes.Buffer
		if code := run(t.Context(), []string{"sim", "explore", "-configs", "1", "-record", path}, strings.NewReader(""), &out, &err); code != exitOK {
			t.Errorf("exit code %d: %s", code, err.String())
		}
	}
	if text, err := os.ReadFile(old); string(text) != "of before\n" {
		t.Errorf("the file that was there is %q, %v", text, err)
	}
	if _, err := os.Stat(fresh); !os.IsNotExist(err) {
		t.Errorf("there is a tape of nothing: %v", err)
	}
}
