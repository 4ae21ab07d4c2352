package simflags

import (
	"errors"
	"flag"
	"fmt"
	"strconv"
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/sim"
	"github.com/mayfly-mcp/mayfly/sim/campaign"
)

// Campaign are the flags that a campaign's results depend on, and the options that they make.
type Campaign struct {
	Options campaign.Options
	Subject Subject

	run      sim.Options // what is the same for all seeds
	draw     Draw
	hunt     bool
	schedule string
	config   []func(*lifecycle.Config) // what flags set
	reach    uint64
	own      own
}

// Define defines the flags.
func (c *Campaign) Define(fs *flag.FlagSet) {
	o := &c.Options
	c.own.begin(fs)
	fs.Uint64Var(&o.Seeds, "seeds", 1000, "how many seeds")
	fs.Uint64Var(&o.First, "first", 1, "the first of them")
	fs.IntVar(&o.Block, "block", 0, "seeds whose results are written at once; 0 means 64, or 1 if a seed is large")
	fs.IntVar(&o.Guard, "guard", 16, "seeds of a thousand that are also guarded against depending on chance")
	fs.IntVar(&o.Shrinks, "shrinks", 50, "seeds that break one rule and are shrunk; further ones are counted")
	fs.Uint64Var(&c.reach, "reach", 2000, "seeds from which on a situation never reached is a failure; 0 turns that off, as -subject published does")
	fs.IntVar(&c.run.Tenants, "tenants", 0, "number of tenants; 0 draws it")
	fs.DurationVar(&c.run.For, "for", 0, "virtual time to simulate; 0 draws it")
	fs.StringVar(&c.schedule, "schedule", "draw", "order at one instant: draw, fifo, random, pct:`D` or delay:K, with @SEED for a seed of its own")
	fs.BoolVar(&c.hunt, "hunt", false, "small worlds in which much falls on one instant, instead of a swarm")
	c.draw.Define(fs)
	c.defineConfig(fs)
	fs.Var(&c.Subject, "subject", "what to test: machine (the default), or published[:reading,...], RFC 0204's algorithm; published:help lists its readings")
	c.own.end(fs)
}

// defineConfig defines the flags that override the configuration that is drawn.
func (c *Campaign) defineConfig(fs *flag.FlagSet) {
	set := func(name, usage string, set func(c *lifecycle.Config, text string) error) {
		fs.Var(&override{set: func(text string) error {
			c.config = append(c.config, func(c *lifecycle.Config) { _ = set(c, text) }) // it was checked
			return set(&lifecycle.Config{}, text)
		}}, name, usage+"; drawn if not given")
	}
	for _, x := range spanFlags {
		set(x.name, x.usage, func(c *lifecycle.Config, text string) (err error) {
			*x.place(c), err = time.ParseDuration(text)
			return err
		})
	}
	for _, x := range countFlags {
		set(x.name, x.usage, func(c *lifecycle.Config, text string) (err error) {
			*x.place(c), err = strconv.Atoi(text)
			return err
		})
	}
}

// override is a flag that sets a part of the configuration, whatever was drawn.
type override struct {
	text string
	set  func(text string) error
}

// String implements flag.Value.
func (o *override) String() string { return o.text }

// Set implements flag.Value.
func (o *override) Set(text string) error {
	o.text = text
	return o.set(text)
}

// named are the flags that do not change what a seed runs, or that the header names by itself.
var named = map[string]bool{"seeds": true, "first": true, "block": true, "guard": true, "shrinks": true, "reach": true,
	"subject": true, "hunt": true}

// Settle checks the flags together, after they were parsed, and makes options of them.
func (c *Campaign) Settle(fs *flag.FlagSet) (err error) {
	o := &c.Options
	if o.Seeds < 1 {
		return errors.New("-seeds is 0; use 1 or more")
	}
	if c.run.Tenants < 0 || c.run.For < 0 {
		return fmt.Errorf("%d tenants for %v simulate nothing; use 0 to draw them", c.run.Tenants, c.run.For)
	}
	if c.schedule != "draw" {
		if c.run.Schedule, err = sim.ParseSchedule(c.schedule); err != nil {
			return err
		}
	}
	o.Settings = []string{"subject " + c.subjectName(), "draw " + map[bool]string{true: "hunt", false: "swarm"}[c.hunt]}
	for _, x := range c.own.given(fs) {
		if !named[x.Name] && x.Value.String() != x.DefValue {
			o.Settings = append(o.Settings, x.Name+" "+x.Value.String())
		}
	}
	if c.Subject.Make == nil || c.own.isGiven(fs, "reach") {
		o.MinReach = c.reach
	}
	if o.Block == 0 && float64(max(c.run.Tenants, 1))*c.run.For.Hours() >= 1000 {
		o.Block = 1
	}
	o.Draw = c.seed
	_, err = c.drawn(o.First)
	return err
}

// Args are the flags that were given, in a form that another process can parse to the same options.
func (c *Campaign) Args(fs *flag.FlagSet) (args []string) {
	for _, x := range c.own.given(fs) {
		if x.Value.String() != x.DefValue || x.Name == "reach" { // the word alone means something
			args = append(args, "-"+x.Name+"="+x.Value.String())
		}
	}
	return args
}

func (c *Campaign) subjectName() string {
	if c.Subject.text == "" {
		return "machine"
	}
	return c.Subject.text
}

// seed returns the options of a seed. What can be wrong with them does not depend on the seed.
func (c *Campaign) seed(seed uint64) sim.Options {
	o, err := c.drawn(seed)
	if err != nil {
		panic("SIM-3: flags that were checked are wrong for another seed: " + err.Error())
	}
	return o
}

func (c *Campaign) drawn(seed uint64) (sim.Options, error) {
	o := c.run
	if c.hunt {
		o = sim.Hunt(seed)
		if c.run.Tenants > 0 {
			o.Tenants = c.run.Tenants
		}
		if c.run.For > 0 {
			o.For = c.run.For
		}
		o.Schedule = c.run.Schedule
	}
	o.Seed = seed
	if c.schedule == "draw" {
		o.Schedule = campaign.Schedule(seed)
	}
	if err := c.draw.Settle(&o); err != nil {
		return o, err
	}
	for _, set := range c.config {
		set(&o.Config)
	}
	if c.Subject.Make != nil {
		o.Subject = c.Subject.Make
		c.Subject.Fit(&o)
	}
	return o, nil
}
