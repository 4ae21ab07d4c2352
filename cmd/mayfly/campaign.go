package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/sim"
	"github.com/mayfly-mcp/mayfly/sim/campaign"
)

const campaignUsage = `usage: mayfly sim campaign [flags]

Runs many seeds and keeps what they came to in a directory: a line for each seed, and for each
distinct failure its tape, a small one and a scenario. The same command again goes on where the
last one ended, however it ended, and so does one with more -seeds. Results are the same whatever -workers and however often that was.
What is not given is drawn from each seed. Exit code 1 means that a rule was broken, or that a
rare situation never came about; 4 that the campaign was stopped before its end.

`

// campaignFlags are the flags of sim campaign.
type campaignFlags struct {
	options  campaign.Options
	run      sim.Options // what is the same for all seeds
	draw     drawFlags
	hunt     bool
	schedule string
	subject  subject
	config   []func(*lifecycle.Config) // what flags set
	reach    uint64
	json     bool
}

func parseCampaignFlags(args []string, stderr io.Writer) (*campaignFlags, error) {
	f := &campaignFlags{}
	o := &f.options
	fs := newFlags("mayfly sim campaign", campaignUsage, stderr)
	fs.Uint64Var(&o.Seeds, "seeds", 1000, "how many seeds")
	fs.Uint64Var(&o.First, "first", 1, "the first of them")
	fs.IntVar(&o.Workers, "workers", runtime.GOMAXPROCS(0), "seeds that run at a time")
	fs.StringVar(&o.Dir, "dir", "mayfly-campaign", "directory of the results")
	fs.IntVar(&o.Block, "block", 0, "seeds whose results are written at once; 0 means 64, or 1 if a seed is large")
	fs.IntVar(&o.Guard, "guard", 16, "seeds of a thousand that are also guarded against depending on chance")
	fs.IntVar(&o.Shrinks, "shrinks", 50, "seeds that break one rule and are shrunk; further ones are counted")
	fs.Uint64Var(&f.reach, "reach", 2000, "seeds from which on a situation never reached is a failure; 0 turns that off, as -subject published does")
	fs.IntVar(&f.run.Tenants, "tenants", 0, "number of tenants; 0 draws it")
	fs.DurationVar(&f.run.For, "for", 0, "virtual time to simulate; 0 draws it")
	fs.StringVar(&f.schedule, "schedule", "draw", "order at one instant: draw, fifo, random, pct:`D` or delay:K, with @SEED for a seed of its own")
	fs.BoolVar(&f.hunt, "hunt", false, "small worlds in which much falls on one instant, instead of a swarm")
	f.draw.define(fs)
	f.defineConfig(fs)
	fs.Var(&f.subject, "subject", "what to test: machine (the default), or published[:reading,...], RFC 0204's algorithm; published:help lists its readings")
	fs.BoolVar(&f.json, "json", false, "print one JSON object")
	if err := parseFlags(fs, args); err != nil {
		return nil, err
	}
	if err := f.subject.listed(stderr); err != nil {
		return nil, err
	}
	return f, f.settle(fs)
}

// defineConfig defines the flags that override the configuration that is drawn.
func (f *campaignFlags) defineConfig(fs *flag.FlagSet) {
	set := func(name, usage string, set func(c *lifecycle.Config, text string) error) {
		fs.Var(&override{set: func(text string) error {
			f.config = append(f.config, func(c *lifecycle.Config) { _ = set(c, text) }) // it was checked
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

// settled are the flags that do not change what a seed runs, or that the header names by itself.
var settled = map[string]bool{"seeds": true, "first": true, "workers": true, "dir": true, "block": true, "guard": true,
	"shrinks": true, "reach": true, "json": true, "subject": true, "hunt": true}

// settle checks the flags together, and makes options of them.
func (f *campaignFlags) settle(fs *flag.FlagSet) (err error) {
	o := &f.options
	if o.Seeds < 1 {
		return errors.New("-seeds is 0; use 1 or more")
	}
	if f.run.Tenants < 0 || f.run.For < 0 {
		return fmt.Errorf("%d tenants for %v simulate nothing; use 0 to draw them", f.run.Tenants, f.run.For)
	}
	if f.schedule != "draw" {
		if f.run.Schedule, err = sim.ParseSchedule(f.schedule); err != nil {
			return err
		}
	}
	given := map[string]bool{}
	fs.Visit(func(x *flag.Flag) {
		given[x.Name] = true
		if !settled[x.Name] && x.Value.String() != x.DefValue {
			o.Settings = append(o.Settings, x.Name+" "+x.Value.String())
		}
	})
	o.Settings = append([]string{"subject " + f.subjectName(), "draw " + map[bool]string{true: "hunt", false: "swarm"}[f.hunt]}, o.Settings...)
	if f.subject.make == nil || given["reach"] {
		o.MinReach = f.reach
	}
	if o.Block == 0 && float64(max(f.run.Tenants, 1))*f.run.For.Hours() >= 1000 {
		o.Block = 1
	}
	o.Draw = f.seed
	if _, err := f.drawn(o.First); err != nil {
		return err
	}
	return nil
}

func (f *campaignFlags) subjectName() string {
	if f.subject.text == "" {
		return "machine"
	}
	return f.subject.text
}

// seed returns the options of a seed. What can be wrong with them does not depend on the seed.
func (f *campaignFlags) seed(seed uint64) sim.Options {
	o, err := f.drawn(seed)
	if err != nil {
		panic("SIM-3: flags that were checked are wrong for another seed: " + err.Error())
	}
	return o
}

func (f *campaignFlags) drawn(seed uint64) (sim.Options, error) {
	o := f.run
	if f.hunt {
		o = sim.Hunt(seed)
		if f.run.Tenants > 0 {
			o.Tenants = f.run.Tenants
		}
		if f.run.For > 0 {
			o.For = f.run.For
		}
		o.Schedule = f.run.Schedule
	}
	o.Seed = seed
	if f.schedule == "draw" {
		o.Schedule = campaign.Schedule(seed)
	}
	if err := f.draw.draw(&o); err != nil {
		return o, err
	}
	for _, set := range f.config {
		set(&o.Config)
	}
	if f.subject.make != nil {
		o.Subject = f.subject.make
		f.subject.fit(&o)
	}
	return o, nil
}

// runCampaign is the subcommand sim campaign.
func runCampaign(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) int {
	f, err := parseCampaignFlags(args, stderr)
	if err != nil {
		return misused(stderr, "mayfly sim campaign", err)
	}
	w := &watch{out: terminal(stderr), began: time.Now()}
	f.options.Progress = w.see
	r, err := campaign.Run(ctx, f.options)
	w.end(stderr)
	switch {
	case errors.Is(err, campaign.ErrOptions), errors.Is(err, campaign.ErrRefused):
		fmt.Fprintf(stderr, "mayfly sim campaign: %v\n", err)
		return exitUsage
	case err != nil:
		fmt.Fprintf(stderr, "mayfly sim campaign: %v\n", err)
		return exitHarness
	}
	return f.report(stdout, stderr, r)
}

// report prints what a campaign came to, and returns the exit code.
func (f *campaignFlags) report(stdout, stderr io.Writer, r *campaign.Result) int {
	if r.Cut != "" {
		fmt.Fprintf(stderr, "mayfly sim campaign: %s\n", r.Cut)
	}
	if f.json {
		e := json.NewEncoder(stdout)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		_ = e.Encode(r.Report()) // a lost output is seen by the command
	} else {
		r.Write(stdout)
	}
	switch {
	case r.Done < r.Seeds:
		fmt.Fprintf(stderr, "mayfly sim campaign: stopped, %d of %d seeds remain; the same command again goes on in %s\n", r.Seeds-r.Done, r.Seeds, f.options.Dir)
		return exitInconclusive
	case r.Failed():
		return exitFailed
	}
	return exitOK
}

// watch tells people how far a campaign is.
type watch struct {
	out         io.Writer // nil if nobody watches
	began, last time.Time
	first, now  campaign.Progress // at the start of this process, and now
	seen        bool
}

// terminal returns a writer if it is a terminal, else nil.
func terminal(w io.Writer) io.Writer {
	if f, ok := w.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			return w
		}
	}
	return nil
}

func (w *watch) see(p campaign.Progress) {
	if w.now = p; !w.seen {
		w.first, w.seen = p, true
	}
	if w.out == nil || time.Since(w.last) < 200*time.Millisecond {
		return
	}
	w.last = time.Now()
	fmt.Fprintf(w.out, "\r\x1b[K%s", w.line(time.Since(w.began)))
}

// line is the line of progress after some time.
func (w *watch) line(d time.Duration) string {
	seconds := max(d.Seconds(), 1e-9)
	rate := float64(w.now.Done-w.first.Done) / seconds
	left := "?"
	if rate > 0 {
		left = time.Duration(float64(w.now.Seeds-w.now.Done) / rate * float64(time.Second)).Round(time.Second).String()
	}
	return fmt.Sprintf("%d of %d seeds, %.0f seeds/s, %.2f M steps/s, %d failures, %d of %d situations, %s left", w.now.Done, w.now.Seeds,
		rate, float64(w.now.Steps-w.first.Steps)/1e6/seconds, w.now.Failures, w.now.Reached, w.now.Situations, left)
}

// end leaves the speed behind, of what this process ran.
func (w *watch) end(stderr io.Writer) {
	if w.out != nil {
		fmt.Fprint(w.out, "\r\x1b[K")
	}
	if !w.seen {
		return
	}
	d := time.Since(w.began)
	n := w.now.Done - w.first.Done
	fmt.Fprintf(stderr, "speed: %d seeds in %v, %.0f seeds/s, %.2f M steps/s\n", n, d.Round(time.Millisecond),
		float64(n)/max(d.Seconds(), 1e-9), float64(w.now.Steps-w.first.Steps)/1e6/max(d.Seconds(), 1e-9))
}
