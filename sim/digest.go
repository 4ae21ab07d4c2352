package sim

import (
	"encoding/binary"
	"math/bits"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// digest is the run hash: every input and every output of every step, folded word by word.
// A word costs one multiplication, so that hashing stays a small part of a step.
type digest uint64

const newDigest = digest(0xcbf29ce484222325)

func (d *digest) word(w uint64) {
	hi, lo := bits.Mul64(uint64(*d)^w, 0x9e3779b97f4a7c15)
	*d = digest(hi ^ lo ^ w>>32)
}

func pair(a, b uint32) uint64 { return uint64(a)<<32 | uint64(b) }

func quad(a, b, c, d uint8) uint32 {
	return uint32(a)<<24 | uint32(b)<<16 | uint32(c)<<8 | uint32(d)
}

func (d *digest) fingerprint(fp *lifecycle.Fingerprint) {
	for i := 0; i < len(fp); i += 8 {
		d.word(binary.BigEndian.Uint64(fp[i:]))
	}
}

// text folds words in that a run without a registry does not have.
func (d *digest) text(s string) {
	for _, b := range []byte(s) {
		d.word(uint64(b))
	}
}

func bit(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

// firstGrace is the first of the wishes that a digest says nothing of where it is not set, so that
// runs which were recorded without them keep their hashes.
const firstGrace = 5

func (d *digest) policy(p *lifecycle.Policy) {
	if p == nil {
		return
	}
	for i, s := range wishes(p) {
		if i < firstGrace {
			d.word(uint64(*s.value))
		} else if *s.value > 0 {
			d.word(uint64(i))
			d.word(uint64(*s.value))
		}
	}
	d.word(uint64(bit(p.Pinned)))
}

func (d *digest) input(now lifecycle.Instant, in *lifecycle.Input) {
	d.word(uint64(now))
	d.word(pair(quad(uint8(in.Kind), uint8(in.Done), bit(in.Clean), 0), in.Tools))
	switch in.Kind {
	case lifecycle.InTimeReached, lifecycle.InDrain:
	case lifecycle.InConfigure:
		d.word(uint64(in.Config.IdleTimeout))
		d.word(uint64(in.Config.MaxLive))
	case lifecycle.InConnected, lifecycle.InConnectFailed, lifecycle.InBroken, lifecycle.InExited,
		lifecycle.InSpawned, lifecycle.InStarted, lifecycle.InRelisted:
		d.word(pair(uint32(in.Peer), uint32(in.Gen)))
	case lifecycle.InRetain:
		d.word(pair(uint32(in.Peer), uint32(in.Gen)))
		d.word(uint64(in.Until))
	case lifecycle.InCallDone, lifecycle.InCancel:
		d.word(uint64(in.Ticket))
	case lifecycle.InDeclare:
		d.fingerprint(&in.FP)
		d.policy(in.Policy)
		fallthrough
	default:
		d.word(pair(uint32(in.Owner), uint32(in.Name)))
		d.word(uint64(in.Ticket))
	}
}

func (d *digest) output(out *lifecycle.Output) {
	d.word(uint64(len(out.Effects))<<42 ^ uint64(len(out.Events))<<21 ^ uint64(len(out.Replies)))
	for i := range out.Effects {
		e := &out.Effects[i]
		d.word(pair(quad(uint8(e.Kind), uint8(e.Stage), uint8(e.Reason), 0), uint32(e.Gen)))
		d.word(uint64(e.Ticket) ^ uint64(e.Peer)<<32)
		if e.Kind == lifecycle.EffectDial || e.Kind == lifecycle.EffectForget {
			d.fingerprint(&e.FP)
		}
	}
	for i := range out.Replies {
		r := &out.Replies[i]
		d.word(pair(quad(uint8(r.Kind), uint8(r.State), uint8(r.Reason), uint8(r.Cause)), r.Tools))
		d.word(uint64(r.Ticket))
		d.word(pair(uint32(r.Peer), uint32(r.Gen)))
		d.word(uint64(r.RetryAt))
	}
	for i := range out.Events {
		e := &out.Events[i]
		d.word(pair(quad(uint8(e.State), uint8(e.Reason), bit(e.Replay), 0), e.Tools))
		d.word(e.Seq)
		d.word(uint64(e.At))
		d.word(pair(uint32(e.Owner), uint32(e.Name)))
		d.word(pair(uint32(e.Peer), uint32(e.Gen)))
	}
}
