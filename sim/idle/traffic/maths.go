package traffic

import (
	"math"
	"math/rand/v2"
)

// The draws use a logarithm and an exponential written out here: those of the standard library
// are assembly on some machines and may be fused on others, so their last bit differs, and one
// seed must mean one run everywhere. float64(x*y) forbids fusing. Both are within a few units
// of the last place of the size of their argument's table entry; maths_test.go holds them.

const (
	steps    = 256 // entries of each table
	ln2      = math.Ln2
	lnMaxExp = 700 // exp is cut here, far beyond any gap
)

var (
	lnInverse [steps]float64 // 1/c of the middle c of a step of [1, 2)
	lnMiddle  [steps]float64 // ln c
	expStep   [steps]float64 // 2^(i/steps)
)

func init() {
	for i := range steps {
		c := 1 + float64((float64(i)+0.5)/steps)
		lnInverse[i] = 1 / c
		lnMiddle[i] = -lnSeries(1 / c)
		expStep[i] = expSeries(float64(i) * (ln2 / steps))
	}
}

// lnSeries is ln x for x in [1/2, 2], by the series of the inverse hyperbolic tangent.
func lnSeries(x float64) float64 {
	s := (x - 1) / (x + 1)
	q, sum := float64(s*s), 0.0
	for k := 41; k >= 1; k -= 2 {
		sum = float64(sum*q) + 1/float64(k)
	}
	return 2 * float64(s*sum)
}

// expSeries is e^x for x in [0, 1).
func expSeries(x float64) float64 {
	sum := 1.0
	for k := 24; k >= 1; k-- {
		sum = 1 + float64(sum*x)/float64(k)
	}
	return sum
}

// ln is the natural logarithm of a positive normal number.
func ln(x float64) float64 {
	b := math.Float64bits(x)
	e := int(b>>52) - 1023
	i := b >> 44 & (steps - 1)
	m := math.Float64frombits(b&(1<<52-1) | 1023<<52)
	r := float64(m*lnInverse[i]) - 1
	p := float64(r*(1.0/5)) - 1.0/4
	p = float64(p*r) + 1.0/3
	p = float64(p*r) - 1.0/2
	return float64(float64(e)*ln2) + (lnMiddle[i] + (r + float64(float64(r*r)*p)))
}

// exp is e^x, cut at ±700.
func exp(x float64) float64 {
	x = min(max(x, -lnMaxExp), lnMaxExp)
	n := math.Floor(float64(x*(steps/ln2)) + 0.5)
	r := x - float64(n*(ln2/steps))
	k := int(n)
	p := float64(r*(1.0/120)) + 1.0/24
	p = float64(p*r) + 1.0/6
	p = float64(p*r) + 1.0/2
	p = float64(p*r) + 1
	p = float64(p*r) + 1
	scale := math.Float64frombits(uint64(k>>8+1023) << 52)
	return float64(float64(p*expStep[k&(steps-1)]) * scale)
}

// unit draws from (0, 1].
func unit(g *rand.PCG) float64 { return float64(g.Uint64()>>11+1) * 0x1p-53 }

// normal draws from the standard normal law, by the polar method.
func normal(g *rand.PCG) float64 {
	for {
		x, y := 2*unit(g)-1, 2*unit(g)-1
		if q := float64(x*x) + float64(y*y); q < 1 && q > 0 {
			return float64(x * math.Sqrt(-2*ln(q)/q))
		}
	}
}

// gammaDraw draws from the gamma law of a shape and scale 1, by squeezing a cubed normal; a
// shape below 1 is one above it times a power.
func gammaDraw(g *rand.PCG, shape float64) float64 {
	boost := 1.0
	if shape < 1 {
		boost = exp(ln(unit(g)) / shape)
		shape++
	}
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := normal(g)
		v := 1 + float64(c*x)
		if v <= 0 {
			continue
		}
		v = float64(float64(v*v) * v)
		if ln(unit(g)) < float64(float64(x*x)/2)+d-float64(d*v)+float64(d*ln(v)) {
			return float64(float64(d*v) * boost)
		}
	}
}

// generator returns the generator of a stream.
func generator(seed, stream uint64) rand.PCG {
	var g rand.PCG
	g.Seed(scramble(seed), scramble(scramble(seed^0x6d617966)+stream))
	return g
}

// scramble maps neighbouring numbers to unrelated ones.
func scramble(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
