package conformance

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// elsewhere is the test of a daemon in another repository, as its authors would write it.
const elsewhere = `package elsewhere

import (
	"os"
	"testing"

	"github.com/mayfly-mcp/mayfly/conformance"
)

func TestMain(m *testing.M) {
	conformance.RunIfPeer()
	os.Exit(m.Run())
}

func TestDaemon(t *testing.T) {
	target, err := conformance.ParseTarget("exec:"+os.Getenv("DAEMON"), "")
	if err != nil {
		t.Fatal(err)
	}
	conformance.Test(t, target, "first-call-spawns", "frame-empty", "connect-timeout-measured")
}
`

// TestFromAnotherModule: in another repository each check is a true subtest of go test, with
// nothing but what is on this machine.
func TestFromAnotherModule(t *testing.T) {
	t.Parallel()
	dir := otherModule(t)
	run := func(env []string, name string, args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run([]string{"GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off", "GOTOOLCHAIN=local"}, "go", "test", "-c", "-o", "elsewhere.test", "."); err != nil {
		t.Fatalf("go test -c: %v\n%s", err, out)
	}
	exe := reference(t).Argv[0]
	for _, tt := range []struct {
		name, daemon string
		fails        bool
		want         []string
	}{
		{"sound", "serve", false, []string{"--- PASS: TestDaemon/first-call-spawns", "--- PASS: TestDaemon/frame-empty",
			"--- PASS: TestDaemon/connect-timeout-measured", "--- PASS: TestDaemon/leaves-nothing-behind",
			"NOT-APPLICABLE (MUST, [DI-4 ST-4])", "detected: agents by id"}},
		{"defect", "mutant connects-at-registration", true, []string{"--- FAIL: TestDaemon/first-call-spawns", "--- PASS: TestDaemon/frame-empty", "--- FAIL: TestDaemon ("}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out, err := run([]string{"DAEMON=" + exe + " " + tt.daemon + " -until-eof -home {home} -tcp 127.0.0.1:0"},
				filepath.Join(dir, "elsewhere.test"), "-test.v")
			if (err != nil) != tt.fails {
				t.Errorf("the tests ended with %v:\n%s", err, out)
			}
			for _, want := range tt.want {
				if !strings.Contains(out, want) {
					t.Errorf("nothing says %q in\n%s", want, out)
				}
			}
		})
	}
}

// requires are the lines of a go.mod that say which versions are wanted.
var requires = regexp.MustCompile(`(?ms)^require \(.*?^\)\n`)

// otherModule writes a module that has this one beside it.
func otherModule(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	mod, err1 := os.ReadFile(filepath.Join(root, "go.mod"))
	sum, err2 := os.ReadFile(filepath.Join(root, "go.sum"))
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	needs := requires.FindAllString(string(mod), -1)
	if len(needs) == 0 {
		t.Fatal("the module requires nothing")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.test/elsewhere\n\ngo 1.26\n\nrequire github.com/mayfly-mcp/mayfly v0.0.0\n\n" +
			"replace github.com/mayfly-mcp/mayfly => " + root + "\n\n" + strings.Join(needs, "\n"),
		"go.sum":            string(sum),
		"elsewhere_test.go": elsewhere,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
