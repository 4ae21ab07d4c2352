package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func list(t *testing.T, dir string) (out []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestAReportIsWrittenAndReplaced(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "r")
	full := handReport()
	if err := Write(dir, full); err != nil {
		t.Fatal(err)
	}
	if got := list(t, parent); !cmp.Equal(got, []string{"r"}) {
		t.Errorf("beside the report there is %v", got)
	}
	if got := list(t, dir); len(got) != len(names) {
		t.Errorf("%d files, want all %d", len(got), len(names))
	}
	// A smaller report takes the files of the earlier one away.
	small := handReport()
	small.Frontier, small.Recommendation, small.Curves, small.Policies, small.Agents, small.Failures = nil, nil, nil, nil, nil, nil
	if err := os.Mkdir(filepath.Join(dir, draft+"123"), 0o755); err != nil { // left by one that was cut short
		t.Fatal(err)
	}
	if err := Write(dir, small); err != nil {
		t.Fatal(err)
	}
	want := []string{draft + "123", "index.html", "oracles.csv", "oracles.png", "oracles.svg", "report.json"}
	if d := cmp.Diff(want, list(t, dir)); d != "" {
		t.Error(d)
	}
	empty := filepath.Join(parent, "empty")
	if err := os.Mkdir(empty, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Write(empty, &Report{}); err != nil {
		t.Error(err)
	}
	if d := cmp.Diff([]string{"index.html", "report.json"}, list(t, empty)); d != "" {
		t.Error(d)
	}
}

func TestNothingElseIsOverwritten(t *testing.T) {
	put := func(files ...string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			for i := 0; i < len(files); i += 2 {
				if err := os.WriteFile(filepath.Join(dir, files[i]), []byte(files[i+1]), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	ours := `{"format":"` + Format + `","version":1}`
	for _, c := range []struct {
		name, path, want string
		make             func(*testing.T, string)
	}{
		{"another's files", "r", "holds no earlier report", put("notes.txt", "mine")},
		{"another's report", "r", "that is no report of mayfly idle", put(JSONFile, `{"format":"else"}`)},
		{"no JSON", "r", "that is no report of mayfly idle", put(JSONFile, "hello")},
		{"something beside ours", "r", "holds notes.txt beside an earlier report", put(JSONFile, ours, "notes.txt", "mine")},
		{"a file", "r", "cannot be read", func(t *testing.T, p string) {
			if err := os.WriteFile(p, nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}},
		{"a link to nothing", "r", "is a link to nothing", func(t *testing.T, p string) {
			if err := os.Symlink("nowhere", p); err != nil {
				t.Fatal(err)
			}
		}},
		{"no parent", "no/r", "there is no directory", func(*testing.T, string) {}},
		{"no name", "", "has no name", func(*testing.T, string) {}},
	} {
		t.Run(c.name, func(t *testing.T) {
			parent := t.TempDir()
			dir := ""
			if c.path != "" {
				dir = filepath.Join(parent, c.path)
			}
			c.make(t, dir)
			before := list(t, parent)
			if err := Write(dir, &Report{}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%v, want %q", err, c.want)
			}
			if d := cmp.Diff(before, list(t, parent)); d != "" {
				t.Error(d)
			}
			if raw, err := os.ReadFile(filepath.Join(dir, "notes.txt")); err == nil && string(raw) != "mine" {
				t.Error("the notes are overwritten")
			}
		})
	}
}
