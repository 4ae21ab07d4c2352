package sim

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

var update = flag.Bool("update", false, "rewrite the golden files; commit only a diff you understand")

func mustRun(t *testing.T, o Options) *Result {
	t.Helper()
	res, err := Run(o)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// TestSameOptionsSameRun runs everything twice, on different numbers of processors.
func TestSameOptionsSameRun(t *testing.T) {
	for seed := uint64(1); seed <= 5; seed++ {
		o := hardOptions(seed)
		o.Record = true
		before := runtime.GOMAXPROCS(1)
		a := mustRun(t, o)
		runtime.GOMAXPROCS(max(before, 2))
		b := mustRun(t, o)
		runtime.GOMAXPROCS(before)
		if d := cmp.Diff(a, b); d != "" {
			t.Errorf("seed %d gave two runs:\n%s", seed, d)
		}
		other := hardOptions(seed + 100)
		if c := mustRun(t, other); c.Hash == a.Hash {
			t.Errorf("seeds %d and %d gave the same hash %016x", seed, other.Seed, a.Hash)
		}
	}
}

// TestGoldenRun pins a small run, so that a change of its meaning is seen and understood.
func TestGoldenRun(t *testing.T) {
	var b strings.Builder
	tight := hardOptions(3)
	crowded(&tight.Config)
	for _, o := range []Options{{Seed: 1, Tenants: 20, For: 2 * time.Hour}, hardOptions(2), tight} {
		res := mustRun(t, o)
		fmt.Fprintf(&b, "seed %d: %d steps, %d events, hash %016x\n", o.Seed, res.Steps, res.Events, res.Hash)
		for _, c := range res.Story() {
			fmt.Fprintf(&b, "%10d %s\n", c.N, c.What)
		}
		res.Coverage.WriteCells(&b)
	}
	path := filepath.Join("testdata", "run.golden")
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), b.String()); d != "" {
		t.Errorf("the run changed; if the machine or the workload was meant to change, run with -update:\n%s", d)
	}
}

// TestReplay replays recorded runs through the text of their tapes.
func TestReplay(t *testing.T) {
	for seed := uint64(1); seed <= 10; seed++ {
		o := hardOptions(seed)
		o.Record = true
		a := mustRun(t, o)
		tape, err := Decode("x.tape", strings.NewReader(a.Tape.String()))
		if err != nil {
			t.Fatal(err)
		}
		b, err := Replay(tape, Options{})
		if err != nil {
			t.Fatal(err)
		}
		a.Tape = nil
		if d := cmp.Diff(a, b); d != "" {
			t.Errorf("seed %d: the replay differs:\n%s", seed, d)
		}
	}
}

// TestReplayViolation replays what mutants broke: the same rule at the same step.
func TestReplayViolation(t *testing.T) {
	replayed := 0
	for i := range timeMutants {
		m := &timeMutants[i]
		o := hardOptions(3)
		if m.world != nil {
			m.world(&o.Config)
		}
		o.Subject = m.subject()
		a := mustRun(t, o)
		if a.Violation == nil {
			continue // another seed breaks it; TestEveryCheckFails sees to that
		}
		replayed++
		b, err := Replay(a.Tape, Options{Subject: m.subject()})
		if err != nil {
			t.Fatal(err)
		}
		if a.Hash != b.Hash || !cmp.Equal(a.Violation, b.Violation) {
			t.Errorf("%s: run %016x broke %v, its replay %016x broke %v", m.name, a.Hash, a.Violation, b.Hash, b.Violation)
		}
	}
	if replayed < 5 {
		t.Errorf("only %d mutants were replayed", replayed)
	}
}

// TestPartsOfTapes shows that a tape from which entries were deleted is a tape: it replays,
// and the machine breaks no rule in it.
func TestPartsOfTapes(t *testing.T) {
	r := newRand(1, "parts")
	for seed := uint64(1); seed <= 10; seed++ {
		o := hardOptions(seed)
		o.Record = true
		whole := mustRun(t, o).Tape
		for _, keep := range []int{30, 500, 950} {
			part := *whole
			part.Entries = nil
			for _, e := range whole.Entries {
				if r.chance(keep) {
					part.Entries = append(part.Entries, e)
				}
			}
			res, err := Replay(&part, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if res.Violation != nil {
				t.Errorf("seed %d with %d of 1000 entries: %v", seed, keep, res.Violation)
			}
		}
	}
}

func TestOptionsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Options)
		want   string
	}{
		"too many tenants": {func(o *Options) { o.Tenants = MaxTenants + 1 }, "MaxTenants"},
		"negative tenants": {func(o *Options) { o.Tenants = -1 }, "tenants is -1"},
		"too long":         {func(o *Options) { o.For = MaxFor + 1 }, "MaxFor"},
		"too short":        {func(o *Options) { o.For = 1 }, "for is 1ns"},
		"too much":         {func(o *Options) { o.Tenants, o.For = MaxTenants, 100*time.Hour }, "MaxTenantHours"},
		"tiny period":      {func(o *Options) { o.Config.IdleTimeout = time.Millisecond }, "MinPeriod"},
		"huge grace":       {func(o *Options) { o.Config.KillGrace = MaxFor + 1 }, "kill-grace"},
		"bad config":       {func(o *Options) { o.Config.MaxWaiters = 0 }, "MaxWaiters"},
		"no audits":        {func(o *Options) { o.AuditEvery = -1 }, "audit-every"},
	} {
		o := Options{Config: lifecycle.DefaultConfig()}
		c.change(&o)
		if _, err := Run(o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: want an error with %q, got %v", name, c.want, err)
		}
	}
}

func TestStop(t *testing.T) {
	asked := 0
	_, err := Run(Options{Stop: func() bool { asked++; return asked > 2 }})
	if !errors.Is(err, ErrStopped) || asked != 3 {
		t.Errorf("want ErrStopped after 3 questions, got %v after %d", err, asked)
	}
}

// fickle differs from one construction to the next, as a subject with a map order would.
type fickle struct {
	*lifecycle.Machine
	extra uint64
}

func (f *fickle) Step(now lifecycle.Instant, in lifecycle.Input) lifecycle.Output {
	out := f.Machine.Step(now, in)
	for i := range out.Events {
		out.Events[i].Seq += f.extra
	}
	return out
}

func TestNotDeterministic(t *testing.T) {
	made := uint64(0)
	o := hardOptions(1)
	o.Subject = func(c lifecycle.Config) Subject {
		made++
		return &fickle{lifecycle.New(c), made}
	}
	if _, err := Run(o); err == nil || !strings.Contains(err.Error(), "not deterministic") {
		t.Errorf("want an error that the subject is not deterministic, got %v", err)
	}
}

// TestRoomIsScarce shows that the bounds of the crowded runs are reached in every way.
func TestRoomIsScarce(t *testing.T) {
	var reclaimed, overloaded, configured uint64
	for seed := uint64(1); seed <= 5; seed++ {
		o := hardOptions(seed)
		crowded(&o.Config)
		r := mustRun(t, o)
		reclaimed += r.Reclaimed
		overloaded += r.Refusals[lifecycle.ReasonOverloaded]
		configured += r.Actions[OpConfigure]
	}
	if reclaimed == 0 || overloaded == 0 || configured == 0 {
		t.Errorf("%d reclaimed, %d refused, %d reconfigurations", reclaimed, overloaded, configured)
	}
}

// TestRareThings shows that the hard workload reaches what it is for.
func TestRareThings(t *testing.T) {
	var sum Result
	for seed := uint64(1); seed <= 20; seed++ {
		r := mustRun(t, hardOptions(seed))
		for i, n := range r.Refusals {
			sum.Refusals[i] += n
		}
		for i, n := range r.Actions {
			sum.Actions[i] += n
		}
		for from := range r.Coverage.Transitions {
			for to, n := range r.Coverage.Transitions[from] {
				sum.Coverage.Transitions[from][to] += n
			}
		}
		sum.Evictions += r.Evictions
		for i, n := range r.Inputs {
			sum.Inputs[i] += n
		}
		sum.CallsCut += r.CallsCut
	}
	for _, why := range []lifecycle.Reason{lifecycle.ReasonNoClaim, lifecycle.ReasonDeadOwner, lifecycle.ReasonFailed,
		lifecycle.ReasonReleased, lifecycle.ReasonCancelled, lifecycle.ReasonDraining} {
		if sum.Refusals[why] == 0 {
			t.Errorf("nothing was refused as %s", why)
		}
	}
	for op := OpBorn; op < OpDial; op++ {
		if sum.Actions[op] == 0 {
			t.Errorf("nobody did %s", op)
		}
	}
	for _, c := range [][2]lifecycle.State{
		{lifecycle.Disconnected, lifecycle.Connecting}, {lifecycle.Connecting, lifecycle.Connected},
		{lifecycle.Connecting, lifecycle.Failed}, {lifecycle.Connecting, lifecycle.Disconnected},
		{lifecycle.Connected, lifecycle.Failed}, {lifecycle.Connected, lifecycle.Disconnected},
		{lifecycle.Failed, lifecycle.Disconnected}, {lifecycle.Failed, lifecycle.Connecting},
	} {
		if sum.Coverage.Transitions[c[0]][c[1]] == 0 {
			t.Errorf("no peer went from %s to %s", c[0], c[1])
		}
	}
	for kind := lifecycle.InOwnerBorn; kind <= lifecycle.InWriteOff; kind++ {
		if sum.Inputs[kind] == 0 {
			t.Errorf("the machine was never fed %s", kind)
		}
	}
	if sum.Evictions == 0 || sum.CallsCut == 0 {
		t.Errorf("%d evictions, %d calls cut", sum.Evictions, sum.CallsCut)
	}
}
