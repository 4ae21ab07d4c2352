package report

import (
	"bytes"
	"encoding/csv"
	"math"
	"strconv"
)

// column is one of a CSV file: an interval becomes two, of the mean and of the half.
type column[R any] struct {
	name string
	of   func(*R) Interval
}

var rowColumns = []column[Row]{
	{"cold_share", func(r *Row) Interval { return r.Cold }},
	{"delayed_share", func(r *Row) Interval { return r.Delayed }},
	{"failed_share", func(r *Row) Interval { return r.Failed }},
	{"cold_per_conversation", func(r *Row) Interval { return r.ColdPerTalk }},
	{"cold_per_hour", func(r *Row) Interval { return r.ColdPerHour }},
	{"added_s_per_call", func(r *Row) Interval { return r.Added }},
	{"added_s_per_conversation_mean", func(r *Row) Interval { return r.TalkMean }},
	{"added_s_per_conversation_p50", func(r *Row) Interval { return r.TalkP50 }},
	{"added_s_per_conversation_p95", func(r *Row) Interval { return r.TalkP95 }},
	{"added_s_per_conversation_p99", func(r *Row) Interval { return r.TalkP99 }},
	{"mean_processes", func(r *Row) Interval { return r.Processes }},
	{"peak_processes", func(r *Row) Interval { return r.Peak }},
	{"process_s_per_hour", func(r *Row) Interval { return r.ProcessSeconds }},
	{"process_s_per_conversation", func(r *Row) Interval { return r.SecondsPerTalk }},
	{"gib_hours_per_hour", func(r *Row) Interval { return r.GiBHours }},
	{"spawns_per_hour", func(r *Row) Interval { return r.SpawnsPerHour }},
	{"failed_connects_per_hour", func(r *Row) Interval { return r.FailedStarts }},
	{"cost_over_clairvoyant", func(r *Row) Interval { return r.OverClairvoyant }},
}

// sheet writes a header and records. What does not exist is an empty field.
type sheet struct {
	b bytes.Buffer
	w *csv.Writer
}

func newSheet(head ...string) *sheet {
	s := &sheet{}
	s.w = csv.NewWriter(&s.b)
	s.write(head)
	return s
}

// write cannot fail: it is a buffer's.
func (s *sheet) write(record []string) { _ = s.w.Write(record) }

func (s *sheet) bytes() []byte {
	s.w.Flush()
	return s.b.Bytes()
}

func field(x float64) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return ""
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

func pair(v Interval) []string { return []string{field(v.Mean), field(v.Half)} }

func heads(first ...string) []string {
	for _, c := range rowColumns {
		first = append(first, c.name, c.name+"_half")
	}
	return first
}

func (r *Row) fields(first ...string) []string {
	for _, c := range rowColumns {
		first = append(first, pair(c.of(r))...)
	}
	return first
}

// frontierCSV has both timers, told apart by a column.
func (f *Frontier) csv() []byte {
	s := newSheet(append(heads("timer", "idle_timeout_s"), "price_from_previous", "price_from_previous_half", "best_from_price", "best_to_price", "implied_price")...)
	for i := range f.Rows {
		row := &f.Rows[i]
		price := none
		if i > 0 {
			price = f.Steps[i-1].Price
		}
		from, to := math.NaN(), math.NaN()
		if row.BestFrom != nil {
			from = *row.BestFrom
		}
		if row.BestTo != nil {
			to = *row.BestTo
		}
		record := row.fields("ticks", field(row.Timeout.Seconds()))
		s.write(append(append(record, pair(price)...), field(from), field(to), field(row.Implied)))
	}
	for i := range f.Exact {
		row := &f.Exact[i]
		s.write(append(row.fields("exact", field(row.Timeout.Seconds())), "", "", "", "", ""))
	}
	return s.bytes()
}

func policiesCSV(rows []PolicyRow) []byte {
	s := newSheet(append(heads("policy", "idle_timeout_s"), "cost", "cost_half", "cost_over_rfc", "cost_over_rfc_half")...)
	for i := range rows {
		r := &rows[i]
		record := r.fields(r.Name, field(r.Timeout.Seconds()))
		s.write(append(append(record, pair(r.Cost)...), pair(r.OverRFC)...))
	}
	return s.bytes()
}

func failuresCSV(rows []FailureRow) []byte {
	s := newSheet(append(heads("failed_peers", "idle_timeout_s"), "unavailable_share", "unavailable_share_half", "refused_share", "refused_share_half",
		"retries_per_hour", "retries_per_hour_half", "crashes_per_hour", "crashes_per_hour_half")...)
	for i := range rows {
		r := &rows[i]
		record := r.fields(r.Name, field(r.Timeout.Seconds()))
		for _, v := range []Interval{r.Unavailable, r.Refused, r.Retries, r.Crashes} {
			record = append(record, pair(v)...)
		}
		s.write(record)
	}
	return s.bytes()
}

func oraclesCSV(rows []OracleRow) []byte {
	s := newSheet("check", "clause", "formula", "quantity", "want", "simulated", "standard_error", "standard_errors_off", "n", "ok")
	for _, o := range rows {
		s.write([]string{o.Name, o.Clause, o.Formula, o.Quantity, field(o.Want), field(float64(o.Got)), field(float64(o.SE)), field(float64(o.Off)),
			strconv.FormatUint(o.N, 10), strconv.FormatBool(o.OK)})
	}
	return s.bytes()
}

// curvesCSV has the points of every plot of curves.
func (c *Curves) csv() []byte {
	s := newSheet("plot", "idle_timeout_s", "x", "y")
	for _, p := range []struct {
		name   string
		curves []Curve
	}{{"calls", c.Calls}, {"conversations", c.Talks}, {"day", c.Day}} {
		for _, curve := range p.curves {
			for _, point := range curve.Points {
				s.write([]string{p.name, field(curve.Timeout.Seconds()), field(point.X), field(point.Y)})
			}
		}
	}
	return s.bytes()
}
