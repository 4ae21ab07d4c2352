package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mayfly-mcp/mayfly/conformance"
	"github.com/mayfly-mcp/mayfly/scenarios"
	"github.com/mayfly-mcp/mayfly/sim"
)

// clauseFile is the table of what holds each clause and each class of field bug.
const clauseFile = "../../core/CLAUSES.md"

// notHeld begins what a row says of the part of it that nothing holds.
const notHeld = "not held:"

// fieldBugs are the classes of bugs that the table answers for.
const fieldBugs = `A01 A03 A04 A05 A08 A09 B01 B04 B05 C01 C03 D01 D02 D03 D05 D06 D07 D08 D10 D11 D13 D15 D16 D17
	D19 D21 D23 E01 E03 E04 E05 E06 E07 E10 F01 F02 F03 F04 F06 F08 F09 F11 F13 G01 G02 G04 G05 G06 G08 G09 G11
	G13 G15 H01 H03 H04 I01 I02 I03 I06 I07 I08 I10 J01 J03 J05 J06 J08 J09 J10 K01 K03 K04 K06 K07 K09 K10 K11
	L01 L03 L05 M01 M03 M04 M06 M08 N01 N02 N04 N05 N06 N08 O01 O02 O03 O05 P01 P02 P04 P06 Q01 Q02 Q03 Q05 Q07
	R01 S01 T01 T02 T03`

var (
	tableRow = regexp.MustCompile(`^\| ([A-Z]+-?[0-9]+) \| ([^|]*) \| ?([^|]*?) ?\|$`)
	holder   = regexp.MustCompile("^`([^`]+)`$")
	goTest   = regexp.MustCompile(`^([a-z/]+)\.(Test\w+)$`)
)

// clauseRow is one row: the id of a clause or of a class, and its last cell.
type clauseRow struct{ id, held string }

// clauseRows reads the rows of all tables. What begins like a row and is none is a problem.
func clauseRows(text string) (rows []clauseRow, problems []string) {
	for i, line := range strings.Split(text, "\n") {
		m := tableRow.FindStringSubmatch(line)
		switch {
		case m != nil && strings.TrimSpace(m[2]) == "":
			problems = append(problems, m[1]+": says no rule")
		case m != nil:
			rows = append(rows, clauseRow{m[1], m[3]})
		case strings.HasPrefix(line, "|") && !strings.HasPrefix(line, "|---") && !strings.HasSuffix(line, "| held by |"):
			problems = append(problems, fmt.Sprintf("line %d is no row of three cells", i+1))
		}
	}
	return rows, problems
}

// known is what a table may name and what it must have rows for.
type known struct {
	tests     func(pkg string) []string
	simChecks []string
	scenarios []string
	checks    []string
	rows      []string
}

// problems compares a table with what exists.
func (k *known) problems(text string) []string {
	rows, out := clauseRows(text)
	var ids []string
	for _, r := range rows {
		if slices.Contains(ids, r.id) {
			out = append(out, r.id+": has two rows")
		}
		if !slices.Contains(k.rows, r.id) {
			out = append(out, r.id+": is neither a clause of the core nor a class of field bugs")
		}
		ids = append(ids, r.id)
		out = append(out, k.cell(r)...)
	}
	for _, id := range k.rows {
		if !slices.Contains(ids, id) {
			out = append(out, id+": has no row")
		}
	}
	return out
}

// cell judges what a row names.
func (k *known) cell(r clauseRow) (out []string) {
	names, missing, said := strings.Cut(r.held, notHeld)
	names = strings.TrimSuffix(strings.TrimSpace(names), ";")
	if said && strings.TrimSpace(missing) == "" {
		out = append(out, r.id+": says that something is not held, but not what")
	}
	if names == "" {
		if !said {
			out = append(out, r.id+": nothing holds it; write a test, or what is missing after \""+notHeld+"\"")
		}
		return out
	}
	for _, name := range strings.Split(names, ", ") {
		m := holder.FindStringSubmatch(name)
		if m == nil {
			out = append(out, fmt.Sprintf("%s: %q is no name between backquotes", r.id, name))
		} else if why := k.unknown(m[1]); why != "" {
			out = append(out, r.id+": "+why)
		}
	}
	return out
}

// unknown says why a name stands for nothing, or nothing.
func (k *known) unknown(name string) string {
	if m := goTest.FindStringSubmatch(name); m != nil {
		if !slices.Contains(k.tests(m[1]), m[2]) {
			return fmt.Sprintf("package %s has no test %s", m[1], m[2])
		}
		return ""
	}
	for _, kind := range []struct {
		prefix string
		ids    []string
	}{{"sim check ", k.simChecks}, {"scenario ", k.scenarios}, {"check ", k.checks}} {
		if id, ok := strings.CutPrefix(name, kind.prefix); ok {
			if !slices.Contains(kind.ids, id) {
				return fmt.Sprintf("there is no %s%s", kind.prefix, id)
			}
			return ""
		}
	}
	return fmt.Sprintf("%q is neither a test, a sim check, a scenario nor a check", name)
}

// whatExists collects what the module has.
func whatExists(t *testing.T) *known {
	t.Helper()
	k := &known{tests: testsOf(t), rows: append(coreClauses(t), strings.Fields(fieldBugs)...)}
	for _, c := range sim.Rules {
		k.simChecks = append(k.simChecks, c.ID)
	}
	for _, s := range scenarios.All() {
		k.scenarios = append(k.scenarios, s.ID())
	}
	for _, c := range conformance.Everything() {
		k.checks = append(k.checks, c.ID)
	}
	return k
}

// testsOf finds the names of a package's tests, on every system. Packages are parsed once.
func testsOf(t *testing.T) func(pkg string) []string {
	seen := map[string][]string{}
	return func(pkg string) []string {
		if names, ok := seen[pkg]; ok {
			return names
		}
		files, err := filepath.Glob(filepath.Join("../..", filepath.FromSlash(pkg), "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, file := range files {
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Test") && fn.Name.Name != "TestMain" {
					names = append(names, fn.Name.Name)
				}
			}
		}
		seen[pkg] = names
		return names
	}
}

// coreClauses reads the clauses of the core from the list that the conformance runner grades by.
func coreClauses(t *testing.T) (ids []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "../../conformance/clauses.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		kv, ok := n.(*ast.KeyValueExpr)
		if !ok {
			return true
		}
		if lit, ok := kv.Key.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if id, err := strconv.Unquote(lit.Value); err == nil {
				ids = append(ids, id)
			}
		}
		return true
	})
	if len(ids) < 100 {
		t.Fatalf("only %d clauses were found", len(ids))
	}
	return ids
}

// TestClauseTable compares the table with the module.
func TestClauseTable(t *testing.T) {
	text, err := os.ReadFile(clauseFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range whatExists(t).problems(string(text)) {
		t.Errorf("CLAUSES.md: %s", p)
	}
}

// TestTheClauseTableCanFail doctors the table in every way that must be noticed.
func TestTheClauseTableCanFail(t *testing.T) {
	text, err := os.ReadFile(clauseFile)
	if err != nil {
		t.Fatal(err)
	}
	k := whatExists(t)
	const re1 = "`core.TestEvictionWindow`, `core/lifecycle.TestEvictionWindow`, `sim check EVICT-EARLY`, `sim check EVICT-LATE`, `scenario eviction-window`, `check eviction-measured` |"
	for _, tc := range []struct{ old, now, want string }{
		{re1, "`core.TestNoSuch` |", "RE-1: package core has no test TestNoSuch"},
		{re1, "`core/nowhere.TestEvictionWindow` |", "RE-1: package core/nowhere has no test TestEvictionWindow"},
		{re1, "`sim check NO-SUCH` |", "RE-1: there is no sim check NO-SUCH"},
		{re1, "`scenario no-such` |", "RE-1: there is no scenario no-such"},
		{re1, "`check no-such` |", "RE-1: there is no check no-such"},
		{re1, "`somebody` |", `RE-1: "somebody" is neither`},
		{re1, "core.TestEvictionWindow |", `RE-1: "core.TestEvictionWindow" is no name between backquotes`},
		{re1, "|", "RE-1: nothing holds it"},
		{re1, "not held: |", "RE-1: says that something is not held, but not what"},
		{"| RE-1 |", "| RE-99 |", "RE-1: has no row"},
		{"| RE-1 |", "| RE-99 |", "RE-99: is neither a clause of the core nor a class of field bugs"},
		{"| PC-10 |", "| PC-9 |", "PC-9: has two rows"},
		{"| PC-10 |", "| PC-9 |", "PC-10: has no row"},
		{"| T03 |", "| T04 |", "T03: has no row"},
		{"| T03 | a reload restarts what did not change |", "| T03 | |", "is no row of three cells"},
		{"| a reload restarts what did not change |", "|  |", "T03: says no rule"},
	} {
		doctored := strings.Replace(string(text), tc.old, tc.now, 1)
		if doctored == string(text) {
			t.Errorf("the table has no %q to doctor", tc.old)
			continue
		}
		got := k.problems(doctored)
		if !slices.ContainsFunc(got, func(p string) bool { return strings.Contains(p, tc.want) }) {
			t.Errorf("%q in the place of %q: %q, want %q", tc.now, tc.old, got, tc.want)
		}
	}
}
