package sim

import (
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// traffic is when a tenant acts.
type traffic uint8

const (
	trafficHuman   traffic = iota // turns of several calls, with a person's waits between them
	trafficCron                   // calls at full minutes, the same ones for many tenants
	trafficPoisson                // calls that know nothing of one another
)

// Waits in milliseconds. The shapes follow published traces of coding agents: most waits of
// a person are under two minutes, and a few last for hours.
var (
	humanWaits = quantiles{{0, 2_000}, {2_500, 30_000}, {5_000, 86_000}, {7_500, 300_000}, {9_000, 1_236_000},
		{9_570, 3_600_000}, {9_900, 50_040_000}, {10_000, 86_400_000}}
	modelWaits = quantiles{{0, 200}, {5_000, 5_700}, {9_000, 22_200}, {9_900, 84_000}, {10_000, 200_000}}
	turnCalls  = quantiles{{0, 1}, {5_000, 2}, {7_500, 8}, {9_000, 30}, {9_900, 113}, {10_000, 200}}
	callTimes  = quantiles{{0, 5}, {5_000, 300}, {9_000, 9_000}, {9_900, 25_000}, {10_000, 40_000}}
	// exponential is the distribution of that name, in thousandths of its mean.
	exponential = quantiles{{0, 0}, {1_000, 105}, {2_000, 223}, {3_000, 357}, {4_000, 511}, {5_000, 693}, {6_000, 916},
		{7_000, 1_204}, {8_000, 1_609}, {9_000, 2_303}, {9_500, 2_996}, {9_900, 4_605}, {9_990, 6_908}, {10_000, 9_500}}
)

// Times of connects in milliseconds, by what has to start. The first three stay below slowConnect.
var (
	nativeStarts   = quantiles{{0, 3}, {5_000, 10}, {9_000, 25}, {10_000, 120}}
	pythonStarts   = quantiles{{0, 120}, {1_000, 252}, {5_000, 800}, {9_000, 2_535}, {9_900, 6_490}, {10_000, 7_900}}
	nodeStarts     = quantiles{{0, 250}, {1_000, 489}, {5_000, 1_200}, {9_000, 2_943}, {9_900, 6_116}, {10_000, 7_900}}
	launcherStarts = quantiles{{0, 8_600}, {3_550, 17_000}, {7_100, 60_000}, {10_000, 180_000}}
	heavyStarts    = quantiles{{0, 50}, {1_000, 246}, {5_000, 1_345}, {9_000, 7_360}, {9_900, 29_400}, {9_990, 80_900}, {10_000, 200_000}}
)

// Lives of what ends by itself, in milliseconds.
var (
	upTimes    = quantiles{{0, 20_000}, {5_000, 600_000}, {9_000, 3_600_000}, {10_000, 14_400_000}}
	downTimes  = quantiles{{0, 1_000}, {5_000, 20_000}, {9_000, 120_000}, {10_000, 900_000}}
	tokenLives = quantiles{{0, 60_000}, {5_000, 3_600_000}, {9_000, 28_800_000}, {10_000, 43_200_000}}
)

var (
	cronPeriods  = [...]time.Duration{time.Minute, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour}
	poissonMeans = [...]time.Duration{30 * time.Second, 2 * time.Minute, 10 * time.Minute, time.Hour}
)

// pause is how long a tenant waits between turns.
func (l *workload) pause(at lifecycle.Instant, a *agent) time.Duration {
	switch a.traffic {
	case trafficCron:
		period := lifecycle.Instant(cronPeriods[a.pace])
		return since(at, (at/period+1)*period)
	case trafficPoisson:
		return time.Duration(exponential.draw(l.when)) * poissonMeans[a.pace] / 1000
	default:
		return humanWaits.wait(l.when)
	}
}

// settleDown draws what kind of tenant somebody is.
func (l *workload) settleDown(a *agent) {
	m := l.mix
	a.traffic = traffic(l.what.pick([]int{m.Human, m.Cron, m.Poisson}))
	a.names = uint8(1 + l.what.below(MaxNames))
	switch a.traffic {
	case trafficCron:
		a.pace = uint8(l.what.below(len(cronPeriods)))
	case trafficPoisson:
		a.pace = uint8(l.what.below(len(poissonMeans)))
	}
	a.mortal = l.fleet.fault.chance(l.fleet.faults.Expire)
}
