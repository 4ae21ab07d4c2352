package idle

import (
	"math"
	"math/rand/v2"
	"time"

	"gonum.org/v1/gonum/stat/distuv"
)

// logNormal is a class whose connects are log-normal, a share of which hangs beyond every bound that anybody
// uses.
type logNormal struct {
	name   string
	median float64 // seconds
	sigma  float64
	hangs  float64 // share of connects that take more than a minute
	rss    float64 // MiB
}

// hangFor is what a connect takes that hangs: longer than the bounds that hosts use.
const hangFor = 90 * time.Second

func (s logNormal) Name() string { return s.name }
func (s logNormal) RSS() float64 { return s.rss }

func (s logNormal) Connect(rng *rand.Rand) (time.Duration, bool) {
	if s.hangs > 0 && rng.Float64() < s.hangs {
		return hangFor, true
	}
	d := s.median * math.Exp(s.sigma*rng.NormFloat64())
	return seconds(d), true
}

// Mean is E[min(C, bound)] of a log-normal and its tail (by quadrature-free formulas), mixed with what hangs.
func (s logNormal) Mean(bound time.Duration) (time.Duration, float64) {
	k, mu := bound.Seconds(), math.Log(s.median)
	z := (math.Log(k) - mu) / s.sigma
	over := 1 - distuv.UnitNormal.CDF(z)
	mean := math.Exp(mu+s.sigma*s.sigma/2)*distuv.UnitNormal.CDF(z-s.sigma) + k*over
	hangs := min(bound, hangFor).Seconds()
	fails := (1 - s.hangs) * over
	if bound < hangFor {
		fails += s.hangs
	}
	return seconds((1-s.hangs)*mean + s.hangs*hangs), fails
}

// maxSeconds is the longest time that a number of seconds may stand for.
const maxSeconds = 1e9

func seconds(s float64) time.Duration {
	return time.Duration(min(max(s, 0), maxSeconds) * float64(time.Second))
}

// fixed connects after the same time each time.
type fixed struct {
	name string
	d    time.Duration
	rss  float64
}

func (s fixed) Name() string                             { return s.name }
func (s fixed) RSS() float64                             { return s.rss }
func (s fixed) Connect(*rand.Rand) (time.Duration, bool) { return s.d, true }
func (s fixed) Mean(bound time.Duration) (time.Duration, float64) {
	if s.d > bound {
		return bound, 1
	}
	return s.d, 0
}

// failing fails a share of its connects, after the time that the others take.
type failing struct {
	fixed
	share float64
}

func (s failing) Connect(rng *rand.Rand) (time.Duration, bool) { return s.d, rng.Float64() >= s.share }
func (s failing) Mean(bound time.Duration) (time.Duration, float64) {
	if s.d > bound {
		return bound, 1
	}
	return s.d, s.share
}

// classes are those with published figures: medians and memory are measured by others, spreads are mostly
// assumed. A file of one's own measurements is better.
var classes = []logNormal{
	{name: "native", median: 0.010, sigma: 0.3, rss: 18},
	{name: "python", median: 0.8, sigma: 0.9, rss: 80},
	{name: "node-warm", median: 1.2, sigma: 0.7, rss: 106},
	{name: "npx", median: 17, sigma: 0.7, hangs: 0.29, rss: 110},
	{name: "docker", median: 1.7, sigma: 0.8, rss: 100},
	{name: "jvm", median: 25, sigma: 0.12, rss: 220},
	{name: "huawei", median: math.Exp(0.2965), sigma: 1.326, rss: 85},
}

// mixed is how often each class occurs in the default fleet: an assumption, for nobody has counted.
var mixed = []struct {
	class  string
	weight float64
}{{"native", 15}, {"python", 25}, {"node-warm", 30}, {"npx", 10}, {"docker", 15}, {"jvm", 5}}

// DefaultMix is the fleet "mixed": native 15 %, python 25 %, node-warm 30 %, npx 10 %, docker 15 %, jvm 5 %.
func DefaultMix() Mix {
	var m Mix
	for _, p := range mixed {
		s, _ := classNamed(p.class)
		m = append(m, Part{Server: s, Weight: p.weight})
	}
	return m
}

func classNamed(name string) (Server, bool) {
	for _, c := range classes {
		if c.name == name {
			return c, true
		}
	}
	return nil, false
}
