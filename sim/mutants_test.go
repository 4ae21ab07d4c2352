package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// mutantSeeds is within how many drawn days a mutant must be found out.
const mutantSeeds = 400

// TestMutants wakes the mutants of the table one at a time and holds that the simulator finds
// each of them out, that it says what MUTANTS.md says, and that nothing is found while all are
// asleep. A mutant that survives is a check that is missing.
//
// All mutants are in one program, each behind the question whether it is the one that is awake,
// since to build a program for each would take minutes. The overlay of the build is all that
// holds them: no file of the machine knows of mutants.
func TestMutants(t *testing.T) {
	found := hunt(t, build(t, lifecycleMutants), len(mutants))
	if len(found) != len(mutants)+1 {
		t.Fatalf("%d results for %d mutants", len(found), len(mutants))
	}
	if f := found[0]; f.Check != "" {
		t.Fatalf("with every mutant asleep, seed %d breaks %s", f.Seeds, f.Check)
	}
	for i, m := range mutants {
		if f := found[i+1]; f.Check == "" {
			t.Errorf("mutant %q survives %d seeds: %s", m.name, f.Seeds, m.does)
		}
	}
	golden(t, "MUTANTS.md", mutantsTable(found))
}

// finding is what the program prints of one mutant.
type finding struct {
	Check, Clause string
	Seeds, Steps  uint64
	Small         string // of a registry's mutant, the shrunk tape
}

func mutantsTable(found []finding) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Mutants\n\nEvery line is one change of core/lifecycle and the check of the simulator that finds it out,\n"+
		"after so many drawn days (seeds from 1 on) and in which step of the last of them.\n"+
		"`go test ./sim -run Mutants` holds this table; `-update` writes it.\n\n"+
		"| mutant | what it does | found out by | clause | seeds | step |\n|---|---|---|---|---|---|\n")
	for i, m := range mutants {
		f := found[i+1]
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %d | %d |\n", m.name, m.does, f.Check, f.Clause, f.Seeds, f.Steps)
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

func hunt(t *testing.T, program string, n int) (all []finding) {
	t.Helper()
	cmd := exec.Command(program, strconv.Itoa(n), strconv.Itoa(mutantSeeds))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.Bytes())
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var f finding
		if err := dec.Decode(&f); err != nil {
			t.Fatal(err)
		}
		all = append(all, f)
	}
	return all
}

// garden is a table of mutants, the package that they are planted in, and the program that wakes
// them.
type garden struct {
	table []patch
	pkg   string // under core
	main  string // under testdata
}

var lifecycleMutants = garden{mutants, "lifecycle", "mutants"}

// build makes the program that holds the mutants.
func build(t *testing.T, g garden) string {
	t.Helper()
	dir := t.TempDir()
	machine, err := filepath.Abs("../core/" + g.pkg)
	if err != nil {
		t.Fatal(err)
	}
	overlay := map[string]string{}
	put := func(file, text string) {
		at := filepath.Join(dir, file)
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		overlay[filepath.Join(machine, file)] = at
	}
	for file, text := range mutated(t, machine, g.table) {
		put(file, text)
	}
	put("mutant.go", "package "+g.pkg+awake)
	list, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		t.Fatal(err)
	}
	at, program := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "mutants")
	if err := os.WriteFile(at, list, 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-overlay", at, "-o", program, "./testdata/"+g.main).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// awake is what the machine gains for the mutants.
const awake = `

// Mutant is the number of the mutant that is awake; 0 for none.
var Mutant int

func awake(n int) bool { return Mutant == n }

func either[T any](mutant bool, bad, good T) T {
	if mutant {
		return bad
	}
	return good
}
`

// mutated returns the files of the machine that hold mutants, with all of them in.
func mutated(t *testing.T, dir string, table []patch) map[string]string {
	t.Helper()
	files := map[string]string{}
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if text, err := os.ReadFile(name); err != nil {
			t.Fatal(err)
		} else if !strings.HasSuffix(name, "_test.go") {
			files[filepath.Base(name)] = string(text)
		}
	}
	for i, m := range table {
		if err := m.plant(files, i+1); err != nil {
			t.Errorf("mutant %q: %v", m.name, err)
		}
	}
	return files
}

// patch is one change of one place of the machine. In with, AWAKE asks whether it is the one
// that is awake, and OLD is what it replaces.
type patch struct {
	name, does string
	fn         string // the function or method that it changes
	old, with  string
}

// plant puts a mutant where it belongs; its old text must stand once in its function.
func (m patch) plant(files map[string]string, number int) error {
	with := strings.ReplaceAll(m.with, "OLD", m.old)
	with = strings.ReplaceAll(with, "AWAKE", fmt.Sprintf("awake(%d)", number))
	err := fmt.Errorf("there is no function %s", m.fn)
	for name, text := range files {
		begin := strings.Index(text, ") "+m.fn+"(")
		if begin < 0 {
			begin = strings.Index(text, "\nfunc "+m.fn+"(")
		}
		if begin < 0 {
			continue
		}
		end := begin + strings.Index(text[begin:], "\n}\n")
		body := text[begin:max(end, begin)]
		if n := strings.Count(body, m.old); n != 1 {
			err = fmt.Errorf("%q stands %d times in %s, not once", m.old, n, m.fn)
			continue // other types may have a method of that name
		}
		files[name] = text[:begin] + strings.Replace(body, m.old, with, 1) + text[end:]
		return nil
	}
	return err
}
