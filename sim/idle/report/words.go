package report

import (
	"fmt"
	"strings"
	"time"
)

// Say writes the sentences of a report, one paragraph each.
func (r *Report) Say() {
	r.Words = nil
	if r.Frontier != nil {
		r.Words = append(r.Words, r.sayFrontier())
	}
	if r.Recommendation != nil {
		r.Words = append(r.Words, r.Recommendation.say(len(r.Setup.Seeds), r.Setup.Recorded))
	}
	if len(r.Oracles) > 0 {
		r.Words = append(r.Words, sayOracles(r.Oracles))
	}
}

// sayFrontier tells of the RFC's default, or of the middle timeout if that was not played.
func (r *Report) sayFrontier() string {
	f := r.Frontier
	i := f.find(RFCTimeout)
	who := "The default of RFC 0204, 1800 s,"
	if i < 0 {
		i = len(f.Rows) / 2
		who = fmt.Sprintf("The default of RFC 0204, 1800 s, was not played; an idle timeout of %s", brief(f.Rows[i].Timeout))
	}
	row := &f.Rows[i]
	var s strings.Builder
	fmt.Fprintf(&s, "%s keeps %s processes on average for %s tenants, and %s of the calls ask for a start", who, row.Processes, number(float64(r.Setup.Tenants)), row.Cold.percent())
	if row.ColdPerTalk.exists() {
		fmt.Fprintf(&s, ": %s in a conversation, to which %s are added in the median, %s in one of twenty and %s in one of a hundred",
			row.ColdPerTalk, row.TalkP50.seconds(), row.TalkP95.seconds(), row.TalkP99.seconds())
	}
	s.WriteString(". ")
	if calls := row.Calls / uint64(len(f.cells[i].Runs)); calls < fewCalls {
		fmt.Fprintf(&s, "Calls that were measured in a run: %s, so few that one more or less shows in every number. ", number(float64(calls)))
	}
	s.WriteString(f.sayNeighbours(row))
	s.WriteString(f.sayPrices(i))
	s.WriteString(f.sayTimer(row))
	return strings.TrimSpace(s.String())
}

// fewCalls are too few for a share of them to have three digits.
const fewCalls = 1000

// sayNeighbours compares with five minutes, or with the shortest timeout.
func (f *Frontier) sayNeighbours(row *Row) string {
	other := f.Row(5 * time.Minute)
	if other == nil {
		other = &f.Rows[0]
	}
	if other.Timeout == row.Timeout || !(row.ProcessSeconds.Mean > 0) || !(row.ColdPerHour.Mean > 0) {
		return ""
	}
	return fmt.Sprintf("With %s there are %s times as many processes and %s times as many starts. ", brief(other.Timeout),
		number(other.ProcessSeconds.Mean/row.ProcessSeconds.Mean), number(other.ColdPerHour.Mean/row.ColdPerHour.Mean))
}

// sayPrices tells for whom a timeout is right.
func (f *Frontier) sayPrices(i int) string {
	row := &f.Rows[i]
	out := ""
	if i > 0 && f.Steps[i-1].Price.exists() {
		out += fmt.Sprintf("The last step, from %s, %s for each cold start avoided", brief(f.Rows[i-1].Timeout), f.Steps[i-1].paid("paid"))
		if i < len(f.Steps) && f.Steps[i].Price.exists() {
			out += fmt.Sprintf("; the next, to %s, %s", brief(f.Rows[i+1].Timeout), f.Steps[i].paid("would pay"))
		}
		out += ". "
	}
	switch {
	case row.BestFrom == nil:
		out += fmt.Sprintf("There is no price of a cold start for which %s is the cheapest of these timeouts. ", brief(row.Timeout))
	case row.BestTo == nil:
		out += fmt.Sprintf("Among these timeouts %s is the cheapest for whoever would keep a process for more than %s s to avoid one cold start. ", brief(row.Timeout), number(*row.BestFrom))
	default:
		out += fmt.Sprintf("Among these timeouts %s is the cheapest for whoever would keep a process for %s to %s s to avoid one cold start. ",
			brief(row.Timeout), number(*row.BestFrom), number(*row.BestTo))
	}
	return out + fmt.Sprintf("Whoever knows nothing of the traffic takes 0.8 times the seconds of a process that one cold start is worth, and pays at most 1.9 times the least possible, on average over the phase of the reaper's ticks; %s is that choice for %s s. ",
		brief(row.Timeout), number(row.Implied))
}

// paid says what a step pays for each cold start that it avoids; some keep less besides, as where starts fail.
func (s Step) paid(verb string) string {
	if s.Price.Mean < 0 {
		return "kept less, by " + Interval{-s.Price.Mean, s.Price.Half}.String() + " process-seconds"
	}
	return verb + " " + s.Price.String() + " process-seconds"
}

// sayTimer says what the ticks cost.
func (f *Frontier) sayTimer(row *Row) string {
	exact := rowOf(f.Exact, row.Timeout)
	if exact == nil || !(exact.ProcessSeconds.Mean > 0) || !(exact.ColdPerHour.Mean > 0) {
		return ""
	}
	return fmt.Sprintf("The reaper's tick of a quarter of the timeout keeps %s times the process-seconds of an exact timer, for %s times its cold starts.",
		number(row.ProcessSeconds.Mean/exact.ProcessSeconds.Mean), number(row.ColdPerHour.Mean/exact.ColdPerHour.Mean))
}

func (r *Recommendation) say(seeds int, recorded bool) string {
	var s strings.Builder
	if len(r.Costs) == 1 {
		return fmt.Sprintf("At %s, %s costs %s %s. It is the only timeout that was played, so nothing is recommended: give others with -timeout.",
			r.Price, brief(r.Best), r.Costs[0].Total, r.Unit)
	}
	fmt.Fprintf(&s, "At %s, the best of these timeouts is %s.", r.Price, brief(r.Best))
	if r.Edge {
		s.WriteString(" It is at the end of the list, so a better one may lie beyond: give others with -timeout.")
	}
	if r.FlatFrom == r.FlatTo {
		fmt.Fprintf(&s, " No neighbour costs as little within %.0f %%.", 100*r.Flatness)
	} else {
		fmt.Fprintf(&s, " All from %s to %s cost at most %.0f %% more.", brief(r.FlatFrom), brief(r.FlatTo), 100*r.Flatness)
	}
	half, double := r.Factors[0], r.Factors[len(r.Factors)-1]
	if half.Best == r.Best && double.Best == r.Best {
		s.WriteString(" It stays the best when waiting costs half or double.")
	} else {
		fmt.Fprintf(&s, " When waiting costs half it is %s, and %s when it costs double.", brief(half.Best), brief(double.Best))
	}
	for _, d := range r.Drawn {
		if d.Timeout == r.Best {
			fmt.Fprintf(&s, " It is the best in %s %% of %s resamples of the %d seeds", number(100*d.Share), number(float64(r.Resamples)), seeds)
			if recorded {
				s.WriteString(", in all of which the trace is the same")
			}
			s.WriteString(".")
		}
	}
	for _, c := range r.Costs {
		if c.Timeout == RFCTimeout && r.Best != RFCTimeout {
			fmt.Fprintf(&s, " The RFC's 1800 s cost %s %s more.", c.More, r.Unit)
		}
	}
	return s.String()
}

func sayOracles(rows []OracleRow) string {
	off, again, worst := 0, 0, 0
	for i, o := range rows {
		if o.OK && o.Again {
			again++
		}
		if !o.OK {
			off++
		}
		if o.Off > rows[worst].Off {
			worst = i
		}
	}
	text := fmt.Sprintf("Of %d numbers that are known in closed form, %d were simulated within %d standard errors", len(rows), len(rows)-off, Limit)
	if off > 0 {
		text += fmt.Sprintf(", and %d are off", off)
	}
	if again > 0 {
		text += fmt.Sprintf(" (%d of them under a second seed, since they were not under the first)", again)
	}
	return fmt.Sprintf("%s; the farthest, %s (%s), is %.2f away.", text, rows[worst].Name, rows[worst].Quantity, rows[worst].Off)
}
