package sim

import (
	"slices"
	"testing"
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// TestTables draws from every table and finds the values that the table promises.
func TestTables(t *testing.T) {
	for name, q := range map[string]quantiles{
		"human": humanWaits, "model": modelWaits, "calls": callTimes, "turns": turnCalls, "exponential": exponential,
		"native": nativeStarts, "python": pythonStarts, "node": nodeStarts, "launcher": launcherStarts, "heavy": heavyStarts,
		"up": upTimes, "down": downTimes, "tokens": tokenLives,
	} {
		r := newRand(1, name)
		const n = 100_000
		drawn := make([]int64, n)
		for i := range drawn {
			drawn[i] = q.draw(r)
		}
		slices.Sort(drawn)
		for i, p := range q {
			if i > 0 && (p.At <= q[i-1].At || p.Value < q[i-1].Value) {
				t.Errorf("%s: point %d does not rise", name, i)
			}
			if p.At == 0 || p.At == 10_000 {
				continue
			}
			below := drawn[(p.At-50)*n/10_000:][0]
			above := drawn[min((p.At+50)*n/10_000, n-1)]
			if p.Value < below || p.Value > above {
				t.Errorf("%s: the quantile %d is %d; half a percent aside were %d and %d drawn", name, p.At, p.Value, below, above)
			}
		}
		if q[0].At != 0 || q[len(q)-1].At != 10_000 {
			t.Errorf("%s does not reach from 0 to 10,000", name)
		}
	}
}

// TestOnlyLaunchersAreSlow: what is not drawn to be slow never counts as slow.
func TestOnlyLaunchersAreSlow(t *testing.T) {
	for name, q := range map[string]quantiles{"native": nativeStarts, "python": pythonStarts, "node": nodeStarts} {
		if last := time.Duration(q[len(q)-1].Value) * time.Millisecond; last >= slowConnect {
			t.Errorf("%s connects take up to %v, which counts as slow", name, last)
		}
	}
}

// actions are the instants at which tenants call, by tenant.
func actions(t *testing.T, mix Mix) map[uint32][]lifecycle.Instant {
	t.Helper()
	res := mustRun(t, Options{Seed: 11, Tenants: 60, For: 24 * time.Hour, Mix: &mix, Faults: &Faults{Healthy: 1}, Record: true})
	out := map[uint32][]lifecycle.Instant{}
	for _, e := range res.Tape.Entries {
		if e.Op == OpDispatch {
			out[e.Tenant] = append(out[e.Tenant], e.At)
		}
	}
	return out
}

// TestCronIsAHerd: calls come at full minutes only, after the first of a tenant, and many tenants
// meet.
func TestCronIsAHerd(t *testing.T) {
	at := map[lifecycle.Instant]int{}
	for tenant, calls := range actions(t, Mix{Cron: 1, Shared: 500}) {
		for i, c := range calls {
			if i > 0 && c%lifecycle.Instant(time.Minute) != 0 {
				t.Fatalf("tenant t%d calls at %v", tenant, time.Duration(c))
			}
			at[c]++
		}
	}
	most := 0
	for _, n := range at {
		most = max(most, n)
	}
	if most < 40 {
		t.Errorf("of 60 tenants at most %d call at one instant", most)
	}
}

// TestPoissonForgets: the mean of the gaps is about their deviation, in tenants that call often.
func TestPoissonForgets(t *testing.T) {
	const scale = int64(time.Millisecond)
	tested := 0
	for tenant, calls := range actions(t, Mix{Poisson: 1, Shared: 500}) {
		if len(calls) < 500 {
			continue
		}
		tested++
		var sum, squares int64
		for i := 1; i < len(calls); i++ {
			gap := int64(calls[i]-calls[i-1]) / scale
			sum, squares = sum+gap, squares+gap*gap/1000
		}
		n := int64(len(calls) - 1)
		mean := sum / n
		variance := squares/n*1000 - mean*mean
		if variance < mean*mean*7/10 || variance > mean*mean*13/10 {
			t.Errorf("tenant t%d: the mean gap is %d ms, the variance %d ms²", tenant, mean, variance)
		}
	}
	if tested < 10 {
		t.Errorf("only %d tenants call often", tested)
	}
}

// TestHumansComeInBursts: most gaps are short, and few make up most of the time.
func TestHumansComeInBursts(t *testing.T) {
	var gaps []int64
	var sum, tail int64
	for _, calls := range actions(t, Mix{Human: 1, Shared: 500}) {
		for i := 1; i < len(calls); i++ {
			gaps = append(gaps, int64(calls[i]-calls[i-1]))
		}
	}
	slices.Sort(gaps)
	for i, g := range gaps {
		if sum += g; i >= len(gaps)*9/10 {
			tail += g
		}
	}
	if median := time.Duration(gaps[len(gaps)/2]); median > 20*time.Second || tail*10 < sum*7 {
		t.Errorf("the median gap is %v; the longest tenth of %d gaps holds %v of %v", median, len(gaps), time.Duration(tail), time.Duration(sum))
	}
}

// TestEverythingIsDone: what the mix names is found on tapes, each in its own shape.
func TestEverythingIsDone(t *testing.T) {
	found := map[string]int{}
	for seed := uint64(1); seed <= 10; seed++ {
		o := hardOptions(seed)
		restarting(o.Mix)
		o.Mix.Upsert, o.Mix.Rename, o.Mix.Reborn, o.Mix.Storm, o.Record = 100, 100, 100, 300, true
		o.Faults.Expire, o.Faults.Flapping = 500, 200
		e := mustRun(t, o).Tape.Entries
		e = slices.DeleteFunc(e, func(x Entry) bool { return x.Op == OpDial })
		upserts := map[lifecycle.Instant]int{}
		for i := 1; i < len(e); i++ {
			a, b := &e[i-1], &e[i]
			together := a.At == b.At && a.Tenant == b.Tenant
			switch {
			case b.Op >= OpDial:
				found[b.Op.String()]++
			case together && a.Op == OpDie && b.Op == OpBorn:
				found["reborn"]++
			case together && a.Op == OpDeclare && b.Op == OpEnsure && a.Name == b.Name:
				found["upsert"]++
				upserts[b.At]++
			case together && a.Op == OpDeclare && b.Op == OpRelease && a.Name != b.Name:
				found["rename, the new name first"]++
			case together && a.Op == OpRelease && b.Op == OpDeclare && a.Name != b.Name:
				found["rename, the old name first"]++
			}
		}
		for _, n := range upserts {
			if n >= 5 {
				found["storm"]++
			}
		}
	}
	for _, what := range []string{"configure", "restart", "reload", "down", "expire", "reborn", "upsert",
		"rename, the new name first", "rename, the old name first", "storm"} {
		if found[what] < 3 {
			t.Errorf("%s was found %d times", what, found[what])
		}
	}
}
