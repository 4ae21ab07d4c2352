package sim_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mayfly-mcp/mayfly/core"
	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/mayfly-mcp/mayfly/sim"
)

// cost is processor time and time of the wall. The first is what to look at on a machine that
// others use too.
type cost struct{ cpu, wall time.Duration }

func costOf(f func()) cost {
	cpu, start := processor(), time.Now()
	f()
	return cost{processor() - cpu, time.Since(start)}
}

func (c *cost) add(other cost) { c.cpu, c.wall = c.cpu+other.cpu, c.wall+other.wall }

// processor returns the time that all threads of the process have run, the collector's included.
func processor() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// BenchmarkRun is the whole simulator at 10,000 tenants, checks and hash included: steps/cpu-s is
// the figure to watch, steps/s the same on a machine that does nothing else, B/tenant what a run
// has allocated at its end.
func BenchmarkRun(b *testing.B) {
	const tenants = 10_000
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	benchmarkSteps(b, sim.Options{Seed: 7, Tenants: tenants, For: 2 * time.Hour})
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(b.N)/tenants, "B/tenant")
}

// BenchmarkConversationDay is 24 hours of 10,000 tenants who talk, with their servers' troubles:
// cpu-s/run is how long it takes of one core.
func BenchmarkConversationDay(b *testing.B) {
	mix := sim.DefaultMix()
	mix.Cron, mix.Poisson = 0, 0
	benchmarkSteps(b, sim.Options{Seed: 7, Tenants: 10_000, For: 24 * time.Hour, Mix: &mix})
}

func benchmarkSteps(b *testing.B, opt sim.Options) {
	b.Helper()
	var steps uint64
	c := costOf(func() {
		for b.Loop() {
			res, err := sim.Run(opt)
			if err != nil || res.Violation != nil {
				b.Fatal(err, res.Violation)
			}
			steps += res.Steps
		}
	})
	b.ReportMetric(float64(steps)/c.cpu.Seconds(), "steps/cpu-s")
	b.ReportMetric(float64(steps)/c.wall.Seconds(), "steps/s")
	b.ReportMetric(c.cpu.Seconds()/float64(b.N), "cpu-s/run")
	b.ReportMetric(float64(steps)/float64(b.N), "steps/run")
}

// neat is a workload that a host on a transport without faults can be given too: claims, calls,
// eager connects, reconnects, moves, releases and deaths, but no fault and no operator.
func neat(tenants int, d time.Duration) sim.Options {
	mix := sim.DefaultMix()
	mix.Cancel, mix.DieInTurn, mix.Ghost, mix.Abrupt, mix.Policy, mix.WriteOff, mix.Snipe = 0, 0, 0, 0, 0, 0, 0
	mix.Reload, mix.Restart, mix.Storm = 0, 0, 0
	return sim.Options{Seed: 7, Tenants: tenants, For: d, Mix: &mix, Faults: &sim.Faults{Healthy: 1}}
}

// BenchmarkRatio gives the same decisions of 10,000 tenants to the simulator, with its checks and
// its hash, and to the real host in a bubble of testing/synctest, with a goroutine for each
// tenant, call and session and nothing checked. Both count the steps of the machine inside; ratio
// is how many more of them the simulator makes in a second of processor time.
func BenchmarkRatio(b *testing.B) {
	opt := neat(10_000, 20*time.Minute)
	tape := recordOf(b, opt)
	var world, bubble cost
	var steps uint64
	for b.Loop() {
		world.add(costOf(func() {
			res, err := sim.Run(opt)
			if err != nil || res.Violation != nil {
				b.Fatal(err, res.Violation)
			}
			steps += res.Steps
		}))
		bubble.add(playInBubble(b, tape, nil))
	}
	rec := &core.Recorder{}
	playInBubble(b, tape, rec) // to count, which the other runs do not pay for
	slowSteps := float64(rec.Len() * b.N)
	b.ReportMetric(float64(steps)/world.cpu.Seconds(), "sim-steps/cpu-s")
	b.ReportMetric(slowSteps/bubble.cpu.Seconds(), "bubble-steps/cpu-s")
	b.ReportMetric(float64(steps)/slowSteps, "sim/bubble-steps")
	b.ReportMetric(float64(steps)/world.cpu.Seconds()/(slowSteps/bubble.cpu.Seconds()), "ratio")
	b.ReportMetric(float64(steps)/world.wall.Seconds()/(slowSteps/bubble.wall.Seconds()), "wall-ratio")
}

func recordOf(b *testing.B, opt sim.Options) *sim.Tape {
	b.Helper()
	opt.Record = true
	res, err := sim.Run(opt)
	if err != nil || res.Violation != nil {
		b.Fatal(err, res.Violation)
	}
	return res.Tape
}

// playInBubble performs a tape on a host. Opening and closing are part of the price on both sides.
func playInBubble(b *testing.B, tape *sim.Tape, rec *core.Recorder) (c cost) {
	b.Helper()
	parts := make([][]sim.Entry, tape.Tenants+1)
	for _, e := range tape.Entries {
		if e.Op < sim.OpDial {
			parts[e.Tenant] = append(parts[e.Tenant], e)
		}
	}
	all := func(string, string) (bool, error) { return true, nil }
	play := func(t *testing.T) { // the clock is a fake one inside
		c = costOf(func() {
			synctest.Test(t, func(t *testing.T) { playOnHost(t, tape, parts, rec) })
		})
	}
	// A bubble wants a test, and a benchmark is none.
	if !testing.RunTests(all, []testing.InternalTest{{Name: "bubble", F: play}}) {
		b.Fatal("the bubble failed")
	}
	return c
}

func playOnHost(t *testing.T, tape *sim.Tape, parts [][]sim.Entry, rec *core.Recorder) {
	h, err := core.Open(core.Config{Dialer: instant{}, Lifecycle: &tape.Config, Recorder: rec})
	if err != nil {
		t.Fatal(err)
	}
	var tenants sync.WaitGroup
	origin := time.Now()
	for _, entries := range parts {
		tenants.Go(func() { (&actor{host: h, origin: origin, claims: map[uint8]sim.Target{}}).play(t, entries) })
	}
	tenants.Wait()
	if err := h.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// actor is a tenant as a goroutine.
type actor struct {
	host   *core.Host
	origin time.Time
	owner  *core.Owner
	claims map[uint8]sim.Target
	asks   sync.WaitGroup
	open   atomic.Int32
}

// play performs the actions of a tenant, each at its time.
func (a *actor) play(t *testing.T, entries []sim.Entry) {
	for i := range entries {
		e := &entries[i]
		<-time.After(time.Duration(e.At) - time.Since(a.origin))
		if err := a.act(t.Context(), e); err != nil {
			t.Error(e.Op, err)
		}
	}
	a.asks.Wait()
}

func (a *actor) act(ctx context.Context, e *sim.Entry) (err error) {
	name, o := "m"+strconv.Itoa(int(e.Name)), a.owner
	switch e.Op {
	case sim.OpBorn:
		a.owner, err = a.host.Owner("a")
	case sim.OpDie:
		o.Close()
		clear(a.claims)
	case sim.OpDeclare:
		a.claims[e.Name] = e.Target
		return o.Declare(name, configOf(e.Target))
	case sim.OpRelease:
		if _, held := a.claims[e.Name]; held {
			delete(a.claims, e.Name)
			return o.Release(name)
		}
	case sim.OpDispatch:
		tool, args := toolOf(a.claims[e.Name]), json.RawMessage(fmt.Sprintf(takes+"%d}", e.Call.Takes))
		a.ask(func() { o.Call(ctx, tool, args) })
	case sim.OpEnsure:
		a.ask(func() { o.Ensure(ctx, name) })
	case sim.OpReconnect:
		a.ask(func() { o.Reconnect(ctx, name) })
	}
	return err
}

// ask lets a caller wait, unless as many do as the simulator lets wait. What it is told depends
// on what its siblings do at the same moment, and is nobody's business here.
func (a *actor) ask(f func()) {
	if a.open.Load() == sim.MaxOpen {
		return
	}
	a.open.Add(1)
	a.asks.Go(func() {
		f()
		a.open.Add(-1)
	})
}

func toolOf(t sim.Target) string { return "tool of " + t.String() }

func configOf(t sim.Target) transport.Config { return transport.Config{Command: t.String()} }

// instant is a transport whose sessions come up in a second and take as long for a call as its
// arguments say.
type instant struct{}

func (instant) Dial(_ context.Context, cfg transport.Config) (transport.Session, error) {
	return &session{tool: "tool of " + cfg.Command, ended: make(chan struct{})}, nil
}

type session struct {
	tool  string
	once  sync.Once
	ended chan struct{}
}

const takes = `{"takes":`

func (s *session) Initialize(ctx context.Context) ([]transport.Tool, error) {
	if err := s.spend(ctx, time.Second); err != nil {
		return nil, err
	}
	return s.List(ctx)
}

func (s *session) List(context.Context) ([]transport.Tool, error) {
	return []transport.Tool{{Name: s.tool}}, nil
}

var answer = &transport.Result{Raw: json.RawMessage(`{"content":[]}`)}

func (s *session) Call(ctx context.Context, _ string, args json.RawMessage) (*transport.Result, error) {
	d, err := strconv.ParseInt(string(args[len(takes):len(args)-1]), 10, 64)
	if err != nil {
		return nil, err
	}
	return answer, s.spend(ctx, time.Duration(d))
}

func (s *session) spend(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-s.ended:
		return s.Err()
	}
}

func (s *session) Stop(transport.Stage)  { s.once.Do(func() { close(s.ended) }) }
func (s *session) Down() <-chan struct{} { return s.ended }
func (s *session) Done() <-chan struct{} { return s.ended }
func (s *session) Err() error            { return context.Canceled }

// BenchmarkSeeds runs the same seeds on one goroutine and on two, each goroutine a seed at a time.
// Runs share nothing, so that cpu-speedup, two goroutines over what a seed costs beside another in
// processor time, should be 2. wall-speedup is that as well on a machine of which cores-had are 2.
func BenchmarkSeeds(b *testing.B) {
	const seeds = 4
	var alone, both cost
	for b.Loop() {
		alone.add(costOf(func() { runSeeds(b, seeds, 1) }))
		both.add(costOf(func() { runSeeds(b, seeds, 2) }))
	}
	b.ReportMetric(alone.wall.Seconds()/both.wall.Seconds(), "wall-speedup")
	b.ReportMetric(2*alone.cpu.Seconds()/both.cpu.Seconds(), "cpu-speedup")
	b.ReportMetric(both.cpu.Seconds()/both.wall.Seconds(), "cores-had")
}

func runSeeds(b *testing.B, seeds, workers int) {
	var next atomic.Uint64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for seed := next.Add(1); seed <= uint64(seeds); seed = next.Add(1) {
				res, err := sim.Run(sim.Options{Seed: seed, Tenants: 2_000, For: 2 * time.Hour})
				if err != nil || res.Violation != nil {
					b.Error(err, res.Violation)
				}
			}
		})
	}
	wg.Wait()
}
