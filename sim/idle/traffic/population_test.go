package traffic

import (
	"math"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
)

// play reads a stream until a horizon, as an engine does that starts every peer at once.
func play(t testing.TB, s Stream, until time.Duration) (calls []Call) {
	t.Helper()
	end := time.Duration(0)
	for {
		c, ok, err := s.Next(end)
		if err != nil {
			t.Fatal(err)
		}
		if !ok || c.At > until {
			return calls
		}
		if n := len(calls); n > 0 && c.At < calls[n-1].At {
			t.Fatalf("call %d is at %v, before the one before it at %v", n, c.At, calls[n-1].At)
		}
		calls, end = append(calls, c), later(c.At, c.Takes)
	}
}

func streams(t testing.TB, spec string, seed uint64) []Stream {
	t.Helper()
	s, err := must(Parse(spec, Options{})).Streams(seed)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// every is a spec of each kind but the trace.
var every = []string{
	"agent:tenants=6,lanes=2", "agent:tenants=5,hours=work,share=0.3,sessions=20/d", "azure:tenants=40,takes=2s", "cron:every=5m/1h,jitter=30s,tenants=4",
	"fixed:every=30m,tenants=4", "gamma:shape=2,rate=4/h,tenants=8", "hyper:mean=15m,cv2=16,tenants=4",
	"lognormal:mu=4.87,sigma=0.982,tenants=3", "lomax:scale=10m,alpha=1.5,tenants=3", "pareto:xm=60s,alpha=1.5,tenants=3",
	"poisson:rate=6/h,tenants=3,peers=2,takes=1m", "sessions:calls=10,gap=20s,between=1h,tenants=3", "waits:tenants=3,takes=tools",
	"weibull:shape=0.418,scale=10m,tenants=3", "poisson:rate=2/h,gaps=end,takes=1m,tenants=3+cron:every=10m,tenants=2",
}

// TestSeedsAloneDecide reads the streams of one seed in three orders: one after another, the
// last first, and in turns. Another seed makes other calls.
func TestSeedsAloneDecide(t *testing.T) {
	const calls = 60
	for _, spec := range every {
		one := func(seed uint64, order func(n int) []int, turns int) [][]Call {
			all := streams(t, spec, seed)
			out := make([][]Call, len(all))
			ends := make([]time.Duration, len(all))
			for range turns {
				for _, i := range order(len(all)) {
					for range calls / turns {
						c, _, err := all[i].Next(ends[i])
						if err != nil {
							t.Fatal(err)
						}
						out[i], ends[i] = append(out[i], c), later(c.At, c.Takes)
					}
				}
			}
			return out
		}
		up := func(n int) (o []int) {
			for i := range n {
				o = append(o, i)
			}
			return o
		}
		down := func(n int) []int { o := up(n); slices.Reverse(o); return o }
		want := one(1, up, 1)
		if got := one(1, down, 1); !same(got, want) {
			t.Errorf("%s: read from the last stream: %s", spec, cmp.Diff(want, got))
		}
		if got := one(1, up, calls); !same(got, want) {
			t.Errorf("%s: read in turns: %s", spec, cmp.Diff(want, got))
		}
		if same(want, one(2, up, 1)) {
			t.Errorf("%s: another seed makes the same calls", spec)
		}
		if len(want) > 1 && slices.Equal(gaps(want[0]), gaps(want[1])) && spec[:5] != "fixed" {
			t.Errorf("%s: two streams make the same calls", spec)
		}
	}
}

func same(a, b [][]Call) bool { return slices.EqualFunc(a, b, slices.Equal[[]Call]) }

func gaps(calls []Call) (out []time.Duration) {
	for i := 1; i < len(calls); i++ {
		out = append(out, calls[i].At-calls[i-1].At)
	}
	return out
}

// TestClosedStreamsWait delays the end of every call: no call starts before the one before it
// has ended, and the draws stay what they were.
func TestClosedStreamsWait(t *testing.T) {
	for _, spec := range every {
		if must(Parse(spec, Options{})).Open() {
			continue
		}
		prompt, slow := streams(t, spec, 3), streams(t, spec, 3)
		for i := range prompt {
			var a, b time.Duration
			for n := range 50 {
				p, _, _ := prompt[i].Next(a)
				s, _, _ := slow[i].Next(b)
				if s.At < b || p.At < a {
					t.Fatalf("%s: stream %d: call %d starts before the one before it ended", spec, i, n)
				}
				if p.Peer != s.Peer || p.Takes != s.Takes || p.Conversation != s.Conversation {
					t.Fatalf("%s: stream %d: call %d is %+v, delayed %+v", spec, i, n, p, s)
				}
				a, b = later(p.At, p.Takes), later(s.At, s.Takes+10*time.Second)
			}
		}
	}
}

func TestOpenStreamsIgnoreEnds(t *testing.T) {
	for _, spec := range []string{"poisson:rate=60/h", "fixed:every=1m,gaps=start", "cron:every=1m,jitter=30s"} {
		a, b := streams(t, spec, 3)[0], streams(t, spec, 3)[0]
		for n := range 50 {
			x, _, _ := a.Next(0)
			y, _, _ := b.Next(time.Duration(n) * time.Hour)
			if x != y {
				t.Fatalf("%s: call %d is %+v, and %+v where calls are slow", spec, n, x, y)
			}
		}
	}
}

func TestTenantsAndPeersAreDense(t *testing.T) {
	for _, c := range []struct {
		spec           string
		tenants, peers uint32
		until          time.Duration
	}{
		{"poisson:rate=6/h,tenants=3,peers=2", 3, 2, day100},
		{"agent:tenants=4,lanes=2", 4, 4, day100},
		{"agent:tenants=2,peers=6", 2, 6, day100},
		{"cron:every=1h,tenants=2,peers=3+fixed:every=1h,tenants=5", 7, 3, day100},
	} {
		seen := map[[2]uint32]bool{}
		var tenants, peers uint32
		for _, s := range streams(t, c.spec, 1) {
			for _, call := range play(t, s, c.until) {
				seen[[2]uint32{call.Tenant, call.Peer}] = true
				tenants, peers = max(tenants, call.Tenant+1), max(peers, call.Peer+1)
			}
		}
		if tenants != c.tenants || peers != c.peers {
			t.Errorf("%s: %d tenants and %d peers, want %d and %d", c.spec, tenants, peers, c.tenants, c.peers)
		}
	}
}

const day100 = 100 * 24 * time.Hour

func TestRates(t *testing.T) {
	for _, c := range []struct {
		spec string
		want float64 // calls an hour
		tol  float64
	}{
		{"poisson:rate=6/h,tenants=20", 120, .02},
		{"poisson:rate=6/h,tenants=20,takes=5m,gaps=end", 80, .02},
		{"fixed:every=30m,tenants=10", 20, .002},
		{"hyper:mean=15m,cv2=16,tenants=20", 80, .04},
		{"gamma:shape=2,rate=4/h,tenants=4000", 16000, .03},
		{"sessions:calls=10,gap=20s,between=1h,tenants=50", 50 * 3600 / (.9*20 + .1*3600), .03},
		{"cron:every=5m/1h,tenants=2", 13, .002},
		{"cron:every=5m/1h,tenants=2,jitter=4m,phase=spread", 13, .002},
	} {
		n, until := 0, 40*24*time.Hour
		if c.want > 1000 {
			until = 12 * time.Hour
		}
		for _, s := range streams(t, c.spec, 5) {
			n += len(play(t, s, until))
		}
		if got := float64(n) / until.Hours(); math.Abs(got-c.want) > c.tol*c.want {
			t.Errorf("%s: %.2f calls an hour, want %.2f", c.spec, got, c.want)
		}
	}
}

// TestCronIsAligned wants every firing at a whole period, or up to the jitter after one.
func TestCronIsAligned(t *testing.T) {
	late := time.Duration(0)
	for _, c := range play(t, streams(t, "cron:every=5m,jitter=1m", 1)[0], 1000*time.Hour) {
		late = max(late, c.At%(5*time.Minute))
	}
	if late >= time.Minute || late < 59*time.Second {
		t.Errorf("the latest firing is %v after its period, want just below the jitter of 1m", late)
	}
	for i, c := range play(t, streams(t, "cron:every=5m", 1)[0], 1000*time.Hour) {
		if want := time.Duration(i+1) * 5 * time.Minute; c.At != want {
			t.Fatalf("firing %d at %v, want %v", i, c.At, want)
		}
	}
}

// TestCronsSpread wants the phases of spread timers all over the period.
func TestCronsSpread(t *testing.T) {
	var phases []float64
	for _, s := range streams(t, "cron:every=5m,phase=spread,tenants=2000", 1) {
		a, _, _ := s.Next(0)
		b, _, _ := s.Next(0)
		if b.At-a.At != 5*time.Minute {
			t.Fatalf("a period of %v", b.At-a.At)
		}
		phases = append(phases, a.At.Minutes()/5)
	}
	if d := ks(phases, func(x float64) float64 { return min(max(x, 0), 1) }); d > 2.23/math.Sqrt(2000) {
		t.Errorf("phases are at distance %.4f of uniform", d)
	}
}

// TestSessionsAreConversations numbers them from 1 and counts their calls.
func TestSessionsAreConversations(t *testing.T) {
	calls := play(t, streams(t, "sessions:calls=10,gap=20s,between=1h", 1)[0], 2000*24*time.Hour)
	at := uint32(1)
	for i, c := range calls {
		if c.Conversation != at && c.Conversation != at+1 || i == 0 && c.Conversation != 1 {
			t.Fatalf("call %d is of conversation %d, after %d", i, c.Conversation, at)
		}
		at = c.Conversation
	}
	if got := float64(len(calls)) / float64(at); math.Abs(got-10) > .2 {
		t.Errorf("%.2f calls a conversation, want 10", got)
	}
}

// TestSessionsStartInTheMiddle: their gaps are hyper-exponential, 20 s in nine of ten, and what
// is left of the gap that a run begins in is picked by the time that each kind takes.
func TestSessionsStartInTheMiddle(t *testing.T) {
	var starts []float64
	for _, s := range streams(t, "sessions:calls=10,gap=20s,between=1h,tenants=20000", 6) {
		c, _, _ := s.Next(0)
		starts = append(starts, c.At.Seconds())
	}
	on := .9 * 20 / (.9*20 + .1*3600)
	if d := ks(starts, func(x float64) float64 { return 1 - on*math.Exp(-x/20) - (1-on)*math.Exp(-x/3600) }); d > 2.23/math.Sqrt(20000) {
		t.Errorf("first calls are at distance %.4f", d)
	}
}

func TestPartsOfAMixDiffer(t *testing.T) {
	all := streams(t, "waits+waits", 1)
	if slices.Equal(gaps(play(t, all[0], day100)), gaps(play(t, all[1], day100))) {
		t.Error("two equal parts make the same calls")
	}
}

// TestAzureIsThePublishedDistribution compares the rates of many tenants with figure 5a, and the
// laws with figure 6.
func TestAzureIsThePublishedDistribution(t *testing.T) {
	const tenants = 100_000
	pop := must(AzureApps(AzureUsual, Population{Tenants: tenants})).(*renewals)
	var perDay []float64
	var fixed, burst, burst4 int
	for i := range tenants {
		g := generator(9, uint64(i))
		l := pop.law(i, &g)
		perDay = append(perDay, day/l.Mean())
		switch l := l.(type) {
		case deterministic:
			fixed++
		case hyper:
			burst++
			if l.cv2 > 16 {
				burst4++
			}
		}
	}
	slices.Sort(perDay)
	for _, c := range []struct{ rate, want float64 }{{1, .21}, {2, .26}, {24, .45}, {48, .50}, {96, .56}, {287.9, .63}, {288.1, .67}, {1439, .81}, {1441, .83}} {
		n, _ := slices.BinarySearch(perDay, c.rate)
		if got := float64(n) / tenants; math.Abs(got-c.want) > .005 {
			t.Errorf("%.3f of the tenants have at most %v calls a day, want %v", got, c.rate, c.want)
		}
	}
	for _, c := range []struct {
		what string
		n    int
		want float64
	}{{"timers", fixed, .20}, {"burstier than Poisson", burst, .43}, {"with a coefficient above 4", burst4, .14}} {
		if got := float64(c.n) / tenants; math.Abs(got-c.want) > .005 {
			t.Errorf("%.3f of the tenants are %s, want %v", got, c.what, c.want)
		}
	}
}

// TestMixedStreamsAreSerial has a cron beside a closed population: its calls wait for each other.
func TestMixedStreamsAreSerial(t *testing.T) {
	m := must(Parse("cron:every=1m,takes=90s+waits", Options{}))
	if m.Open() {
		t.Error("a mix with a closed part is open")
	}
	cron := must(m.Streams(1))[0]
	for i, c := range play(t, cron, time.Hour) {
		if want := time.Minute + time.Duration(i)*90*time.Second; c.At != want {
			t.Fatalf("call %d at %v, want %v", i, c.At, want)
		}
	}
}

func TestStreamsAreSmall(t *testing.T) {
	for name, size := range map[string]uintptr{
		"renewal": unsafe.Sizeof(renewal{}), "cron": unsafe.Sizeof(cron{}), "agent": unsafe.Sizeof(agent{}), "shifted": unsafe.Sizeof(shifted{}),
	} {
		if size > 200 {
			t.Errorf("a stream of kind %s holds %d bytes, want at most 200", name, size)
		}
	}
}

func TestNextAllocatesNothing(t *testing.T) {
	for _, spec := range every {
		s, end := streams(t, spec, 1)[0], time.Duration(0)
		got := testing.AllocsPerRun(2000, func() {
			c, _, _ := s.Next(end)
			end = later(c.At, c.Takes)
		})
		if got != 0 {
			t.Errorf("%s: a call allocates %v times", spec, got)
		}
	}
}

func BenchmarkNext(b *testing.B) {
	for _, spec := range every {
		b.Run(spec, func(b *testing.B) {
			all, end := streams(b, spec, 1), make([]time.Duration, 64)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				c, _, _ := all[i].Next(end[i])
				end[i] = later(c.At, c.Takes)
				if i++; i == len(all) {
					i = 0
				}
			}
		})
	}
}
