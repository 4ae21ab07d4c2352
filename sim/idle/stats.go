package idle

import (
	"encoding/json"
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Metrics are the numbers of a run that summaries estimate, in the order of reports.
var Metrics = []Metric{
	{"cold_ratio", "", func(r *Result) float64 { return r.ColdRatio() }},
	{"delayed_ratio", "", func(r *Result) float64 { return r.DelayedRatio() }},
	{"failed_ratio", "", func(r *Result) float64 { return r.FailedRatio() }},
	{"process_seconds_per_hour", "s/h", func(r *Result) float64 { return per(r.ProcessSeconds(), r.Span.Hours()) }},
	{"process_seconds_per_call", "s", func(r *Result) float64 { return per(r.ProcessSeconds(), float64(r.Calls)) }},
	{"mean_processes", "", func(r *Result) float64 { return r.MeanProcesses(r.Span) }},
	{"peak_processes", "", func(r *Result) float64 { return float64(r.Peak) }},
	{"idle_share", "", func(r *Result) float64 { return per(float64(r.IdleNanos), float64(r.ProcessNanos)) }},
	{"mib_hours", "MiB·h", func(r *Result) float64 { return r.MiBHours() }},
	{"mean_mib", "MiB", func(r *Result) float64 { return per(r.MiBHours(), r.Span.Hours()) }},
	{"calls_per_hour", "/h", func(r *Result) float64 { return PerHour(r.Calls, r.Span) }},
	{"cold_per_hour", "/h", func(r *Result) float64 { return PerHour(r.Cold, r.Span) }},
	{"spawns_per_hour", "/h", func(r *Result) float64 { return PerHour(r.Spawns, r.Span) }},
	{"failed_starts_per_hour", "/h", func(r *Result) float64 { return PerHour(r.FailedStarts, r.Span) }},
	{"retries_per_hour", "/h", func(r *Result) float64 { return PerHour(r.Retries, r.Span) }},
	{"unavailable_seconds_per_hour", "s/h", func(r *Result) float64 { return per(r.FailedNanos.Seconds(), r.Span.Hours()) }},
	{"added_mean", "s", func(r *Result) float64 { return r.Added.Mean }},
	{"added_p50", "s", func(r *Result) float64 { return r.Added.P50 }},
	{"added_p95", "s", func(r *Result) float64 { return r.Added.P95 }},
	{"added_p99", "s", func(r *Result) float64 { return r.Added.P99 }},
	{"added_max", "s", func(r *Result) float64 { return r.Added.Max }},
	{"conversation_mean", "s", func(r *Result) float64 { return r.PerConversation.Mean }},
	{"conversation_p50", "s", func(r *Result) float64 { return r.PerConversation.P50 }},
	{"conversation_p95", "s", func(r *Result) float64 { return r.PerConversation.P95 }},
	{"conversation_p99", "s", func(r *Result) float64 { return r.PerConversation.P99 }},
	{"conversation_max", "s", func(r *Result) float64 { return r.PerConversation.Max }},
	{"clairvoyant_ratio", "", func(r *Result) float64 {
		if r.Clairvoyant == nil {
			return 0
		}
		return per(r.Clairvoyant.Actual, r.Clairvoyant.Cost())
	}},
}

// MetricNamed finds one of Metrics.
func MetricNamed(name string) (Metric, error) {
	for _, m := range Metrics {
		if m.Name == name {
			return m, nil
		}
	}
	return Metric{}, fmt.Errorf("%q is no metric of a run; idle.Metrics lists them", name)
}

// estimates works out every metric over the runs of a cell.
func estimates(runs []Result) map[string]Estimate {
	all := map[string]Estimate{}
	for _, m := range Metrics {
		xs := make([]float64, len(runs))
		for i := range runs {
			xs[i] = m.Of(&runs[i])
		}
		all[m.Name] = EstimateOf(xs)
	}
	return all
}

// EstimateOf is the mean of independent numbers with its 95 % interval.
func EstimateOf(xs []float64) Estimate {
	n := float64(len(xs))
	if n == 0 {
		return Estimate{Half: math.Inf(1)}
	}
	sum := 0.0
	for _, x := range xs {
		sum += x
	}
	e := Estimate{Mean: sum / n, N: len(xs), Half: math.Inf(1)}
	if n == 1 {
		return e
	}
	squares := 0.0
	for _, x := range xs {
		squares += (x - e.Mean) * (x - e.Mean)
	}
	e.SD = math.Sqrt(squares / (n - 1))
	t := distuv.StudentsT{Sigma: 1, Nu: n - 1}.Quantile(0.975)
	e.Half = t * e.SD / math.Sqrt(n)
	return e
}

// Difference estimates how much a metric of one cell is above that of another, by the differences of runs that share
// a seed: they met the same callers and servers, so that most of the noise is not in it.
func Difference(of, from Summary, m Metric) (Estimate, error) {
	if len(of.Runs) != len(from.Runs) {
		return Estimate{}, fmt.Errorf("%s has %d runs and %s %d; compare cells of one sweep", of.Name, len(of.Runs), from.Name, len(from.Runs))
	}
	xs := make([]float64, len(of.Runs))
	for i := range of.Runs {
		if of.Runs[i].Seed != from.Runs[i].Seed {
			return Estimate{}, fmt.Errorf("run %d of %s has seed %d, of %s %d; compare cells of one sweep",
				i+1, of.Name, of.Runs[i].Seed, from.Name, from.Runs[i].Seed)
		}
		xs[i] = m.Of(&of.Runs[i]) - m.Of(&from.Runs[i])
	}
	return EstimateOf(xs), nil
}

// jsonEstimate writes what is infinite as null, for JSON knows no infinity.
type jsonEstimate struct {
	Mean float64  `json:"mean"`
	SD   float64  `json:"sd"`
	Half *float64 `json:"half"`
	N    int      `json:"n"`
}

// MarshalJSON writes an unknown interval as null.
func (e Estimate) MarshalJSON() ([]byte, error) {
	j := jsonEstimate{Mean: e.Mean, SD: e.SD, N: e.N}
	if !math.IsInf(e.Half, 1) {
		j.Half = &e.Half
	}
	return json.Marshal(j)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (e *Estimate) UnmarshalJSON(raw []byte) error {
	var j jsonEstimate
	if err := json.Unmarshal(raw, &j); err != nil {
		return err
	}
	*e = Estimate{Mean: j.Mean, SD: j.SD, N: j.N, Half: math.Inf(1)}
	if j.Half != nil {
		e.Half = *j.Half
	}
	return nil
}
