package idleflags

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mayfly-mcp/mayfly/cmd/internal/simflags"
	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/sim/idle/profile"
	"github.com/mayfly-mcp/mayfly/sim/idle/report"
)

// Flags are the flags of mayfly idle.
type Flags struct {
	traffic, policies, profiles texts
	trace, servers              string
	timeouts                    spans
	tenants, seeds, workers     int
	length, warmUp, window      spanFlag
	seed                        uint64
	machine                     lifecycle.Config
	exact                       bool
	price                       priceFlag
	money                       report.Price
	flap                        flapFlag
	refuse                      time.Duration
	failedRetry                 spans
	share                       int
	agents                      spans
	oracles                     bool
	gaps                        int
	Report                      string
	JSON, List                  bool

	// Elsewhere says that Report is not where the report will be written, so that nobody looks whether it may be.
	Elsewhere bool
	// OpenTrace and ReadProfile read the files that flags name.
	OpenTrace   func(name string) (io.ReadCloser, error)
	ReadProfile func(name string) (*profile.Profile, error)
}

// Defaults of the bench: a week of a few hundred tenants, long enough for waits of hours to weigh, and answered in
// well under a minute.
const (
	defaultTenants = 300
	defaultSeeds   = 5
	defaultGaps    = 100_000
)

// defaultTimeouts are what the frontier is drawn through.
var defaultTimeouts = spans{30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute,
	20 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour}

// Bounds of what is asked for.
const (
	maxIdleTenants  = 1 << 20
	maxIdleSeeds    = 1000
	maxIdleWorkers  = 1024
	maxIdleTimeouts = 100
	maxIdlePolicies = 100
	maxIdleFor      = 366 * 24 * time.Hour
	maxIdleTimeout  = 366 * 24 * time.Hour
)

// New are flags with their defaults.
func New() *Flags {
	f := &Flags{machine: lifecycle.DefaultConfig(), length: spanFlag(7 * 24 * time.Hour)}
	// How long a call takes is the traffic's business, and the same under every timeout.
	f.machine.CallTimeout = 24 * time.Hour
	return f
}

// Define defines the flags.
func (f *Flags) Define(fs *flag.FlagSet) {
	fs.Var(&f.traffic, "traffic", "who calls what and when, as a `SPEC` of -list; repeated, all of them beside each other (default agent)")
	fs.StringVar(&f.trace, "trace", "", "a recorded trace in place of -traffic: a `FILE` of CSV or JSONL, as above")
	fs.Var(&f.window, "trace-window", "how much earlier than the latest line before it a line may be, a `TIME`; negative: not at all (default 1m)")
	fs.StringVar(&f.servers, "servers", "", "the fleet: classes of -list or of -profile with weights, as in python=3,npx=1 (default mixed, or all of -profile)")
	fs.Var(&f.profiles, "profile", "a class of servers measured by \"mayfly idle measure\", from this `FILE`; may be repeated")
	fs.Var(&f.policies, "policy", "compare this policy, a `SPEC` of -list, at -idle-timeout; may be repeated; all compares everything")
	fs.Var(&f.timeouts, "timeout", "idle timeouts of the frontier, a `LIST` with commas (default "+defaultTimeouts.String()+")")
	fs.BoolVar(&f.exact, "exact", true, "play an exact timer beside the RFC's ticks of T/4")
	fs.IntVar(&f.tenants, "tenants", 0, "tenants of a population whose spec does not say (default "+strconv.Itoa(defaultTenants)+")")
	fs.Var(&f.length, "for", "length of a run, a `TIME` such as 12h; that of a trace is its own")
	fs.Var(&f.warmUp, "warm-up", "a `TIME` at its start that is not measured (default a seventh of -for)")
	fs.IntVar(&f.seeds, "seeds", defaultSeeds, "runs of each kind, under seeds that follow each other; intervals come from them")
	fs.Uint64Var(&f.seed, "seed", 1, "the first seed")
	fs.IntVar(&f.workers, "workers", 0, "runs at a time; results do not depend on it (default one for each processor)")
	fs.Var(&f.price, "price", "what a cold start is worth: `B`, process-seconds that may be spent to avoid one; recommends a timeout")
	fs.Float64Var(&f.money.GiBHour, "memory-cost", 0, "money for a GiB of processes for an hour; with one of the next three it recommends a timeout")
	fs.Float64Var(&f.money.WaitHour, "latency-cost", 0, "money for an hour of callers' waiting for starts")
	fs.Float64Var(&f.money.Delayed, "delay-cost", 0, "money for each call that waits for a start, however long")
	fs.Float64Var(&f.money.Failed, "failure-cost", 0, "money for each call that gets no session")
	fs.Var(&f.flap, "flap", "have servers go down: `EVERY/LASTS`, mean times such as 1d/10m; shows what -failed-retry does")
	fs.DurationVar(&f.refuse, "refuse", 0, "how soon a connect fails during -flap; 0 means that it hangs until -connect-timeout")
	fs.Var(&f.failedRetry, "failed-retry", "compare how long failed peers are left alone, a `LIST`; 0 is the RFC's way, the idle timeout")
	fs.IntVar(&f.share, "share", 0, "so many tenants each use the same peers, with a claim each")
	fs.Var(&f.agents, "agents", "with -share: idle timeouts that the tenants' claims ask for, in turn, a `LIST`; longest and shortest wins are compared")
	fs.BoolVar(&f.oracles, "oracles", false, "play what is known in closed form, and fail where the simulator is off")
	fs.IntVar(&f.gaps, "gaps", defaultGaps, "gaps between calls for each check of -oracles")
	fs.StringVar(&f.Report, "report", "", "play frontier, policies, failures and oracles, and write JSON, CSV, plots and a page to this `DIR`")
	fs.BoolVar(&f.JSON, "json", false, "print the report as JSON in place of the tables")
	fs.BoolVar(&f.List, "list", false, "list kinds of traffic, servers and policies")
	fs.DurationVar(&f.machine.IdleTimeout, "idle-timeout", f.machine.IdleTimeout, "T of -policy, -failed-retry, -flap and -agents; the frontier has -timeout")
	fs.DurationVar(&f.machine.CallTimeout, "call-timeout", f.machine.CallTimeout, "bound of one call, which fails with its peer at that; the traffic says how long calls take")
	simflags.DefineConfig(fs, &f.machine, "connect-timeout", "start-timeout", "queue-timeout", "max-live", "max-dialing")
}

// Alone refuses flags beside the first of those that are named.
func (f *Flags) Alone(fs *flag.FlagSet, names ...string) (err error) {
	fs.Visit(func(x *flag.Flag) {
		if !slices.Contains(names, x.Name) {
			err = fmt.Errorf("-%s does not go with -%s", x.Name, names[0])
		}
	})
	return err
}

// check refuses what is wrong with numbers by themselves.
func (f *Flags) check(fs *flag.FlagSet) error {
	atLeast := func(name string, v, least, most int) error {
		if simflags.IsSet(fs, name) && (v < least || v > most) {
			return fmt.Errorf("-%s is %d; use %d to %d", name, v, least, most)
		}
		return nil
	}
	money := func(name string, v float64) error {
		if math.IsNaN(v) || v < 0 || v > 1e12 || simflags.IsSet(fs, name) && v == 0 {
			return fmt.Errorf("-%s is %v; use a number above 0, up to 1e12", name, v)
		}
		return nil
	}
	return errors.Join(
		atLeast("tenants", f.tenants, 1, maxIdleTenants),
		atLeast("seeds", f.seeds, 1, maxIdleSeeds),
		atLeast("workers", f.workers, 1, maxIdleWorkers),
		atLeast("share", f.share, 1, maxIdleTenants),
		atLeast("gaps", f.gaps, 10_000, 1_000_000_000),
		money("memory-cost", f.money.GiBHour), money("latency-cost", f.money.WaitHour),
		money("delay-cost", f.money.Delayed), money("failure-cost", f.money.Failed),
		f.checkTimes(fs), f.checkTogether(fs))
}

func (f *Flags) checkTimes(fs *flag.FlagSet) error {
	positive := func(name string, list []time.Duration, zero bool) error {
		for i, d := range list {
			if d < 0 || d > maxIdleTimeout || d == 0 && !zero {
				return fmt.Errorf("-%s: %v is no time that can be played; use more than 0 and at most 366d%s", name, d, never(name))
			}
			if slices.Contains(list[:i], d) {
				return fmt.Errorf("-%s: %v is given twice", name, d)
			}
		}
		if len(list) > maxIdleTimeouts {
			return fmt.Errorf("-%s lists %d times; use at most %d", name, len(list), maxIdleTimeouts)
		}
		return nil
	}
	errs := []error{positive("timeout", f.timeouts, false), positive("failed-retry", f.failedRetry, true), positive("agents", f.agents, false)}
	errs = append(errs, simflags.Negative(&f.machine, func(name string) bool {
		return name != "idle-timeout" && name != "failed-retry" && simflags.IsSet(fs, name)
	})...)
	if t := f.machine.IdleTimeout; t <= 0 || t > maxIdleTimeout {
		errs = append(errs, fmt.Errorf("-idle-timeout is %v; use more than 0 and at most 366d; -policy keep never stops anything", t))
	}
	if t := f.machine.CallTimeout; t == 0 {
		errs = append(errs, errors.New("-call-timeout is 0s; use more than 0"))
	}
	if d := time.Duration(f.length); d <= 0 || d > maxIdleFor {
		errs = append(errs, fmt.Errorf("-for is %s; use more than 0 and at most 366d", briefly(d)))
	}
	if d := time.Duration(f.warmUp); d < 0 {
		errs = append(errs, fmt.Errorf("-warm-up is %v; use 0 or more", d))
	}
	if f.refuse < 0 {
		errs = append(errs, fmt.Errorf("-refuse is %v; use 0 or more", f.refuse))
	}
	if f.trace == "" && simflags.IsSet(fs, "trace") {
		errs = append(errs, errors.New("-trace names no file"))
	}
	return errors.Join(errs...)
}

func never(name string) string {
	if name == "timeout" {
		return "; -policy at-once and -policy keep are the two ends"
	}
	return ""
}

// checkTogether refuses flags that say nothing without another, or contradict each other.
func (f *Flags) checkTogether(fs *flag.FlagSet) error {
	var errs []error
	say := func(wrong bool, text string) {
		if wrong {
			errs = append(errs, errors.New(text))
		}
	}
	waiting := simflags.IsSet(fs, "latency-cost") || simflags.IsSet(fs, "delay-cost") || simflags.IsSet(fs, "failure-cost")
	say(simflags.IsSet(fs, "trace") && simflags.IsSet(fs, "traffic"), "-trace and -traffic both say who calls; use one of them")
	say(simflags.IsSet(fs, "trace") && simflags.IsSet(fs, "tenants"), "-tenants does not go with -trace, which names its tenants")
	say(simflags.IsSet(fs, "price") && (waiting || simflags.IsSet(fs, "memory-cost")), "-price is in process-seconds and -memory-cost and the others are in money; use one or the other")
	say(waiting && !simflags.IsSet(fs, "memory-cost"), "waiting has a price and memory has none, so the longest timeout would always be best; give -memory-cost too")
	say(!waiting && simflags.IsSet(fs, "memory-cost"), "-memory-cost alone would always have the shortest timeout; give -latency-cost, -delay-cost or -failure-cost too")
	say(simflags.IsSet(fs, "refuse") && !simflags.IsSet(fs, "flap"), "-refuse says how connects fail during -flap, which is not given")
	say(simflags.IsSet(fs, "agents") && f.share < 2, "-agents needs -share 2 or more: where nobody shares a peer, nobody has to win")
	say(simflags.IsSet(fs, "gaps") && !f.oracles && f.Report == "", "-gaps is for -oracles and -report")
	say(simflags.IsSet(fs, "report") && f.Report == "", "-report names no directory")
	say(simflags.IsSet(fs, "servers") && strings.TrimSpace(f.servers) == "", "-servers is empty; name classes of -list")
	say(len(f.policies) > maxIdlePolicies, fmt.Sprintf("-policy is given %d times; use at most %d", len(f.policies), maxIdlePolicies))
	if f.oracles {
		errs = append(errs, f.Alone(fs, "oracles", "gaps", "seed", "json"))
	}
	return errors.Join(errs...)
}

func (f *Flags) workersOr() int {
	if f.workers > 0 {
		return f.workers
	}
	return runtime.GOMAXPROCS(0)
}

// texts are the values of a flag that may be repeated.
type texts []string

func (t *texts) String() string { return "" }

func (t *texts) Set(s string) error {
	if strings.TrimSpace(s) == "" {
		return errors.New("it is empty")
	}
	*t = append(*t, s)
	return nil
}

// spanFlag is a duration, in days too.
type spanFlag time.Duration

func (s *spanFlag) String() string {
	if s == nil {
		return ""
	}
	return briefly(time.Duration(*s))
}

func (s *spanFlag) Set(text string) error {
	d, err := parseSpan(text)
	*s = spanFlag(d)
	return err
}

// parseSpan reads a duration of Go, or days.
func parseSpan(text string) (time.Duration, error) {
	text = strings.TrimSpace(text)
	if n, ok := strings.CutSuffix(text, "d"); ok {
		if days, err := strconv.ParseFloat(n, 64); err == nil && math.Abs(days) < 36500 {
			return time.Duration(days * 24 * float64(time.Hour)), nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%q is no time; write it like 90s, 30m, 2h or 1d", text)
	}
	return d, nil
}

// briefly leaves out units that are zero.
func briefly(d time.Duration) string {
	if d >= 48*time.Hour && d%(24*time.Hour) == 0 {
		return strconv.Itoa(int(d/(24*time.Hour))) + "d"
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	return strings.TrimSuffix(s, "h0m") + map[bool]string{true: "h"}[strings.HasSuffix(s, "h0m")]
}

// spans are a list of durations.
type spans []time.Duration

func (s *spans) String() string {
	if s == nil {
		return ""
	}
	var words []string
	for _, d := range *s {
		words = append(words, briefly(d))
	}
	return strings.Join(words, ",")
}

func (s *spans) Set(text string) error {
	*s = nil
	for _, word := range strings.Split(text, ",") {
		d, err := parseSpan(word)
		if err != nil {
			return err
		}
		*s = append(*s, d)
	}
	return nil
}

// priceFlag is B, as a number of process-seconds or as a duration of one process.
type priceFlag float64

func (p *priceFlag) String() string {
	if p == nil || *p == 0 {
		return ""
	}
	return strconv.FormatFloat(float64(*p), 'g', -1, 64)
}

func (p *priceFlag) Set(text string) error {
	v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil {
		d, spanErr := parseSpan(text)
		if spanErr != nil {
			return fmt.Errorf("%q is no price; write process-seconds, like 2250, or a time, like 37m30s", text)
		}
		v = d.Seconds()
	}
	if !(v > 0 && v <= maxPrice) {
		return fmt.Errorf("%q is no price; use more than 0 and at most %d process-seconds", text, int(maxPrice))
	}
	*p = priceFlag(v)
	return nil
}

// maxPrice is ten years of a process for one cold start.
const maxPrice = 315_360_000

// flapFlag is how often servers go down, and for how long.
type flapFlag struct{ every, lasts time.Duration }

func (f *flapFlag) String() string {
	if f == nil || f.every == 0 {
		return ""
	}
	return briefly(f.every) + "/" + briefly(f.lasts)
}

func (f *flapFlag) Set(text string) (err error) {
	every, lasts, ok := strings.Cut(text, "/")
	if !ok {
		return fmt.Errorf("%q does not say how long; write it like 1d/10m", text)
	}
	if f.every, err = parseSpan(every); err != nil {
		return err
	}
	if f.lasts, err = parseSpan(lasts); err != nil {
		return err
	}
	if f.every <= 0 || f.lasts <= 0 || f.every > maxIdleFor || f.lasts > maxIdleFor {
		return fmt.Errorf("%q: both times must be more than 0 and at most 366d", text)
	}
	return nil
}
