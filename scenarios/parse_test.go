package scenarios

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite the golden files; commit only a diff you understand")

// TestErrors compares the messages for wrong files with golden texts. The archive holds
// each file in a section and its messages in the section behind it.
func TestErrors(t *testing.T) {
	const golden = "testdata/errors.txtar"
	archive, err := txtar.ParseFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if len(archive.Files)%2 != 0 {
		t.Fatalf("%s: sections come in pairs of NAME and NAME.want", golden)
	}
	for i := 0; i < len(archive.Files); i += 2 {
		in, want := archive.Files[i], &archive.Files[i+1]
		t.Run(in.Name, func(t *testing.T) {
			if want.Name != in.Name+".want" {
				t.Fatalf("section %s follows %s", want.Name, in.Name)
			}
			_, err := Parse("f", in.Data)
			got := fmt.Sprintln(err)
			if *update {
				want.Data = []byte(got)
				return
			}
			if diff := cmp.Diff(string(want.Data), got); diff != "" {
				t.Errorf("messages differ (-want +got):\n%s", diff)
			}
			checkErrorType(t, err)
		})
	}
	if *update {
		if err := os.WriteFile(golden, txtar.Format(archive), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// checkErrorType verifies that a caller can get at file and line.
func checkErrorType(t *testing.T, err error) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.File != "f" || e.Line < 1 {
		t.Errorf("error %v holds no *Error with file and line", err)
	}
}

// TestBounds goes one over each bound, and exactly to it.
func TestBounds(t *testing.T) {
	repeat := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	size := func(n int) string { return repeat(n/1000, "#%0998d\n") + strings.Repeat("\n", n%1000) }
	name := func(n int) string { return "agent " + strings.Repeat("x", n) + "\n" }
	tools := func(n int) string { return "server S tools=t" + repeat(n-1, ",t%d") + "\n" }
	env := func(n int) string { return "server S\nagent a\ndeclare a m S" + repeat(n, " env=K%d:v") + "\n" }
	fanout := func(n int) string { return fmt.Sprintf("agent a\nstart c1..c%d: list a\n", n) }
	calls := func(n int) string { return "agent a\n" + repeat(n, "start c%d: list a\n") }
	tests := []struct {
		bound   string
		n       int
		source  func(int) string
		message string
	}{
		{"size", MaxSize, size, "the file has"},
		{"lines", MaxLines, func(n int) string { return strings.Repeat("#\n", n) }, "lines"},
		{"line length", MaxLineLen, func(n int) string { return "#" + strings.Repeat("x", n-1) + "\n" }, "the line has"},
		{"name", MaxName, name, "longer than"},
		{"agents", MaxAgents, func(n int) string { return repeat(n, "agent a%d\n") }, "agents"},
		{"servers", MaxServers, func(n int) string { return repeat(n, "server S%d\n") }, "servers"},
		{"tools", MaxTools, tools, "tools are too many"},
		{"env", MaxEnv, env, "variables"},
		{"fanout", MaxFanout, fanout, "stands for"},
		{"calls", MaxCalls, calls, "named calls"},
		{"duration", int(MaxDuration.Hours()), func(n int) string { return fmt.Sprintf("advance %dh\n", n) }, "over the bound"},
	}
	for _, test := range tests {
		t.Run(test.bound, func(t *testing.T) {
			if _, err := Parse("f", []byte(test.source(test.n))); err != nil {
				t.Errorf("exactly at the bound: %v", err)
			}
			_, err := Parse("f", []byte(test.source(test.n+1)))
			if err == nil || !strings.Contains(err.Error(), test.message) {
				t.Errorf("one over the bound: %.200v, want a message with %q", err, test.message)
			}
		})
	}
}

// TestUnreadable refuses bytes that an editor would not show, at their line.
func TestUnreadable(t *testing.T) {
	for _, bad := range []string{"\x00", "\xff", "\x1b[1m", "\rx", "\u0085", "\xe2\x82"} {
		_, err := Parse("f", []byte("# x\n\nagent a "+bad+"\nagent b\n"))
		if err == nil || !strings.HasPrefix(err.Error(), "f:3: there is a byte that is not readable text") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestManyErrors finds that reading stops at the bound of reported errors, and says so,
// whether the lines cannot be read or make no sense.
func TestManyErrors(t *testing.T) {
	for _, line := range []string{"nonsense\n", "await c1\n"} {
		_, err := Parse("f", []byte(strings.Repeat(line, MaxErrors)))
		if got := strings.Count(err.Error(), "\n") + 1; got != MaxErrors {
			t.Errorf("%d errors in %d lines", got, MaxErrors)
		}
		_, err = Parse("f", []byte(strings.Repeat(line, 500)))
		lines := strings.Split(err.Error(), "\n")
		if len(lines) != MaxErrors+1 || lines[MaxErrors] != "f:21: too many errors: mend those above first" {
			t.Errorf("%d lines, the last %q", len(lines), lines[len(lines)-1])
		}
	}
}

// TestManual holds the manual to the language: every verb, query and setting is in it,
// and every usage line in an error message is itself valid.
func TestManual(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	manual := string(doc)
	for _, v := range verbs() {
		if !strings.Contains(manual, "//\t"+v.name) {
			t.Errorf("the manual has no entry for %s", v.name)
		}
		for usage := range strings.SplitSeq(v.usage, "` or `") {
			c, err := parseCommand(strings.Fields(usage))
			if err != nil {
				t.Errorf("the usage of %s is not valid: %v", v.name, err)
			} else if c.String() != usage {
				t.Errorf("the usage %q is not canonical: %q", usage, c)
			}
		}
	}
	for _, k := range kinds {
		if !strings.Contains(manual, "//\t"+k) {
			t.Errorf("the manual has no entry for the query %s", k)
		}
		usage := Kind(k).usage()
		if c, err := parseCommand(strings.Fields(usage)); err != nil || c.String() != usage || c.(Expect).Query.Kind != Kind(k) {
			t.Errorf("the usage %q of query %s: %v, %v", usage, k, c, err)
		}
	}
	for _, s := range settingNames {
		if !strings.Contains(manual, "set "+s) {
			t.Errorf("the manual has no entry for the setting %s", s)
		}
		if x := new(Settings); (x.field(s) == nil) == (x.bound(s) == nil) {
			t.Errorf("setting %s has no field", s)
		}
	}
}

// TestCanonical gives texts that say the same in several ways.
func TestCanonical(t *testing.T) {
	head := "server S tools=echo\nagent a\n"
	tests := []struct{ in, want string }{
		{"  # x  ", "# x"},
		{"set   grace\t90s # slow", "set grace 1m30s  # slow"},
		{"set idle_timeout 3600s", "set idle_timeout 1h"},
		{head + "change S answers=exit  fails=hang", head + "change S fails=hang answers=exit"},
		{head + "change S ignores=term,eof connect=1000ms", head + "change S connect=1s ignores=eof,term"},
		{"server S ignores=term,eof call=0s fails=never", "server S tools=echo ignores=eof,term"},
		{head + "declare a m S env=B:x#y env=A:", head + "declare a m S env=B:x#y env=A:"},
		{head + "start c3..c3: list a\nawait c3..c3", head + "start c3: list a\nawait c3"},
		{head + "start c1: list a\nexpect result   c1  =  ok", head + "start c1: list a\nexpect result c1 = ok"},
		{"agent a\r\nfence\r\n\r\n-- tape --\r\nx\r\n", "agent a\nfence\n\n-- tape --\nx"},
	}
	for _, test := range tests {
		f, err := Parse("f", []byte(test.in))
		if err != nil {
			t.Errorf("%q: %v", test.in, err)
			continue
		}
		if diff := cmp.Diff(test.want+"\n", string(Format(f))); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.in, diff)
		}
	}
}

// TestAccessors reads what a runner asks of a file.
func TestAccessors(t *testing.T) {
	f, err := Parse("dir/my-file.txtar", []byte("# One idea,\n#  one sentence.\nclauses CL-1 DI-12\nonly host live\nset idle_timeout 0s\nset grace 1s\n# not this\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := DefaultSettings()
	want.IdleTimeout, want.Grace = 0, 1e9
	got := []any{f.ID(), f.Title(), f.Clauses(), f.RunsIn(Machine), f.RunsIn(Host), f.RunsIn(Live), f.Settings()}
	if diff := cmp.Diff([]any{"my-file", "One idea, one sentence.", []string{"CL-1", "DI-12"}, false, true, true, want}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := Named("first-call-spawn"); err == nil || !strings.Contains(err.Error(), `did you mean "first-call-spawns"?`) {
		t.Errorf("a name that is nearly right: %v", err)
	}
}
