package idle

import (
	"math"
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// weather is when the server behind a peer is down. Its course depends on the seed alone: spells alternate, and the
// n-th is drawn from the peer's key and n.
type weather struct {
	spell int64 // number of the one under way
	ends  int64
	armed int64 // end of the spell for which there is an event
}

func (w *weather) down() bool { return w.spell%2 == 1 }

// weatherAt moves the weather of a peer to the present.
func (e *engine) weatherAt(p *peer) *weather {
	w := &p.weather
	if w.ends == 0 {
		w.ends = e.drawSpell(p, 0)
	}
	for w.ends <= e.now {
		w.spell++
		w.ends = later(w.ends, e.drawSpell(p, w.spell))
	}
	return w
}

// drawSpell is at least a nanosecond long.
func (e *engine) drawSpell(p *peer, n int64) int64 {
	e.pcg.Seed(p.Key, uint64(n)<<1|1)
	mean := e.cfg.Flap.Every
	if n%2 == 1 {
		mean = e.cfg.Flap.Lasts
	}
	return max(int64(min(e.rng.ExpFloat64()*float64(mean), math.MaxInt64/4)), 1)
}

func later(at, d int64) int64 {
	if at > math.MaxInt64/2 {
		return at
	}
	return at + d
}

// throughWeather changes what a connect would come to. During an outage it fails or hangs. Otherwise the process
// dies when the next one begins.
func (e *engine) throughWeather(p *peer, d time.Duration, ok bool) (time.Duration, bool) {
	w := e.weatherAt(p)
	if w.down() {
		if e.cfg.Flap.Refuse == 0 {
			return e.cfg.Machine.ConnectTimeout + e.cfg.Machine.StartTimeout + time.Hour, false
		}
		return e.cfg.Flap.Refuse, false
	}
	if w.armed != w.ends { // it ends whatever runs by then: one event for all starts of a spell
		w.armed = w.ends
		e.agenda.add(makeEvent(w.ends, evDown, p.ID, 0))
	}
	return d, ok
}

// goDown kills what runs of a peer.
func (e *engine) goDown(i int32) error {
	p := &e.peers[i]
	if p.phase == absent {
		return nil
	}
	if e.counting() {
		e.classes[p.Class].Crashes++
	}
	e.crashed(p)
	e.step(lifecycle.Exited(p.slot, p.gen))
	return e.settle()
}

// crashed books the end of a process that nobody stopped.
func (e *engine) crashed(p *peer) {
	k := &e.classes[p.Class]
	if p.phase == up && p.inFlight == 0 {
		k.IdleNanos += e.clip(p.since)
		p.idle += e.now - p.since
	}
	if p.phase == dialing && e.counting() {
		k.FailedStarts++
	}
	p.phase, p.reaped, p.woken, p.retried = absent, true, false, false
	e.count(k, -1)
	if e.watch != nil {
		e.watch.Stopped(p.Peer, time.Duration(e.now))
	}
}
