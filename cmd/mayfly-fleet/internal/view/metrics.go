package view

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/queue"
)

// gauge is a number that is asked for when somebody looks.
func gauge(name, help string, labels prometheus.Labels, f func() float64) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "mayfly_fleet", Name: name, Help: help, ConstLabels: labels}, f)
}

// Campaign is what a coordinator knows.
func Campaign(id string, now func() (queue.Progress, []queue.Worker)) []prometheus.Collector {
	l := prometheus.Labels{"campaign": id}
	of := func(name, help string, f func(queue.Progress, []queue.Worker) float64) prometheus.Collector {
		return gauge(name, help, l, func() float64 { return f(now()) })
	}
	type ws = []queue.Worker
	return []prometheus.Collector{
		of("jobs", "Jobs of the campaign.", func(p queue.Progress, _ ws) float64 { return float64(p.Jobs) }),
		of("jobs_done", "Jobs that are summed up.", func(p queue.Progress, _ ws) float64 { return float64(p.JobsDone) }),
		of("jobs_arrived", "Jobs whose results are there.", func(p queue.Progress, _ ws) float64 { return float64(p.Arrived) }),
		of("units", "Seeds, or what the kind counts, of the campaign.", func(p queue.Progress, _ ws) float64 { return float64(p.SeedsAll) }),
		of("units_done", "Seeds, or what the kind counts, that are summed up.", func(p queue.Progress, _ ws) float64 { return float64(p.Seeds) }),
		of("units_per_second", "Seeds a second, of late.", func(p queue.Progress, _ ws) float64 { return p.Rate }),
		of("steps", "Steps that are summed up.", func(p queue.Progress, _ ws) float64 { return float64(p.Steps) }),
		of("cells", "Cells of the coverage that were met.", func(p queue.Progress, _ ws) float64 { return float64(p.Cells) }),
		of("situations", "Situations in the catalogue.", func(p queue.Progress, _ ws) float64 { return float64(p.Situations) }),
		of("situations_reached", "Situations that were come to.", func(p queue.Progress, _ ws) float64 { return float64(p.Reached) }),
		of("failures", "Distinct failures.", func(p queue.Progress, _ ws) float64 { return float64(p.Failures) }),
		of("workers", "Workers that said lately that they live.", func(_ queue.Progress, w ws) float64 { return float64(len(w)) }),
	}
}

// Worker is what a worker knows of itself.
func Worker(now func() queue.Worker) []prometheus.Collector {
	l := prometheus.Labels{"worker": now().ID}
	of := func(name, help string, f func(queue.Worker) float64) prometheus.Collector {
		return gauge("worker_"+name, help, l, func() float64 { return f(now()) })
	}
	return []prometheus.Collector{
		of("slots", "Jobs that it may run at a time.", func(w queue.Worker) float64 { return float64(w.Slots) }),
		of("busy", "Jobs that it runs.", func(w queue.Worker) float64 { return float64(len(w.Current)) }),
		of("jobs_done", "Jobs that it did.", func(w queue.Worker) float64 { return float64(w.Jobs) }),
		of("units_done", "Seeds, or what the kind counts, that it did.", func(w queue.Worker) float64 { return float64(w.Seeds) }),
		of("jobs_hung", "Jobs that never ended and were left behind.", func(w queue.Worker) float64 { return float64(w.Lost) }),
		of("campaigns_refused", "Campaigns that run and are of another build.", func(w queue.Worker) float64 { return float64(len(w.Refuses)) }),
	}
}

// Metrics is a server of metrics.
type Metrics struct {
	Addr string
	srv  *http.Server
	done chan struct{}
}

// Serve serves metrics on an address, whose port may be 0.
func Serve(addr string, all []prometheus.Collector) (*Metrics, error) {
	r := prometheus.NewRegistry()
	for _, c := range all {
		if err := r.Register(c); err != nil {
			panic("FLEET-3: two metrics have one name: " + err.Error())
		}
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("metrics cannot be served on %q: %w; use -metrics HOST:PORT with a port that is free", addr, err)
	}
	const bound = 10 * time.Second
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(r, promhttp.HandlerOpts{}))
	m := &Metrics{Addr: l.Addr().String(), done: make(chan struct{}),
		srv: &http.Server{Handler: mux, ReadHeaderTimeout: bound, ReadTimeout: bound, WriteTimeout: bound, IdleTimeout: bound, MaxHeaderBytes: 1 << 14}}
	go func() {
		defer close(m.done)
		if err := m.srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			_ = l.Close() // nobody is told: the campaign goes on without metrics
		}
	}()
	return m, nil
}

// Close ends it.
func (m *Metrics) Close() {
	if m == nil {
		return
	}
	_ = m.srv.Close() // who reads metrics asks again
	<-m.done
}
