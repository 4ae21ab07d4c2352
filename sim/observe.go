package sim

import "github.com/mayfly-mcp/mayfly/core/lifecycle"

// Step is one step of a run as Options.Observe sees it: after the step was checked and
// performed. It is valid during the call only, the slices of Out included; copy what you keep.
// The last step of a run that broke a rule is the one that broke it, unless the subject
// panicked in it, for then there is no output.
type Step struct {
	N   uint64 // from 1
	Now lifecycle.Instant
	In  lifecycle.Input
	Out lifecycle.Output

	w *world
}

// Tenant returns whose incarnation an owner is, 0 for owners that were never born.
func (s *Step) Tenant(o lifecycle.OwnerID) uint32 {
	if o == 0 || int(o) >= len(s.w.byOwner) {
		return 0
	}
	return uint32(s.w.byOwner[o])
}

// Target returns what the newest incarnation of a peer was dialed for. It is the zero Target
// when the peer was never dialed, or was forgotten and its slot not dialed since.
func (s *Step) Target(id lifecycle.PeerID) Target {
	if id <= 0 || int(id) >= len(s.w.peers) {
		return Target{}
	}
	return s.w.configs[s.w.peers[id].config].target
}

// TargetOf returns the target that a fingerprint of a run stands for.
func TargetOf(fp lifecycle.Fingerprint) Target { return targetOf(&fp) }

// View returns what the subject lists of a peer after the step.
func (s *Step) View(id lifecycle.PeerID) lifecycle.View { return s.w.view(id) }

// observe shows a step to whoever watches.
func (w *world) observe(out *lifecycle.Output) {
	w.seen = Step{N: w.result.Steps, Now: w.now, In: w.in, Out: *out, w: w}
	w.opt.Observe(&w.seen)
}
