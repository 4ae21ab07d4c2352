package idle

import "time"

// class is the books of one class of servers.
type class struct {
	Measures
	name  string
	rss   float64
	peers int
	live  int
	since int64 // of the integral of live
	added hist
}

// clip returns the part of a time that began at `from` and ends now which is measured.
func (e *engine) clip(from int64) Sum {
	return Sum(max(e.now-max(from, e.warm), 0))
}

// integrate brings the integrals of a class to the present.
func (e *engine) integrate(k *class) {
	if k.live > 0 {
		k.ProcessNanos += Sum(k.live) * e.clip(k.since)
	}
	k.since = e.now
}

// count changes the number of processes. Peaks are those at instants that are measured.
func (e *engine) count(k *class, by int) {
	e.integrate(k)
	e.spread()
	k.live += by
	e.live += by
	if !e.counting() {
		e.peak, k.Peak = 0, 0 // below they become what is there, until the warm-up ends
	}
	e.peak, k.Peak = max(e.peak, e.live), max(k.Peak, k.live)
}

// spread brings the course over time to the present.
func (e *engine) spread() {
	if e.over == nil {
		return
	}
	width := int64(e.cfg.Bucket)
	for e.last < e.now {
		b := e.last / width
		to := min((b+1)*width, e.now)
		e.over[b] += float64(e.live) * float64(to-e.last)
		e.last = to
	}
}

// result closes the books at the end of the run.
func (e *engine) result() Result {
	e.now = e.end
	e.spread()
	r := Result{Policy: e.policyName(), Traffic: e.cfg.Traffic.Name(), Seed: e.cfg.Seed, IdleTimeout: e.cfg.Machine.IdleTimeout,
		Span: e.cfg.For - e.cfg.WarmUp, Tenants: int(e.born), Peers: len(e.peers), Steps: e.steps}
	e.closeBooks()
	var added hist
	for i := range e.classes {
		k := &e.classes[i]
		added.merge(&k.added)
		r.Measures.add(&k.Measures)
		r.Classes = append(r.Classes, ClassResult{Class: k.name, Peers: k.peers, Measures: k.Measures, Added: k.added.quantiles()})
	}
	r.Peak = e.peak
	r.Added, r.AddedTail = added.quantiles(), added.tail()
	r.PerConversation, r.ConversationTail = e.talks.quantiles(), e.talks.tail()
	for i, y := range e.over {
		from := time.Duration(i) * e.cfg.Bucket
		width := min(e.cfg.Bucket, e.cfg.For-from)
		r.Over = append(r.Over, Point{X: from.Seconds(), Y: y / float64(width)})
	}
	if e.cfg.BreakEven > 0 {
		bound := e.bound
		r.Clairvoyant = &bound
	}
	return r
}

func (e *engine) policyName() string { return e.cfg.Policy.Name() }

// closeBooks takes in what is still going on: processes, idle spells, failures, callers who wait, conversations.
func (e *engine) closeBooks() {
	for i := range e.peers {
		p := &e.peers[i]
		if p.phase == up && p.inFlight == 0 {
			e.classes[p.Class].IdleNanos += e.clip(p.since)
		}
		if p.failed {
			e.classes[p.Class].FailedNanos += e.clip(p.failedAt)
		}
	}
	for i := range e.flights {
		f := &e.flights[i]
		if f.ticket != 0 && f.stream >= 0 && !f.admitted {
			p := &e.peers[f.peer]
			e.waited(f, p, &e.classes[p.Class])
		}
	}
	for i := range e.classes {
		k := &e.classes[i]
		e.integrate(k)
		k.MiBNanos = Sum(k.rss) * k.ProcessNanos
	}
	for i := range e.streams {
		e.endTalk(&e.streams[i].talk)
	}
	for i := range e.tenants {
		e.endTalk(&e.tenants[i].talk)
	}
}
