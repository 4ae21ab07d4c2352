package agree

import (
	"fmt"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/sim/spec"
)

// Subject is what can be asked of a machine.
type Subject interface {
	Deadline() lifecycle.Instant
	View(lifecycle.PeerID) lifecycle.View
	Slots() int
	Claimed(lifecycle.OwnerID, lifecycle.NameID) lifecycle.PeerID
	Load() lifecycle.Load
	Stats() lifecycle.Stats
}

// Pair is a model and what it takes to tell it about a machine.
type Pair struct {
	model *spec.Model
	fps   []string // by slot: the fingerprint that was declared there last
}

// New returns a pair in which nothing has happened.
func New(cfg lifecycle.Config) *Pair { return &Pair{model: spec.New(config(&cfg))} }

// CopyInto makes dst the same as p.
func (p *Pair) CopyInto(dst *Pair) {
	dst.model = p.model.Clone()
	dst.fps = append(dst.fps[:0], p.fps...)
}

// Model returns the model, to be asked, not to be changed.
func (p *Pair) Model() *spec.Model { return p.model }

// Before is what a step is compared with.
type Before struct {
	wake    lifecycle.Instant
	stale   uint64
	claimed lifecycle.PeerID
}

// Look notes how a machine stands before a step.
func Look(m Subject, in *lifecycle.Input) Before {
	return Before{m.Deadline(), m.Stats().Stale, m.Claimed(in.Owner, in.Name)}
}

// Follow tells the model of a step, and returns the first disagreement.
func (p *Pair) Follow(now lifecycle.Instant, in lifecycle.Input, was Before, out lifecycle.Output, m Subject) error {
	if id := m.Claimed(in.Owner, in.Name); in.Kind == lifecycle.InDeclare && id != was.claimed {
		p.learn(id, in.FP)
	}
	seen := p.seen(&out)
	seen.Stale = m.Stats().Stale > was.stale
	if err := p.model.Follow(spec.Time(now), input(&in), seen); err != nil {
		return err
	}
	wake := m.Deadline()
	if in.Kind == lifecycle.InTimeReached && was.wake <= now && wake == was.wake && len(out.Effects)+len(out.Events) == 0 {
		return &spec.Violation{Clause: "RE-9", Detail: fmt.Sprintf("woken at %v as wanted, but nothing happened", spec.Time(now))}
	}
	return p.compare(&in, wake, m)
}

func (p *Pair) learn(id lifecycle.PeerID, fp lifecycle.Fingerprint) {
	for int(id) >= len(p.fps) {
		p.fps = append(p.fps, "")
	}
	p.fps[id] = fingerprint(fp)
}

// Word is what the model calls the peer of a slot, "" if there is none.
func (p *Pair) Word(id lifecycle.PeerID) string {
	if id < 0 || int(id) >= len(p.fps) {
		return ""
	}
	return p.fps[id]
}

// compare compares what can be asked at any time.
func (p *Pair) compare(in *lifecycle.Input, wake lifecycle.Instant, m Subject) error {
	if err := p.model.CheckWake(spec.Time(wake)); err != nil {
		return err
	}
	l, s := m.Load(), m.Stats()
	if err := p.model.CheckLoad(load(&l, &s)); err != nil {
		return err
	}
	used := 0
	for id := lifecycle.PeerID(1); int(id) < m.Slots(); id++ {
		v := m.View(id)
		if v.State == lifecycle.NoState {
			continue
		}
		used++
		if err := p.model.CheckStanding(p.Word(id), standing(&v)); err != nil {
			return err
		}
	}
	if want := p.model.Peers(); used != len(want) {
		return &spec.Violation{Clause: "CL-2", Detail: fmt.Sprintf("there are %d peers, should be %v", used, want)}
	}
	return p.compareClaim(in.Owner, in.Name, m)
}

func (p *Pair) compareClaim(o lifecycle.OwnerID, n lifecycle.NameID, m Subject) error {
	if o == 0 || n == 0 {
		return nil
	}
	if got, want := p.Word(m.Claimed(o, n)), p.model.Claimed(word(o), word(n)); got != want {
		return &spec.Violation{Clause: "CL-4", Detail: fmt.Sprintf("claim (%d, %d) stands for %q, should for %q", o, n, got, want)}
	}
	return nil
}
