package idle

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/sim"
	"github.com/mayfly-mcp/mayfly/sim/idle/traffic"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// busy is a small run in which everything goes on: shares, outages, a cap, retries, wakes.
func busy(t testing.TB, idle time.Duration) Config {
	c := Config{Traffic: parsed(t, "sessions:calls=5,gap=30s,between=20m,tenants=12,peers=3,takes=2s"), Servers: DefaultMix(), Machine: machineOf(idle),
		For: 40 * time.Hour, WarmUp: 4 * time.Hour, BreakEven: 900 * sec, Share: 2, Bucket: time.Hour,
		Flap: Flap{Every: 5 * time.Hour, Lasts: 5 * time.Minute, Refuse: sec},
		Policy: rule{retry: func(n int) (time.Duration, bool) { return time.Duration(n) * 100 * sec, n < 4 },
			idle: func(p Peer, now time.Duration) Decision {
				return []Decision{{}, {Rule: At, Stop: now + 100*sec, Wake: now + 500*sec, Until: now + 600*sec}, {Rule: OnCall, Stop: now + 60*sec}, {Rule: Forever}}[p.Key%4]
			}}}
	c.Machine.MaxLive = 14
	return c
}

func cells(t testing.TB) []Cell {
	var all []Cell
	for _, idle := range []time.Duration{60 * sec, 600 * sec, 0} {
		all = append(all, Cell{Name: idle.String(), Config: busy(t, idle)})
	}
	return all
}

// TestWorkersDoNotMatter: the same bytes from one worker, from two and from seven.
func TestWorkersDoNotMatter(t *testing.T) {
	var first []byte
	for _, workers := range []int{1, 2, 7} {
		calls := 0
		got, err := Sweep(t.Context(), cells(t), []uint64{3, 1, 2}, workers, func(done, of int) {
			if calls++; done != calls || of != 9 {
				t.Errorf("progress %d of %d at call %d", done, of, calls)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = raw
			checkSweep(t, got)
		}
		if !bytes.Equal(raw, first) {
			t.Errorf("%d workers give something else than one", workers)
		}
		is(t, "calls of progress", calls, 9)
	}
}

// checkSweep wants cells and seeds in the order that was asked for, and something of everything.
func checkSweep(t *testing.T, got []Summary) {
	t.Helper()
	for i, name := range []string{"1m0s", "10m0s", "0s"} {
		is(t, "cell", got[i].Name, name)
		for k, seed := range []uint64{3, 1, 2} {
			is(t, "seed", got[i].Runs[k].Seed, seed)
		}
	}
	var r Measures
	for i := range got[1].Runs {
		r.add(&got[1].Runs[i].Measures)
	}
	for what, n := range map[string]uint64{"cold": r.Cold, "woken": r.Woken, "retries": r.Retries, "refused": r.Refused,
		"crashes": r.Crashes, "stops": r.Stops, "delayed": r.Delayed - r.Cold, "calls lost": r.Lost} {
		if n == 0 {
			t.Errorf("the busy run has no %s", what)
		}
	}
	if got[0].Runs[0].Spawns == got[0].Runs[1].Spawns && got[0].Runs[1].Spawns == got[0].Runs[2].Spawns {
		t.Error("seeds make no difference")
	}
	is(t, "clients of one seed", got[0].Runs[0].Peers, got[2].Runs[0].Peers)
}

// TestPartsAddUp: classes are the whole, and results are read back from JSON as they were.
func TestPartsAddUp(t *testing.T) {
	r := play(t, busy(t, 600*sec))
	var sum Measures
	peers := 0
	for i := range r.Classes {
		sum.add(&r.Classes[i].Measures)
		peers += r.Classes[i].Peers
	}
	sum.Peak = r.Peak
	if diff := cmp.Diff(sum, r.Measures); diff != "" {
		t.Errorf("classes (-sum +whole):\n%s", diff)
	}
	is(t, "peers", peers, r.Peers)
	is(t, "answers", r.Added.N, r.Calls)
	if r.Peak > 14 || r.IdleNanos > r.ProcessNanos || r.Cold > r.Delayed {
		t.Errorf("%+v", r.Measures)
	}
	mean := 0.0
	for _, p := range r.Over[4:] {
		mean += p.Y / float64(len(r.Over)-4)
	}
	near(t, "mean over time", mean, r.MeanProcesses(r.Span), 1e-9)
	raw, err := json.Marshal(Summary{Runs: []Result{r}, Estimates: estimates([]Result{r})})
	if err != nil {
		t.Fatal(err)
	}
	var back Summary
	if err := json.Unmarshal(raw, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r, back.Runs[0]); diff != "" {
		t.Errorf("read back (-was +is):\n%s", diff)
	}
	is(t, "an unknown interval", back.Estimates["cold_ratio"].Half, math.Inf(1))
}

// TestAuditsAreMade: of the subject that the run is on, every so many steps and at its end.
func TestAuditsAreMade(t *testing.T) {
	for _, every := range []int{0, 1} {
		var audits int
		c := busy(t, 600*sec)
		c.For, c.AuditEvery = 5*time.Hour, every
		c.Subject = func(cfg lifecycle.Config) sim.Subject { return &audited{lifecycle.New(cfg), &audits, 1000} }
		_, err := Run(c)
		if every == 0 && (err != nil || audits != 1) {
			t.Errorf("%d audits, %v", audits, err)
		}
		if every == 1 && (err == nil || !strings.Contains(err.Error(), "SPOILED")) {
			t.Errorf("a violation was not reported: %v", err)
		}
	}
}

// audited fails its n-th audit.
type audited struct {
	*lifecycle.Machine
	audits *int
	fails  int
}

func (a *audited) Audit() *lifecycle.Violation {
	if *a.audits++; *a.audits == a.fails {
		return &lifecycle.Violation{ID: "SPOILED"}
	}
	return a.Machine.Audit()
}

// TestSweepEnds with its context, with the first failure, and without anything to do.
func TestSweepEnds(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	long := cells(t)
	for i := range long {
		long[i].Config.For = maxFor
	}
	long[0].Config.For = 5 * time.Hour
	_, err := Sweep(ctx, long, []uint64{1}, 2, func(int, int) { cancel(gone) })
	if !errors.Is(err, gone) {
		t.Errorf("a sweep that was ended says %v", err)
	}
	bad := cells(t)
	bad[1].Config.Traffic = script{{at(10, 0, 0), at(5, 0, 0)}}
	if _, err = Sweep(t.Context(), bad, []uint64{4}, 2, nil); err == nil || !strings.Contains(err.Error(), "10m0s, seed 4: traffic script: stream 0") {
		t.Errorf("a sweep with a bad cell says %v", err)
	}
	for _, c := range []struct {
		cells   []Cell
		seeds   []uint64
		workers int
	}{{nil, []uint64{1}, 1}, {bad, nil, 1}, {bad, []uint64{1}, 0}, {bad, make([]uint64, maxRuns), 1}} {
		if _, err := Sweep(t.Context(), c.cells, c.seeds, c.workers, nil); err == nil {
			t.Errorf("%d cells, %d seeds, %d workers: no error", len(c.cells), len(c.seeds), c.workers)
		}
	}
}

// TestEstimates: Student's t over seeds, and differences of runs that share one.
func TestEstimates(t *testing.T) {
	e := EstimateOf([]float64{1, 2, 3, 4})
	near(t, "mean", e.Mean, 2.5, 0)
	near(t, "sd", e.SD, 1.2909944, 1e-6)
	near(t, "half", e.Half, 3.182446*1.2909944/2, 1e-5)
	is(t, "one seed", EstimateOf([]float64{7}).Half, math.Inf(1))
	is(t, "no seed", EstimateOf(nil).N, 0)

	cell := func(seeds []uint64, calls ...uint64) Summary {
		s := Summary{Name: "a"}
		for i, n := range calls {
			s.Runs = append(s.Runs, Result{Seed: seeds[i], Span: time.Hour, Measures: Measures{Calls: n}})
		}
		return s
	}
	m, err := MetricNamed("calls_per_hour")
	if err != nil {
		t.Fatal(err)
	}
	d, err := Difference(cell([]uint64{1, 2}, 15, 28), cell([]uint64{1, 2}, 10, 22), m)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "difference", d.Mean, 5.5, 0)
	near(t, "its sd", d.SD, math.Sqrt(.5), 1e-12)
	if _, err = Difference(cell([]uint64{1, 2}, 1, 2), cell([]uint64{2, 1}, 1, 2), m); err == nil {
		t.Error("other seeds are compared")
	}
	if _, err = Difference(cell([]uint64{1, 2}, 1, 2), cell([]uint64{1}, 1), m); err == nil {
		t.Error("another number of seeds is compared")
	}
	if _, err = MetricNamed("speed"); err == nil {
		t.Error("speed is a metric")
	}
}

// broken is traffic that cannot be read.
type broken struct{ script }

func (broken) Streams(uint64) ([]traffic.Stream, error) { return nil, errors.New("line 7: no time") }

// TestBadTraffic is reported with what it is.
func TestBadTraffic(t *testing.T) {
	for _, c := range []struct {
		tr   traffic.Traffic
		want string
	}{
		{broken{}, "line 7: no time"},
		{script{{at(20, 0, 0), at(10, 0, 0)}}, "calls must be in order"},
		{script{{taking(-1, at(20, 0, 0))}}, "use 0 or more"},
	} {
		cfg := scriptOf()
		cfg.Traffic = c.tr
		if _, err := Run(cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// TestConfigIsValidated: every problem at once, each by its name.
func TestConfigIsValidated(t *testing.T) {
	bad := Config{Servers: Mix{{Weight: math.NaN()}, {Server: fixed{}, Weight: -1}}, WarmUp: sec, BreakEven: -1, Share: -1, Flap: Flap{Every: -1}, Bucket: -1, AuditEvery: -1}
	_, err := Run(bad)
	for _, want := range []string{"Traffic is missing", "Servers[0] has no server", "Servers[0] has weight", "Servers[1] has weight", "For is", "WarmUp is",
		"BreakEven is", "Share is", "Flap has", "Bucket is", "AuditEvery is", "ConnectTimeout"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
	if err := busy(t, 0).Validate(); err != nil {
		t.Error(err)
	}
	small := busy(t, 0)
	small.Bucket = time.Nanosecond
	if small.Validate() == nil {
		t.Error("as many buckets as nanoseconds are valid")
	}
}
