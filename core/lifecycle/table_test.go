package lifecycle

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite testdata/table.txt; commit only a diff you understand")

var tableFile = filepath.Join("testdata", "table.txt")

const tableHead = `# Every situation of a peer, met by every input: what becomes of it.
#
# A row is  input | outcome | effects; events; replies  and the outcome one of
#   -> STATE/PHASE     a transition
#   waits              no transition; the ticket waits for an attempt
#   call begins, ends  no transition; the use of the peer begins, or one use of it ends
#   stays              no transition; the third column says what was done all the same
#   ignored            counted as stale
#   refused (REASON)   nothing changed
#   bug ID             a violation of the caller's contract: Step panics
# Rewrite with -update; commit only a diff that you understand.
`

// TestTable names every pair of situation and input. The rows are compared one by one, so that
// a pair without a row fails as loudly as a row without a pair.
func TestTable(t *testing.T) {
	got := map[string]string{}
	var text strings.Builder
	text.WriteString(tableHead)
	for _, s := range situations {
		fmt.Fprintf(&text, "\n== %s\n", s.name)
		for _, in := range stimuli() {
			row := outcome(t, s, in)
			got[s.name+" × "+in.name] = row
			fmt.Fprintf(&text, "%-30s | %s\n", in.name, row)
		}
	}
	if *update {
		if err := os.WriteFile(tableFile, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(readTable(t), got); diff != "" {
		t.Errorf("table (-file +machine):\n%s", diff)
	}
}

// outcome feeds one input to a fresh machine in a situation.
func outcome(t *testing.T, s situation, in stimulus) string {
	l := newLab(t, labConfig())
	s.build(l)
	input := in.input(l)
	before, stale := l.m.View(1), l.m.Stats().Stale
	var done string
	if v := bugOf(func() { done = l.step(input) }); v != nil {
		return "bug " + v.ID + " |"
	}
	after := l.m.View(1)
	refused, wasRefused := strings.CutPrefix(done, "new refused ")
	switch {
	case after.State != before.State || after.Phase != before.Phase || after.Gen != before.Gen ||
		after.Stage != before.Stage || after.Queued != before.Queued:
		return strings.TrimSpace(fmt.Sprintf("-> %s | %s", standingOf(after), done))
	case l.m.Stats().Stale > stale:
		return strings.TrimSpace("ignored | " + done)
	case wasRefused:
		return "refused " + refused + " |"
	case after.Waiters > before.Waiters:
		return strings.TrimSpace("waits | " + done)
	case after.InFlight < before.InFlight:
		return strings.TrimSpace("call ends | " + done)
	case after.InFlight > before.InFlight:
		return strings.TrimSpace("call begins | " + done)
	}
	return strings.TrimSpace("stays | " + done)
}

func standingOf(v View) string {
	if v.State == NoState {
		return "gone"
	}
	if v.Phase == Stopping {
		return fmt.Sprintf("%s/%s/%s", v.State, v.Phase, v.Stage)
	}
	if v.Queued {
		return fmt.Sprintf("%s/queued", v.State)
	}
	return fmt.Sprintf("%s/%s", v.State, v.Phase)
}

func readTable(t *testing.T) map[string]string {
	raw, err := os.ReadFile(tableFile)
	if err != nil {
		t.Fatal(err)
	}
	rows, situation := map[string]string{}, ""
	for i, line := range strings.Split(string(raw), "\n") {
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "== "):
			situation = strings.TrimPrefix(line, "== ")
		default:
			in, row, ok := strings.Cut(line, " | ")
			key := situation + " × " + strings.TrimSpace(in)
			if _, twice := rows[key]; !ok || twice {
				t.Fatalf("%s:%d: not a row, or one that was there before: %q", tableFile, i+1, line)
			}
			rows[key] = row
		}
	}
	return rows
}
