package daemon

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mayfly-mcp/mayfly/core"
	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// metrics is what Prometheus may ask. Counters and gauges are read from the host at every
// scrape, all at one moment; the histograms are fed by the host. No label holds anything
// that a client chose: their values are few and known.
type metrics struct {
	d        *Daemon
	registry *prometheus.Registry
	connects *prometheus.HistogramVec
	calls    *prometheus.HistogramVec
	reloads  *prometheus.CounterVec
}

const namespace = "mayfly"

// Buckets in seconds: a call takes milliseconds, a launcher that downloads takes minutes.
var (
	callBuckets    = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}
	connectBuckets = []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}
)

func newMetrics(d *Daemon) *metrics {
	histogram := func(name, help string, buckets []float64) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets},
			[]string{"outcome"})
	}
	m := &metrics{
		d: d, registry: prometheus.NewRegistry(),
		connects: histogram("connect_seconds", "Attempts to connect a peer, from dial to tool list, by how they ended.", connectBuckets),
		calls:    histogram("call_seconds", "Calls of tools, by how they ended.", callBuckets),
		reloads: prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: "reloads_total",
			Help: "Reloads of config.toml, by how they ended."}, []string{"outcome"}),
	}
	m.registry.MustRegister(m.connects, m.calls, m.reloads, m)
	return m
}

const outcomeOK = "ok"

// Connected implements core.Observer.
func (m *metrics) Connected(took time.Duration, why lifecycle.Reason) {
	outcome := outcomeOK
	if why != lifecycle.NoReason {
		outcome = why.String()
	}
	m.connects.WithLabelValues(outcome).Observe(took.Seconds())
}

// Called implements core.Observer.
func (m *metrics) Called(took time.Duration, kind callerr.Kind) {
	outcome := outcomeOK
	if kind != 0 {
		outcome = kind.String()
	}
	m.calls.WithLabelValues(outcome).Observe(took.Seconds())
}

// sample is one number that is read at a scrape.
type sample struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(*reading) float64
}

// reading is everything that a scrape looks at.
type reading struct {
	core.Gauges
	agents, sessions, connections, zombies int
	dropped                                uint64
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, labels, nil)
}

func gauge(name, help string, value func(*reading) int) sample {
	return sample{describe(name, help), prometheus.GaugeValue, func(r *reading) float64 { return float64(value(r)) }}
}

func counter(name, help string, value func(*reading) uint64) sample {
	return sample{describe(name, help), prometheus.CounterValue, func(r *reading) float64 { return float64(value(r)) }}
}

var (
	peersDesc    = describe("peers", "Declared peers by state.", "state")
	failuresDesc = describe("failures_total", "Transitions of a peer to failed, by reason.", "reason")
)

var samples = []sample{
	gauge("incarnations", "Processes and HTTP sessions that have not ended.", func(r *reading) int { return r.Live }),
	gauge("incarnations_dialing", "Of them, those being connected.", func(r *reading) int { return r.Dialing }),
	gauge("incarnations_spawning", "Of them, those whose process is being created.", func(r *reading) int { return r.Spawning }),
	gauge("incarnations_stopping", "Of them, those on the stop ladder.", func(r *reading) int { return r.Stopping }),
	gauge("incarnations_stuck", "Of them, those that outlived SIGKILL.", func(r *reading) int { return r.Load.Stuck }),
	gauge("incarnations_written_off", "Of them, those that were stuck and were given up.", func(r *reading) int { return r.Load.WrittenOff }),
	gauge("queued_attempts", "Attempts that wait for room.", func(r *reading) int { return r.Queued }),
	gauge("calls_in_flight", "Calls admitted and not ended.", func(r *reading) int { return r.InFlight }),
	gauge("owners", "Live agents that may hold claims.", func(r *reading) int { return r.Owners }),
	gauge("agents", "Stored agents.", func(r *reading) int { return r.agents }),
	gauge("sessions", "Conversations in memory.", func(r *reading) int { return r.sessions }),
	gauge("connections", "Connections of clients.", func(r *reading) int { return r.connections }),
	gauge("zombies", "Children of the daemon that ended and were not waited for.", func(r *reading) int { return r.zombies }),
	counter("spawns_total", "Attempts to start a peer.", func(r *reading) uint64 { return r.Stats.Spawns }),
	counter("evictions_total", "Idle peers stopped by the reaper.", func(r *reading) uint64 { return r.Stats.Evicted }),
	counter("aged_total", "Failed peers that became disconnected.", func(r *reading) uint64 { return r.Stats.Aged }),
	counter("reclaimed_total", "Unused peers stopped early to make room.", func(r *reading) uint64 { return r.Stats.Reclaimed }),
	counter("overloaded_total", "Attempts refused for want of room.", func(r *reading) uint64 { return r.Stats.Overloaded }),
	counter("stuck_total", "Incarnations that outlived SIGKILL's grace.", func(r *reading) uint64 { return r.Stats.Stuck }),
	counter("stale_completions_total", "Completions of an older generation that were dropped.", func(r *reading) uint64 { return r.Stats.Stale }),
	counter("written_off_total", "Of them, those for whose exit nobody waits any more.", func(r *reading) uint64 { return r.Stats.WrittenOff }),
	counter("stderr_dropped_bytes_total", "Bytes of peers' stderr that were read and not kept.", func(r *reading) uint64 { return r.dropped }),
	counter("event_gaps_total", "Subscribers that lagged so far that events were dropped.", func(r *reading) uint64 { return r.Gaps }),
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(out chan<- *prometheus.Desc) {
	out <- peersDesc
	out <- failuresDesc
	for _, s := range samples {
		out <- s.desc
	}
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(out chan<- prometheus.Metric) {
	r := m.read()
	for _, s := range samples {
		out <- prometheus.MustNewConstMetric(s.desc, s.kind, s.value(r))
	}
	for state := lifecycle.Disconnected; state <= lifecycle.Failed; state++ {
		out <- prometheus.MustNewConstMetric(peersDesc, prometheus.GaugeValue, float64(r.States[state]), state.String())
	}
	for why := lifecycle.ReasonConnect; why <= lifecycle.ReasonDraining; why++ {
		if n := r.Failures[why]; n > 0 || why <= lifecycle.ReasonCallTimeout {
			out <- prometheus.MustNewConstMetric(failuresDesc, prometheus.CounterValue, float64(n), why.String())
		}
	}
}

func (m *metrics) read() *reading {
	r := &reading{Gauges: m.d.host.Gauges(), sessions: m.d.sessions.count(), agents: m.d.agents.count(), zombies: zombies(),
		dropped: uint64(m.d.cfg.dropped())}
	m.d.connsMu.Lock()
	r.connections = m.d.conns
	m.d.connsMu.Unlock()
	return r
}
