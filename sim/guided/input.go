package guided

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/sim"
)

// The bounds of an input. A search pays for steps, and finds more with many small worlds.
const (
	MaxTenants = 64
	MaxFor     = 2 * time.Hour
)

// Input describes one run completely. It is plain data without anything that is left to a
// default, so that it can be changed in one place and be sent elsewhere.
type Input struct {
	Seed     uint64           `json:"seed"`
	Tenants  int              `json:"tenants"`
	For      time.Duration    `json:"for"`
	Schedule sim.Schedule     `json:"schedule"`
	Config   lifecycle.Config `json:"config"`
	Mix      sim.Mix          `json:"mix"`
	Faults   sim.Faults       `json:"faults"`
}

// inputOf writes out what options mean. Of what a run costs or who watches it nothing is kept.
func inputOf(o sim.Options) Input {
	o = o.WithDefaults()
	return Input{Seed: o.Seed, Tenants: o.Tenants, For: o.For, Schedule: o.Schedule, Config: o.Config, Mix: *o.Mix, Faults: *o.Faults}
}

// Options returns the options of the run, for whoever wants to see it again with sim.Run.
func (in Input) Options() sim.Options {
	mix, faults := in.Mix, in.Faults
	return sim.Options{Seed: in.Seed, Tenants: in.Tenants, For: in.For, Schedule: in.Schedule, Config: in.Config, Mix: &mix, Faults: &faults}
}

// Validate reports every problem of an input.
func (in Input) Validate() error {
	var errs []error
	refuse := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	refuse(in.Tenants < 1 || in.Tenants > MaxTenants, "tenants is %d; use 1 to %d (MaxTenants)", in.Tenants, MaxTenants)
	refuse(in.For < time.Second || in.For > MaxFor, "for is %v; use 1s to %v (MaxFor)", in.For, MaxFor)
	refuse(in.Config == (lifecycle.Config{}), "the configuration is missing")
	for _, s := range strengths(&in) {
		refuse(*s.value < 0 || *s.value > s.most, "%s is %d; use 0 to %d", s.name, *s.value, s.most)
	}
	refuse(in.idle(), "no kind of traffic, or no class of servers, has a weight")
	errs = append(errs, in.Options().WithDefaults().Validate())
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("an input of seed %d is wrong: %w", in.Seed, err)
	}
	return nil
}

// idle says that nobody would act, or that no server is of any class.
func (in *Input) idle() bool {
	m, f := &in.Mix, &in.Faults
	return m.Human+m.Cron+m.Poisson == 0 ||
		f.Healthy+f.Slow+f.Flaky+f.Crashy+f.Hanging+f.Stubborn+f.Flapping == 0
}

// strength is a place for a sim.Strength, and the most that it may be.
type strength struct {
	name  string
	value *int
	most  int
}

// strengths lists the features of an input, and then its faults.
func strengths(in *Input) []strength {
	return append(places(&in.Mix, in.Mix.Strengths()), places(&in.Faults, in.Faults.Strengths())...)
}

// places lists the fields of a struct of ints, in whose order sim lists them too.
func places[T sim.Mix | sim.Faults](x *T, listed []sim.Strength) []strength {
	v := reflect.ValueOf(x).Elem()
	out := make([]strength, v.NumField())
	for i := range out {
		out[i] = strength{listed[i].Name, v.Field(i).Addr().Interface().(*int), max(listed[i].Most, headroom[listed[i].Name])}
	}
	return out
}

// headroom is how strong strengths are by default and in sim.Hunt, which is more at times than what a
// swarm draws.
var headroom = func() map[string]int {
	m, f, h := sim.DefaultMix(), sim.DefaultFaults(), sim.Hunt(1)
	out := map[string]int{}
	for _, all := range [][]sim.Strength{m.Strengths(), f.Strengths(), h.Mix.Strengths(), h.Faults.Strengths()} {
		for _, s := range all {
			out[s.Name] = max(out[s.Name], s.Value)
		}
	}
	return out
}()
