package conformance

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// opening begins an answer by what the verdict on its check says.
func (e evidence) opening(check, yes string) string {
	switch v := e.verdict(check); v {
	case Pass:
		return yes
	case Fail:
		return "No, this daemon does otherwise: " + e.says(check) + "."
	default:
		return fmt.Sprintf("Not decided (%s): %s.", v, e.says(check))
	}
}

// sequentialWords says how sure a verdict over a window is.
func (m margins) sequentialWords(all []*window) string {
	var late, counted, noisy int
	for _, w := range all {
		n := m.tally(w)
		late, counted, noisy = late+n.late, counted+n.clean+n.late, noisy+n.noisy
	}
	low, high := clopperPearson(late, counted, wanted)
	return fmt.Sprintf("\"too early\" is proven by a single sample; \"too late\" by a sequential test (p0 %v %%, p1 %v %%), in which a sound daemon fails with probability %v and one that is late in a fifth of all phases passes with %v. "+
		"%d of %d counted samples were late, so the share of late ones is between %.1f %% and %.1f %% (95 %%); %d samples were discarded by the control",
		100*lateness.p0, 100*lateness.p1, lateness.alpha, lateness.beta, late, counted, 100*low, 100*high, noisy)
}

// extremes are the earliest and the latest sample of a window over its T.
func (w *window) extremes() (first, last Number) {
	at := func(name string, pick func(a, b sample) bool) Number {
		x := w.samples[0]
		for _, s := range w.samples {
			if pick(s, x) {
				x = s
			}
		}
		t := w.t.Seconds()
		return Number{Name: fmt.Sprintf("%s at T=%v", name, w.t), Unit: "T", Value: w.best(x).Seconds() / t,
			Low: x.took.min.Seconds() / t, High: x.took.max.Seconds() / t, Samples: len(w.samples)}
	}
	return at("earliest", func(a, b sample) bool { return a.took.max < b.took.max }),
		at("latest", func(a, b sample) bool { return a.took.min > b.took.min })
}

// signed is a time in seconds as a summand.
func signed(seconds float64) string {
	sign := "+"
	if seconds < 0 {
		sign = "-"
	}
	return fmt.Sprintf("%s %.0f ms", sign, math.Abs(1000*seconds))
}

// times lists the T of windows.
func times(all []*window) string {
	var words []string
	for _, w := range all {
		words = append(words, fmt.Sprint(w.t))
	}
	return strings.Join(words, " and ")
}

// idleAnswer is about the reaper's timing.
func idleAnswer(e evidence) (Answer, bool) {
	if e.verdict(timingIdle) == "" {
		return Answer{}, false
	}
	a := Answer{ID: "reaper-timing", Question: "Does the reaper's timing hold against a live daemon: when is an idle peer stopped?"}
	all := slices.DeleteFunc(windowsOf(e.seen[timingIdle], seenEviction), func(w *window) bool { return len(w.samples) == 0 })
	slices.SortFunc(all, func(x, y *window) int { return int(x.t - y.t) })
	a.Words = e.opening(timingIdle, "Yes: a peer outlives its deadline by a quarter of T at most, and is never stopped before it.")
	if len(all) == 0 {
		return a, true
	}
	n := 0
	for _, w := range all {
		first, last := w.extremes()
		n += len(w.samples)
		a.Numbers = append(a.Numbers, first, last)
		a.Words += fmt.Sprintf(" With T=%v, %d peers were stopped between %.3f T and %.3f T after their last use.", w.t, len(w.samples), first.Value, last.Value)
	}
	if alpha, beta, ok := fitted(all); ok {
		a.Numbers = append(a.Numbers, alpha, beta)
		a.Words += fmt.Sprintf(" On average D = %.3f T %s (the factor is between %.3f and %.3f, the rest between %+.0f and %+.0f ms): what does not grow with T is overhead, and a reaper that looks every T/4 has 1.125 T.",
			alpha.Value, signed(beta.Value), alpha.Low, alpha.High, 1000*beta.Low, 1000*beta.High)
	}
	if e.verdict(timingIdle) == Pass {
		a.Words += " No traffic was needed: after the last use of a batch nothing was dispatched, and its peers were stopped all the same."
	}
	a.Range = fmt.Sprintf("T=%s, %d evictions of peers that were used at random moments of the reaper's tick", times(all), n)
	a.Confidence = granted.sequentialWords(all)
	return a, true
}

// gateAnswer is about the gate of each peer, and about what peers do to each other.
func gateAnswer(e evidence) (Answer, bool) {
	if e.verdict(timingSpawn) == "" && e.verdict(timingPeers) == "" {
		return Answer{}, false
	}
	a := Answer{ID: "gate-under-concurrency", Question: "Does the per-peer gate hold under real concurrency, and do peers wait for each other?"}
	var words, tested []string
	if e.verdict(timingSpawn) != "" {
		words = append(words, e.opening(timingSpawn, "Yes: however many callers meet an idle peer at one moment, it is spawned once, and each of them gets its own answer."))
		tested = append(tested, a.crowds(e))
	}
	if e.verdict(timingPeers) != "" {
		words = append(words, e.opening(timingPeers, "Peers do not wait for each other: "+e.says(timingPeers)+", and no call of it waited for one of them to be let go."))
		alone, beside := spans(e.series(timingPeers, seenSample, seriesAlone)), spans(e.series(timingPeers, seenSample, seriesBeside))
		if len(alone) > 0 && len(beside) > 0 {
			r := ratio("call beside hung peers over call alone, medians", beside, alone)
			a.Numbers = append(a.Numbers, quantileOf(alone, 0.5).number(seriesAlone+" p50"), quantileOf(beside, 0.5).number(seriesBeside+" p50"), r)
			words = append(words, fmt.Sprintf("Its median call took %.2f times what it takes alone (between %.2f and %.2f, 95 %%).", r.Value, r.Low, r.High))
			tested = append(tested, fmt.Sprintf("%d calls of a sibling alone and %d beside hung peers", len(alone), len(beside)))
		}
	}
	a.Words, a.Range = strings.Join(words, " "), strings.Join(slices.DeleteFunc(tested, func(s string) bool { return s == "" }), "; ")
	return a, true
}

// crowds puts the numbers of crowds into an answer and says what was tested.
func (a *Answer) crowds(e evidence) string {
	var tested []string
	total := 0
	for _, c := range standardCrowds {
		served := spans(e.series(timingSpawn, seenSample, fmt.Sprintf(seriesServed, c.callers)))
		if len(served) == 0 {
			continue
		}
		total += len(served)
		tested = append(tested, fmt.Sprintf("%d × %d", len(served), c.callers))
		a.Numbers = append(a.Numbers, quantileOf(served, 0.5).number(fmt.Sprintf(seriesServed, c.callers)+" p50"))
	}
	if total == 0 {
		return ""
	}
	second := 0
	for _, o := range e.series(timingSpawn, seenEqual, "spawns under") {
		if o.Expected != o.Observed {
			second++
		}
	}
	_, high := clopperPearson(second, total, wanted)
	a.Confidence = fmt.Sprintf("the peer was held in initialize until all callers were in the daemon's hands, so that the order was certain, and spawns were counted behind a fence; "+
		"%d of %d crowds had a second spawn, so the share of such crowds is below %.0f %% (95 %%)", second, total, 100*high)
	return "crowds of " + strings.Join(tested, ", ") + " callers of 4 agents that share one server"
}

// spans are the middles of samples that are worth something.
func spans(series []observation) (out []time.Duration) {
	for _, o := range series {
		out = append(out, o.took().middle())
	}
	return out
}

// retryAnswer is about how failures age.
func retryAnswer(e evidence) (Answer, bool) {
	if e.verdict(timingRetry) == "" {
		return Answer{}, false
	}
	a := Answer{ID: "failed-retry", Question: "Does the cycle Failed, Disconnected, retry work: how often is a broken server tried?"}
	all := windowsOf(e.seen[timingRetry], seenAgeing)
	a.Words = e.opening(timingRetry, "Yes: under steady calls a failure ages by itself, the next call after that tries again, and those in between are refused without an attempt.")
	for _, w := range all {
		first, last := w.extremes()
		refused := spans(e.series(timingRetry, seenSample, seriesRefused))
		q := quantileOf(refused, 0.5)
		a.Words += fmt.Sprintf(" With T=%v the next attempt followed %.2f T to %.2f T after a failure, which includes the wait for the next call; %d calls were refused meanwhile, in %s each (p50). A broken server costs one attempt in T at most.",
			w.t, first.Value, last.Value, len(refused), shortly(q.value))
		a.Numbers = append(a.Numbers, first, last, q.number(seriesRefused+" p50"))
		a.Range = fmt.Sprintf("T=%v, %d intervals between attempts at servers that exit at initialize, about %d calls in each T", w.t, len(w.samples), standardRetry.calls)
	}
	if len(all) > 0 {
		a.Confidence = granted.sequentialWords(all)
	}
	return a, true
}

// hungAnswer is about what bounds a peer that hangs.
func hungAnswer(e evidence) (Answer, bool) {
	if e.verdict(timingConnect) == "" && e.verdict(timingReconnect) == "" {
		return Answer{}, false
	}
	a := Answer{ID: "hung-peers", Question: "What bounds the wait for a peer that hangs, in its connect and in a reconnect?"}
	var words, tested []string
	if e.verdict(timingConnect) != "" {
		all := windowsOf(e.seen[timingConnect], seenTimeout)
		slices.SortFunc(all, func(x, y *window) int { return int(x.t - y.t) })
		words = append(words, e.opening(timingConnect, "A connect that hangs ends at the connect timeout, with its process, and its peer is Failed with a reason."))
		if alpha, beta, ok := fitted(all); ok {
			a.Numbers = append(a.Numbers, alpha, beta)
			words = append(words, fmt.Sprintf("Its caller waits %.3f times the timeout %s (the rest is between %+.0f and %+.0f ms).", alpha.Value, signed(beta.Value), 1000*beta.Low, 1000*beta.High))
			tested = append(tested, fmt.Sprintf("connect timeouts of %s, %d hung connects", times(all), alpha.Samples))
		}
	}
	if e.verdict(timingReconnect) != "" {
		words = append(words, e.opening(timingReconnect, "A reconnect ends the old process, whatever that takes within the stop ladder, and is answered with the new one."))
		for _, series := range []string{seriesMeek, seriesStubborn} {
			took := spans(slices.DeleteFunc(e.series(timingReconnect, seenSample, series), func(o observation) bool { return o.What != series }))
			if len(took) == 0 {
				continue
			}
			q := quantileOf(took, 0.5)
			a.Numbers = append(a.Numbers, q.number(series+" p50"))
			words = append(words, fmt.Sprintf("A %s took %s (p50 of %d, between %s and %s).", series, shortly(q.value), q.samples, shortly(q.low), shortly(q.high)))
		}
		tested = append(tested, fmt.Sprintf("reconnects with a grace of %v for each rung of the stop ladder", standardReconnects.grace))
	}
	a.Words, a.Range = strings.Join(words, " "), strings.Join(tested, "; ")
	return a, true
}

// overlayAnswer is about the environment of servers.
func overlayAnswer(e evidence) (Answer, bool) {
	const overlay, minimal = "overlay-by-name", "minimal-environment"
	if e.verdict(overlay) == "" {
		return Answer{}, false
	}
	a := Answer{ID: "env-overlay", Question: "Can a secret of the daemon reach the process of a tenant through the env overlay?"}
	switch e.verdict(overlay) {
	case Pass:
		a.Words = "Not that it was seen: " + e.says(overlay) + "."
	case Fail:
		a.Words = "Yes: " + e.says(overlay) + "."
	default:
		a.Words = fmt.Sprintf("Not decided (%s): %s.", e.verdict(overlay), e.says(overlay))
	}
	if v := e.verdict(minimal); v != "" {
		a.Words += fmt.Sprintf(" The daemon's own environment (%s): %s.", v, e.says(minimal))
	}
	a.Range, a.Confidence = "a variable of the daemon's [env] and the daemon's own variables, looked for in the environment that a server found when it was started", "one leak would have been proof; that none was seen is of these servers alone"
	return a, true
}
