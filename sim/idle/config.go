package idle

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/sim"
	"github.com/mayfly-mcp/mayfly/sim/idle/traffic"
)

// Server is a class of servers: how long one takes to start, how often that fails, what it holds.
type Server interface {
	Name() string
	// Connect draws what the next connect takes. With ok false it fails after d by itself; whatever takes
	// longer than the machine's connect timeout fails there.
	Connect(rng *rand.Rand) (d time.Duration, ok bool)
	// RSS is what one process with all its children holds, in MiB.
	RSS() float64
	// Mean is the mean time that a caller waits for a connect under a bound, and the share that fail.
	Mean(bound time.Duration) (mean time.Duration, fails float64)
}

// Part is one part of a Mix.
type Part struct {
	Server Server
	Weight float64
}

// Mix is a fleet: a peer's class is drawn by weight from the seed, the tenant and the peer alone.
type Mix []Part

// Flap has servers go down as a whole: what runs dies, and no connect succeeds until it is over.
// The zero value is a world without outages.
type Flap struct {
	Every time.Duration // mean time from the end of one outage of a peer to the next, exponential
	Lasts time.Duration // mean length of one, exponential
	// Refuse is how soon a connect fails during one. 0 means that it hangs until the machine's bound.
	Refuse time.Duration
}

// Config is one run.
type Config struct {
	Traffic traffic.Traffic
	Servers Mix
	Policy  Policy           // nil is RFC{}
	Machine lifecycle.Config // IdleTimeout is T
	For     time.Duration    // length of the run, from an empty daemon
	WarmUp  time.Duration    // at its start, not measured
	Seed    uint64
	// BreakEven is B, in process-seconds per cold start, for policies and for Result.Clairvoyant.
	BreakEven time.Duration
	// Share has that many tenants claim one peer each under the same fingerprint. 0 and 1: nobody shares.
	Share int
	// Agents, if set, is the idle timeout that each claim of a shared peer asks for, by tenant. The machine keeps the
	// longest; ShortestWins has the shortest decide.
	Agents       func(tenant uint32) time.Duration
	ShortestWins bool
	Flap         Flap
	Bucket       time.Duration // of Result.Over; 0 leaves it out
	AuditEvery   int           // steps between full audits of the machine; 0 audits at the end alone
	// Subject makes the lifecycle; nil is the daemon's own.
	Subject func(lifecycle.Config) sim.Subject
}

// Validate reports every problem at once.
func (c Config) Validate() error {
	var errs []error
	say := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	say(c.Traffic == nil, "Traffic is missing; name one of package traffic")
	say(len(c.Servers) == 0, "Servers is empty; use DefaultMix or name a class")
	total := 0.0
	for i, p := range c.Servers {
		say(p.Server == nil, "Servers[%d] has no server", i)
		say(!(p.Weight >= 0 && p.Weight <= maxWeight), "Servers[%d] has weight %v; use 0 to %v", i, p.Weight, maxWeight)
		total += p.Weight
	}
	say(len(c.Servers) > 0 && !(total > 0), "the weights of Servers sum to %v; use more than 0", total)
	say(c.For <= 0 || c.For > maxFor, "For is %v; use more than 0 and at most %v", c.For, maxFor)
	say(c.WarmUp < 0 || c.WarmUp >= c.For, "WarmUp is %v; use less than For, which is %v", c.WarmUp, c.For)
	say(c.BreakEven < 0, "BreakEven is %v; use 0 or more", c.BreakEven)
	say(c.Share < 0, "Share is %d; use 0 or more", c.Share)
	say(c.Flap.Every < 0 || c.Flap.Lasts < 0 || c.Flap.Refuse < 0, "Flap has a negative time: %+v", c.Flap)
	say(c.Bucket < 0 || c.Bucket > 0 && c.For/c.Bucket > maxBuckets, "Bucket is %v; use 0 or so much that For has at most %d", c.Bucket, maxBuckets)
	say(c.Flap.Every == 0 && c.Flap.Lasts > 0, "Flap.Lasts is %v and Flap.Every 0; say how often outages come", c.Flap.Lasts)
	say(c.Flap.Every > 0 && c.For/max(c.Flap.Every, 1) > maxOutages, "Flap.Every is %v; use so much that For has at most %d", c.Flap.Every, maxOutages)
	say(c.AuditEvery < 0, "AuditEvery is %d; use 0 or more", c.AuditEvery)
	if _, told := c.Policy.(Foreseeing); told {
		say(c.Share > maxForeseen, "Share is %d; who knows the future looks at every sharer's, use at most %d", c.Share, maxForeseen)
	}
	if p, ok := c.Policy.(validated); ok {
		if err := p.Validate(); err != nil {
			errs = append(errs, err)
		}
	}
	if err := c.Machine.Validate(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Bounds of a configuration.
const (
	maxFor     = 10 * 365 * 24 * time.Hour
	maxBuckets = 1 << 20
	maxWeight  = 1e9
	maxOutages = 1 << 20 // of a peer, on average
	// maxForeseen bounds the tenants whose future is looked at for one peer.
	maxForeseen = 1024
)
