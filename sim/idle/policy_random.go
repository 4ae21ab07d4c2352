package idle

import (
	"fmt"
	"math"
	"time"
)

// Randomised draws a timeout for every idle period from the density e^(x/B)/(B(e-1)) on [0, B]: whatever the gaps, it
// pays e/(e-1) = 1.582 times what the clairvoyant pays on average, and nobody who does not know the draws can have it
// pay more. No rule does better against all gaps (Karlin, Manasse, McGeoch and Owicki, 1994).
type Randomised struct {
	B time.Duration // 0 is the run's break-even, or what idle_timeout implies
}

// Name returns "random", with B if it is not the run's.
func (p Randomised) Name() string { return specOf("random", durationArg("b", p.B)) }

// Validate refuses what no price can be.
func (p Randomised) Validate() error { return within("random", "B", p.B, 0, maxTimeout) }

// Start returns a keeper whose draws depend on the seed, the peer and the number of the idle period alone.
func (p Randomised) Start(env Env) Keeper {
	mustBeValid(p)
	return &randomised{b: breakEven(p.B, env), seed: env.Seed}
}

type randomised struct {
	deaf
	b     time.Duration
	seed  uint64
	count []uint32 // idle periods of a peer so far
}

func (k *randomised) Idle(p Peer, now time.Duration) Decision {
	if k.b == 0 {
		return Decision{Rule: Forever}
	}
	k.count = grown(k.count, p.ID)
	n := k.count[p.ID]
	k.count[p.ID]++
	return Decision{Rule: At, Stop: now + k.draw(uniform(k.seed, saltRandom, p.Key, uint64(n)))}
}

// draw is the quantile of the density: B ln(1 + u(e-1)).
func (k *randomised) draw(u float64) time.Duration {
	return time.Duration(float64(k.b) * naturalLog(1+float64(u*(math.E-1))))
}

// Salts keep apart what is drawn for different ends from the same seed and peer.
const (
	saltRandom = 0x52414e44
	saltRetry  = 0x52455452
)

// uniform draws from [0, 1) by what it is told alone.
func uniform(seed, salt, key, n uint64) float64 {
	return float64(mix(mix(mix(seed, salt), key), n)>>11) / (1 << 53)
}

// naturalLog is ln(y) for y in [1, e], the same on every machine to the last bit: it multiplies, adds and divides
// only, and no product is fused with a sum. ln(y) = 2 artanh z with z = (y-1)/(y+1) <= 0.4622.
func naturalLog(y float64) float64 {
	if !(y >= 1 && y <= 3) {
		panic(fmt.Errorf("invariant POLICY: the logarithm of %v is asked for; the series holds from 1 to 3", y))
	}
	z := (y - 1) / (y + 1)
	square := float64(z * z)
	sum := 0.0
	for k := lastTerm; k >= 1; k -= 2 {
		sum = float64(sum*square) + 1/float64(k)
	}
	return 2 * float64(z*sum)
}

// lastTerm makes the rest of the series less than 2^-53: 0.5^55/55.
const lastTerm = 55
