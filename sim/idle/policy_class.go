package idle

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mayfly-mcp/mayfly/sim/idle/traffic"
)

// PerClass has a timeout for each class of servers, by an exact timer: servers that start fast need not be kept for
// as long as those that start slowly.
type PerClass struct {
	Times map[string]time.Duration // by the class's name; 0 keeps its peers
	// PerSecond is the timeout of classes that Times does not name, as a multiple of what one start takes on average:
	// 720 keeps a server that starts in 10 s for two hours. 0 leaves them to the machine.
	PerSecond float64
}

// Name lists the timeouts in order of names.
func (p PerClass) Name() string {
	var args []string
	for _, class := range slices.Sorted(maps.Keys(p.Times)) {
		t := "keep"
		if p.Times[class] > 0 {
			t = shortDuration(p.Times[class])
		}
		args = append(args, class+"="+t)
	}
	return specOf("per-class", append(args, numberArg("per-second", p.PerSecond))...)
}

// Validate refuses a policy that says nothing, and what no timeout can be.
func (p PerClass) Validate() error {
	errs := []error{share("per-class", "PerSecond", p.PerSecond, 0, maxPrice)}
	if len(p.Times) == 0 && p.PerSecond == 0 {
		errs = append(errs, fmt.Errorf("per-class: no class is given; write per-class:npx=2h,native=1m or per-class:per-second=720"))
	}
	for _, class := range slices.Sorted(maps.Keys(p.Times)) {
		errs = append(errs, within("per-class", class, p.Times[class], 0, maxTimeout))
	}
	return all(errs...)
}

// check refuses names of classes that are not in the fleet.
func (p PerClass) check(c *Config) error {
	var names []string
	for _, part := range c.Servers {
		if part.Server != nil {
			names = append(names, part.Server.Name())
		}
	}
	for _, class := range slices.Sorted(maps.Keys(p.Times)) {
		if !slices.Contains(names, class) {
			return fmt.Errorf("per-class: there is no class %q in the fleet%s: there are %s", class, traffic.Near(class, names), strings.Join(names, ", "))
		}
	}
	return nil
}

// Start returns a keeper with a table of timeouts.
func (p PerClass) Start(env Env) Keeper {
	mustBeValid(p)
	k := classTimers{}
	for _, c := range env.Classes {
		t, named := p.Times[c.Name]
		if !named {
			t = times(c.Connect, p.PerSecond)
		}
		k.own = append(k.own, named || p.PerSecond > 0)
		k.times = append(k.times, t)
	}
	return k
}

// Minimax is for those who know what a cold start costs them and nothing of the traffic: T = 0.8 B with ticks at a
// quarter of T never costs more than 1.9 times what the clairvoyant pays, on average over the phase of the ticks,
// and no other T guarantees less. Known phases make it 2.25, and 2.118 at 0.894 B. The rule is the ski rental's
// break-even (Karlin, Manasse, Rudolph and Sleator, 1988) for a reaper instead of a timer.
type Minimax struct {
	B time.Duration // 0 is the run's break-even, or what idle_timeout implies: T is then idle_timeout itself
	// Wait is how many process-seconds a second of waiting is worth. If given, each class has a B of its own, Wait
	// times what one of its starts takes on average, and B is not used.
	Wait float64
}

// Name returns "minimax" and what is given.
func (p Minimax) Name() string {
	return specOf("minimax", durationArg("b", p.B), numberArg("wait", p.Wait))
}

// Validate refuses two prices at once, and what no price can be.
func (p Minimax) Validate() error {
	var both error
	if p.B > 0 && p.Wait > 0 {
		both = fmt.Errorf("minimax: both B and Wait are given; a cold start has one price")
	}
	return all(within("minimax", "B", p.B, 0, maxTimeout), share("minimax", "Wait", p.Wait, 0, maxPrice), both)
}

// Start returns a keeper that ticks for each class by itself.
func (p Minimax) Start(env Env) Keeper {
	mustBeValid(p)
	k := classTimers{ticked: true}
	for _, c := range env.Classes {
		b := breakEven(p.B, env)
		if p.Wait > 0 {
			b = times(c.Connect, p.Wait)
		}
		k.own = append(k.own, true)
		k.times = append(k.times, b/(ticksPerTimeout+1)*ticksPerTimeout)
	}
	return k
}

// maxPrice bounds process-seconds per second: ten years for a microsecond would do no better.
const maxPrice = 1e9

// times multiplies a duration, cut at the longest timeout. The result is at least a nanosecond, for 0 keeps.
func times(d time.Duration, by float64) time.Duration {
	return time.Duration(min(max(float64(d)*by, 1), float64(maxTimeout)))
}

// classTimers stops peers by their class's timeout. Classes without one of their own are left to the machine.
type classTimers struct {
	deaf
	own    []bool
	times  []time.Duration
	ticked bool
}

func (k classTimers) Idle(p Peer, now time.Duration) Decision {
	switch {
	case !k.own[p.Class]:
		return Decision{}
	case k.ticked:
		return stopAtTick(now, k.times[p.Class])
	default:
		return stopAfter(now, k.times[p.Class])
	}
}
