package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/sim/idle"
)

var update = flag.Bool("update", false, "rewrite the golden files; commit only a diff you understand")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s is another (-update rewrites it):\n%s", path, d)
	}
}

func plotsOf(t *testing.T, r *Report) map[string]Plot {
	t.Helper()
	all, err := r.Plots()
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]Plot{}
	for _, p := range all {
		byName[p.Name] = p
	}
	return byName
}

// TestGoldens holds the words, the tables, the page's frame, a CSV file and a plot.
func TestGoldens(t *testing.T) {
	r := handReport()
	var text bytes.Buffer
	r.Text(&text)
	golden(t, "report.txt", text.Bytes())
	golden(t, "frontier.csv", r.Frontier.csv())
	frontier := plotsOf(t, r)["frontier"]
	svg, err := frontier.SVG()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "frontier.svg", svg)
	page, err := r.HTML(nil)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "page.html", page)
	raw, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "report.json", raw)
}

func TestTheSameReportIsTheSameBytes(t *testing.T) {
	var both [2][]file
	for i := range both {
		r := handReport()
		plots, err := r.Plots()
		if err != nil {
			t.Fatal(err)
		}
		if both[i], err = r.documents(plots); err != nil {
			t.Fatal(err)
		}
		raw, err := r.Encode()
		if err != nil {
			t.Fatal(err)
		}
		both[i] = append(both[i], file{JSONFile, raw})
	}
	for i, f := range both[0] {
		if g := both[1][i]; f.name != g.name || !bytes.Equal(f.data, g.data) {
			t.Errorf("%s differs from %s, made of the same", g.name, f.name)
		}
	}
}

// TestPlotsAreForEverybody: each picture is well-formed, and has a title, a text and a table, in the page and alone.
func TestPlotsAreForEverybody(t *testing.T) {
	r := handReport()
	all := plotsOf(t, r)
	for _, name := range []string{"frontier", "latency-calls", "latency-conversations", "day", "policies", "oracles"} {
		p, ok := all[name]
		if !ok {
			t.Errorf("plot %s is missing", name)
			continue
		}
		svg, err := p.SVG()
		if err != nil {
			t.Fatal(err)
		}
		elements := wellFormed(t, name, svg)
		if elements["title"] != 1 || elements["desc"] != 1 || elements["path"] == 0 || elements["text"] == 0 {
			t.Errorf("%s has %v: want one title, one desc, paths and texts", name, elements)
		}
		tables := map[string]bool{}
		for _, x := range r.tables() {
			tables[x.ID] = true
		}
		if !tables[p.Table] {
			t.Errorf("%s says its numbers are in the table %q, which is not there", name, p.Table)
		}
	}
	policies := all["policies"]
	pixels, err := policies.PNG()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := png.Decode(bytes.NewReader(pixels)); err != nil {
		t.Error(err)
	}
}

func wellFormed(t *testing.T, name string, doc []byte) map[string]int {
	t.Helper()
	found := map[string]int{}
	d := xml.NewDecoder(bytes.NewReader(doc))
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Errorf("%s is not well-formed: %v", name, err)
			return found
		}
		if e, ok := tok.(xml.StartElement); ok {
			found[e.Name.Local]++
		}
	}
}

var outside = regexp.MustCompile(`(?i)(src|href)\s*=\s*["'](https?:)?//|url\(|@import|<script|<link|<iframe`)

// TestThePageNeedsNothingElse: no address, no script, no two equal ids, every link has its place, names are escaped.
func TestThePageNeedsNothingElse(t *testing.T) {
	r := handReport()
	plots, err := r.Plots()
	if err != nil {
		t.Fatal(err)
	}
	page, err := r.HTML(plots)
	if err != nil {
		t.Fatal(err)
	}
	if m := outside.Find(page); m != nil {
		t.Errorf("the page asks for something outside: %s", m)
	}
	ids := map[string]int{}
	for _, m := range regexp.MustCompile(` id="([^"]*)"`).FindAllSubmatch(page, -1) {
		if ids[string(m[1])]++; ids[string(m[1])] > 1 {
			t.Errorf("the id %s is there twice", m[1])
		}
	}
	for _, m := range regexp.MustCompile(`href="#([^"]*)"`).FindAllSubmatch(page, -1) {
		if ids[string(m[1])] == 0 {
			t.Errorf("nothing is at #%s", m[1])
		}
	}
	if n := bytes.Count(page, []byte("<svg ")); n != len(plots) || n != 6 {
		t.Errorf("%d pictures in the page of %d plots, want 6", n, len(plots))
	}
	if bytes.Contains(page, []byte("a<b")) || !bytes.Contains(page, []byte("a&lt;b")) {
		t.Error("the name of a policy is not escaped")
	}
	if !strings.Contains(string(page), r.Words[0][:60]) {
		t.Error("the words are not in the page")
	}
}

func TestCSVFilesHaveOneWidth(t *testing.T) {
	all, err := handReport().documents(nil)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]int{"frontier.csv": 11, "policies.csv": 3, "agents.csv": 3, "failures.csv": 2, "oracles.csv": 3}
	for _, f := range all {
		if !strings.HasSuffix(f.name, ".csv") {
			continue
		}
		records, err := csv.NewReader(bytes.NewReader(f.data)).ReadAll()
		if err != nil {
			t.Errorf("%s: %v", f.name, err)
		}
		if want := rows[f.name]; want > 0 && len(records) != want {
			t.Errorf("%s has %d records, want %d", f.name, len(records), want)
		}
	}
}

func TestAReportWithoutAnythingHasNoPlots(t *testing.T) {
	r := &Report{}
	r.Say()
	if all := plotsOf(t, r); len(all) != 0 || len(r.Words) != 0 || len(r.tables()) != 0 {
		t.Errorf("%d plots, %d paragraphs, %d tables of nothing", len(all), len(r.Words), len(r.tables()))
	}
	// Nothing that a logarithmic axis can show.
	f := mustFrontier(t, []idle.Summary{cell(time.Minute, [2]float64{100, 0})}, nil)
	f.cells[0].Runs[0].AddedTail, f.cells[0].Runs[0].ConversationTail = nil, nil
	r = &Report{Frontier: f, Curves: f.NewCurves(time.Hour)}
	if all := plotsOf(t, r); len(all) != 1 || all["day"].Name == "" {
		t.Errorf("%d plots of a frontier without cold starts, want the day alone", len(all))
	}
	r.Say()
	if _, err := r.documents(nil); err != nil {
		t.Error(err)
	}
}

func TestCurves(t *testing.T) {
	cells := []idle.Summary{}
	for _, m := range []int{1, 2, 3, 5, 10, 30, 60, 90, 120} {
		cells = append(cells, cell(time.Duration(m)*time.Minute, [2]float64{float64(m), 100 / float64(m)}))
	}
	c := mustFrontier(t, cells, nil).NewCurves(30 * time.Hour)
	var shown []time.Duration
	for _, x := range c.Calls {
		shown = append(shown, x.Timeout/time.Minute)
	}
	if d := cmp.Diff([]time.Duration{1, 3, 30, 60, 120}, shown); d != "" {
		t.Errorf("the curves are not spread over the timeouts, with the RFC's among them:\n%s", d)
	}
	if day := c.Day[0].Points; len(day) != 18 || day[0] != (idle.Point{X: 0, Y: 30}) || day[17] != (idle.Point{X: 17, Y: 47}) {
		t.Errorf("the day has %d points from %v, want 18 from hour 30 on", len(day), day[0])
	}
	c = mustFrontier(t, cells, nil).NewCurves(12 * time.Hour)
	if day := c.Day[0].Points; len(day) != 24 || day[23] != (idle.Point{X: 23, Y: 35}) {
		t.Errorf("the day has %d points to %v, want 24", len(day), day[len(day)-1])
	}
}

// TestTailsAreAveraged: the second seed steps down at other times than the first.
func TestTailsAreAveraged(t *testing.T) {
	runs := []idle.Result{{AddedTail: []idle.Point{{X: 0, Y: 0.4}, {X: 2, Y: 0.2}, {X: 4, Y: 0}}}, {AddedTail: []idle.Point{{X: 0, Y: 0.2}, {X: 3, Y: 0.1}}}, {}}
	got := tail(runs, func(r *idle.Result) []idle.Point { return r.AddedTail })
	want := [][2]float64{{0, 0.2}, {2, 0.4 / 3}, {3, 0.1}, {4, 0.1 / 3}}
	for i, w := range want {
		if i >= len(got) || got[i].X != w[0] || !near(got[i].Y, w[1]) {
			t.Fatalf("%v, want %v", got, want)
		}
	}
}

func TestJSONIsVersionedAndFinite(t *testing.T) {
	raw, err := handReport().Encode()
	if err != nil {
		t.Fatal(err)
	}
	var back struct {
		Format  string
		Version int
		Oracles []struct {
			Off *float64 `json:"standard_errors_off"`
		}
	}
	if err := json.Unmarshal(raw, &back); err != nil {
		t.Fatal(err)
	}
	if back.Format != Format || back.Version != Version || back.Oracles[0].Off == nil || back.Oracles[1].Off != nil {
		t.Errorf("%+v, want the format, the version, a number and an infinity as null", back)
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"aa bb cc", "aa bb\ncc"}, {"  aa bb", "  aa\n  bb"}, {"aaaaaaaa b", "aaaaaaaa\nb"}, {"", ""}, {"aa±± b", "aa±±\nb"}, {"aa 5 %", "aa\n5 %"}, {"aa 1 ± 2", "aa\n1 ± 2"},
	} {
		if got := wrap(c.in, 5); got != c.want {
			t.Errorf("%q is wrapped to %q, want %q", c.in, got, c.want)
		}
	}
	if got := wrap("within 5 %. It", 9); got != "within\n5 %. It" {
		t.Errorf("%q parts a number from its unit", got)
	}
}

// TestWhatIsWrongIsOffTwice: a second seed clears what was off by chance, and nothing else.
func TestWhatIsWrongIsOffTwice(t *testing.T) {
	first := []OracleRow{{Name: "good", OK: true, Got: 1}, {Name: "chance", Got: 2}, {Name: "wrong", Got: 3}}
	Again(first, []OracleRow{{Name: "good", Got: 4}, {Name: "chance", OK: true, Got: 5}, {Name: "wrong", Got: 6}})
	want := []OracleRow{{Name: "good", OK: true, Got: 1}, {Name: "chance", OK: true, Got: 5, Again: true}, {Name: "wrong", Got: 6, Again: true}}
	if d := cmp.Diff(want, first); d != "" {
		t.Error(d)
	}
	if Agree(first) || !Agree(first[:2]) {
		t.Error("all agree but for the wrong one")
	}
	if got := sayOracles(first); !strings.HasPrefix(got, "Of 3 numbers that are known in closed form, 2 were simulated within 4 standard errors, and 1 are off (1 of them under a second seed") {
		t.Error(got)
	}
}
