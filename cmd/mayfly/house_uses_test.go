package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// dotImport is what uses calls an import of all names of a package.
const dotImport = "import ."

// use is one appearance of what a rule may ban.
type use struct {
	at   token.Pos
	name string
}

// uses finds in a file what ban names:
//
//	"os"          an import of this path, or of one below it
//	"time.Now"    a name of the package with this import path, called or not
//	".Skip"       a field or method of this name, of whatever
//	"go", "chan"  a construct of the language
//	"float"       a type that rounds
//	"import ."    a dot import of anything
func uses(f *ast.File, ban map[string]string) (hits []use) {
	report := func(n ast.Node, name string) {
		if _, banned := ban[name]; banned {
			hits = append(hits, use{n.Pos(), name})
		}
	}
	for _, im := range f.Imports {
		if im.Name != nil && im.Name.Name == "." {
			report(im, dotImport)
		}
		for p := importPath(im); p != "."; p = path.Dir(p) {
			report(im, p)
		}
	}
	packages := packageNames(f)
	ast.Inspect(f, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.SelectorExpr:
			report(x, "."+x.Sel.Name)
			if id, ok := ast.Unparen(x.X).(*ast.Ident); ok && id.Obj == nil { // else it is no package
				report(x, packages[id.Name]+"."+x.Sel.Name)
			}
		case *ast.GoStmt:
			report(x, "go")
		case *ast.ChanType:
			report(x, "chan")
		case *ast.Ident:
			if x.Name == "float64" || x.Name == "float32" {
				report(x, "float")
			}
		}
		return true
	})
	return hits
}

// majorVersion is the last element of the path of a module beyond its first major version.
var majorVersion = regexp.MustCompile(`^v[0-9]+$`)

// packageNames maps what a file calls packages to their import paths. Without a name of its
// own it is taken to be the last element of the path, which holds for all that rules name.
func packageNames(f *ast.File) map[string]string {
	names := map[string]string{}
	for _, im := range f.Imports {
		p := importPath(im)
		name := path.Base(p)
		if majorVersion.MatchString(name) {
			name = path.Base(path.Dir(p))
		}
		if im.Name != nil {
			name = im.Name.Name
		}
		names[name] = p
	}
	return names
}

// importPath is the path of an import.
func importPath(im *ast.ImportSpec) string { return strings.Trim(im.Path.Value, "`\"") }

// importsTesting reports whether a file helps tests.
func importsTesting(f *ast.File) bool {
	return slices.ContainsFunc(f.Imports, func(im *ast.ImportSpec) bool { return importPath(im) == "testing" })
}

// TestTheBansCanFail plants what they must find, in every disguise that was thought of, and
// what they must leave alone.
func TestTheBansCanFail(t *testing.T) {
	ban := maps.Clone(bannedEverywhere)
	maps.Copy(ban, bannedInTests)
	for _, name := range []string{"go", "chan", "float", "os", "math/rand", "time.Now"} {
		ban[name] = "planted"
	}
	const clockwork = `"github.com/jonboulle/clockwork"`
	for _, tc := range []struct {
		imports, body string
		want          []string
	}{
		{`"time"`, `time.Sleep(1)`, []string{"time.Sleep"}},
		{"`time`", `time.Sleep(1)`, []string{"time.Sleep"}},
		{`tm "time"`, `tm.Sleep(1)`, []string{"time.Sleep"}},
		{`"time"`, `f := time.Sleep; f(1)`, []string{"time.Sleep"}},
		{`"time"`, `(time).Sleep(1)`, []string{"time.Sleep"}},
		{`"time"`, `defer time.Sleep(1)`, []string{"time.Sleep"}},
		{`"time"`, `for range []func(time.Duration){time.Sleep} {}`, []string{"time.Sleep"}},
		{`. "time"`, `Sleep(1)`, []string{dotImport}},
		{`. "testing"`, ``, []string{dotImport}},
		{`context "time"`, `context.Now()`, []string{"time.Now"}},
		{clockwork, `clockwork.WithTimeout(nil, nil, 1)`, []string{"github.com/jonboulle/clockwork.WithTimeout"}},
		{`c ` + clockwork, `_ = c.WithTimeout`, []string{"github.com/jonboulle/clockwork.WithTimeout"}},
		{`c "github.com/jonboulle/clockwork/v2"`, `_ = c.WithTimeout`, nil}, // another module
		{`"testing"`, `var t *testing.T; t.Skip()`, []string{".Skip"}},
		{`"testing"`, `var b *testing.B; b.Skip("slow"); b.Skipf(""); b.SkipNow()`, []string{".Skip", ".Skipf", ".SkipNow"}},
		{`"testing"`, `var tb testing.TB; f := tb.SkipNow; f()`, []string{".SkipNow"}},
		{`"testing"`, `f := (*testing.F).Skip; _ = f`, []string{".Skip"}},
		{``, `r := rig{}; r.inner.t.Skipf(""); of(r).Skip()`, []string{".Skipf", ".Skip"}},
		{`"os"`, ``, []string{"os"}},
		{`sys "os"`, ``, []string{"os"}},
		{`_ "os/exec"`, ``, []string{"os"}},
		{`"math/rand/v2"`, ``, []string{"math/rand"}},
		{``, `go f(); _ = make(chan int); _ = float64(1); var x float32`, []string{"go", "chan", "float", "float"}},
		// Not what is banned, although it looks like it.
		{``, `time := clock{}; time.Sleep(1); time.Now()`, nil},
		{`"example.org/time"`, `time.Sleep(1)`, nil},
		{`"time"`, `time.NewTimer(1); d.Sleep(1); Sleep(1)`, nil},
		{`"io/fs"`, `_ = fs.SkipDir; skip(); Skip()`, nil},
		{`"osx"`, `osx.Exit(1)`, nil},
	} {
		src := fmt.Sprintf("package p\nimport %s\nfunc f() { %s }", tc.imports, tc.body)
		if tc.imports == "" {
			src = fmt.Sprintf("package p\nfunc f() { %s }", tc.body)
		}
		f, err := parser.ParseFile(fset, "planted.go", src, 0)
		if err != nil {
			t.Fatalf("%s: %v", src, err)
		}
		var got []string
		for _, hit := range uses(f, ban) {
			got = append(got, hit.name)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s\n\tfound %q, want %q", src, got, tc.want)
		}
	}
}
