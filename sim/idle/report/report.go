package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/mayfly-mcp/mayfly/sim/idle"
)

// Format and Version name the JSON form. A change that readers would stumble over makes another version.
const (
	Format  = "mayfly-idle-report"
	Version = 1
)

// Report is everything that one invocation found out.
type Report struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Setup   Setup  `json:"setup"`

	Frontier       *Frontier       `json:"frontier,omitempty"`
	Recommendation *Recommendation `json:"recommendation,omitempty"`
	Policies       []PolicyRow     `json:"policies,omitempty"`
	Agents         []PolicyRow     `json:"agents,omitempty"`
	Failures       []FailureRow    `json:"failures,omitempty"`
	Oracles        []OracleRow     `json:"oracles,omitempty"`
	Curves         *Curves         `json:"curves,omitempty"`
	Words          []string        `json:"words,omitempty"`
}

// Setup is what was played: enough to play it again.
type Setup struct {
	Command  string        `json:"command"` // that makes the same report
	Traffic  string        `json:"traffic"`
	Servers  []ServerRow   `json:"servers"`
	Tenants  int           `json:"tenants"` // that called
	Peers    int           `json:"peers"`   // that were called
	For      time.Duration `json:"for_ns"`
	WarmUp   time.Duration `json:"warm_up_ns"`
	Seeds    []uint64      `json:"seeds"`
	Timeout  time.Duration `json:"idle_timeout_ns"` // of policies, agents and failures
	Recorded bool          `json:"recorded"`        // the traffic is a trace, the same under every seed
	// Price is what policies are compared at, and BreakEven what they go by that ask for one, in process-seconds per
	// cold start.
	Price     Price   `json:"price"`
	BreakEven float64 `json:"break_even_process_seconds,omitempty"`
}

// ServerRow is one class of the fleet.
type ServerRow struct {
	Name    string  `json:"class"`
	Share   float64 `json:"share"`
	Connect float64 `json:"mean_connect_seconds"` // failures at the bound included
	Fails   float64 `json:"failing_share"`
	MiB     float64 `json:"mib"`
}

// OracleRow is one number that is known in closed form, beside the simulator's.
type OracleRow struct {
	Name     string  `json:"name"`
	Clause   string  `json:"clause"`
	Formula  string  `json:"formula"`
	Quantity string  `json:"quantity"`
	Want     float64 `json:"want"`
	Got      Real    `json:"got"`
	SE       Real    `json:"standard_error"`
	Off      Real    `json:"standard_errors_off"`
	N        uint64  `json:"gaps"`
	OK       bool    `json:"ok"`
	// Again says that the number was off under the first seed, and that this is what a second one made of it.
	Again bool `json:"played_again,omitempty"`
}

// Real is a number that JSON has as null if it is not finite.
type Real float64

// MarshalJSON implements json.Marshaler.
func (x Real) MarshalJSON() ([]byte, error) { return json.Marshal(finite(float64(x))) }

// NewOracles takes over the table of idle.Agreement.
func NewOracles(rows []idle.Row) []OracleRow {
	var out []OracleRow
	for _, r := range rows {
		out = append(out, OracleRow{Name: r.Check, Clause: r.Clause, Formula: r.Formula, Quantity: r.Quantity, Want: r.Want,
			Got: Real(r.Simulated), SE: Real(r.SE), Off: Real(r.Off()), N: r.Gaps, OK: r.OK()})
	}
	return out
}

// Agree says whether all numbers agree.
func Agree(rows []OracleRow) bool {
	return !slices.ContainsFunc(rows, func(o OracleRow) bool { return !o.OK })
}

// Again replaces the rows that are off by those of another seed, and marks them.
func Again(rows, second []OracleRow) {
	for i := range rows {
		if !rows[i].OK {
			rows[i] = second[i]
			rows[i].Again = true
		}
	}
}

// Limit is how many standard errors a simulated number may be off.
const Limit = idle.Agreed

// Encode is the JSON form, with a final newline.
func (r *Report) Encode() ([]byte, error) {
	r.Format, r.Version = Format, Version
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(r); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// isReport says whether a file is a report of this or another version.
func isReport(in io.Reader) bool {
	var head struct {
		Format string `json:"format"`
	}
	return json.NewDecoder(io.LimitReader(in, maxReport)).Decode(&head) == nil && head.Format == Format
}

// maxReport bounds what is read of a file that may be a report.
const maxReport = 64 << 20

// setup says in one line what was played.
func (s *Setup) line() string {
	text := fmt.Sprintf("%s: %s tenants with %s peers, %s after a warm-up of %s, %s",
		s.Traffic, number(float64(s.Tenants)), number(float64(s.Peers)), brief(s.For-s.WarmUp), brief(s.WarmUp), seedsLine(s.Seeds))
	if s.Recorded {
		text += " (the trace is the same in all: intervals cover the starts of servers alone)"
	}
	return text
}

func seedsLine(seeds []uint64) string {
	switch n := len(seeds); {
	case n == 0:
		return "no seeds"
	case n == 1:
		return fmt.Sprintf("seed %d", seeds[0])
	case seeds[n-1]-seeds[0] == uint64(n-1):
		return fmt.Sprintf("seeds %d to %d", seeds[0], seeds[n-1])
	default:
		return fmt.Sprintf("seeds %v", seeds)
	}
}
