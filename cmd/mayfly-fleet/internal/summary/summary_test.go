package summary

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/jobs"
	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/queue"
	"github.com/mayfly-mcp/mayfly/sim/campaign"
)

// nasty is what a page must not let through.
const nasty = `</pre><script src="http://x/">alert('1')</script>`

// planted is a campaign with everything that a page can show, and its directory.
func planted(t *testing.T) *State {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "the results: 50%")
	for name, text := range map[string]string{"summary.txt": "x", "failures/RULE-ab/small.tape": "tape of t1 " + nasty, "failures/RULE-ab/seed-3.tape": "x",
		"failures/RULE-ab/scenario.txtar": "scenario of t1", "failures/RULE-ab/failure.json": `{"id":"RULE","shape":"ab","seed":3,"dir":"failures/RULE-ab"}`} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	at := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
	s := &State{Unit: "seeds", Dir: dir, Spec: queue.Spec{ID: "mine", Kind: "sim", Build: "v1 " + nasty, Args: []string{"-seeds=1000", "-subject=a b'c"}, Jobs: 125},
		State: queue.State{State: queue.Finished, Epoch: 1}, Progress: queue.Progress{JobsDone: 125, Jobs: 125, Seeds: 1000, SeedsAll: 1000, Steps: 1234567, Cells: 90, Reached: 8, Situations: 9, Failures: 1},
		Quarantine: []queue.Quarantine{{Index: 7, At: at, Attempts: []queue.Attempt{{Worker: "w1", At: at, Delivery: 2, What: "failed", Log: "panic " + nasty}}}},
		Crew:       []queue.Member{{ID: "w1", Host: nasty, Slots: 2, Jobs: 60, Seeds: 480, Last: at}}}
	for i := range 40 {
		s.Samples = append(s.Samples, queue.Sample{At: at.Add(time.Duration(i) * 5 * time.Second), Seeds: uint64(25 * (i + 1)), Cells: 50 + i, Reached: min(i, 8)})
	}
	s.Outcome = &jobs.Outcome{Done: 1000, All: 1000, Failed: true, Write: func(w io.Writer) { _, _ = io.WriteString(w, "all "+nasty) },
		Report: &campaign.Report{Unreached: []string{"never"}, Settings: []string{"tenants 2"}, Failures: []*campaign.Failure{{Count: 2, Seeds: []uint64{3, 9},
			Finding: campaign.Finding{ID: "RULE", Clause: "XX-1", Text: "it holds " + nasty, Shape: "ab", Detail: "it did not", Form: "t1 born\n", Entries: 1, Of: 5, Dir: "failures/RULE-ab"}}}}}
	return s
}

func write(t *testing.T, s *State) string {
	t.Helper()
	var b bytes.Buffer
	if err := s.Write(&b, filepath.Join(filepath.Dir(s.Dir), "page.html")); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestPage: the page says what there is, and the same bytes again.
func TestPage(t *testing.T) {
	s := planted(t)
	text := write(t, s)
	for _, want := range []string{"<h1>Campaign mine</h1>", "Stopped: jobs in quarantine (1).", "1,000 of 1,000", "1,234,567", "8 of 9", "<li><code>never</code></li>",
		"RULE (SPEC XX-1), shape ab", "2 seeds, the first: 3, 9", "Shrunk to 1 entries of 5:", "tape of t1 &lt;/pre&gt;", "scenario of t1", "Job 7, since 2001-02-03 04:05:06 UTC",
		"w1 failed, delivery 2", "panic &lt;/pre&gt;", "24 of 40 samples", "tenants 2", "all &lt;/pre&gt;",
		"mayfly-fleet run -kind sim -name mine -seeds=1000 &#39;-subject=a b&#39;\\&#39;&#39;c&#39;", "mayfly sim campaign -dir runs -seeds=1000"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(text, "<script") || strings.Contains(text, "ZgotmplZ") {
		t.Error("the page lets through what it should not")
	}
	if d := cmp.Diff(text, write(t, s)); d != "" {
		t.Errorf("a second time it is another page:\n%s", d)
	}
}

// TestWhole: elements are closed, ids are unique, all that is referred to is there, curves and tables have names,
// and links lead to files.
func TestWhole(t *testing.T) {
	s := planted(t)
	d := xml.NewDecoder(strings.NewReader(write(t, s)))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	ids, wanted := map[string]bool{}, map[string]bool{}
	links, curves, open := 0, 0, []string{}
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := tok.(xml.EndElement); ok {
			open = open[:len(open)-1]
			if len(open) > 0 && e.Name.Local == "html" {
				t.Errorf("left open: %v", open)
			}
		}
		e, ok := tok.(xml.StartElement)
		if !ok {
			continue
		}
		open = append(open, e.Name.Local)
		attrs := map[string]string{}
		for _, a := range e.Attr {
			attrs[a.Name.Local] = a.Value
		}
		if id := attrs["id"]; id != "" && ids[id] {
			t.Errorf("two have the id %s", id)
		}
		ids[attrs["id"]] = true
		for _, id := range strings.Fields(attrs["aria-labelledby"]) {
			wanted[id] = true
		}
		switch e.Name.Local {
		case "svg":
			curves++
			if attrs["role"] != "img" || attrs["aria-labelledby"] == "" {
				t.Errorf("a curve has no name: %v", attrs)
			}
		case "th":
			if attrs["scope"] == "" {
				t.Errorf("a heading of a table has no scope")
			}
		case "a":
			links++
			path, err := url.PathUnescape(attrs["href"])
			if _, bad := os.Stat(filepath.Join(filepath.Dir(s.Dir), path)); err != nil || bad != nil {
				t.Errorf("the link %q leads nowhere: %v, %v", attrs["href"], err, bad)
			}
		case "script", "link", "img", "iframe":
			t.Errorf("the page has a %s", e.Name.Local)
		}
	}
	for id := range wanted {
		if !ids[id] {
			t.Errorf("nothing has the id %s", id)
		}
	}
	if links != 5 || curves != 4 {
		t.Errorf("%d links and %d curves; want 5 and 4", links, curves)
	}
}

// TestVerdict: how a campaign ended is said, in the order in which people want to know it.
func TestVerdict(t *testing.T) {
	s := planted(t)
	says := func(want string, class string) {
		t.Helper()
		if text := write(t, s); !strings.Contains(text, `<p class="verdict `+class+`">`+want+"</p>") {
			t.Errorf("it does not say %q: %.200s", want, text[strings.Index(text, "<header>"):])
		}
	}
	says("Stopped: jobs in quarantine (1).", "bad")
	s.Quarantine = nil
	says("Failed: distinct failures (1), situations that were never reached (1).", "bad")
	s.Outcome.Done = 3
	says("Not at its end yet.", "bad")
	s.State.State = queue.Cancelled
	says("Cancelled before its end.", "bad")
	out := s.Outcome
	s.State.State, s.Outcome = queue.Running, nil
	says("Stopped before its end, with an error.", "bad")
	if text := write(t, s); !strings.Contains(text, "RULE, shape ab") || !strings.Contains(text, "First seen with seed 3") {
		t.Error("what the directory holds is not shown without a report")
	}
	s.State.State, s.Outcome = queue.Finished, out
	out.Done, out.Failed, out.Report = 1000, false, &campaign.Report{}
	says("Passed: no rule was broken.", "good")
	out.Failed, out.Report = true, map[string]any{"violation": violation{ID: "V", Clause: "C", Path: []string{"first", "second"}}, "faults": "each"}
	says("Failed: a rule that can be broken (1).", "bad")
	out.Report = map[string]any{"bad": []scenario{{File: "f.txtar", Verdict: "failed", Failures: []string{"line 3"}}}}
	says("Failed: scenarios that do not hold (1).", "bad")
}

// TestBounds: what is too much is left out, and said.
func TestBounds(t *testing.T) {
	s := planted(t)
	r := s.Outcome.Report.(*campaign.Report)
	for len(r.Failures) < MaxFailures+3 {
		r.Failures = append(r.Failures, &campaign.Failure{Finding: campaign.Finding{ID: "MORE"}})
	}
	for len(s.Quarantine) < MaxQuarantine+2 {
		s.Quarantine = append(s.Quarantine, s.Quarantine[0])
	}
	s.Quarantine[0].Attempts[0].Log = strings.Repeat("ä", MaxText)
	big := filepath.Join(s.Dir, "failures", "RULE-ab", "small.tape")
	if err := os.WriteFile(big, make([]byte, MaxText+1), 0o666); err != nil {
		t.Fatal(err)
	}
	r.Failures[0].Dir = "failures/RULE-ab"
	r.Failures[1].Dir = "../elsewhere"
	text := write(t, s)
	for _, want := range []string{"3 more failures are in", "2 more jobs are in quarantine", "[32768 more bytes are left out]", "[it is too large to be shown here"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if n := strings.Count(text, "<h3>MORE"); n != MaxFailures-1 {
		t.Errorf("%d failures are shown beside the first", n)
	}
}

// TestChart: a curve is where its numbers are, between round marks.
func TestChart(t *testing.T) {
	c := newChart("c", "t", "x", "y", []point{{0, 0}, {50, 500}, {100, 1000}}, false)
	if d := cmp.Diff("70.0,200.0 265.0,108.0 460.0,16.0", c.Line); d != "" {
		t.Error(d)
	}
	texts := func(all []tick) (s string) {
		for _, x := range all {
			s += x.Text + "@" + x.At + " "
		}
		return s
	}
	if d := cmp.Diff("0@70.0 20@148.0 40@226.0 60@304.0 80@382.0 100@460.0 ", texts(c.XTicks)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff("0@200.0 200@163.2 400@126.4 600@89.6 800@52.8 1,000@16.0 ", texts(c.YTicks)); d != "" {
		t.Error(d)
	}
	c = newChart("c", "t", "x", "y", []point{{0, 3}, {7300, 3}}, true)
	if d := cmp.Diff("0s@70.0 30m@166.2 1h@262.3 1h30m@358.5 2h@454.7 ", texts(c.XTicks)); d != "" {
		t.Error(d)
	}
	if c = newChart("c", "t", "x", "y", []point{{0, 0}}, true); len(c.XTicks) == 0 || strings.Contains(c.Line, "NaN") {
		t.Errorf("of one point: %+v", c)
	}
	if charts(nil, "seeds") != nil || charts([]queue.Sample{{Seeds: 3}}, "shards") != nil {
		t.Error("curves of nothing")
	}
}

// TestWriteFile: the page is there as a whole, or an error names it.
func TestWriteFile(t *testing.T) {
	s := planted(t)
	path := filepath.Join(s.Dir, "summary.html")
	if err := WriteFile(path, s); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil || !strings.HasSuffix(string(text), "</html>\n") || !strings.Contains(string(text), `href="./failures/RULE-ab/small.tape"`) {
		t.Errorf("the file is not the page: %v", err)
	}
	if err := WriteFile(filepath.Join(s.Dir, "none", "x.html"), s); err == nil || !strings.Contains(err.Error(), "x.html cannot be written") {
		t.Errorf("into nothing: %v", err)
	}
}
