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
	"strings"
	"sync"
	"time"

	"github.com/mayfly-mcp/mayfly/cmd/internal/simflags"
	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/coord"
	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/embedded"
	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/jobs"
	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/queue"
	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/summary"
	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/view"
	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/worker"
	"github.com/mayfly-mcp/mayfly/sim/campaign"
)

const runUsage = `usage: mayfly-fleet run [-kind KIND] [flags] [flags of the kind]

Runs a campaign, and makes a directory of what it comes to: for the kind sim the one that "mayfly sim
campaign" makes with the same flags, byte for byte; for the kind idle one with the report of "mayfly
idle -report". "-kind KIND -h" lists the flags of a kind. Without -nats a server of its own and one
worker per core do it, in this process; with -nats those workers do that joined the cluster. The same
command again, on any machine, goes on where the last one ended, however it ended.

`

// runFlags are the flags of run.
type runFlags struct {
	connection
	kind    jobs.Kind
	plan    jobs.Plan
	args    []string
	name    string
	dir     string
	workers int
	window  int
	listen  string
	store   string
	metrics string
	json    bool
	html    string
	job     jobFlags
}

// jobFlags are those about jobs that go wrong.
type jobFlags struct {
	deliveries int
	bound      time.Duration
}

func (j *jobFlags) define(fs *flag.FlagSet) {
	fs.IntVar(&j.deliveries, "deliveries", worker.DefaultDeliveries, "how often a job is handed out before it is put into quarantine")
	fs.DurationVar(&j.bound, "job-timeout", worker.DefaultJobBound, "how long a job may run before it is left behind")
}

func (j *jobFlags) check() error {
	const most = 100
	if j.deliveries < 1 || j.deliveries > most || j.bound <= 0 {
		return fmt.Errorf("-deliveries %d with -job-timeout %v lets no job run; use 1 to %d, and a time", j.deliveries, j.bound, most)
	}
	return nil
}

// kindOf finds -kind among flags that cannot be parsed before it is known.
func kindOf(args []string) string {
	for i, a := range args {
		name, value, found := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(a, "-"), "-"), "=")
		if !strings.HasPrefix(a, "-") || name != "kind" {
			continue
		}
		if found {
			return value
		}
		if i+1 < len(args) {
			return args[i+1]
		}
	}
	return "sim"
}

func parseRunFlags(args []string, stderr io.Writer) (*runFlags, error) {
	f := &runFlags{}
	var err error
	if f.kind, err = jobs.Find(kindOf(args)); err != nil {
		return nil, err
	}
	fs := simflags.New("mayfly-fleet run", runUsage, stderr, func() { listKinds(stderr) })
	f.define(fs)
	f.plan = f.kind.New()
	f.plan.Define(fs)
	if err := simflags.Parse(fs, args); err != nil {
		return nil, err
	}
	if f.workers < 0 {
		f.workers = 0
		if f.cfg.URL == "" {
			f.workers = runtime.GOMAXPROCS(0)
		}
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	if err := f.plan.Settle(fs, nil); err != nil {
		return nil, err
	}
	f.args = f.plan.Args(fs)
	return f, nil
}

// check refuses flags that cannot be, or that would be ignored: a campaign that somebody means for a cluster
// is not to run on this machine alone.
func (f *runFlags) check() error {
	const (
		leastAckWait = 100 * time.Millisecond // a worker says thrice in it that it lives
		mostReplicas = 5
	)
	c := &f.cfg
	switch {
	case f.workers > worker.MaxSlots || f.window < 1 || f.window > coord.MaxWindow:
		return fmt.Errorf("-workers %d with -window %d does not do; use up to %d, and 1 to %d", f.workers, f.window, worker.MaxSlots, coord.MaxWindow)
	case c.AckWait < leastAckWait:
		return fmt.Errorf("-ack-wait is %v; use %v or more", c.AckWait, leastAckWait)
	case c.Replicas < 0 || c.Replicas > mostReplicas:
		return fmt.Errorf("-replicas is %d; use 1 to %d, or 0 for what there are servers for", c.Replicas, mostReplicas)
	case c.URL != "" && (f.listen != "" || f.store != ""):
		return errors.New("-listen and -store are of the embedded server, which there is none of with -nats")
	case c.URL == "" && (c.Creds != "" || c.CA != "" || c.Cert != "" || c.Key != "" || c.Replicas > 1):
		return errors.New("-nats is missing; -creds, -tls-ca, -tls-cert, -tls-key and -replicas are for the servers that it names")
	}
	return f.job.check()
}

func (f *runFlags) define(fs *flag.FlagSet) {
	f.connection.define(fs)
	fs.String("kind", "sim", "what the campaign is made of")
	fs.StringVar(&f.name, "name", "", "of the campaign; made of what it is if not given, so that the same flags mean the same campaign")
	fs.StringVar(&f.dir, "dir", "mayfly-campaign", "directory of the results")
	fs.IntVar(&f.workers, "workers", -1, "jobs that run at a time in this process; -1 means one per core without -nats, and none with it")
	fs.IntVar(&f.window, "window", coord.DefaultWindow, "jobs that are queued ahead of what is summed up")
	fs.IntVar(&f.cfg.Replicas, "replicas", 0, "of what the cluster stores; 0 means 3 on a cluster, 1 on a single server")
	fs.DurationVar(&f.cfg.AckWait, "ack-wait", queue.DefaultAckWait, "how long a worker may be silent about a job before another one gets it")
	fs.StringVar(&f.listen, "listen", "", "HOST:PORT of the embedded server, for workers on other machines; without it, a free port of loopback")
	fs.StringVar(&f.store, "store", "", "directory of the embedded server, which a later run takes up; without it, one for the occasion")
	fs.StringVar(&f.metrics, "metrics", "", "HOST:PORT on which to serve Prometheus metrics")
	fs.BoolVar(&f.json, "json", false, "print one JSON object")
	fs.StringVar(&f.html, "html", "", htmlHelp)
	f.job.define(fs)
}

func listKinds(w io.Writer) {
	for _, k := range jobs.Kinds() {
		fmt.Fprintf(w, "  -kind %-10s %s\n", k.Name, k.Summary)
	}
	fmt.Fprintln(w)
}

// runRun is the subcommand run.
func runRun(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	f, err := parseRunFlags(args, stderr)
	if err != nil {
		return misused(stderr, "run", err)
	}
	out, err := f.run(ctx, stderr)
	return conclude(stdout, stderr, out, err, f.json, "run", f.dir)
}

// conclude shows what a campaign came to, also when nothing but its page failed: that does not take the night
// before it away.
func conclude(stdout, stderr io.Writer, out *jobs.Outcome, err error, asJSON bool, command, dir string) int {
	code := exitOK
	if err == nil || errors.Is(err, errPage) {
		code = show(stdout, stderr, out, asJSON, command, dir)
	}
	if err != nil {
		code = failed(stderr, command, err)
	}
	return code
}

// show prints what a campaign came to, and returns the exit code.
func show(stdout, stderr io.Writer, out *jobs.Outcome, asJSON bool, command, dir string) int {
	if out.Note != "" {
		fmt.Fprintf(stderr, "mayfly-fleet %s: %s\n", command, out.Note)
	}
	if asJSON {
		printJSON(stdout, out.Report)
	} else {
		out.Write(stdout)
	}
	switch {
	case out.Done < out.All:
		fmt.Fprintf(stderr, "mayfly-fleet %s: stopped, %d of %d remain; the same command again goes on in %s\n", command, out.All-out.Done, out.All, dir)
		return exitStopped
	case out.Failed:
		return exitFailed
	}
	return exitOK
}

func printJSON(w io.Writer, v any) {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		var plain *json.UnsupportedTypeError
		if errors.As(err, &plain) {
			panic("FLEET-1: plain data does not encode: " + err.Error())
		}
	}
}

// run leads the campaign, with the server and the workers that are part of this process.
func (f *runFlags) run(ctx context.Context, stderr io.Writer) (*jobs.Outcome, error) {
	if err := summary.Check(f.html); err != nil {
		return nil, err
	}
	build, err := campaign.Build()
	if err != nil {
		return nil, err
	}
	cfg := f.cfg
	if cfg.URL == "" {
		s, err := embedded.Start(embedded.Config{Store: f.store, Listen: f.listen})
		if err != nil {
			return nil, err
		}
		defer s.Close()
		fmt.Fprintf(stderr, "join with: mayfly-fleet worker -nats %s -creds %s\n", s.URL, s.Creds)
		mine := s.Queue()
		mine.Prefix, mine.AckWait = cfg.Prefix, cfg.AckWait
		cfg = mine
	}
	q, err := queue.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	spec, st, err := q.Create(ctx, f.spec(build))
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(stderr, "campaign %s: %d jobs at %s\n", spec.ID, spec.Jobs, q.Where())
	out, err := f.lead(ctx, q, spec, st, stderr)
	return out, andPage(err, writeHTML(ctx, q, spec.ID, f.html, f.dir, out))
}

func (f *runFlags) spec(build string) queue.Spec {
	s := queue.Spec{ID: f.name, Kind: f.kind.Name, Build: build, Args: f.args, Jobs: f.plan.Jobs()}
	for _, x := range f.plan.Files() {
		s.Files = append(s.Files, queue.File(x))
	}
	return s
}

// lead runs the coordinator, and beside it workers and what shows them.
func (f *runFlags) lead(ctx context.Context, q *queue.Queue, spec queue.Spec, st queue.State, stderr io.Writer) (*jobs.Outcome, error) {
	v := view.New(stderr, f.kind.Unit)
	if f.metrics != "" {
		m, err := view.Serve(f.metrics, view.Campaign(spec.ID, v.Now))
		if err != nil {
			return nil, err
		}
		defer m.Close()
		fmt.Fprintf(stderr, "metrics on http://%s/metrics\n", m.Addr)
	}
	work, cancel := context.WithCancelCause(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel(nil)
	seen := &crew{q: q, id: spec.ID}
	var w *worker.Worker
	if f.workers > 0 {
		w = worker.New(worker.Config{Queue: q, Build: spec.Build, Slots: f.workers, Campaign: spec.ID, Deliveries: f.job.deliveries, JobBound: f.job.bound, Log: v.Log})
		all.Go(func() {
			if err := w.Run(work); err != nil {
				cancel(err)
			}
		})
	}
	all.Go(func() { watchWorkers(work, q, v, seen) })
	host, _ := os.Hostname() // for people
	out, err := coord.Run(work, coord.Config{Queue: q, Spec: spec, State: st, Plan: f.plan, Dir: f.dir, Window: f.window,
		Name: fmt.Sprintf("%s %d", host, os.Getpid()), Log: v.Log, Progress: v.Progress})
	v.Close()
	if w != nil {
		me := w.Now()
		me.At = time.Now().UTC()
		seen.add(me, true)
	}
	_ = seen.keep(ctx) // people can do without

	if cause := context.Cause(work); cause != nil && ctx.Err() == nil { // a worker of this process failed
		return nil, cause
	}
	return out, err
}

// watchWorkers looks now and then who works.
func watchWorkers(ctx context.Context, q *queue.Queue, v *view.View, seen *crew) {
	const every = 2 * time.Second
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		if ws, err := q.Workers(ctx); err == nil {
			v.Workers(ws)
			seen.look(ctx, ws)
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
	}
}
