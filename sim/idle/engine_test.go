package idle

import (
	"math"
	"testing"
	"time"

	"github.com/mayfly-mcp/mayfly/sim/idle/oracle"
	"github.com/mayfly-mcp/mayfly/sim/idle/traffic"
)

// TestStopIsAtTheTick: at or after last use + T, and not before it; IDLE.md's lattice.
func TestStopIsAtTheTick(t *testing.T) {
	for _, c := range []struct{ use, stop time.Duration }{{0, 1800 * sec}, {sec, 2250 * sec}, {450 * sec, 2250 * sec}} {
		r := play(t, scriptOf([]traffic.Call{at(c.use, 0, 0)}))
		is(t, "stops", r.Stops, 1)
		near(t, "process-seconds", r.ProcessSeconds(), (c.stop - c.use).Seconds(), 0)
		near(t, "idle seconds", r.IdleNanos.Seconds(), (c.stop - c.use).Seconds(), 0)
		near(t, "life of what was stopped", r.OutlivedNanos.Seconds(), (c.stop - c.use).Seconds(), 0)
		near(t, "MiB·h", r.MiBHours(), 100*(c.stop-c.use).Hours(), 1e-9)
	}
}

// TestCallBeforeTick: who is called at the end of the window stays.
func TestCallBeforeTick(t *testing.T) {
	r := play(t, scriptOf([]traffic.Call{at(0, 0, 0), at(1800*sec, 0, 0), at(3601*sec, 0, 0)}))
	is(t, "cold", r.Cold, 2)
	is(t, "calls", r.Calls, 3)
	is(t, "gaps", r.Gaps, 2)
	is(t, "cold gaps", r.ColdGaps, 1)
}

// TestServiceIsUse: the idle clock starts when the last of several calls has ended.
func TestServiceIsUse(t *testing.T) {
	asked := 0
	r := play(t, ruled(rule{idle: func(Peer, time.Duration) Decision { asked++; return Decision{} }},
		[]traffic.Call{taking(5000*sec, at(0, 0, 0)), taking(10*sec, at(1, 0, 0))}))
	is(t, "asked", asked, 1)
	near(t, "process-seconds", r.ProcessSeconds(), 7200, 0) // the first tick at or after 6800 s
	near(t, "idle seconds", r.IdleNanos.Seconds(), 7200-5000, 0)
	is(t, "gaps", r.Gaps, 0)
	is(t, "cold", r.Cold, 1)
}

// TestManyPeers: those with large numbers are found again, shared ones too.
func TestManyPeers(t *testing.T) {
	c := scriptOf([]traffic.Call{at(0, 0, 40), at(1, 0, 7), at(2, 0, 40)}, []traffic.Call{at(3, 1, 40), at(4, 1, 40)})
	r := play(t, c)
	is(t, "peers", r.Peers, 3)
	is(t, "cold", r.Cold, 3)
	c.Share = 2
	r = play(t, c)
	is(t, "shared peers", r.Peers, 2)
	is(t, "cold", r.Cold, 2)
}

// TestWaitsAreCoalesced: one start serves all who wait, each for as long as it waited.
func TestWaitsAreCoalesced(t *testing.T) {
	c := scriptOf([]traffic.Call{talking(1, at(0, 0, 0)), talking(1, at(sec, 0, 0)), talking(2, at(100*sec, 0, 0)),
		at(110*sec, 0, 0), talking(3, at(120*sec, 0, 0))})
	c.Servers = serversOf(t, "fixed:2s")
	r := play(t, c)
	is(t, "spawns", r.Spawns, 1)
	is(t, "cold", r.Cold, 1)
	is(t, "delayed", r.Delayed, 2)
	near(t, "waits", r.WaitNanos.Seconds(), 3, 0)
	near(t, "longest", r.Added.Max, 2, 0)
	near(t, "mean", r.Added.Mean, 3./5, 1e-12)
	is(t, "answers", r.Added.N, 5)
	is(t, "conversations", r.PerConversation.N, 3)
	near(t, "the longest of them", r.PerConversation.Max, 3, 0)
	near(t, "the shorter of them", r.PerConversation.P50, 0, 0)
	near(t, "process-seconds", r.ProcessSeconds(), 2250, 0)
}

// TestBoundIsTheMachines: what takes longer fails there, callers are refused until the failure has aged, and that
// is unavailability.
func TestBoundIsTheMachines(t *testing.T) {
	c := scriptOf([]traffic.Call{at(0, 0, 0), at(100*sec, 0, 0), at(2249*sec, 0, 0), at(2251*sec, 0, 0)})
	c.Servers = serversOf(t, "fixed:60s")
	r := play(t, c)
	is(t, "failed starts", r.FailedStarts, 2)
	is(t, "failed calls", r.FailedCalls, 4)
	is(t, "refused", r.Refused, 2)
	is(t, "cold", r.Cold, 2)
	is(t, "delayed", r.Delayed, 2)
	near(t, "waits", r.WaitNanos.Seconds(), 60, 0)
	near(t, "process-seconds", r.ProcessSeconds(), 60, 0)
	near(t, "unavailable seconds", r.FailedNanos.Seconds(), (2250-30)+(4500-2281), 0)
	is(t, "stops of unused processes", r.Stops, 0)
	is(t, "gaps, those of the refused apart", r.Gaps, 1)
}

// TestLateConnectsAreOfTheirStart: what comes of a start that was given up is not taken for the next.
func TestLateConnectsAreOfTheirStart(t *testing.T) {
	c := scriptOf([]traffic.Call{at(0, 0, 0), at(50*sec, 0, 0)})
	c.Servers, c.Machine.FailedRetry = serversOf(t, "fixed:60s"), 1
	r := play(t, c)
	is(t, "failed starts", r.FailedStarts, 2)
	near(t, "waits", r.WaitNanos.Seconds(), 30+30, 0)
}

// TestWarmUpIsNotMeasured: neither calls nor time before it count; what is there when it ends does.
func TestWarmUpIsNotMeasured(t *testing.T) {
	c := scriptOf([]traffic.Call{talking(1, at(0, 0, 0)), talking(2, at(1000*sec, 0, 1)), talking(3, at(2000*sec, 0, 1))})
	c.WarmUp = 1500 * sec
	r := play(t, c)
	is(t, "calls", r.Calls, 1)
	is(t, "spawns", r.Spawns, 0)
	is(t, "conversations", r.PerConversation.N, 1)
	is(t, "peak", r.Peak, 2)
	near(t, "process-seconds", r.ProcessSeconds(), (1800-1500)+(4050-1500), 0)
	near(t, "idle seconds", r.IdleNanos.Seconds(), (1800-1500)+(4050-1500), 0)
	is(t, "span", r.Span, 10*time.Hour-1500*sec)
	c.Traffic, c.WarmUp = script{{at(0, 0, 0), at(0, 0, 1), at(6000*sec, 0, 0)}}, 5000*sec
	is(t, "peak, that of the warm-up apart", play(t, c).Peak, 1)
}

// TestWhatIsUnderWayAtTheEnd: a caller who waits has waited so long, a conversation is over, a process counts.
func TestWhatIsUnderWayAtTheEnd(t *testing.T) {
	c := scriptOf([]traffic.Call{talking(7, at(90*sec, 0, 0))})
	c.Servers, c.For = serversOf(t, "fixed:25s"), 100*sec
	r := play(t, c)
	near(t, "waits", r.WaitNanos.Seconds(), 10, 0)
	near(t, "the conversation's", r.PerConversation.Max, 10, 0)
	near(t, "process-seconds", r.ProcessSeconds(), 10, 0)
	is(t, "peak", r.Peak, 1)

	is(t, "conversations of streams", play(t, scriptOf([]traffic.Call{talking(1, at(0, 0, 0))}, []traffic.Call{talking(1, at(0, 1, 0))})).PerConversation.N, 2)
	c = scriptOf([]traffic.Call{at(0, 0, 0)})
	c.For, c.WarmUp = 1000*sec, 400*sec // in which nothing happens
	r = play(t, c)
	near(t, "idle seconds", r.IdleNanos.Seconds(), 600, 0)
	is(t, "peak", r.Peak, 1)
	is(t, "peak of the class", r.Classes[0].Peak, 1)

	c.Servers = serversOf(t, "fixed:60s")
	c.WarmUp = 0
	r = play(t, c)
	near(t, "unavailable seconds", r.FailedNanos.Seconds(), 970, 0)
}

// TestOverIsTheIntegral: the course over time is exact in each bucket.
func TestOverIsTheIntegral(t *testing.T) {
	c := scriptOf([]traffic.Call{at(300*sec, 0, 0)}, []traffic.Call{at(900*sec, 1, 0)}, []traffic.Call{at(3200*sec, 2, 0)})
	c.Bucket, c.For = 1000*sec, 3500*sec
	r := play(t, c)
	want := []float64{(700 + 100) / 1000., 2, (250 + 700) / 1000., 300 / 500.}
	for i, p := range r.Over {
		near(t, "bucket", p.Y, want[i], 1e-12)
		near(t, "its time", p.X, float64(i*1000), 0)
	}
	is(t, "buckets", len(r.Over), 4)
}

// TestNeverEvicted: with T = 0 every peer is started once.
func TestNeverEvicted(t *testing.T) {
	c := Config{Traffic: parsed(t, "poisson:rate=1/h,tenants=20"), Servers: serversOf(t, "fixed:0s"), Machine: machineOf(0),
		For: 400 * time.Hour, Seed: 5}
	r := play(t, c)
	is(t, "cold", r.Cold, 20)
	is(t, "stops", r.Stops, 0)
	is(t, "peak", r.Peak, 20)
}

// TestSharing: tenants of one group have one process and a claim each; it is the machine that merges.
func TestSharing(t *testing.T) {
	calls := [][]traffic.Call{{at(0, 0, 0)}, {at(1000*sec, 1, 0)}, {at(2000*sec, 2, 0)}}
	c := scriptOf(calls...)
	c.Share = 2
	r := play(t, c)
	is(t, "peers", r.Peers, 2)
	is(t, "tenants", r.Tenants, 3)
	is(t, "cold", r.Cold, 2)
	near(t, "process-seconds", r.ProcessSeconds(), 3150+(4050-2000), 0)

	c.Agents = func(tenant uint32) time.Duration { return []time.Duration{4000 * sec, 100 * sec, 0}[tenant] }
	r = play(t, c) // the longest wins
	near(t, "process-seconds", r.ProcessSeconds(), 5000+(4050-2000), 0)
	c.ShortestWins = true
	r = play(t, c)
	near(t, "process-seconds", r.ProcessSeconds(), 1100+(4050-2000), 1e-9)
	c.Agents = func(tenant uint32) time.Duration { return []time.Duration{0, 4000 * sec, 0}[tenant] }
	r = play(t, c) // 0 is the Config's
	near(t, "process-seconds", r.ProcessSeconds(), 3150+(4050-2000), 1e-9)
}

// TestLostCalls: one that takes longer than the machine lets it is cut, and its peer has failed.
func TestLostCalls(t *testing.T) {
	asked := 0
	c := ruled(rule{idle: func(Peer, time.Duration) Decision { asked++; return Decision{} }},
		[]traffic.Call{taking(100*sec, at(0, 0, 0)), taking(25*sec, at(10*sec, 0, 0)), at(50*sec, 0, 0)},
		[]traffic.Call{taking(25*sec, at(85*sec, 1, 0))})
	c.Machine.CallTimeout = 30 * sec
	r := play(t, c)
	is(t, "lost", r.Lost, 1)
	is(t, "refused", r.Refused, 1)
	is(t, "asked about one that has not failed", asked, 1)
	near(t, "idle seconds", r.IdleNanos.Seconds(), (2250-35)+(2250-110), 0)
	c = ruled(rule{}, []traffic.Call{taking(100*sec, at(0, 0, 0))}, []traffic.Call{taking(25*sec, at(85*sec, 1, 0))})
	c.Machine.CallTimeout = 30 * sec // and the end of the lost one, at 100 s, is not that of the next with its ticket
	near(t, "idle seconds", play(t, c).IdleNanos.Seconds(), (2250-30)+(2250-110), 0)
}

// oracleRun is Poisson traffic of the rate, with T, on servers that connect as they do.
func oracleRun(t *testing.T, rate, servers string, idle time.Duration, hours int) (Result, float64) {
	t.Helper()
	c := Config{Traffic: parsed(t, "poisson:rate="+rate+",tenants=100"), Servers: serversOf(t, servers), Machine: machineOf(idle),
		For: time.Duration(hours) * time.Hour, WarmUp: 10 * time.Hour, Seed: 11}
	c.Machine.FailedRetry = 1
	r := play(t, c)
	return r, float64(r.Calls)
}

// TestPoissonIsExact: cold ratio and resident time of IDLE.md §4.2, within four standard errors.
func TestPoissonIsExact(t *testing.T) {
	r, n := oracleRun(t, "2/h", "fixed:0s", 1800*sec, 2000)
	law := oracle.Must(oracle.NewExponential(2. / 3600))
	p := oracle.Cold(law, 1800, 450)
	se := math.Sqrt(p * (1 - p) / n)
	near(t, "cold ratio", r.ColdRatio(), p, 4*se)
	near(t, "resident share", r.MeanProcesses(r.Span)/100, 1-p, 4*se)
	w := r.IdleNanos.Seconds() / n
	near(t, "resident seconds per gap", w, oracle.Resident(law, 1800, 450), 4*900/math.Sqrt(n))
	life := per(r.OutlivedNanos.Seconds(), float64(r.Outlived))
	near(t, "life of the reaped", life, oracle.ReapedLife(law, 1800, 450), 4*130/math.Sqrt(float64(r.Outlived)))
}

// TestCoalescingIsExact: spawns, delayed callers and waits of §4.3.
func TestCoalescingIsExact(t *testing.T) {
	r, n := oracleRun(t, "12/h", "fixed:20s", 300*sec, 400)
	near(t, "spawns per call", float64(r.Spawns)/n, 0.319194, 4*math.Sqrt(.22/n))
	near(t, "delayed callers per call", float64(r.Delayed)/n, 0.340474, 4*math.Sqrt(.24/n))
	near(t, "wait per call", r.WaitNanos.Seconds()/n, 6.5967, 4*9.5/math.Sqrt(n))
}

// TestFailedConnectsAreExact: κ = p/(1-f(1-p)) attempts per call, of which f fail.
func TestFailedConnectsAreExact(t *testing.T) {
	r, n := oracleRun(t, "4/h", "failing:0.5", 1800*sec, 1000)
	se := math.Sqrt(.1925 * .8075 / n)
	near(t, "attempts per call", float64(r.Spawns)/n, 0.192500, 4*1.5*se)
	near(t, "failed calls", r.FailedRatio(), 0.192500/2, 4*1.5*se)
	is(t, "refused", r.Refused, 0)
}
