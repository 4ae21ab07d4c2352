package conformance

import (
	"context"
	"sync"
	"time"

	"github.com/mayfly-mcp/mayfly/scenarios"
)

// Check is one requirement and the way to observe it on a live daemon.
type Check struct {
	// ID is stable: reports, command lines and known-failure lists name it.
	ID string
	// Title says in a sentence what must be true.
	Title string
	// Clauses of the specification that it shows, the primary one first.
	Clauses []string
	// Needs names executables without which it cannot run. A check that needs any runs only
	// when it is asked for by name.
	Needs []string

	only  Profile       // runs in no other profile than this one, and is no part of a certificate
	cost  time.Duration // roughly what it takes; long ones are started first
	quiet bool          // measures times: nothing runs beside it
	timed bool          // its margins are times: a noisy window is discarded
	run   func(ctx context.Context, p *probe) (evidence string, err error)
}

// Level is that of the primary clause.
func (c Check) Level() Level { return clauseTags[c.Clauses[0]].level() }

// Timed reports whether its margins are times: a noisy window is discarded.
func (c Check) Timed() bool { return c.timed }

// probe is what one run of a check works with. The runner ends whatever it leaves.
type probe struct {
	target  Target
	control *control
	audit   *audit
	rec     *recorder
	lag     func(ctx context.Context, c scenarios.Command) // a slow machine; nil but in tests
	factor  int                                            // of all times of a scenario: an attempt after a discarded one has wider margins

	mu   sync.Mutex
	rigs []*rig
	over bool // the check was given up: what it still starts is ended at once
}

// rig starts a daemon in a fresh home. The runner closes it.
func (p *probe) rig(ctx context.Context, s scenarios.Settings, env ...string) (*rig, error) {
	r, err := newRig(ctx, p.target, s, env...)
	if err != nil {
		return nil, err
	}
	p.adopt(r)
	return r, nil
}

func (p *probe) adopt(r *rig) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r.rec = p.rec
	p.rigs = append(p.rigs, r)
	if p.over {
		go r.discard()
	}
}

func (p *probe) all() []*rig {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rigs[:len(p.rigs):len(p.rigs)]
}

// started reports whether there was a daemon to wait for.
func (p *probe) started() bool { return len(p.all()) > 0 }

// endedByItself says which daemon ended although nobody asked it to.
func (p *probe) endedByItself() string {
	for _, r := range p.all() {
		if ended := r.daemon.mishap(); ended != "" {
			return r.say("the daemon " + ended)
		}
	}
	return ""
}

// adapterFault says what an adapter did wrong: it is no word on the daemon behind it.
func (p *probe) adapterFault() string {
	for _, r := range p.all() {
		d := r.daemon
		if d.adapter == nil || d.asked() {
			continue
		}
		if err := d.adapter.Fault(); err != nil {
			return r.say(err.Error() + "; its last words: " + d.log.last(3))
		}
	}
	return ""
}

// endBound is how long a daemon that lost its connections may take to be gone.
const endBound = 2 * time.Second

// awaitEnd gives a daemon that seems to be ending the time to do so.
func (p *probe) awaitEnd() {
	bound := time.NewTimer(endBound)
	defer bound.Stop()
	for _, r := range p.all() {
		select {
		case <-r.daemon.exited:
		case <-bound.C:
			return
		}
	}
}

// close ends every rig in the orderly way and puts what was left behind on the audit.
func (p *probe) close() {
	for _, r := range p.all() {
		r.pacify()
		p.audit.closed(r, r.close())
	}
}

// discard ends every rig at once.
func (p *probe) discard() {
	p.mu.Lock()
	p.over = true
	p.mu.Unlock()
	for _, r := range p.all() {
		r.discard()
	}
}

// say makes a text fit for a report.
func (p *probe) say(text string) string {
	for _, r := range p.all() {
		text = r.say(text)
	}
	return text
}

// log is the end of what the daemons said.
func (p *probe) log() (lines []string) {
	for _, r := range p.all() {
		lines = append(lines, r.words(logTail)...)
	}
	return lines
}

// logTail is how many lines of each daemon's stderr a report keeps of a failure.
const logTail = 20

// brisk are settings under which nothing takes long and nothing is evicted meanwhile.
func brisk() scenarios.Settings {
	s := scenarios.DefaultSettings()
	s.ConnectTimeout, s.CallTimeout, s.Grace = time.Minute, time.Minute, time.Second
	return s
}
