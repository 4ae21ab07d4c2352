package main

import (
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/mayfly-mcp/mayfly/sim"
)

// maxHunt bounds the seeds of one hunt, which take about two milliseconds each.
const maxHunt = 1_000_000

// reachFlags are the flags about rare situations and about determinism.
type reachFlags struct {
	situations bool
	hunt       uint64
	guard      bool
}

func (r *reachFlags) define(fs *flag.FlagSet) {
	fs.BoolVar(&r.situations, "situations", false, "print how often the run came to each situation of the catalogue")
	fs.Uint64Var(&r.hunt, "hunt", 0, "come to every situation of the catalogue in `N` small runs from -seed on; fail if one is missing")
	fs.BoolVar(&r.guard, "guard", false, "run again in six ways that must make no difference, and fail at the first step that differs")
}

// check refuses flags that a hunt, which draws its own options, does not heed.
func (r *reachFlags) check(fs *flag.FlagSet) (err error) {
	if r.hunt == 0 {
		fs.Visit(func(x *flag.Flag) {
			if x.Name == "hunt" {
				err = errors.New("-hunt 0 hunts nothing; say how many seeds to try")
			}
		})
		return err
	}
	if r.hunt > maxHunt {
		return fmt.Errorf("-hunt %d is more than %d seeds", r.hunt, maxHunt)
	}
	fs.Visit(func(x *flag.Flag) {
		switch x.Name {
		case "hunt", "seed", "json", "failures", "subject":
		default:
			err = fmt.Errorf("-%s does not go with -hunt, which draws it", x.Name)
		}
	})
	return err
}

// situationCount is a line of the JSON form.
type situationCount struct {
	ID     string `json:"id"`
	Clause string `json:"clause"`
	Text   string `json:"text"`
	N      uint64 `json:"n"`
}

func situationCounts(r *sim.Reached) []situationCount {
	var out []situationCount
	for i, s := range sim.Situations() {
		out = append(out, situationCount{s.ID, s.Clause, s.Text, r[i]})
	}
	return out
}

// excusedMap says how many claims did not recover for which reason.
func excusedMap(r *sim.Result) map[string]uint64 {
	out := map[string]uint64{}
	for i, x := range sim.Excuses() {
		out[x.ID] = r.Excused[i+1]
	}
	return out
}

// runHunt is the batch that must come to everything. Its exit code is 1 when it did not.
func (f *simFlags) runHunt(stdout, stderr io.Writer) int {
	subject, stop := f.options.Subject, f.options.Stop
	sum, broken, err := sim.Batch(f.options.Seed, f.reach.hunt, func(seed uint64) sim.Options {
		o := sim.Hunt(seed)
		o.Subject, o.Stop = subject, stop
		f.subject.Fit(&o)
		return o
	})
	if broken != nil {
		f.options = sim.Options{Seed: broken.Tape.Seed, Tenants: broken.Tape.Tenants, For: broken.Tape.For, Config: broken.Tape.Config,
			Schedule: broken.Tape.Schedule, Subject: subject, Stop: stop}
		return f.report(stdout, stderr, broken, nil)
	}
	if missing := sum.Missing(); err != nil && len(missing) == 0 {
		fmt.Fprintf(stderr, "mayfly sim: %v\n", err)
		return exitHarness
	}
	if f.json {
		f.printHunt(stdout, &sum)
	} else {
		fmt.Fprintf(stdout, "situations of %d runs\n", f.reach.hunt)
		sum.Write(stdout)
	}
	if err != nil {
		fmt.Fprintf(stderr, "mayfly sim: %v\n", err)
		return exitFailed
	}
	return exitOK
}

func (f *simFlags) printHunt(w io.Writer, sum *sim.Reached) {
	writeJSON(w, struct {
		Seeds      uint64           `json:"seeds"`
		Missing    int              `json:"missing"`
		Situations []situationCount `json:"situations"`
	}{f.reach.hunt, len(sum.Missing()), situationCounts(sum)})
}

// runGuard says whether the run depends on its options alone.
func (f *simFlags) runGuard(stderr io.Writer) int {
	if !f.reach.guard {
		return exitOK
	}
	if err := sim.Guard(f.options); err != nil {
		fmt.Fprintf(stderr, "mayfly sim: %v\n", err)
		return exitFailed
	}
	fmt.Fprintln(stderr, "guard: run again in every way, and the same")
	return exitOK
}
