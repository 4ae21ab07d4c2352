package explore

// store remembers every state by its fingerprint, and how it was reached.
type store struct {
	prints []uint64
	parent []uint32
	moves  []uint32
	fair   []uint32 // what a fair world makes of it; see settle
	table  []uint32 // number of a state plus one
}

const firstTable = 1 << 12

func newStore() *store { return &store{table: make([]uint32, firstTable)} }

func (s *store) len() int { return len(s.prints) }

// add returns the number of a state, and whether it is new.
func (s *store) add(print uint64, parent, move uint32) (i uint32, fresh bool) {
	mask := uint64(len(s.table) - 1)
	at := print & mask
	for ; s.table[at] != 0; at = (at + 1) & mask {
		if i := s.table[at] - 1; s.prints[i] == print {
			return i, false
		}
	}
	i = uint32(len(s.prints))
	s.prints = append(s.prints, print)
	s.parent = append(s.parent, parent)
	s.moves = append(s.moves, move)
	s.fair = append(s.fair, unknown)
	s.table[at] = i + 1
	if 4*len(s.prints) > 3*len(s.table) {
		s.grow()
	}
	return i, true
}

func (s *store) grow() {
	s.table = make([]uint32, 2*len(s.table))
	mask := uint64(len(s.table) - 1)
	for i, print := range s.prints {
		at := print & mask
		for s.table[at] != 0 {
			at = (at + 1) & mask
		}
		s.table[at] = uint32(i) + 1
	}
}

// path returns the states from the beginning to one.
func (s *store) path(to uint32, buf []uint32) []uint32 {
	buf = buf[:0]
	for i := to; ; i = s.parent[i] {
		buf = append(buf, i)
		if i == 0 {
			break
		}
	}
	for i, j := 0, len(buf)-1; i < j; i, j = i+1, j-1 {
		buf[i], buf[j] = buf[j], buf[i]
	}
	return buf
}

// What a state's fair successor is when it is not a state.
const (
	unknown = ^uint32(0)     // not looked at
	rest    = ^uint32(0) - 1 // everybody is answered and nothing is under way
)

// unsettled returns the first state from which a fair world goes round in a circle, if any. It
// follows every chain once.
func (s *store) unsettled() (uint32, bool) {
	done := make([]uint32, (s.len()+31)/32)
	isDone := func(i uint32) bool { return done[i/32]&(1<<(i%32)) != 0 }
	for i := range uint32(s.len()) {
		slow, fast := i, i
		next := func(j uint32) uint32 {
			if j >= rest || isDone(j) {
				return rest
			}
			return s.fair[j]
		}
		for slow < rest {
			if slow, fast = next(slow), next(next(fast)); slow == fast && slow < rest {
				return slow, true
			}
			if fast >= rest {
				break
			}
		}
		for j := i; j < rest && !isDone(j); j = s.fair[j] {
			done[j/32] |= 1 << (j % 32)
		}
	}
	return 0, false
}
