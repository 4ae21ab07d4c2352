package profile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// sample is a profile of a server that took 10, 20, … ms, of which the last failed.
func sample(good, bad int) *Profile {
	p := &Profile{
		Format: Format, Version: Version, Class: "toy", Measured: time.Unix(1_000_000, 0).UTC(),
		Server:   Server{Command: []string{"toy", "a b"}, Env: []string{"TOKEN"}},
		Machine:  Machine{OS: "linux", Arch: "amd64", Cores: 2, Procs: 2, LoadBefore: 0.5, Timer: Timer{N: 100, P50: 0.1, P99: 0.2, Max: 0.3}},
		Settings: Settings{Starts: good + bad, Warm: 2, WarmCall: "tools/list", TimeoutMS: 30_000, SettleMS: 1000},
		First:    &Start{OK: true, ConnectMS: 11, SpawnMS: 1, HeardMS: 9, Tools: 3},
		Starts:   []Start{},
	}
	for i := range good + bad {
		s := Start{OK: true, ConnectMS: float64(10 * (i + 1)), SpawnMS: 1, HeardMS: 5, Tools: 3, WarmMS: []float64{1, 2},
			RSSMiB: float64(100 + i), PSSMiB: float64(50 + i), Processes: 3, StopMS: 7, StopRung: RungClose}
		if i >= good {
			s = Start{ConnectMS: 30_000, StopMS: 1, StopRung: RungTerminate, Phase: "initialize", Failure: "no tool list"}
		}
		p.Starts = append(p.Starts, s)
	}
	return p
}

func encode(t testing.TB, p *Profile) []byte {
	t.Helper()
	data, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestRoundTrip: what is read is what was written, and is written again byte for byte.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := sample(rapid.IntRange(1, 30).Draw(t, "good"), rapid.IntRange(0, 5).Draw(t, "bad"))
		for i := range p.Starts {
			if rapid.Bool().Draw(t, "bare") {
				s := &p.Starts[i]
				s.WarmMS, s.RSSMiB, s.PSSMiB, s.HeardMS = nil, 0, 0, 0
			}
		}
		if rapid.Bool().Draw(t, "apart") {
			p.First = nil
		}
		data, err := p.Encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(p, got); d != "" {
			t.Fatal(d)
		}
		if again, err := got.Encode(); err != nil || !bytes.Equal(data, again) {
			t.Fatalf("the same profile has other bytes (%v)", err)
		}
	})
}

// TestDecodeRefuses names what is wrong with a file.
func TestDecodeRefuses(t *testing.T) {
	good := string(encode(t, sample(3, 1)))
	for _, tt := range []struct{ name, old, new, want string }{
		{"version", `"version": 1`, `"version": 2`, "version is 2 and this program reads 1"},
		{"format", Format, "other", `format is "other"`},
		{"unknown field", `"class": "toy"`, `"class": "toy", "colour": 1`, `unknown field "colour"`},
		{"unknown field of a start", `"tools": 3,`, `"tools": 3, "odd": 1,`, `unknown field "odd"`},
		{"negative", `"connect_ms": 20`, `"connect_ms": -20`, "starts[1].connect_ms is -20; it cannot be negative"},
		{"no number", `"connect_ms": 20`, `"connect_ms": NaN`, "no JSON"},
		{"a text", `"connect_ms": 20`, `"connect_ms": "20"`, "connect_ms"},
		{"absurd", `"connect_ms": 20`, `"connect_ms": 1e9`, "starts[1].connect_ms is 1e+09, which is absurd"},
		{"too large for a float", `"connect_ms": 20`, `"connect_ms": 1e999`, "connect_ms"},
		{"no time at all", `"connect_ms": 20`, `"connect_ms": 0`, "starts[1].spawn_ms is 1, more than the whole"},
		{"the first", `"connect_ms": 11`, `"connect_ms": -1`, "first.connect_ms"},
		{"memory", `"rss_mib": 101`, `"rss_mib": -1`, "starts[1].rss_mib"},
		{"absurd memory", `"pss_mib": 51`, `"pss_mib": 1e12`, "starts[1].pss_mib is 1e+12, which is absurd"},
		{"warm", "        2\n", "        -2\n", "starts[0].warm_ms[1]"},
		{"parts", `"heard_ms": 5`, `"heard_ms": 5000`, "starts[0].heard_ms is 5000, more than the whole"},
		{"rung", `"stop_rung": "close"`, `"stop_rung": "shove"`, `starts[0].stop_rung is "shove"`},
		{"failure without reason", `"failure": "no tool list"`, `"failure": ""`, "starts[3] is not ok and has no failure"},
		{"success with reason", `"tools": 3,`, `"tools": 3, "failure": "x",`, "starts[0] is ok and has a failure"},
		{"class", `"class": "toy"`, `"class": "a/b"`, `class is "a/b"`},
		{"cores", `"cores": 2`, `"cores": 0`, "machine.cores is 0"},
		{"load", `"load_before": 0.5`, `"load_before": -1`, "machine.load_before"},
		{"timeout", `"timeout_ms": 30000`, `"timeout_ms": -1`, "settings.timeout_ms"},
		{"both", `"command": [`, `"url": "http://x", "command": [`, "server has to have a command or a url"},
		{"more", "\n}\n", "\n}\n{}", "after top-level value"},
		{"cut", "\n}\n", "", "no JSON"},
	} {
		text := strings.Replace(good, tt.old, tt.new, 1)
		if tt.name == "more" || tt.name == "cut" { // at the end
			text = strings.TrimSuffix(good, tt.old) + tt.new
		}
		if text == good {
			t.Fatalf("%s: nothing was changed", tt.name)
		}
		if _, err := Decode(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.want)
		}
	}
}

// TestNothingToDraw: files without a usable sample are no servers.
func TestNothingToDraw(t *testing.T) {
	failed := sample(0, 3)
	for name, tt := range map[string]struct{ text, want string }{
		"empty":     {" \n", "the file is empty"},
		"no starts": {string(encode(t, sample(0, 0).settings(1))), "starts is empty"},
		"all bad":   {string(encode(t, failed)), "none of the 3 succeeded, so there is no latency to draw; the first says: no tool list"},
		"no object": {"[]", "cannot unmarshal"},
		"too long":  {strings.Repeat(" ", MaxBytes+1), "more than 16777216 bytes"},
	} {
		if _, err := Decode(strings.NewReader(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", name, err, tt.want)
		}
	}
}

func (p *Profile) settings(starts int) *Profile { p.Settings.Starts = starts; return p }

// TestEncodeRefuses what is no number, which JSON cannot hold.
func TestEncodeRefuses(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1} {
		p := sample(2, 0)
		p.Starts[1].RSSMiB = v
		if _, err := p.Encode(); err == nil || !strings.Contains(err.Error(), "starts[1].rss_mib") {
			t.Errorf("%v: error %v", v, err)
		}
	}
}

// TestConnect: every start is drawn alike, in order, failures from the upper end.
func TestConnect(t *testing.T) {
	p := sample(3, 1)
	type draw struct {
		D  time.Duration
		OK bool
	}
	var got []draw
	for _, u := range []float64{0, 0.2499, 0.25, 0.5, 0.74, 0.75, 0.9999, math.Nextafter(1, 0)} {
		d, ok := p.Connect(u)
		got = append(got, draw{d, ok})
	}
	ms := time.Millisecond
	want := []draw{{10 * ms, true}, {10 * ms, true}, {20 * ms, true}, {30 * ms, true}, {30 * ms, true},
		{30 * time.Second, false}, {30 * time.Second, false}, {30 * time.Second, false}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if f := p.Failed(); f != 0.25 {
		t.Errorf("%v failed", f)
	}
}

// TestConnectPanics on what is our own mistake.
func TestConnectPanics(t *testing.T) {
	for _, u := range []float64{-0.1, 1, math.NaN()} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("u = %v is taken", u)
				}
			}()
			sample(1, 0).Connect(u)
		}()
	}
}

// TestMemory: the medians, and nothing where nothing is known.
func TestMemory(t *testing.T) {
	p := sample(5, 2)
	rss, ok := p.RSS()
	pss, ok2 := p.PSS()
	if rss != 102 || pss != 52 || !ok || !ok2 {
		t.Errorf("RSS %v, PSS %v", rss, pss)
	}
	for i := range p.Starts {
		p.Starts[i].RSSMiB = 0
	}
	if v, ok := p.RSS(); ok {
		t.Errorf("RSS of nothing is %v", v)
	}
}

// TestRanks compares with published tables of order statistics: those of the median for 10 and
// 20 samples, and the sizes from which upper quantiles can be bounded.
func TestRanks(t *testing.T) {
	for _, tt := range []struct {
		n         int
		q         float64
		low, high int
	}{
		{5, 0.5, 0, 6}, {6, 0.5, 1, 6}, {10, 0.5, 2, 9}, {20, 0.5, 6, 15}, {100, 0.5, 40, 61},
	} {
		if low, high := ranks(tt.n, tt.q); low != tt.low || high != tt.high {
			t.Errorf("ranks(%d, %v) are %d and %d, want %d and %d", tt.n, tt.q, low, high, tt.low, tt.high)
		}
	}
	six := []float64{1, 2, 3, 4, 5, 6}
	if e := estimate(six, 0.5); e.Value != 3 || e.Low == nil || *e.Low != 1 || e.High == nil || *e.High != 6 {
		t.Errorf("the median of six is %+v", e)
	}
	if e := estimate(six[:5], 0.5); e.Value != 3 || e.Low != nil || e.High != nil {
		t.Errorf("the median of five is %+v", e)
	}
	for n := 1; n < 400; n++ {
		for _, q := range quantiles {
			if low, high := ranks(n, q); (low >= 1 && high <= n) != (n >= Needs(q)) {
				t.Errorf("ranks(%d, %v) are %d and %d, but %d samples are needed", n, q, low, high, Needs(q))
			}
		}
	}
	if Needs(0.5) != 6 || Needs(0.95) != 72 || Needs(0.99) != 368 {
		t.Errorf("p50, p95 and p99 need %d, %d and %d", Needs(0.5), Needs(0.95), Needs(0.99))
	}
}

// TestCoverage: the intervals hold the true quantile as often as they say, whatever the
// distribution. 2,000 draws leave 0.5 % of standard error.
func TestCoverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 11))
	const draws = 2000
	for _, tt := range []struct {
		n int
		q float64
	}{{20, 0.5}, {100, 0.95}, {400, 0.99}} {
		held, tight := 0, 0
		truth := math.Pow(tt.q, 5) // of u^5, which is far from normal
		for range draws {
			x := make([]float64, tt.n)
			for i := range x {
				x[i] = math.Pow(rng.Float64(), 5)
			}
			slices.Sort(x)
			e := estimate(x, tt.q)
			if *e.Low <= truth && truth <= *e.High {
				held++
			}
			if *e.Low > 0 && *e.High < 1 {
				tight++
			}
		}
		if share := float64(held) / draws; share < Confidence-0.02 || share > 0.995 {
			t.Errorf("n %d, q %v: %.3f of the intervals hold the truth", tt.n, tt.q, share)
		}
		if tight != draws {
			t.Errorf("n %d, q %v: open ends", tt.n, tt.q)
		}
	}
}

// TestWarnings: each when it is due, and none without cause.
func TestWarnings(t *testing.T) {
	quiet := func() *Profile { return sample(368, 0) }
	if w := quiet().Warnings(); len(w) > 0 {
		t.Fatalf("a profile without a fault has warnings: %q", w)
	}
	for want, spoil := range map[string]func(*Profile){
		"only 368 of the 400 starts":     func(p *Profile) { p.Settings.Starts = 400 },
		"2 of 368 starts failed":         func(p *Profile) { p.Starts[0], p.Starts[1] = sample(0, 1).Starts[0], sample(0, 1).Starts[0] },
		"the first start took":           func(p *Profile) { p.First.ConnectMS = 2 * 3320 },
		"the first start failed":         func(p *Profile) { p.First = &Start{Failure: "x"} },
		"100 starts are too few":         func(p *Profile) { p.Starts = p.Starts[:100]; p.Settings.Starts = 100 },
		"20 starts are too few to bound": func(p *Profile) { p.Starts = p.Starts[:20]; p.Settings.Starts = 20 },
		"5 starts are too few even":      func(p *Profile) { p.Starts = p.Starts[:5]; p.Settings.Starts = 5 },
		"load 1.60 on 2 cores":           func(p *Profile) { p.Machine.LoadBefore = 1.6 },
		"noise: of 100 control timers":   func(p *Profile) { p.Machine.Timer.P99 = 93 },
		"failed in 1 starts: no such tool": func(p *Profile) {
			p.Starts[3].WarmFailure = "no such tool"
		},
		"1 of 368 servers ended before their memory": func(p *Profile) { p.Starts[3].RSSMiB = 0 },
		"PSS could be read for 367 of 368 starts":    func(p *Profile) { p.Starts[3].PSSMiB = 0 },
		"had to be killed":                           func(p *Profile) { p.Starts[3].StopRung = RungKill },
		"ended on SIGTERM only":                      func(p *Profile) { p.Starts[3].StopRung = RungTerminate },
		"of a URL neither can be seen":               func(p *Profile) { p.Server = Server{URL: "http://x"} },
	} {
		p := quiet()
		spoil(p)
		found := 0
		for _, w := range p.Warnings() {
			if strings.Contains(w, want) {
				found++
			}
		}
		if found != 1 || len(p.Warnings()) > 2 {
			t.Errorf("%q: warnings are %q", want, p.Warnings())
		}
	}
}

// TestWrite: what people read.
func TestWrite(t *testing.T) {
	var out strings.Builder
	sample(19, 1).Write(&out)
	for _, want := range []string{
		"toy: toy 'a b'\n", "20 starts, 1 failed, after a first one of 11ms; 2 cores, load 0.50 before",
		"connect          19  100ms [50ms, 150ms]", "190ms [160ms, ?]",
		"warm tools/list  38  1ms", "RSS of the tree  19  109.0 MiB [104.0 MiB, 114.0 MiB]",
		"  1 × initialize: no tool list\n", "1 of 20 starts failed",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, &out)
		}
	}
}

// TestTheSummaryIsForReaders: what a file says there is not believed.
func TestTheSummaryIsForReaders(t *testing.T) {
	var f map[string]json.RawMessage
	if err := json.Unmarshal(encode(t, sample(3, 0)), &f); err != nil {
		t.Fatal(err)
	}
	f["summary"] = json.RawMessage(`{"n": 77}`)
	data, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Decode(bytes.NewReader(data))
	if err != nil || p.Summary().N != 3 {
		t.Errorf("%v, %v", p, err)
	}
}

// FuzzDecode: no file makes it panic, and what it takes can be drawn from and written again.
func FuzzDecode(f *testing.F) {
	f.Add(encode(f, sample(3, 1)))
	f.Add([]byte(fmt.Sprintf(`{"format":%q,"version":1}`, Format)))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Decode(bytes.NewReader(data))
		if err != nil {
			return
		}
		p.Connect(0.5)
		encode(t, p)
	})
}
