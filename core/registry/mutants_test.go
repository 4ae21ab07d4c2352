package registry_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

// awakeVariable tells a test program which mutant is awake.
const awakeVariable = "MAYFLY_MUTANT"

// TestMutants wakes the mutants of the table one at a time and holds that the test that is named
// finds each of them out, and nothing while all are asleep. A mutant that survives is a test
// that is missing.
//
// All mutants are in one test program of each package, behind the question which one is awake:
// to build one for each would take minutes. They are in the overlay of the build alone.
func TestMutants(t *testing.T) {
	dir := t.TempDir()
	overlay := plantAll(t, dir)
	for _, pkg := range []string{"registry", "endpoint"} {
		t.Run(pkg, func(t *testing.T) {
			program := filepath.Join(dir, pkg+".test")
			build := exec.Command("go", "test", "-c", "-ldflags=-s -w", "-overlay", overlay, "-o", program, ".")
			build.Dir = filepath.Join("..", pkg)
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			hunt(t, pkg, program)
		})
	}
	golden(t, "MUTANTS.md", mutantsTable())
}

// hunt runs the killers of a package: first with all mutants asleep, then each with its own.
func hunt(t *testing.T, pkg, program string) {
	t.Helper()
	var all []string
	for _, m := range mutants {
		if m.pkg == pkg && !slices.Contains(all, m.killer) {
			all = append(all, m.killer)
		}
	}
	if out, err := wake(pkg, program, 0, all...); err != nil {
		t.Fatalf("with every mutant asleep: %v\n%s", err, out)
	} else if n := strings.Count(out, "\n--- PASS"); n != len(all) {
		t.Fatalf("%d of the killers %v ran:\n%s", n, all, out)
	}
	for i, m := range mutants {
		if m.pkg != pkg {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			out, err := wake(pkg, program, i+1, m.killer)
			if err == nil {
				t.Errorf("it survives %s: %s", m.killer, m.does)
			} else if !strings.Contains(out, "--- FAIL: "+m.killer) && !strings.Contains(out, "panic: ") {
				t.Errorf("%s was not run to its end: %v\n%s", m.killer, err, out)
			}
		})
	}
}

func wake(pkg, program string, number int, tests ...string) (string, error) {
	cmd := exec.Command(program, "-test.v", "-test.run", "^("+strings.Join(tests, "|")+")$")
	cmd.Dir = filepath.Join("..", pkg)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", awakeVariable, number))
	out, err := cmd.CombinedOutput()
	return "\n" + string(out), err
}

// helpers is what each package gains for its mutants.
var helpers = map[string]string{
	"owner": `package owner

import (
	"os"
	"strconv"
)

var mutant, _ = strconv.Atoi(os.Getenv("` + awakeVariable + `"))

// Awake asks whether a mutant is awake.
func Awake(n int) bool { return mutant == n }

func awake(n int) bool { return Awake(n) }
`,
	"registry": `package registry

import (
	"time"

	"github.com/mayfly-mcp/mayfly/core/owner"
)

` + either + `
// named is what has the entry's name by now, if byName.
func (e *Entry[Req, Res]) named(byName bool) *Entry[Req, Res] {
	if now := e.table.byKey[e.spec.Key]; byName && now != nil {
		return now
	}
	return e
}

func (t *Table[Req, Res]) everything() (all []*Entry[Req, Res]) {
	t.order.Scan(func(_ string, e *Entry[Req, Res]) bool {
		if e.state.Load() == ready {
			all = append(all, e)
		}
		return true
	})
	return all
}

func lease(end func()) { time.AfterFunc(time.Minute, end) }
`,
	"endpoint": `package endpoint

import "github.com/mayfly-mcp/mayfly/core/owner"

` + either,
}

const either = `func awake(n int) bool { return owner.Awake(n) }

func either[T any](mutant bool, bad, good T) T {
	if mutant {
		return bad
	}
	return good
}
`

// plantAll writes the packages with all mutants in, and returns the overlay that says where.
func plantAll(t *testing.T, dir string) string {
	t.Helper()
	texts := map[string]string{}
	for pkg, text := range helpers {
		texts[pkg+"/mutant.go"] = text
	}
	for i, m := range mutants {
		for _, c := range m.changes {
			c.plant(t, m.name, i+1, texts)
		}
	}
	overlay := map[string]string{}
	for file, text := range texts {
		at := filepath.Join(dir, strings.ReplaceAll(file, "/", "-"))
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		overlay[source(t, file)] = at
	}
	list, err := json.Marshal(map[string]any{"Replace": overlay})
	at := filepath.Join(dir, "overlay.json")
	if err == nil {
		err = os.WriteFile(at, list, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func source(t *testing.T, file string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", file))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// plant puts a change where it belongs: its old text must stand once in its file.
func (c change) plant(t *testing.T, name string, number int, texts map[string]string) {
	t.Helper()
	text, read := texts[c.file]
	if !read {
		data, err := os.ReadFile(source(t, c.file))
		if err != nil {
			t.Fatal(err)
		}
		text = string(data)
	}
	if n := strings.Count(text, c.old); n != 1 {
		t.Errorf("mutant %q: %q stands %d times in %s, not once", name, c.old, n, c.file)
	}
	with := strings.ReplaceAll(c.with, "OLD", c.old)
	with = strings.ReplaceAll(with, "AWAKE", fmt.Sprintf("awake(%d)", number))
	texts[c.file] = strings.Replace(text, c.old, with, 1)
}

func mutantsTable() string {
	var b strings.Builder
	b.WriteString("# Mutants\n\nEvery line is one way to get the registry wrong, and the test that finds it out.\n" +
		"`go test ./core/registry -run Mutants` holds this table; `-update` writes it.\n\n" +
		"| mutant | what it does | where | killed by |\n|---|---|---|---|\n")
	for _, m := range mutants {
		fmt.Fprintf(&b, "| %s | %s | %s | core/%s: %s |\n", m.name, m.does, m.changes[0].file, m.pkg, m.killer)
	}
	b.WriteString("\nWhat nothing here can do wrong:\n\n| mistake | why |\n|---|---|\n")
	for _, u := range unplantable {
		fmt.Fprintf(&b, "| %s | %s |\n", u[0], u[1])
	}
	return b.String()
}

// golden holds a text against a file.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil || string(want) != got {
		t.Errorf("%s is not what was found (%v); look at the difference and run this test with -update", file, err)
	}
}
