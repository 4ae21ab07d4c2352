package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"github.com/mayfly-mcp/mayfly/cmd/internal/simflags"
	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/view"
	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/worker"
	"github.com/mayfly-mcp/mayfly/sim/campaign"
)

const workerUsage = `usage: mayfly-fleet worker -nats ADDRESSES [flags]

Does jobs of the campaigns of a cluster, in turns, until it is interrupted or terminated; then it hands
back what it did not do. Workers come and go at any time. Campaigns of another build are refused: a seed or
a tape means what the code means.

`

// runWorker is the subcommand worker.
func runWorker(ctx context.Context, args []string, _, stderr io.Writer) int {
	var c connection
	var j jobFlags
	fs := simflags.New("mayfly-fleet worker", workerUsage, stderr)
	c.define(fs)
	j.define(fs)
	slots := fs.Int("slots", runtime.GOMAXPROCS(0), "jobs that run at a time")
	only := fs.String("campaign", "", "the only campaign to work for; without it, all")
	metrics := fs.String("metrics", "", "HOST:PORT on which to serve Prometheus metrics")
	err := parse(fs, args, 0)
	if err == nil {
		err = j.check()
	}
	if err == nil && (*slots < 1 || *slots > worker.MaxSlots) {
		err = fmt.Errorf("-slots is %d; use 1 to %d", *slots, worker.MaxSlots)
	}
	if err == nil && c.cfg.URL == "" {
		err = errNowhere
	}
	if err != nil {
		return misused(stderr, "worker", err)
	}
	said := &lines{out: stderr}
	if err := work(ctx, &c, worker.Config{Slots: *slots, Campaign: *only, Deliveries: j.deliveries, JobBound: j.bound, Log: said.log}, *metrics, said); err != nil && !errors.Is(err, context.Canceled) {
		return failed(stderr, "worker", err)
	}
	return exitOK
}

// lines are lines that several goroutines say.
type lines struct {
	mu  sync.Mutex
	out io.Writer
}

func (l *lines) log(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(l.out, "mayfly-fleet worker: "+format+"\n", args...)
}

func work(ctx context.Context, c *connection, cfg worker.Config, metrics string, said *lines) (err error) {
	if cfg.Build, err = campaign.Build(); err != nil {
		return err
	}
	if cfg.Queue, err = c.open(ctx); err != nil {
		return err
	}
	defer cfg.Queue.Close()
	w := worker.New(cfg)
	if metrics != "" {
		m, err := view.Serve(metrics, view.Worker(w.Now))
		if err != nil {
			return err
		}
		defer m.Close()
		said.log("metrics on http://%s/metrics", m.Addr)
	}
	said.log("%s joined %s with %d slots", w.ID(), cfg.Queue.Where(), cfg.Slots)
	return w.Run(ctx)
}
