package idle

import "time"

// Measures are the sums of a run or of one class of servers. What is a rate is computed from them by the methods, so
// that measures add up.
type Measures struct {
	Calls         uint64 `json:"calls"`
	Cold          uint64 `json:"cold"`           // calls that asked for a start, which may find no room
	Delayed       uint64 `json:"delayed"`        // calls that waited for a start, their own or somebody else's
	Spawns        uint64 `json:"spawns"`         // processes started, for whatever reason
	Woken         uint64 `json:"woken"`          // of them, started by a policy before anybody called
	Retries       uint64 `json:"retries"`        // of them, reconnects of failed peers by a policy
	FailedStarts  uint64 `json:"failed_starts"`  // starts that ended without a session
	FailedCalls   uint64 `json:"failed_calls"`   // calls that got no session, for whatever reason
	Refused       uint64 `json:"refused"`        // of them, those refused at once because the peer had failed
	Overloaded    uint64 `json:"overloaded"`     // of them, those that found no room
	Lost          uint64 `json:"lost"`           // calls whose process died under them, or that took longer than the machine's CallTimeout
	Stops         uint64 `json:"stops"`          // processes stopped because they were unused
	Crashes       uint64 `json:"crashes"`        // processes that died in an outage
	Gaps          uint64 `json:"gaps"`           // idle periods that ended with a call
	ColdGaps      uint64 `json:"cold_gaps"`      // of them, those whose process was stopped before it
	Outlived      uint64 `json:"outlived"`       // idle periods that ended with a stop
	ProcessNanos  Sum    `json:"process_ns"`     // time × processes
	IdleNanos     Sum    `json:"idle_ns"`        // of it, unused
	FailedNanos   Sum    `json:"failed_ns"`      // time × peers in Failed
	OutlivedNanos Sum    `json:"outlived_ns"`    // length of idle periods that ended with a stop
	WaitNanos     Sum    `json:"wait_ns"`        // waits of all callers
	MiBNanos      Sum    `json:"mib_ns"`         // time × MiB
	Peak          int    `json:"peak_processes"` // most processes at one instant
}

// Sum is a sum of products of times, kept as a float64: exact below 2^53, and summed in one order.
type Sum float64

// Seconds converts a sum of nanoseconds.
func (s Sum) Seconds() float64 { return float64(s) / 1e9 }

// ClassResult is the part of one class of servers.
type ClassResult struct {
	Class string `json:"class"`
	Peers int    `json:"peers"` // that were called at least once
	Measures
	Added Quantiles `json:"added"` // latency added per call
}

// Quantiles describe a distribution of times, in seconds. All but Mean and Max are right to a hundredth.
type Quantiles struct {
	N    uint64  `json:"n"`
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P95  float64 `json:"p95"`
	P99  float64 `json:"p99"`
	Max  float64 `json:"max"`
}

// Point is one bucket of a distribution or of a course over time.
type Point struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

// Result is one run, its warm-up left out.
type Result struct {
	Policy      string        `json:"policy"`
	Traffic     string        `json:"traffic"`
	Seed        uint64        `json:"seed"`
	IdleTimeout time.Duration `json:"idle_timeout_ns"`
	Span        time.Duration `json:"span_ns"`
	Tenants     int           `json:"tenants"`
	Peers       int           `json:"peers"`
	Measures
	Added            Quantiles     `json:"added"`            // latency added per call, zeroes included
	PerConversation  Quantiles     `json:"per_conversation"` // latency added per conversation
	AddedTail        []Point       `json:"added_tail"`       // X seconds, Y share of calls that wait longer
	ConversationTail []Point       `json:"conversation_tail"`
	Over             []Point       `json:"over,omitempty"` // X seconds since the start (warm-up included), Y mean processes in the bucket
	Classes          []ClassResult `json:"classes"`
	// Clairvoyant is what whoever knows the future would have paid for the same gaps, if Config.BreakEven is set.
	Clairvoyant *Clairvoyant `json:"clairvoyant,omitempty"`
	Steps       uint64       `json:"steps"` // of the machine, for the record
}

// Clairvoyant is the sum over all gaps that ended with a call of min(gap, B), apart in what is kept and what is not.
type Clairvoyant struct {
	BreakEven float64 `json:"break_even"`
	Idle      float64 `json:"idle_seconds"` // in gaps shorter than B
	Cold      uint64  `json:"cold"`         // gaps of B or longer
	// Actual is what this run paid for the same gaps, in process-seconds: idle time plus B per cold one.
	Actual float64 `json:"actual"`
}

// Cost is what the clairvoyant pays, in process-seconds.
func (c Clairvoyant) Cost() float64 { return c.Idle + c.BreakEven*float64(c.Cold) }

// Metric is a number of a run by name, for summaries.
type Metric struct {
	Name string
	Unit string
	Of   func(*Result) float64
}

// Estimate is a mean over seeds with the half-width of its 95 % interval by Student's t. Half is infinite for one seed.
type Estimate struct {
	Mean float64 `json:"mean"`
	SD   float64 `json:"sd"`
	Half float64 `json:"half"`
	N    int     `json:"n"`
}

// Summary is one cell of a sweep: its runs in order of seeds, and the estimate of each metric of [Metrics], by name.
type Summary struct {
	Name      string              `json:"name"`
	Runs      []Result            `json:"runs"`
	Estimates map[string]Estimate `json:"estimates"`
}

// add adds sums; peaks of parts need not come together, so that of the whole is left alone.
func (m *Measures) add(x *Measures) {
	m.Calls += x.Calls
	m.Cold += x.Cold
	m.Delayed += x.Delayed
	m.Spawns += x.Spawns
	m.Woken += x.Woken
	m.Retries += x.Retries
	m.FailedStarts += x.FailedStarts
	m.FailedCalls += x.FailedCalls
	m.Refused += x.Refused
	m.Overloaded += x.Overloaded
	m.Lost += x.Lost
	m.Stops += x.Stops
	m.Crashes += x.Crashes
	m.Gaps += x.Gaps
	m.ColdGaps += x.ColdGaps
	m.Outlived += x.Outlived
	m.ProcessNanos += x.ProcessNanos
	m.IdleNanos += x.IdleNanos
	m.FailedNanos += x.FailedNanos
	m.OutlivedNanos += x.OutlivedNanos
	m.WaitNanos += x.WaitNanos
	m.MiBNanos += x.MiBNanos
}

// per divides, and is 0 where there is nothing to divide by.
func per(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// ColdRatio is the share of calls that asked for a start.
func (m *Measures) ColdRatio() float64 { return per(float64(m.Cold), float64(m.Calls)) }

// DelayedRatio is the share of calls that waited for a start, their own or another's.
func (m *Measures) DelayedRatio() float64 { return per(float64(m.Delayed), float64(m.Calls)) }

// FailedRatio is the share of calls that got no session.
func (m *Measures) FailedRatio() float64 { return per(float64(m.FailedCalls), float64(m.Calls)) }

// ProcessSeconds is time × processes.
func (m *Measures) ProcessSeconds() float64 { return m.ProcessNanos.Seconds() }

// MeanProcesses is how many there were on average over a span.
func (m *Measures) MeanProcesses(span time.Duration) float64 {
	return per(float64(m.ProcessNanos), float64(span))
}

// MiBHours is time × memory.
func (m *Measures) MiBHours() float64 { return m.MiBNanos.Seconds() / 3600 }

// PerHour is a count over a span, in an hour.
func PerHour(n uint64, span time.Duration) float64 { return per(float64(n), span.Hours()) }
