package scenarios

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func mustParse(t *testing.T, text string) *File {
	t.Helper()
	f, err := Parse("f", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

const small = `server S tools=echo fails=exit
agent a
declare a m1 S
hold S initialize
start c1..c2: call a echo
change S heals connect=1s
cancel c2
release S
await c1..c2
rename a b
list b
upsert b m1 S token=t1
kill S
advance 2s
fence
remove b
`

// TestRunCommands finds that a world sees single calls, complete behaviours and names of
// its own for awaited operations, and never the lines that Run deals with itself.
func TestRunCommands(t *testing.T) {
	w := newToy()
	if _, err := Run(context.Background(), mustParse(t, "clauses CL-1\nset grace 1s\n"+small+"expect running S = 0\n"), w); err != nil {
		t.Fatal(err)
	}
	want := strings.Split(`server S tools=echo fails=exit
agent a
declare a m1 S
hold S initialize
start c1: call a echo
start c2: call a echo
server S tools=echo connect=1s
release S
rename a b
start @13: list b
start @14: upsert b m1 S token=t1
kill S
advance 2s
fence
remove b`, "\n")
	if diff := cmp.Diff(want, w.commands); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
	if !w.closed {
		t.Error("the world was not closed")
	}
}

// TestRunMismatches collects what does not hold, each event once, and goes on.
func TestRunMismatches(t *testing.T) {
	f := mustParse(t, `server S tools=echo
agent a
declare a m1 S
declare a m2 S token=t1
call a echo
expect events a = m1:failed
expect events a = m2:failed
list a
expect events a = m2:connecting m2:connected
hold S call
start c1..c3: call a echo
cancel c2
expect result c1..c3 = pending
expect result c1 = pending
expect credential c1..c3 = t1
rename a b
expect events b = m1:connecting
`)
	report, err := Run(context.Background(), f, newToy())
	if err != nil {
		t.Fatal(err)
	}
	want := `f:6: expect events a = m1:failed, but got m1:connecting m1:connected
f:7: expect events a = m2:failed, but got -
f:13: expect result c1..c3 = pending, but got c1=pending c2=cancelled c3=pending
f:15: expect credential c1..c3 = t1, but got -
f:17: expect events b = m1:connecting, but got -`
	if diff := cmp.Diff(want, report.Err().Error()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(report.Outcomes) != 7 || len(report.Failures()) != 5 {
		t.Errorf("%d outcomes, %d failures", len(report.Outcomes), len(report.Failures()))
	}

	// Update writes what one line can hold and complains about the rest.
	err = Update(f, report)
	if err == nil || !strings.HasPrefix(err.Error(), "f:13: ") || strings.Contains(err.Error(), "\n") {
		t.Errorf("Update: %v", err)
	}
	report, err = Run(context.Background(), f, newToy())
	if err != nil || len(report.Failures()) != 1 {
		t.Errorf("after Update: %v, %v", report.Err(), err)
	}
}

// TestEventsAreGrouped takes away the order between MCPs and keeps that within one.
func TestEventsAreGrouped(t *testing.T) {
	got := groupEvents([]string{"b:connecting", "a:connecting", "b:connected", "a-2:failed", "a:connected"})
	if want := "a:connecting a:connected a-2:failed b:connecting b:connected"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestNewAgentOfOldName finds that a name used again starts with no events seen.
func TestNewAgentOfOldName(t *testing.T) {
	f := mustParse(t, `server S tools=echo
agent a
declare a m1 S
call a echo
expect events a = m1:connecting m1:connected
remove a
agent a
declare a m1 S
call a echo
expect events a = m1:connecting m1:connected
`)
	report, err := Run(context.Background(), f, newToy())
	if err := errors.Join(err, report.Err()); err != nil {
		t.Error(err)
	}
}

// settling is a world whose answers come late: each expectation needs some tries.
type settling struct {
	*toy
	late, tries int
	asked       int
}

func (s *settling) Query(ctx context.Context, q Query) (string, error) {
	if s.asked++; s.asked <= s.late {
		return "99", nil
	}
	return s.toy.Query(ctx, q)
}

func (s *settling) Settle(_ context.Context, try int) bool { return try < s.tries }

// TestSettler asks again as long as the world wants to be asked.
func TestSettler(t *testing.T) {
	f := mustParse(t, "server S tools=echo\nexpect spawns S = 0\n")
	tests := []struct {
		late, tries, asked int
		ok                 bool
	}{
		{late: 0, tries: 5, asked: 1, ok: true},
		{late: 4, tries: 5, asked: 5, ok: true},
		{late: 5, tries: 5, asked: 5, ok: false},
		{late: 1, tries: 0, asked: 1, ok: false},
		{late: maxTries + 5, tries: 2 * maxTries, asked: maxTries, ok: false},
	}
	for _, test := range tests {
		w := &settling{toy: newToy(), late: test.late, tries: test.tries}
		report, err := Run(context.Background(), f, w)
		if err != nil {
			t.Fatal(err)
		}
		if ok := report.Err() == nil; ok != test.ok || w.asked != test.asked {
			t.Errorf("%+v: ok = %v after %d questions", test, ok, w.asked)
		}
	}
}

// broken is a world whose methods fail one by one.
type broken struct {
	*toy
	at string
}

func (b *broken) fail(at string) error {
	if b.at == at {
		return errors.New("broken")
	}
	return nil
}

func (b *broken) Setup(ctx context.Context, s Settings) error {
	return errors.Join(b.fail("setup"), b.toy.Setup(ctx, s))
}

func (b *broken) Do(ctx context.Context, c Command) error {
	return errors.Join(b.fail("do"), b.toy.Do(ctx, c))
}

func (b *broken) Start(ctx context.Context, call string, op Operation) error {
	return errors.Join(b.fail("start"), b.toy.Start(ctx, call, op))
}

func (b *broken) Await(ctx context.Context, call string) error {
	return errors.Join(b.fail("await"), b.toy.Await(ctx, call))
}

func (b *broken) Cancel(ctx context.Context, call string) error {
	return errors.Join(b.fail("cancel"), b.toy.Cancel(ctx, call))
}

func (b *broken) Query(ctx context.Context, q Query) (string, error) {
	answer, err := b.toy.Query(ctx, q)
	return answer, errors.Join(b.fail("query"), err)
}

func (b *broken) Close() error { return errors.Join(b.toy.Close(), b.fail("close")) }

// TestBrokenWorld stops at the line where the world broke, closes it, and keeps what was
// found until then.
func TestBrokenWorld(t *testing.T) {
	f := mustParse(t, "# x\nagent a\nstart c1: list a\ncancel c1\nawait c1\nexpect result = ok\nexpect events a = -\n")
	tests := []struct{ at, want string }{
		{"", ""},
		{"setup", "f: setting up the world: broken"},
		{"do", "f:2: agent a: broken"},
		{"start", "f:3: start c1: list a: broken"},
		{"cancel", "f:4: cancel c1: broken"},
		{"await", "f:5: await c1: broken"},
		{"query", "f:6: expect result = ok: broken"},
		{"close", "broken"},
	}
	for _, test := range tests {
		w := &broken{newToy(), test.at}
		report, err := Run(context.Background(), f, w)
		if got := errors.Join(err); test.want == "" && err != nil || test.want != "" && (err == nil || err.Error() != test.want) {
			t.Errorf("broken at %q: %v, want %q", test.at, got, test.want)
		}
		if report == nil || !w.closed {
			t.Errorf("broken at %q: report %v, closed %v", test.at, report, w.closed)
		}
	}
}

// TestRunRefuses finds that an ended context stops a run at its next line, and that a
// file built by hand is checked like any other.
func TestRunRefuses(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Run(ctx, mustParse(t, "\nagent a\n"), newToy()); err == nil || err.Error() != "f:2: agent a: context canceled" {
		t.Errorf("ended context: %v", err)
	}
	f := &File{Name: "hand", Lines: []Line{{Command: Agent{"a b"}}, {Command: List{"z"}}}}
	w := newToy()
	if _, err := Run(context.Background(), f, w); err == nil || !strings.HasPrefix(err.Error(), "hand:1: ") || len(w.commands) > 0 {
		t.Errorf("bad file built by hand: %v, commands %v", err, w.commands)
	}
}

// TestAwaitBound finds that waiting for what never comes is an error, not a hang, and
// that the bound leaves time for a call whose declarers all hang, one after another.
func TestAwaitBound(t *testing.T) {
	const head = "set grace 1s\nset connect_timeout 2s\nset call_timeout 3s\nserver S tools=echo fails=hang\nagent a\n"
	_, err := Run(context.Background(), mustParse(t, head+"hold S list\nawait S list\n"), newToy())
	if err == nil || !strings.Contains(err.Error(), "within 13s") {
		t.Errorf("%v", err)
	}
	f := mustParse(t, head+`declare a m1 S
declare a m2 S token=t1
declare a m3 S token=t2
rename a b
declare b m4 S token=t3
start u: upsert b m5 S token=t4
call b echo
`)
	if _, err := Run(context.Background(), f, newToy()); err != nil {
		t.Error(err)
	}
	if got := f.Settings().Declarers; got != 5 {
		t.Errorf("%d declarers, want 5", got)
	}
}
