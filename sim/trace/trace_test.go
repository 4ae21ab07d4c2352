package trace_test

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/sim"
	"github.com/mayfly-mcp/mayfly/sim/trace"
)

var update = flag.Bool("update", false, "rewrite the golden files; commit only a diff you understand")

// day is a short day in which something of everything happens.
func day() *sim.Tape {
	own, shared := sim.Target{Server: 1, Tenant: 1}, sim.Target{Server: 2}
	at := func(d time.Duration) lifecycle.Instant { return lifecycle.Instant(d) }
	answered := sim.CallPlan{Takes: 300 * time.Millisecond, End: sim.EndAnswered}
	lost := sim.CallPlan{Takes: 100 * time.Millisecond, End: sim.EndTransport}
	cfg := lifecycle.DefaultConfig()
	cfg.IdleTimeout = 4 * time.Second
	return &sim.Tape{Tenants: 2, For: 20 * time.Second, AuditEvery: 1, Config: cfg, Entries: []sim.Entry{
		{At: at(0), Op: sim.OpBorn, Tenant: 1},
		{At: at(0), Op: sim.OpDeclare, Tenant: 1, Name: 1, Target: own},
		{At: at(0), Op: sim.OpDeclare, Tenant: 1, Name: 2, Target: shared},
		{At: at(time.Second), Op: sim.OpDispatch, Tenant: 1, Name: 1, Call: answered},
		{At: at(time.Second), Op: sim.OpDispatch, Tenant: 1, Name: 2, Call: lost},
		{At: at(2 * time.Second), Op: sim.OpBorn, Tenant: 2},
		{At: at(2 * time.Second), Op: sim.OpDeclare, Tenant: 2, Name: 1, Target: shared},
		{At: at(2 * time.Second), Op: sim.OpDispatch, Tenant: 2, Name: 1, Call: answered},
		{At: at(3 * time.Second), Op: sim.OpReconnect, Tenant: 2, Name: 1},
		{At: at(4 * time.Second), Op: sim.OpDie, Tenant: 2},
	}}
}

// record replays the day on a subject.
func record(t *testing.T, subject func(lifecycle.Config) sim.Subject, most int) (text string, page *trace.Page, res *sim.Result) {
	t.Helper()
	var b bytes.Buffer
	lines := trace.NewText(&b)
	page = trace.NewPage(most)
	res, err := sim.Replay(day(), sim.Options{Subject: subject, Observe: trace.Both(lines.Step, page.Step)})
	if err == nil {
		err = lines.Close(res)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.String(), page, res
}

func write(t *testing.T, page *trace.Page, res *sim.Result) string {
	t.Helper()
	var b bytes.Buffer
	if err := page.Write(&b, "a <short> day", res); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

func TestText(t *testing.T) {
	text, _, _ := record(t, nil, 0)
	golden(t, "day.txt", text)
}

// What a claim wishes and what is configured are said in the words of a tape, and no more of it.
func TestTextSaysWhatDiffers(t *testing.T) {
	tape := &sim.Tape{Tenants: 1, For: 10 * time.Minute, AuditEvery: 1, Config: lifecycle.DefaultConfig(), Entries: []sim.Entry{
		{Op: sim.OpBorn, Tenant: 1},
		{Op: sim.OpDeclare, Tenant: 1, Name: 1, Target: sim.Target{Server: 1}, Policy: &lifecycle.Policy{IdleTimeout: time.Minute, Pinned: true}},
		{Op: sim.OpDeclare, Tenant: 1, Name: 2, Target: sim.Target{Server: 2}, Policy: &lifecycle.Policy{}},
		{Op: sim.OpConfigure, Set: &sim.Change{IdleTimeout: 5 * time.Minute, MaxLive: 3}},
		{Op: sim.OpWriteOff, Tenant: 1, Name: 1},
	}}
	var b bytes.Buffer
	lines := trace.NewText(&b)
	res, err := sim.Replay(tape, sim.Options{Observe: lines.Step})
	if err = errors.Join(err, lines.Close(res)); err != nil {
		t.Fatal(err)
	}
	want := `0s > owner-born t1
0s > declare t1 m1 s1 idle=1m0s pinned
0s > declare t1 m2 s2
0s > configure idle-timeout=5m0s max-live=3
0s > write-off t1 m1
0s   refused t1 m1: not-stuck
`
	if got := b.String(); !strings.HasPrefix(got, want) {
		t.Errorf("got\n%s", cmp.Diff(want, got))
	}
}

// What a page shows is held as a list of its lanes and bars, which reads better than markup.
func TestPage(t *testing.T) {
	_, page, res := record(t, nil, 0)
	html := write(t, page, res)
	golden(t, "day.lanes", lanes(html))
	for _, alien := range []string{"http://", "https://", "src=", "@import", "ZgotmplZ"} {
		if strings.Contains(strings.ReplaceAll(html, "http://www.w3.org/2000/svg", ""), alien) {
			t.Errorf("the page refers to others: %s", alien)
		}
	}
	if !strings.Contains(html, "a &lt;short&gt; day") {
		t.Error("the title is not escaped")
	}
}

var laneParts = regexp.MustCompile(`<div class="lane (\w+)" id="([^"]+)" data-for="([^"]*)">|<i class="([^"]+)" style="[^"]*" title="([^"]+)">`)

func lanes(html string) string {
	var b strings.Builder
	for _, m := range laneParts.FindAllStringSubmatch(html, -1) {
		if m[1] != "" {
			b.WriteString(m[1] + " " + m[2] + " for" + m[3] + "\n")
		} else {
			b.WriteString("  " + m[4] + " | " + m[5] + "\n")
		}
	}
	return b.String()
}

// deaf drops the events of a subject.
type deaf struct{ sim.Subject }

func (d deaf) Step(now lifecycle.Instant, in lifecycle.Input) lifecycle.Output {
	out := d.Subject.Step(now, in)
	if in.Kind == lifecycle.InConnected {
		out.Events = nil
	}
	return out
}

// A broken rule ends the text and is marked on the page.
func TestViolation(t *testing.T) {
	text, page, res := record(t, func(c lifecycle.Config) sim.Subject { return deaf{sim.NewMachine(c)} }, 0)
	if res.Violation == nil {
		t.Fatal("a deaf subject passes")
	}
	last := text[strings.LastIndex(strings.TrimSpace(text), "\n")+1:]
	if !strings.Contains(last, "! "+res.Violation.ID) {
		t.Errorf("the text ends with %q", last)
	}
	html := write(t, page, res)
	if !strings.Contains(html, `id="mark"`) || !strings.Contains(html, res.Violation.ID+" (SPEC ") {
		t.Error("the page does not mark the violation")
	}
}

// A page is bounded: it keeps what came last, says what it left out, and begins where the rest does.
func TestPageIsBounded(t *testing.T) {
	_, page, res := record(t, nil, 5)
	html := write(t, page, res)
	if n := strings.Count(lanes(html), " | "); n < 5 || n > 10 {
		t.Errorf("%d bars for a page of 5", n)
	}
	if !strings.Contains(html, "older bars are left out") || strings.Contains(html, "0s to 20s, ") {
		t.Error("the page does not say that it begins late")
	}
	for _, m := range regexp.MustCompile(`--d?[tn]:(-?[\d.e+-]+)`).FindAllStringSubmatch(html, -1) {
		if strings.HasPrefix(m[1], "-") {
			t.Errorf("a bar lies outside of the page: %s", m[0])
		}
	}
}

// Equal runs give equal traces; and a whole drawn day goes into one.
func TestTraceOfADay(t *testing.T) {
	run := func() string {
		var b bytes.Buffer
		lines, page := trace.NewText(&b), trace.NewPage(10_000)
		res, err := sim.Run(sim.Options{Seed: 3, Tenants: 50, For: 2 * time.Hour, Observe: trace.Both(lines.Step, page.Step)})
		if err != nil || res.Violation != nil {
			t.Fatal(err, res.Violation)
		}
		if err := errors.Join(lines.Close(res), page.Write(&b, "day", res)); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	one := run()
	if one != run() {
		t.Error("two runs of one seed differ")
	}
	if strings.Contains(one, "undialed") || strings.Contains(one, " m0 ") {
		t.Error("something has no name")
	}
}

// full is a file on a full disk.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space") }

func TestWhatCannotBeWritten(t *testing.T) {
	text := trace.NewText(full{})
	if _, err := sim.Replay(day(), sim.Options{Observe: text.Step}); err != nil {
		t.Fatal(err)
	}
	if text.Close(nil) == nil || trace.NewPage(0).Write(full{}, "x", nil) == nil {
		t.Error("a full disk goes unnoticed")
	}
}
