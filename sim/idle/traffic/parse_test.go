package traffic

import (
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const allKinds = "there are agent, azure, cron, fixed, gamma, hyper, lognormal, lomax, pareto, poisson, sessions, trace, waits, weibull"

var badSpecs = []struct{ spec, want string }{
	{"", "traffic: no kind is named: " + allKinds},
	{":rate=2/h", "traffic: no kind is named: " + allKinds},
	{"poison:rate=2/h", `unknown traffic "poison" (did you mean "poisson"?): ` + allKinds},
	{"flood", `unknown traffic "flood": ` + allKinds},
	{"agent+", "traffic: no kind is named: " + allKinds},
	{"agent+trace:x.csv", "trace: a trace cannot be mixed; alone it is written trace:FILE"},
	{"trace:", "trace: the file is missing, as in trace:calls.csv"},
	{"trace", "trace: a trace cannot be mixed; alone it is written trace:FILE"},
	{"agent:", "agent: nothing follows the colon"},
	{"poisson", "poisson: rate is missing, as in poisson:rate=2/h"},
	{"poisson:rte=2/h", `poisson: unknown parameter "rte" (did you mean "rate"?): there are rate, tenants, peers, takes, gaps`},
	{"poisson:rate=2/h,", `poisson: unknown parameter "": there are rate, tenants, peers, takes, gaps`},
	{"poisson:rate", "poisson: rate has no value"},
	{"poisson:rate=2/h,rate=3/h", "poisson: rate is given twice"},
	{"poisson:rate=2", `poisson: rate is "2": it must be calls per time, like 2/h, 0.5/s or 1/30m`},
	{"poisson:rate=2/0s", `poisson: rate is "2/0s": it must be calls per time, like 2/h, 0.5/s or 1/30m`},
	{"poisson:rate=-2/h", "poisson: rate is -0.0005555555555555556: it must be positive and finite"},
	{"poisson:rate=NaN/h", "poisson: rate is NaN: it must be positive and finite"},
	{"poisson:rate=1e-9/d", "poisson: rate is less than one call a century"},
	{"poisson:rate=2/h,tenants=0", `poisson: tenants is "0": it must be a whole number from 1`},
	{"poisson:rate=2/h,tenants=2000000", "poisson:rate=2/h,tenants=2000000: tenants is 2000000: it must be from 1 to 1048576"},
	{"poisson:rate=2/h,peers=65", "poisson:rate=2/h,peers=65: peers is 65: it must be from 1 to 64"},
	{"poisson:rate=2/h,tenants=1000000,peers=64", "poisson:rate=2/h,tenants=1000000,peers=64: 1000000 tenants of 64 peers are 64000000 streams: at most 4194304"},
	{"poisson:rate=2/h,takes=2", `poisson: takes is "2": it must be a duration with its unit, like 200ms, or tools`},
	{"poisson:rate=2/h,takes=-2s", `poisson: takes is "-2s": it must be from 1µs to 744h0m0s, or 0s`},
	{"poisson:rate=2/h,gaps=middle", `poisson: gaps is "middle": it must be start or end: where a gap begins to count`},
	{"agent:gaps=start", `agent: gaps is "start": it cannot be changed here`},
	{"fixed:every=30", `fixed: every is "30": it must be a duration with its unit, like 90s, 30m, 2h or 1d`},
	{"fixed:every=-3s", "fixed: every is -3: it must be positive and finite"},
	{"fixed:every=1ns", "fixed: every is 1e-09 s: less than a microsecond"},
	{"hyper:mean=15m,cv2=0.5", "hyper: cv2 is 0.5: it must be from 1 to 1e6"},
	{"hyper:mean=15m,cv2=big", `hyper: cv2 is "big": it must be a number, like 1.5`},
	{"pareto:xm=60s,alpha=0", "pareto: alpha is 0: it must be from 0.05 to 100"},
	{"pareto:alpha=1.5", "pareto: xm is missing, as in pareto:xm=60s,alpha=1.5"},
	{"lomax:scale=0s,alpha=2", "lomax: scale is 0: it must be positive and finite"},
	{"lognormal:mu=90,sigma=1", "lognormal: mu is 90: it must be from -20 to 20"},
	{"lognormal:mu=1,sigma=-1", "lognormal: sigma is -1: it must be above 0 and at most 10"},
	{"weibull:shape=NaN,scale=1s", "weibull: shape is NaN: it must be from 0.05 to 100"},
	{"gamma:shape=2,rate=0/h", "gamma: rate is 0: it must be positive and finite"},
	{"gamma:shape=0,rate=1/h", "gamma: shape is 0: it must be from 0.05 to 100"},
	{"sessions:calls=0.5,gap=20s,between=1h", "sessions: calls is 0.5: it must be from 1 to 1e6"},
	{"sessions:calls=10,gap=20s", "sessions: between is missing, as in sessions:calls=10,gap=20s,between=1h"},
	{"azure:max=1/m,tenants=4,max=2", "azure: max is given twice"},
	{"azure:max=1/h", "azure: max is 24 calls a day: it must be from 1440 to 8640000"},
	{"cron", "cron: every is missing, as in cron:every=5m/1h,jitter=0s,phase=aligned|spread"},
	{"cron:every=5m/x", `cron: every is "5m/x": it must be durations with their units, like 5m or 5m/1h`},
	{"cron:every=5ms", "cron: every is 5ms: it must be from 1s to 8784h0m0s"},
	{"cron:every=5m,jitter=5m", "cron: jitter is 5m0s: it must be from 0 to below the period of 5m0s"},
	{"cron:every=5m,phase=moon", `cron: phase is "moon": it must be aligned or spread`},
	{"agent:touch=1/2", "agent: touch 2 is 2: a chance is from 0 to 1"},
	{"agent:touch=0/0", "agent: touch has no chance of at least 0.01: nobody would call"},
	{"agent:touch=1/x", `agent: touch is "1/x": it must be a chance for every peer, like 1/0.5/0.2`},
	{"agent:touch=1/0.5,peers=3", "agent: touch lists 2 chances, peers is 3: there must be one for each"},
	{"agent:share=0", `agent: share is "0": it must be above 0`},
	{"agent:share=2", "agent: share is 2: it must be from 0.01 to 1"},
	{"agent:sessions=1/s", "agent: sessions is 86400 a day: it must be above 0 and at most 10000"},
	{"agent:lanes=17", "agent: lanes is 17: it must be from 1 to 16"},
	{"agent:hours=nights", `agent: hours is "nights": it must be flat or work`},
	{strings.Repeat("x", MaxSpec+1), "traffic: a spec of 4097 bytes: at most 4096"},
	{strings.Repeat("waits+", 16) + "waits", "mix: 17 parts: there must be from 1 to 16"},
	{"waits:tenants=1000000+waits:tenants=1000000", "mix: 2000000 tenants: at most 1048576"},
}

func TestBadSpecs(t *testing.T) {
	for _, c := range badSpecs {
		_, err := Parse(c.spec, Options{})
		if err == nil || err.Error() != c.want {
			t.Errorf("%.60q:\n got %v\nwant %s", c.spec, err, c.want)
		}
	}
	if _, err := Parse("waits", Options{Tenants: -1}); err == nil || err.Error() != "waits: tenants is -1: it must be from 1 to 1048576" {
		t.Errorf("negative tenants: %v", err)
	}
}

// TestFormsAreSpecs parses what Kinds says of each kind, with one of its alternatives.
func TestFormsAreSpecs(t *testing.T) {
	var names []string
	for _, k := range Kinds() {
		names = append(names, k.Name)
		if k.About == "" || strings.Contains(k.About, "\n") {
			t.Errorf("%s: %q is not one line", k.Name, k.About)
		}
		form := strings.NewReplacer("flat|work", "work", "aligned|spread", "spread").Replace(k.Form)
		tr, err := Parse(form, Options{Tenants: 3})
		if err != nil {
			t.Errorf("%s: %v", form, err)
			continue
		}
		if tr.Name() != form {
			t.Errorf("%s is called %s", form, tr.Name())
		}
		if k.Name == "trace" {
			continue
		}
		if n := tr.(sized).tenants(); n != 3 {
			t.Errorf("%s: %d tenants, want 3", form, n)
		}
	}
	if !slices.IsSorted(names) {
		t.Errorf("kinds are not sorted: %q", names)
	}
	for _, c := range Common() {
		name, _, _ := strings.Cut(c, "=")
		if !slices.Contains(common, name) {
			t.Errorf("no parameter is called %s", name)
		}
	}
}

func TestSpecsAreTakenAtTheirWord(t *testing.T) {
	law := func(spec string) Law {
		g := generator(1, 0)
		return must(Parse(spec, Options{})).(*renewals).law(0, &g)
	}
	for spec, want := range map[string]Law{
		"poisson:rate=2/h":                 exponential{1800},
		"poisson:rate=1/30m":               exponential{1800},
		"poisson:rate=48/1d":               exponential{1800},
		"poisson:rate=1e+0/30m":            exponential{1800},
		"fixed:every=0.5d":                 deterministic{43200},
		"pareto:alpha=1.5 , xm=1m":         must(Pareto(60, 1.5)),
		"lognormal:mu=4.87,sigma=0.982":    must(LogNormal(4.87, 0.982)),
		"weibull:shape=0.418,scale=422ms":  must(Weibull(0.418, 0.422)),
		"lomax:scale=600s,alpha=2":         must(Lomax(600, 2)),
		"hyper:mean=900s,cv2=16,tenants=2": must(Hyper(900, 16)),
	} {
		spec = strings.ReplaceAll(spec, " , ", ", ")
		if got := law(spec); got.String() != want.String() || math.Abs(got.Mean()-want.Mean()) > 1e-9 {
			t.Errorf("%s is %s, want %s", spec, got, want)
		}
	}
	for spec, want := range map[string]bool{"poisson:rate=2/h": true, "poisson:rate=2/h,gaps=end": false, "waits": false, "waits,gaps=start": false,
		"waits:gaps=start": true, "agent": false, "cron:every=5m": true, "cron:every=5m+poisson:rate=2/h": true, "cron:every=5m + agent": false} {
		tr, err := Parse(spec, Options{})
		if spec == "waits,gaps=start" {
			if err == nil {
				t.Errorf("%s is accepted", spec)
			}
			continue
		}
		if err != nil || tr.Open() != want {
			t.Errorf("%s: open is not %t: %v", spec, want, err)
		}
	}
	p := must(Parse("agent:tenants=4,touch=1/0.2,takes=2s,lanes=3,sessions=6/d,share=0.5,hours=work", Options{})).(*agents)
	if p.Tenants != 4 || p.Peers != 2 || p.Takes.Mean() != 2 || p.cfg.Lanes != 3 || p.between != 14400 || p.cfg.Share != .5 || p.clock.sum[1] == 1 {
		t.Errorf("agent: %+v %+v", p.Population, p.cfg)
	}
	c := must(Parse("cron:every=5m/1h,jitter=10s,phase=spread", Options{})).(*crons)
	if !slices.Equal(c.cfg.Every, []time.Duration{5 * time.Minute, time.Hour}) || c.cfg.Jitter != 10*time.Second || !c.cfg.Spread {
		t.Errorf("cron: %+v", c.cfg)
	}
}

func TestTracesAreOpenedByName(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a,b+c.csv")
	if err := os.WriteFile(file, []byte(head+"1,a,b,2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tr := must(Parse("trace:"+file, Options{}))
	if got := play(t, must(tr.Streams(0))[0], time.Hour); len(got) != 1 || !tr.Open() {
		t.Errorf("%d calls, want 1", len(got))
	}
	_, err := must(Parse("trace:"+file+".gone", Options{})).Streams(0)
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	asked := ""
	tr = must(Parse("trace:-", Options{Open: func(name string) (io.ReadCloser, error) { asked = name; return text(head + "1,a,b,2\n")() }}))
	if got := play(t, must(tr.Streams(0))[0], time.Hour); len(got) != 1 || asked != "-" {
		t.Errorf("%d calls of %q, want 1 of -", len(got), asked)
	}
}

func TestBadTables(t *testing.T) {
	for _, c := range []struct {
		points []Quantile
		want   string
	}{
		{nil, "x: 0 quantiles: there must be from 2 to 1000"},
		{[]Quantile{{.1, 1}, {.5, 2}}, "x: the first quantile has P 0.1: it must be 0, for the smallest time"},
		{[]Quantile{{0, 1}, {1, 2}}, "x: quantile 2 has P 1: it must be below 1"},
		{[]Quantile{{0, 1}, {.5, 0.5}}, "x: quantile 2 (P 0.5, 0.5 s) does not ascend from the one before it"},
		{[]Quantile{{0, 1}, {.5, 2}, {.5, 3}}, "x: quantile 3 (P 0.5, 3 s) does not ascend from the one before it"},
		{[]Quantile{{0, 1}, {math.NaN(), 2}}, "x: quantile 2 has P NaN: it must be below 1"},
		{[]Quantile{{0, 0}, {.5, 2}}, "x: quantile 1 is 0: it must be positive and finite"},
		{[]Quantile{{0, 1}, {.5, math.Inf(1)}}, "x: quantile 2 is +Inf: it must be positive and finite"},
	} {
		if _, err := Table("x", c.points); err == nil || err.Error() != c.want {
			t.Errorf("%v:\n got %v\nwant %s", c.points, err, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range every {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, spec string) {
		tr, err := Parse(spec, Options{})
		if err != nil || strings.HasPrefix(strings.TrimSpace(spec), "trace:") || tr.(sized).tenants() > 100 {
			return
		}
		all, err := tr.Streams(1)
		if err != nil {
			t.Fatal(err)
		}
		end := time.Duration(0)
		for range 10 {
			c, ok, err := all[0].Next(end)
			if err != nil || ok && (c.At < 0 || c.Takes < 0) {
				t.Fatalf("%+v, %v", c, err)
			}
			end = max(end, later(c.At, c.Takes))
		}
	})
}
