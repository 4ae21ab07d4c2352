package main

import (
	"bufio"
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/mayfly-mcp/mayfly/"

const (
	maxFileLines = 600
	maxFuncLines = 70
)

// importRule says what a package may import. The first rule whose prefix matches decides.
type importRule struct {
	pkg   string   // package directory, or a prefix that ends in "/"
	allow []string // module directories (a prefix that ends in "/" allows the tree) and other modules
	why   string
}

var std = []string{} // the standard library is allowed everywhere

var importRules = []importRule{
	{"core/lifecycle", std, "the machine is pure: it depends on nothing that could differ between runs"},
	{"core/callerr", std, "a leaf that every layer shares"},
	{"core/owner", std, "a leaf that every layer shares"},
	{"core/registry", []string{"core/owner", "github.com/tidwall/btree"}, "entries know their owners, and neither the protocol nor the daemon"},
	{"core/endpoint", []string{"core/owner", "core/registry", "github.com/jonboulle/clockwork", "github.com/modelcontextprotocol/go-sdk", "github.com/google/jsonschema-go", "github.com/yosida95/uritemplate"},
		"the endpoint serves registries to clients of MCP, and knows no peers"},
	{"core/regfile", std, "a leaf that every layer shares: one bounded read, for records, homes and scenarios"},
	{"core/transport/", []string{"core/transport", "core/transport/", "core/callerr", "core/regfile", "github.com/modelcontextprotocol/go-sdk", "golang.org/x/sys"},
		"transports know the seam, the error kinds and the SDK, not the host above them"},
	{"core/transport", []string{"core/callerr", "core/transport/internal/", "github.com/modelcontextprotocol/go-sdk"},
		"the seam knows the error kinds alone; its classifier reads the SDK's codes"},
	{"core/wire", []string{"core/wire/pb", "google.golang.org/protobuf"}, "both ends of the socket import it"},
	{"core/wire/pb", []string{"google.golang.org/protobuf"}, "generated code"},
	{"core/daemon/", []string{"core", "core/", "github.com/jonboulle/clockwork", "github.com/modelcontextprotocol/go-sdk",
		"google.golang.org/protobuf", "github.com/BurntSushi/toml", "github.com/oklog/ulid", "go.etcd.io/bbolt", "github.com/prometheus/client_golang"},
		"the daemon is a user of the host"},
	{"core/", []string{"core/lifecycle", "core/transport", "core/transport/", "core/callerr", "core/owner", "core/registry", "github.com/jonboulle/clockwork", "github.com/modelcontextprotocol/go-sdk"},
		"nothing under core knows its testers"},
	{"core", []string{"core/lifecycle", "core/transport", "core/callerr", "core/owner", "core/registry", "github.com/jonboulle/clockwork", "github.com/modelcontextprotocol/go-sdk"},
		"the host knows the machine and the seams, nothing above it"},
	{"sim/spec", std, "the oracle shares no code with what it judges"},
	{"sim/idle", []string{"core/lifecycle", "sim", "sim/idle/", "gonum.org/v1/gonum"},
		"the bench drives the machine; statistics are the library's"},
	{"sim/idle/", []string{"core/lifecycle", "sim/idle", "sim/idle/", "gonum.org/v1/gonum", "gonum.org/v1/plot"},
		"the bench drives the machine; statistics and plots are the libraries'"},
	{"sim/", []string{"core/lifecycle", "core/owner", "core/registry", "scenarios", "sim", "sim/"},
		"the simulator drives the machine itself, not the host"},
	{"sim", []string{"core/lifecycle", "core/owner", "core/registry", "scenarios", "sim/spec"},
		"the simulator drives the machine itself, not the host"},
	{"conformance/", []string{"scenarios", "core/wire", "core/wire/pb", "core/callerr", "sim/spec", "fakes/", "conformance", "conformance/", "github.com/modelcontextprotocol/go-sdk", "google.golang.org/protobuf", "github.com/BurntSushi/toml"},
		"black box means black box (DESIGN D11)"},
	{"conformance", []string{"scenarios", "core/wire", "core/wire/pb", "core/callerr", "sim/spec", "fakes/", "conformance/", "github.com/modelcontextprotocol/go-sdk", "google.golang.org/protobuf", "github.com/BurntSushi/toml"},
		"black box means black box (DESIGN D11)"},
	{"fakes", []string{"core/transport", "core/callerr", "github.com/modelcontextprotocol/go-sdk"}, "fakes stand in for peers, not for the host"},
	{"fakes/mutants", []string{"core/daemon", "core/transport", "core/transport/", "core/callerr", "core/wire", "core/wire/pb", "github.com/jonboulle/clockwork", "google.golang.org/protobuf"},
		"a mutant is the real daemon with a defect at one of its seams"},
	{"fakes/", []string{"core/transport", "core/callerr", "fakes", "fakes/", "github.com/modelcontextprotocol/go-sdk"}, "fakes stand in for peers, not for the host"},
	{"scenarios", []string{"golang.org/x/tools/txtar"}, "the language knows no world"},
	{"cmd/", []string{"core", "core/", "sim", "sim/", "conformance", "conformance/", "fakes", "fakes/", "scenarios", "cmd/", "github.com/jonboulle/clockwork"},
		"commands wire packages together"},
}

// pure lists packages that may not use what differs between runs, with what is banned there.
var pure = map[string][]string{
	"core/lifecycle": {"sync", "context", "os", "net", "math/rand", "math/rand/v2", "testing", "time.Now", "time.Sleep", "time.After", "time.NewTimer", "time.NewTicker", "go", "chan", "float"},
	"sim/spec":       {"sync", "context", "os", "net", "math/rand", "math/rand/v2", "testing", "time.Now", "time.Sleep", "time.After", "go", "chan"},
	"sim":            {"sync", "math/rand", "math/rand/v2", "net", "testing", "time.Now", "time.Sleep", "time.After", "go", "chan"},
	"scenarios":      {"sync", "math/rand", "math/rand/v2", "net", "testing", "time.Now", "time.Sleep", "time.After", "go", "chan"},
}

// bannedEverywhere may appear in no file, tests included. Names are qualified by import path,
// whatever a file calls the package.
var bannedEverywhere = map[string]string{
	"time.Sleep": "wait for a barrier, or for virtual time inside a bubble through a helper that says so",
	"github.com/jonboulle/clockwork.WithTimeout": "its contexts leak waiters and block in Err",
	dotImport: "it hides from readers, and from these rules, whose a name is",
}

// bannedInTests may be selected from nothing, whatever its type, in tests and their helpers.
var bannedInTests = map[string]string{
	".Skip":    "a skipped test hides a failure",
	".SkipNow": "a skipped test hides a failure",
	".Skipf":   "a skipped test hides a failure",
}

type source struct {
	path string // slash-separated, from the module's root
	pkg  string // its directory
	test bool
	gen  bool
	src  []byte
	file *ast.File
}

var fset = token.NewFileSet()

// sources parses every Go file of the module.
func sources(t *testing.T) []source {
	t.Helper()
	root := filepath.Join("..", "..")
	var all []source
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && p != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules") {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") {
			return nil
		}
		src, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(fset, p, src, parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		all = append(all, source{path: rel, pkg: path.Dir(rel), test: strings.HasSuffix(rel, "_test.go"),
			gen: ast.IsGenerated(f), src: src, file: f})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 50 {
		t.Fatalf("only %d Go files found; the walk is wrong", len(all))
	}
	return all
}

func TestImports(t *testing.T) {
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		for _, im := range s.file.Imports {
			p := strings.Trim(im.Path.Value, `"`)
			if why := forbidden(s.pkg, p); why != "" {
				t.Errorf("%s imports %s: %s", s.path, p, why)
			}
		}
	}
}

// forbidden returns why a package may not import a path, "" if it may.
func forbidden(pkg, imp string) string {
	local, inModule := strings.CutPrefix(imp, module)
	if !inModule && !strings.Contains(strings.Split(imp, "/")[0], ".") {
		if imp == "testing" && strings.HasPrefix(pkg, "core") {
			return "nothing under core imports testing"
		}
		return ""
	}
	if inModule && strings.HasPrefix(local, "cmd") && !strings.HasPrefix(pkg, "cmd") {
		return "nothing imports cmd"
	}
	if inModule && local == "fakes/wait" {
		return "it imports testing: nothing but tests imports it"
	}
	for _, r := range importRules {
		if pkg != strings.TrimSuffix(r.pkg, "/") && !(strings.HasSuffix(r.pkg, "/") && strings.HasPrefix(pkg, r.pkg)) {
			continue
		}
		if slices.ContainsFunc(r.allow, func(a string) bool {
			if !inModule {
				return imp == a || strings.HasPrefix(imp, a+"/")
			}
			return local == a || strings.HasSuffix(a, "/") && strings.HasPrefix(local, a)
		}) {
			return ""
		}
		return "not allowed for " + r.pkg + ": " + r.why
	}
	return "package has no import rule; add one to importRules"
}

func TestLengths(t *testing.T) {
	for _, s := range sources(t) {
		if s.gen {
			continue
		}
		if n := bytes.Count(s.src, []byte("\n")); n > maxFileLines {
			t.Errorf("%s has %d lines; split it below %d", s.path, n, maxFileLines)
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			fn, ok := n.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				return true
			}
			from, to := fset.Position(fn.Pos()).Line, fset.Position(fn.End()).Line
			if to-from+1 > maxFuncLines {
				t.Errorf("%s:%d: func %s has %d lines; split it below %d", s.path, from, fn.Name.Name, to-from+1, maxFuncLines)
			}
			return true
		})
	}
}

func TestBannedCalls(t *testing.T) {
	for _, s := range sources(t) {
		ban := maps.Clone(bannedEverywhere)
		if s.test || importsTesting(s.file) {
			maps.Copy(ban, bannedInTests)
		}
		if !s.test {
			for _, name := range pure[s.pkg] {
				ban[name] = s.pkg + " is pure"
			}
		}
		for _, hit := range uses(s.file, ban) {
			t.Errorf("%s: %s: %s", fset.Position(hit.at), hit.name, ban[hit.name])
		}
	}
}

// TestTheHouseRulesCanFail feeds the rules what they must refuse.
func TestTheHouseRulesCanFail(t *testing.T) {
	for _, c := range []struct{ pkg, imp string }{
		{"core/lifecycle", module + "core/callerr"},
		{"core", module + "fakes"},
		{"core/daemon", "testing"},
		{"conformance", module + "core"},
		{"conformance", module + "core/lifecycle"},
		{"sim", module + "core"},
		{"fakes/observer", module + "core"},
		{"scenarios", "example.org/other"},
		{"sim", module + "cmd/mayfly"},
		{"brandnew", module + "core"},
		{"fakes", module + "fakes/wait"},
	} {
		if forbidden(c.pkg, c.imp) == "" {
			t.Errorf("%s may import %s", c.pkg, c.imp)
		}
	}
}

// TestTopLevel holds the layout: exactly these entries, hidden ones of git apart.
func TestTopLevel(t *testing.T) {
	want := []string{".ci", ".gitignore", ".golangci.yml", "CHANGELOG.md", "LICENSE", "README.md",
		"cmd", "conformance", "core", "fakes", "go.mod", "go.sum", "scenarios", "sim"}
	ignored := ignoredNames(t)
	entries, err := os.ReadDir(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		if e.Name() != ".git" && !slices.Contains(ignored, e.Name()) {
			got = append(got, e.Name())
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("top level is %q, want %q", got, want)
	}
}

// ignoredNames reads the top-level names that git ignores.
func ignoredNames(t *testing.T) (names []string) {
	t.Helper()
	src, err := os.ReadFile(filepath.Join("..", "..", ".gitignore"))
	if err != nil {
		t.Fatal(err)
	}
	for sc := bufio.NewScanner(bytes.NewReader(src)); sc.Scan(); {
		if name := strings.Trim(sc.Text(), "/"); name != "" && !strings.Contains(name, "*") {
			names = append(names, name)
		}
	}
	return names
}

// TestEveryPackageHasAStory wants a package comment in doc.go.
func TestEveryPackageHasAStory(t *testing.T) {
	told, seen := map[string]bool{}, map[string]bool{}
	for _, s := range sources(t) {
		if s.test || s.gen {
			continue
		}
		seen[s.pkg] = true
		if s.file.Doc != nil && (path.Base(s.path) == "doc.go" || s.file.Name.Name == "main") {
			told[s.pkg] = true
		}
	}
	for pkg := range seen {
		if !told[pkg] {
			t.Errorf("%s has no doc.go with a package comment", pkg)
		}
	}
}
