package profile

import (
	"math"
	"slices"
	"time"
)

// Format and Version name the only kind of file that Decode takes.
const (
	Format  = "mayfly-idle-profile"
	Version = 1
)

// Profile is a measured server.
type Profile struct {
	Format   string    `json:"format"`
	Version  int       `json:"version"`
	Class    string    `json:"class"`
	Measured time.Time `json:"measured"`
	Server   Server    `json:"server"`
	Machine  Machine   `json:"machine"`
	Settings Settings  `json:"settings"`
	First    *Start    `json:"first,omitempty"` // nil is not measured apart
	Starts   []Start   `json:"starts"`
}

// Server is what was measured, without secrets.
type Server struct {
	Command []string `json:"command,omitempty"`
	Env     []string `json:"env,omitempty"` // names
	URL     string   `json:"url,omitempty"`
	Headers []string `json:"headers,omitempty"` // names
}

// Machine is where it was measured.
type Machine struct {
	OS         string  `json:"os"`
	Arch       string  `json:"arch"`
	Cores      int     `json:"cores"`
	Procs      int     `json:"procs"` // cores that the measuring process may use
	MemoryMiB  float64 `json:"memory_mib,omitzero"`
	LoadBefore float64 `json:"load_before"`
	LoadAfter  float64 `json:"load_after"`
	Timer      Timer   `json:"timer"`
}

// Timer says by how much a control timer overshot during connects.
type Timer struct {
	N   int     `json:"n"`
	P50 float64 `json:"p50_ms"`
	P99 float64 `json:"p99_ms"`
	Max float64 `json:"max_ms"`
}

// Settings are what was asked for.
type Settings struct {
	Starts    int     `json:"starts"` // after the first
	Warm      int     `json:"warm"`   // calls per start
	WarmCall  string  `json:"warm_call"`
	TimeoutMS float64 `json:"timeout_ms"`
	SettleMS  float64 `json:"settle_ms"`
}

// Start is one start of the server. See the package for the fields.
type Start struct {
	OK          bool      `json:"ok"`
	ConnectMS   float64   `json:"connect_ms"`
	SpawnMS     float64   `json:"spawn_ms,omitzero"`
	HeardMS     float64   `json:"heard_ms,omitzero"`
	Tools       int       `json:"tools,omitzero"`
	WarmMS      []float64 `json:"warm_ms,omitempty"`
	WarmFailure string    `json:"warm_failure,omitempty"`
	RSSMiB      float64   `json:"rss_mib,omitzero"`
	PSSMiB      float64   `json:"pss_mib,omitzero"`
	Processes   int       `json:"processes,omitzero"`
	StopMS      float64   `json:"stop_ms,omitzero"`
	StopRung    string    `json:"stop_rung,omitempty"`
	StallMS     float64   `json:"stall_ms,omitzero"`
	Phase       string    `json:"phase,omitempty"`
	Failure     string    `json:"failure,omitempty"`
}

// Rungs are the values of Start.StopRung.
const (
	RungSelf      = "self"
	RungClose     = "close"
	RungTerminate = "terminate"
	RungKill      = "kill"
)

var rungs = []string{RungSelf, RungClose, RungTerminate, RungKill}

// Millis is a duration as it is stored: milliseconds, to the microsecond.
func Millis(d time.Duration) float64 {
	return float64(d.Round(time.Microsecond).Microseconds()) / 1000
}

// duration is the inverse of Millis.
func duration(ms float64) time.Duration {
	return time.Duration(math.Round(ms*1000)) * time.Microsecond
}

// Connect draws a connect: u in [0,1) picks one of the measured starts, all alike, failed ones
// from the upper end. d is how long it took, to its success or to its failure. The first
// start is not among them. It panics if there are no starts, which Decode refuses.
func (p *Profile) Connect(u float64) (d time.Duration, ok bool) {
	n := len(p.Starts)
	if n == 0 || !(u >= 0 && u < 1) {
		panic("PROFILE-1: Connect needs starts and a u in [0,1)")
	}
	good, bad := p.connects()
	if i := int(u * float64(n)); i < len(good) {
		return duration(good[i]), true
	} else {
		return duration(bad[min(i, n-1)-len(good)]), false
	}
}

// connects are the times of the starts, sorted, by success.
func (p *Profile) connects() (good, bad []float64) {
	for _, s := range p.Starts {
		if s.OK {
			good = append(good, s.ConnectMS)
		} else {
			bad = append(bad, s.ConnectMS)
		}
	}
	slices.Sort(good)
	slices.Sort(bad)
	return good, bad
}

// Failed is the share of starts that failed.
func (p *Profile) Failed() float64 {
	_, bad := p.connects()
	return float64(len(bad)) / float64(max(1, len(p.Starts)))
}

// RSS is the median of the resident memory of the tree, in MiB. Memory that its processes
// share is counted for each. It is not ok if it is not known, as for a URL.
func (p *Profile) RSS() (mib float64, ok bool) {
	return p.median(func(s Start) float64 { return s.RSSMiB })
}

// PSS is RSS with shared memory divided among those that share it, on the machine of the
// measurement.
func (p *Profile) PSS() (mib float64, ok bool) {
	return p.median(func(s Start) float64 { return s.PSSMiB })
}

// median is over the starts that know the value.
func (p *Profile) median(of func(Start) float64) (float64, bool) {
	known := p.known(of)
	if len(known) == 0 {
		return 0, false
	}
	return pick(known, 0.5), true
}

// known are the values above zero of the starts that succeeded, sorted.
func (p *Profile) known(of func(Start) float64) (out []float64) {
	for _, s := range p.Starts {
		if v := of(s); s.OK && v > 0 {
			out = append(out, v)
		}
	}
	slices.Sort(out)
	return out
}
