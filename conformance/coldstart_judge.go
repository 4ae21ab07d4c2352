package conformance

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// This file makes the answer about cold starts of what was taken down, and of nothing else.

// coldNoise is the noise with which a sample of a class is discarded, whatever it looks like. It
// is fixed before anything is measured and follows from the class alone: were it to follow from
// the time that a call took, slow calls would be discarded more easily, or less.
func coldNoise(class string) time.Duration {
	switch class {
	case "observer-0", "go-sdk", reporterRow:
		return 25 * time.Millisecond
	case "observer-0.3s":
		return 50 * time.Millisecond
	case "observer-3s", "npx-everything":
		return 200 * time.Millisecond
	}
	return 100 * time.Millisecond
}

// reporterRow stands for the reporter in front of a real server.
const reporterRow = "reporter"

// coldTimes are the times of one class.
type coldTimes struct {
	id, title, out string
	cold, warm     []time.Duration
	extra          []time.Duration // of each cold call, over the warm ones right after it
	first          int             // calls that are not counted
	noisy, all     int             // of the samples, cold and warm
	noisyCold      int
	allCold        int
}

// coldTimesOf sorts the series into classes, in the order in which they were introduced.
func coldTimesOf(series []observation) (idle time.Duration, classes []*coldTimes, reporter []time.Duration) {
	find := func(id string) *coldTimes {
		if i := slices.IndexFunc(classes, func(c *coldTimes) bool { return c.id == id }); i >= 0 {
			return classes[i]
		}
		classes = append(classes, &coldTimes{id: id, title: id})
		return classes[len(classes)-1]
	}
	for _, o := range series {
		words := strings.Split(strings.TrimPrefix(o.What, coldSeries), "/")
		switch {
		case words[0] == "idle":
			idle = o.Min
		case len(words) < 2 || words[0] == reporterRow:
		case words[1] == coldTitle:
			find(words[0]).title = o.Says
		case words[1] == coldLeftOut:
			find(words[0]).out = o.Says
		default:
			find(words[0]).count(words[1], o)
		}
	}
	for _, c := range classes {
		c.pair(series)
	}
	return idle, classes, reporterOf(series)
}

// noisyFor says that the control alone discards an observation of a class.
func noisyFor(class string, o observation) bool { return o.Overshoot > coldNoise(class) }

// count takes one sample, unless the control discards it.
func (c *coldTimes) count(phase string, o observation) {
	noisy := noisyFor(c.id, o)
	switch phase {
	case firstCall:
		c.first++
		return
	case coldCall:
		c.allCold++
		if noisy {
			c.noisyCold++
		} else {
			c.cold = append(c.cold, o.Min)
		}
	case warmCall:
		if !noisy {
			c.warm = append(c.warm, o.Min)
		}
	}
	if c.all++; noisy {
		c.noisy++
	}
}

// pair subtracts from each cold call the median of the warm ones right after it, which met the
// same peer on the same machine in the same minute.
func (c *coldTimes) pair(series []observation) {
	warm := map[string][]time.Duration{} // looked up, never ranged over
	for _, o := range series {
		key, is := strings.CutPrefix(o.What, coldSeries+c.id+"/"+warmCall+"/")
		if is && !noisyFor(c.id, o) {
			visit := key[:max(strings.LastIndexByte(key, '.'), 0)]
			warm[visit] = append(warm[visit], o.Min)
		}
	}
	for _, o := range series {
		key, is := strings.CutPrefix(o.What, coldSeries+c.id+"/"+coldCall+"/")
		if is && !noisyFor(c.id, o) && len(warm[key]) > 0 {
			c.extra = append(c.extra, o.Min-median(warm[key]))
		}
	}
}

// reporterOf is what each start through the reporter took longer than the plain one beside it.
func reporterOf(series []observation) (out []time.Duration) {
	without := map[string]time.Duration{}
	for _, o := range series {
		if noisyFor(reporterRow, o) {
			continue
		}
		if key, is := strings.CutPrefix(o.What, coldSeries+reporterRow+"/without/"); is {
			without[key] = o.Min
		}
		if key, is := strings.CutPrefix(o.What, coldSeries+reporterRow+"/with/"); is {
			if plain, both := without[key]; both {
				out = append(out, o.Min-plain)
			}
		}
	}
	return out
}

// decided says that a class has been measured, and if not, why.
func (c *coldTimes) decided() (why string, ok bool) {
	switch {
	case c.out != "":
		return c.out, false
	case 2*c.noisyCold > c.allCold:
		return fmt.Sprintf("%s: %d of %d calls after an eviction were discarded for noise over %v, it wants a quieter machine", Inconclusive, c.noisyCold, c.allCold, coldNoise(c.id)), false
	case len(c.extra) == 0:
		return fmt.Sprintf("%s: no sample", NotObserved), false
	}
	return "", true
}

// The quantiles that are reported.
var coldQuantiles = []struct {
	name string
	at   float64
}{{"p50", 0.5}, {"p95", 0.95}, {"p99", 0.99}}

// extraRow is what a cold call takes longer than a warm one.
const extraRow = "extra"

// numbers are the quantiles of a class.
func (c *coldTimes) numbers() (out []Number) {
	for _, row := range []struct {
		name  string
		times []time.Duration
	}{{warmCall, c.warm}, {coldCall, c.cold}, {extraRow, c.extra}} {
		for _, q := range coldQuantiles {
			out = append(out, quantileOf(row.times, q.at).number(c.id+" "+row.name+" "+q.name))
		}
	}
	return out
}

// number is a quantile in milliseconds.
func (q quantile) number(name string) Number {
	ms := func(d time.Duration) float64 {
		return float64(d.Round(10*time.Microsecond)) / float64(time.Millisecond)
	}
	return Number{Name: name, Unit: "ms", Value: ms(q.value), Low: ms(q.low), High: ms(q.high),
		Confidence: float64(int(q.confidence*1000)) / 1000, Samples: q.samples}
}

// coldStartAnswer is the answer to what an eviction costs the conversation that comes back.
func coldStartAnswer(e evidence) (Answer, bool) {
	series := e.series(coldStartID, seenSample, coldSeries)
	if len(series) == 0 {
		return Answer{}, false
	}
	idle, classes, reporter := coldTimesOf(series)
	a := Answer{ID: "cold-start", Question: "What does the first call after an eviction cost a conversation?",
		Confidence: "intervals are those of order statistics, 95 % each unless stated, for samples that are independent; where the samples are too few for a bound above, the interval ends at the slowest one and its confidence is what that is worth. " +
			"Samples are discarded by the control alone, with a noise that is fixed for each class"}
	var waits, out, tested []string
	for _, c := range classes {
		why, ok := c.decided()
		if !ok {
			out = append(out, c.id+" is "+why)
			continue
		}
		waits = append(waits, c.waits())
		tested = append(tested, fmt.Sprintf("%s (%s; %d of %d samples discarded for noise over %v)", c.id, c.title, c.noisy, c.all, coldNoise(c.id)))
		a.Numbers = append(a.Numbers, c.numbers()...)
	}
	a.Words = coldWords(idle, waits, out)
	if r := quantileOf(reporter, 0.5); r.samples > 0 {
		a.Numbers = append(a.Numbers, r.number("reporter in front p50"))
		a.Words += fmt.Sprintf(" Servers that are no observer peers are started through a reporter, whose %s (p50) is in their numbers.", shortly(r.value))
	}
	a.Range = fmt.Sprintf("T=%v, peers of all classes in turns, one call at a time, from the client's message to the answer in its hands: %s", idle, strings.Join(tested, ", "))
	return a, true
}

// coldWords puts the classes into sentences.
func coldWords(idle time.Duration, waits, out []string) string {
	words := "Nothing could be measured."
	if len(waits) > 0 {
		words = fmt.Sprintf("With T=%v, a conversation that comes back after an eviction waits longer than one whose server still runs: %s.", idle, strings.Join(waits, "; "))
	}
	if len(out) > 0 {
		words += " Left out: " + strings.Join(out, "; ") + "."
	}
	return words
}

// waits is the sentence of one class. Of a quantile that the samples do not bound it says nothing
// but what the slowest one took.
func (c *coldTimes) waits() string {
	q50, q95, warm := quantileOf(c.extra, 0.5), quantileOf(c.extra, 0.95), quantileOf(c.warm, 0.5)
	tail := fmt.Sprintf("p95 %s, between %s and %s", shortly(q95.value), shortly(q95.low), shortly(q95.high))
	if q95.confidence < wanted {
		tail = "too few for a p95, the slowest " + shortly(q95.high)
	}
	return fmt.Sprintf("%s more for %s (p50 of %d, between %s and %s; %s; a warm call takes %s)",
		shortly(q50.value), c.id, q50.samples, shortly(q50.low), shortly(q50.high), tail, shortly(warm.value))
}

// shortly is a time with as many digits as a reader wants.
func shortly(d time.Duration) string {
	if d < 10*time.Millisecond && d > -10*time.Millisecond {
		return d.Round(100 * time.Microsecond).String()
	}
	return d.Round(time.Millisecond).String()
}
