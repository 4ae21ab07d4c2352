package idleflags

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mayfly-mcp/mayfly/cmd/internal/simflags"
	"github.com/mayfly-mcp/mayfly/sim/idle"
	"github.com/mayfly-mcp/mayfly/sim/idle/report"
	"github.com/mayfly-mcp/mayfly/sim/idle/traffic"
)

// Bench is what is to be played.
type Bench struct {
	base     idle.Config
	spec     string // of the traffic
	recorded bool
	Seeds    []uint64
	workers  int
	timeouts []time.Duration // of the frontier; none leaves it out
	exact    bool
	price    report.Price // the zero value recommends nothing
	policies []idle.Preset
	failures []time.Duration
	agents   []time.Duration
	gaps     int // of the oracles; 0 leaves them out
	curves   bool
	again    string
	Notes    []string
	Progress func(part string) func(done, of int)
	// Sweep and Agree play cells, and known numbers. They are idle.Sweep and Bench.Agreement, unless somebody has it done
	// elsewhere.
	Sweep func(ctx context.Context, cells []idle.Cell, seeds []uint64, workers int, progress func(done, of int)) ([]idle.Summary, error)
	Agree func(ctx context.Context) (rows, again []idle.Row, err error)
}

// Settle makes a bench of the flags, after they were parsed.
func (f *Flags) Settle(ctx context.Context, fs *flag.FlagSet) (*Bench, error) {
	if err := f.check(fs); err != nil {
		return nil, err
	}
	b := &Bench{workers: f.workersOr(), exact: f.exact, again: again(fs), Sweep: idle.Sweep, Progress: func(string) func(int, int) { return nil }}
	b.Agree = b.Agreement
	for i := range f.seeds {
		b.Seeds = append(b.Seeds, f.seed+uint64(i))
	}
	if f.oracles || f.Report != "" {
		b.gaps = f.gaps
	}
	if f.Report != "" && !f.Elsewhere {
		if err := report.CheckDir(f.Report); err != nil {
			return nil, fmt.Errorf("-report: %w", err)
		}
	}
	if f.oracles {
		return b, nil
	}
	b.base = idle.Config{Machine: f.machine, Share: f.share, Seed: f.seed,
		Flap: idle.Flap{Every: f.flap.every, Lasts: f.flap.lasts, Refuse: f.refuse}}
	for _, step := range []func(context.Context, *Bench, *flag.FlagSet) error{f.settlePrice, f.settleServers, f.settleTraffic, f.settleParts} {
		if err := step(ctx, b, fs); err != nil {
			return nil, err
		}
	}
	if f.Report != "" {
		b.curves = true
		b.base.Bucket = max(5*time.Minute, b.base.For/maxReportBuckets)
	}
	b.noteWarmUp()
	return b, b.tryAll()
}

// noteWarmUp tells when a run starts to be measured before its processes can have become as many as they would. Who
// asks for no warm-up at all means it.
func (b *Bench) noteWarmUp() {
	if len(b.timeouts) == 0 {
		return
	}
	longest := b.timeouts[len(b.timeouts)-1]
	if b.base.WarmUp > 0 && b.base.WarmUp < longest/4*5 {
		b.Notes = append(b.Notes, fmt.Sprintf("the warm-up of %s is shorter than a peer lasts at the longest timeout, 1.25 times %s: "+
			"fewer processes are counted than are kept in the long run; leave such timeouts out, or have more to play and a longer -warm-up", briefly(b.base.WarmUp), briefly(longest)))
	}
}

// maxReportBuckets bounds the course over time that a report draws a day of.
const maxReportBuckets = 50_000

// rfcBreakEven is the price of a cold start for which 1800 s is the cautious choice, in seconds of a process.
const rfcBreakEven = 2250 * time.Second

// settlePrice chooses what policies and clairvoyants go by.
func (f *Flags) settlePrice(_ context.Context, b *Bench, _ *flag.FlagSet) error {
	b.base.BreakEven = rfcBreakEven
	switch {
	case f.price > 0:
		b.price = report.Price{BreakEven: float64(f.price)}
		b.base.BreakEven = time.Duration(float64(f.price) * float64(time.Second))
	case f.money != (report.Price{}):
		b.price = f.money
	default:
		return nil
	}
	return b.price.Validate()
}

func (f *Flags) settleTraffic(ctx context.Context, b *Bench, fs *flag.FlagSet) error {
	b.spec = "agent"
	switch {
	case f.trace != "":
		b.spec = "trace:" + f.trace
	case len(f.traffic) > 0:
		b.spec = strings.Join(f.traffic, " + ")
	}
	tenants := f.tenants
	if tenants == 0 {
		tenants = defaultTenants
	}
	t, err := traffic.Parse(b.spec, traffic.Options{Tenants: tenants, Open: f.OpenTrace, Trace: traffic.TraceConfig{Window: time.Duration(f.window)}})
	if err != nil {
		return fmt.Errorf("-%s: %w", trafficFlag(f.trace), err)
	}
	b.base.Traffic = t
	b.base.For = time.Duration(f.length)
	if file, ok := strings.CutPrefix(strings.TrimSpace(b.spec), "trace:"); ok {
		b.recorded = true
		if err := b.settleTrace(ctx, t, file, simflags.IsSet(fs, "for")); err != nil {
			return fmt.Errorf("-%s: %w", trafficFlag(f.trace), err)
		}
		if !simflags.IsSet(fs, "seeds") {
			b.Seeds = b.Seeds[:min(len(b.Seeds), traceSeeds)]
		}
	}
	b.base.WarmUp = time.Duration(f.warmUp)
	if !simflags.IsSet(fs, "warm-up") {
		b.base.WarmUp = (b.base.For / 7).Truncate(time.Second)
	}
	if b.base.WarmUp >= b.base.For {
		return fmt.Errorf("-warm-up is %s, and the whole run, -for, takes %s; leave something to be measured", briefly(b.base.WarmUp), briefly(b.base.For))
	}
	return nil
}

func trafficFlag(trace string) string {
	if trace != "" {
		return "trace"
	}
	return "traffic"
}

// traceSeeds are the runs over a trace, where nothing but the starts of servers is drawn.
const traceSeeds = 3

// traceLook is after how many calls of a trace somebody may interrupt.
const traceLook = 1 << 14

// settleTrace reads a trace once, so that what is wrong with it is told before anything is played.
func (b *Bench) settleTrace(ctx context.Context, t traffic.Traffic, file string, lengthGiven bool) error {
	streams, err := t.Streams(0)
	if err != nil {
		return err
	}
	defer traffic.Close(streams)
	calls, last := 0, time.Duration(0)
	for _, s := range streams {
		for {
			c, ok, err := s.Next(0)
			if err != nil {
				return err
			}
			if !ok {
				break
			}
			if calls++; calls%traceLook == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			last = max(last, c.At)
		}
	}
	if !lengthGiven {
		b.base.For = last.Truncate(time.Second) + time.Second
	}
	if b.base.For > maxIdleFor {
		return fmt.Errorf("%s spans %v; give a -for of at most 366d", file, last)
	}
	b.Notes = append(b.Notes, fmt.Sprintf("%s: %d calls in %s", file, calls, briefly(last.Round(time.Second))))
	return nil
}

// settleParts decides what is played: what is asked for, all of it for a report, the frontier if nothing is.
func (f *Flags) settleParts(_ context.Context, b *Bench, fs *flag.FlagSet) error {
	all := f.Report != ""
	failing := len(f.failedRetry) > 0 || simflags.IsSet(fs, "flap")
	others := len(f.policies) > 0 || failing || len(f.agents) > 0
	if all || !others || len(f.timeouts) > 0 {
		b.timeouts = slices.Clone([]time.Duration(f.timeouts))
		if len(b.timeouts) == 0 {
			b.timeouts = slices.Clone([]time.Duration(defaultTimeouts))
		}
		slices.Sort(b.timeouts)
	}
	if failing || all {
		b.failures = f.failedRetry
		if len(b.failures) == 0 {
			b.failures = []time.Duration{0, 5 * time.Minute, time.Minute}
		}
	}
	b.agents = f.agents
	specs := []string(f.policies)
	if all && len(specs) == 0 || slices.Contains(specs, "all") {
		specs = append(slices.DeleteFunc(slices.Clone(specs), func(s string) bool { return s == "all" }), allPolicies(b, f)...)
	}
	for i, s := range specs {
		p, err := idle.ParsePolicy(s)
		if err != nil {
			return fmt.Errorf("-policy: %w", err)
		}
		if slices.Contains(specs[:i], s) {
			return fmt.Errorf("-policy: %s is given twice", s)
		}
		b.policies = append(b.policies, p)
	}
	return nil
}

// allPolicies are those of "all": each kind with its defaults, and two ways to choose who goes at a cap. A trace does not
// say beforehand what cap would bite.
func allPolicies(b *Bench, f *Flags) []string {
	specs := []string{"rfc", "exact", "minimax", "random", "per-class:per-second=720", "tiers", "hybrid", "hazard", "sweep", "at-once", "keep"}
	if limit := capFor(f.tenants); !b.recorded {
		specs = append(specs, "lru:max="+strconv.Itoa(limit), "greedy-dual:max="+strconv.Itoa(limit))
	}
	return append(specs, "clairvoyant", "prewarm")
}

// capFor is a cap that bites at the peak and not on average.
func capFor(tenants int) int {
	if tenants == 0 {
		tenants = defaultTenants
	}
	return max(1, tenants/4)
}

// tryAll refuses what would fail at the start of a run.
func (b *Bench) tryAll() error {
	for _, p := range append(slices.Clone(b.policies), idle.Preset{Policy: idle.RFC{}}) {
		c := b.base
		if err := p.Apply(&c); err != nil {
			return fmt.Errorf("-policy %s: %w", p.Name(), err)
		}
		if err := c.Validate(); err != nil {
			return err
		}
	}
	return nil
}

// again is the command that makes the same report.
func again(fs *flag.FlagSet) string {
	words := []string{"mayfly idle"}
	fs.Visit(func(x *flag.Flag) {
		switch x.Name {
		case "workers", "json":
			return
		case "report": // its name is nobody's business but its own
			words = append(words, "-report DIR")
			return
		}
		values := []string{x.Value.String()}
		if t, ok := x.Value.(*texts); ok {
			values = *t
		}
		for _, v := range values {
			if b, ok := x.Value.(interface{ IsBoolFlag() bool }); ok && b.IsBoolFlag() {
				if v == "false" {
					words = append(words, "-"+x.Name+"=false")
				} else {
					words = append(words, "-"+x.Name)
				}
				continue
			}
			words = append(words, "-"+x.Name+" "+shellWord(v))
		}
	})
	return strings.Join(words, " ")
}

// shellWord quotes a word for a shell, where that is needed.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=,+%@", r)
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
