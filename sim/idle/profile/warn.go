package profile

import (
	"fmt"
	"slices"
	"time"
)

// From these on a warning is worth its line.
const (
	firstFactor = 2.0  // the first start, as a multiple of the p90 of the others
	busyLoad    = 0.75 // load average per usable core, before the first start
	timerShare  = 0.05 // p99 of the timer's overshoot, as a share of the median connect
	timerFloor  = 2.0  // and in milliseconds
)

// Warnings say in words what makes the numbers less than they look.
func (p *Profile) Warnings() []string {
	looks := []func(*Profile) string{(*Profile).warnShort, (*Profile).warnLoad}
	if good, _ := p.connects(); len(good) > 0 {
		looks = []func(*Profile) string{
			(*Profile).warnShort, (*Profile).warnFailed, (*Profile).warnFirst, (*Profile).warnFew, (*Profile).warnLoad,
			(*Profile).warnTimer, (*Profile).warnWarm, (*Profile).warnMemory, (*Profile).warnStop,
		}
	}
	var out []string
	for _, look := range looks {
		if text := look(p); text != "" {
			out = append(out, text)
		}
	}
	return out
}

func (p *Profile) warnShort() string {
	if len(p.Starts) >= p.Settings.Starts {
		return ""
	}
	return fmt.Sprintf("only %d of the %d starts that were asked for were made", len(p.Starts), p.Settings.Starts)
}

func (p *Profile) warnFailed() string {
	_, bad := p.connects()
	if len(bad) == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d starts failed; the quantiles are those of the others", len(bad), len(p.Starts))
}

func (p *Profile) warnFirst() string {
	good, _ := p.connects()
	switch {
	case p.First == nil:
		return ""
	case !p.First.OK:
		return "the first start failed and others did not: it may have filled a cache, as every first start on a machine will have to"
	}
	rest := pick(good, 0.9)
	if p.First.ConnectMS < firstFactor*rest {
		return ""
	}
	return fmt.Sprintf("the first start took %v, %.1f times the p90 of the others (%v): they found warm caches, and a server that was unused for long may not; "+
		"it is kept apart", show(p.First.ConnectMS), p.First.ConnectMS/rest, show(rest))
}

func (p *Profile) warnFew() string {
	good, _ := p.connects()
	switch n := len(good); {
	case n < Needs(0.5):
		return fmt.Sprintf("%d starts are too few even for an interval of the median; -n %d would do, -n %d for p95, -n %d for p99",
			n, Needs(0.5), Needs(0.95), Needs(0.99))
	case n < Needs(0.95):
		return fmt.Sprintf("%d starts are too few to bound a p95 or a p99 from above; -n %d would do for p95, -n %d for p99", n, Needs(0.95), Needs(0.99))
	case n < Needs(0.99):
		return fmt.Sprintf("%d starts are too few to bound a p99 from above; -n %d would do", n, Needs(0.99))
	}
	return ""
}

func (p *Profile) warnLoad() string {
	if per := p.Machine.LoadBefore / float64(max(1, p.Machine.Procs)); per <= busyLoad {
		return ""
	}
	return fmt.Sprintf("the machine was busy before the first start: load %.2f on %d cores; the times include waiting for a core",
		p.Machine.LoadBefore, p.Machine.Procs)
}

func (p *Profile) warnTimer() string {
	good, _ := p.connects()
	over := p.Machine.Timer.P99
	if over <= timerFloor || over <= timerShare*pick(good, 0.5) {
		return ""
	}
	return fmt.Sprintf("noise: of %d control timers that ran during connects the p99 was late by %v and the worst by %v, while the median connect took %v; "+
		"read small differences as nothing", p.Machine.Timer.N, show(over), show(p.Machine.Timer.Max), show(pick(good, 0.5)))
}

func (p *Profile) warnWarm() string {
	n, why := p.count(func(s Start) bool { return s.WarmFailure != "" }), ""
	for _, s := range p.Starts {
		if why == "" {
			why = s.WarmFailure
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("warm calls (%s) failed in %d starts: %s", p.Settings.WarmCall, n, why)
}

func (p *Profile) warnMemory() string {
	if p.Server.URL != "" {
		return "memory and spawn are the far side's: of a URL neither can be seen"
	}
	all := p.count(func(s Start) bool { return s.OK })
	rss, pss := len(p.known(func(s Start) float64 { return s.RSSMiB })), len(p.known(func(s Start) float64 { return s.PSSMiB }))
	switch {
	case rss < all:
		return fmt.Sprintf("%d of %d servers ended before their memory was read", all-rss, all)
	case pss < rss:
		return fmt.Sprintf("PSS could be read for %d of %d starts; RSS counts shared memory for each process", pss, rss)
	}
	return ""
}

func (p *Profile) warnStop() string {
	if n := p.count(func(s Start) bool { return s.OK && s.StopRung == RungKill }); n > 0 {
		return fmt.Sprintf("%d starts had to be killed: the server heeds neither the end of its input nor SIGTERM in time", n)
	}
	if n := p.count(func(s Start) bool { return s.OK && s.StopRung == RungTerminate }); n > 0 && p.Server.URL == "" {
		return fmt.Sprintf("%d starts ended on SIGTERM only: the server does not heed the end of its input in time, so every stop takes that grace longer", n)
	}
	return ""
}

// count counts starts.
func (p *Profile) count(is func(Start) bool) (n int) {
	for _, s := range p.Starts {
		if is(s) {
			n++
		}
	}
	return n
}

// warm are the warm calls of all starts, sorted.
func (p *Profile) warm() (out []float64) {
	for _, s := range p.Starts {
		out = append(out, s.WarmMS...)
	}
	slices.Sort(out)
	return out
}

// show prints milliseconds with about three digits.
func show(ms float64) time.Duration {
	d := duration(ms)
	unit := time.Microsecond
	for d >= 1000*unit {
		unit *= 10
	}
	return d.Round(unit)
}
