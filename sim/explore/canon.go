package explore

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// renaming is one way to name the agents and the configs: by position, who comes there.
type renaming struct {
	agents  []uint8
	configs []uint8
}

// renamings lists all that are to be compared: those of every agent with those of every config.
func renamings(opt *Options) (all []renaming) {
	if opt.asIs {
		return []renaming{{permutations(opt.Agents)[0], permutations(opt.Configs)[0]}}
	}
	for _, a := range permutations(opt.Agents) {
		for _, c := range permutations(opt.Configs) {
			all = append(all, renaming{a, c})
		}
	}
	return all
}

// permutations lists those of 0 to n-1, the identity first.
func permutations(n int) [][]uint8 {
	if n == 0 {
		return [][]uint8{{}}
	}
	var all [][]uint8
	for _, shorter := range permutations(n - 1) {
		for at := n - 1; at >= 0; at-- {
			all = append(all, slices.Insert(slices.Clone(shorter), at, uint8(n-1)))
		}
	}
	return all
}

// fingerprint is that of the state up to the names of agents and configs: the least of those
// under every naming, for agents are alike, and configs are.
func (w *world) fingerprint(rs []renaming) uint64 {
	least := ^uint64(0)
	var a [MaxAgents]uint32
	var c [MaxConfigs]uint32
	if len(rs) > 1 {
		w.looks(&a, &c)
	}
	for i := range rs {
		if r := &rs[i]; inOrder(a[:], r.agents) && inOrder(c[:], r.configs) {
			least = min(least, hash(w.stateUnder(r)))
		}
	}
	return least
}

// looks says roughly what each agent and each config is like, whatever they are called. Only
// namings in which these rise need be compared, and some always do.
func (w *world) looks(agents *[MaxAgents]uint32, configs *[MaxConfigs]uint32) {
	for a := range w.agents() {
		x := &w.env.agents[a]
		look := uint32(bit(x.alive))
		for n := range x.claims[:w.opt.Names] {
			look = look<<4 | uint32(x.claims[n].told) | uint32(bit(x.claims[n].config != 0))<<3
			configs[max(x.claims[n].config, 1)-1] += uint32(bit(x.claims[n].config != 0)) << 4
		}
		for k := range x.calls[:w.opt.Calls] {
			t := &x.calls[k]
			look = look<<4 | uint32(t.phase)
			if t.phase != closed {
				look |= uint32(bit(t.op == opDispatch)) << 2
			}
		}
		agents[a] = look
	}
	for c := range w.procs() {
		p := &w.env.procs[c]
		configs[c] += uint32(bit(p.peer != 0)) << 12
		if p.live {
			configs[c] += 1<<11 | uint32(p.stage)<<8 | uint32(bit(p.dialing()))
		}
	}
}

// inOrder says that looks rise under a naming.
func inOrder(looks []uint32, naming []uint8) bool {
	for i := 1; i < len(naming); i++ {
		if looks[naming[i-1]] > looks[naming[i]] {
			return false
		}
	}
	return true
}

// stateAs writes the subject's state alone, under the names that things have.
func (w *world) stateAs(int) []byte {
	n := &w.naming
	for a := range w.agents() {
		w.nameAgent(a, a)
	}
	for c := range w.procs() {
		n.Peers[c] = w.env.procs[c].peer
	}
	n.Now = w.env.now
	w.buf = w.subject.AppendStateAs(w.buf[:0], n)
	return w.buf
}

func (w *world) nameAgent(at, a int) {
	x := &w.env.agents[a]
	w.naming.Owners[at] = 0
	if x.alive {
		w.naming.Owners[at] = x.owner
	}
	for k := range w.opt.Calls {
		id := lifecycle.Ticket(0)
		if x.calls[k].phase != closed {
			id = x.calls[k].id
		}
		w.naming.Tickets[at*w.opt.Calls+k] = id
	}
}

// stateUnder writes everything that the future depends on: the subject's state, what may still
// go wrong, and what is under way. The rest of the books follows from these as long as the
// subject keeps the rules.
func (w *world) stateUnder(r *renaming) []byte {
	n := &w.naming
	for at, a := range r.agents {
		w.nameAgent(at, int(a))
	}
	for at, c := range r.configs {
		n.Peers[at] = w.env.procs[c].peer
	}
	n.Now = w.env.now
	buf := w.subject.AppendStateAs(w.buf[:0], n)
	buf = append(buf, w.env.left[:]...)
	for _, c := range r.configs {
		p := &w.env.procs[c]
		stopping := p.live && p.stage != lifecycle.NoStage
		buf = append(buf, bit(p.wanted)|bit(stopping && p.stubborn)<<1|bit(p.live && !stopping && p.broken)<<2)
	}
	if w.env.nStrays > 0 {
		buf = w.appendStrays(buf, r)
	}
	w.buf = buf
	return buf
}

// none stands where another completion has an age.
const none = 255

// strayBytes is what one completion under way is written in.
const strayBytes = 3

func (w *world) appendStrays(buf []byte, r *renaming) []byte {
	w.held = w.held[:0]
	for i := range w.env.nStrays {
		if s := &w.env.strays[i]; s.ticket == 0 {
			w.held = append(w.held, s.of)
		}
	}
	w.scratch = w.subject.AppendHeld(w.scratch[:0], &w.naming, w.held)
	from, next := len(buf), 0
	for i := range w.env.nStrays {
		s := &w.env.strays[i]
		if s.ticket == 0 {
			buf = append(buf, uint8(w.wantedKind(s)), w.scratch[next], w.scratch[next+1])
			next += 2
			continue
		}
		at := slices.Index(r.agents, s.agent)
		buf = append(buf, uint8(w.wantedKind(s)), uint8(at*MaxCalls)+s.call, none)
	}
	sortStrays(buf[from:])
	return buf
}

// sortStrays forgets the order of what is under way, since any may arrive first.
func sortStrays(b []byte) {
	var tmp [strayBytes]byte
	for i := strayBytes; i < len(b); i += strayBytes {
		for j := i; j > 0 && slices.Compare(b[j-strayBytes:j], b[j:j+strayBytes]) > 0; j -= strayBytes {
			copy(tmp[:], b[j:])
			copy(b[j:], b[j-strayBytes:j])
			copy(b[j-strayBytes:], tmp[:])
		}
	}
}

func bit(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

// hash is 64 bits of a state. Two multiplications of 128 bits mix each 16 bytes.
func hash(b []byte) uint64 {
	const k0, k1, k2 = 0x9e3779b97f4a7c15, 0xd1b54a32d192ed03, 0x8ebc6af09c88c6e3
	h := uint64(len(b)) * k0
	for len(b) >= 16 {
		h = mix(binary.LittleEndian.Uint64(b)^k1^h, binary.LittleEndian.Uint64(b[8:])^k2)
		b = b[16:]
	}
	var tail [16]byte
	copy(tail[:], b)
	h = mix(binary.LittleEndian.Uint64(tail[:])^k1^h, binary.LittleEndian.Uint64(tail[8:])^k2)
	return mix(h^k0, k1)
}

func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo ^ a<<32 ^ b
}
