package guided

// entry is an input that is worth having children.
type entry struct {
	Input Input  `json:"input"`
	Steps uint64 `json:"steps"`
	Reach Points `json:"reach"` // what its run reached
	Holds Points `json:"holds"` // and of that, what nothing in the corpus reaches at less cost
	// Born is the number of its run. Gain is how rare that was what its run and those of its children
	// reached, and Cost what they took, both faded.
	Born uint64 `json:"born"`
	Gain uint64 `json:"gain"`
	Cost uint64 `json:"cost"`
}

// keep takes an input into the corpus if its run reached something that no other did, or did so at
// three quarters of the cost. Whoever holds nothing any more is dropped.
func (s *Search) keep(in *Input, o *Outcome) {
	var holds Points
	for _, p := range o.Points {
		if w := s.owner[p]; w == 0 || 4*o.Steps < 3*s.corpus[w-1].Steps {
			holds = append(holds, p)
		}
	}
	if len(holds) == 0 {
		return
	}
	s.corpus = append(s.corpus, entry{Input: *in, Steps: o.Steps, Reach: o.Points, Holds: holds,
		Born: s.runs, Gain: s.gain(o), Cost: o.Steps + baseCost})
	lost := false
	for _, p := range holds {
		if w := s.owner[p]; w > 0 {
			e := &s.corpus[w-1]
			e.Holds = e.Holds.without(p)
			lost = lost || len(e.Holds) == 0
		}
		s.owner[p] = int32(len(s.corpus))
	}
	if lost {
		s.sweep(func(e *entry) bool { return len(e.Holds) > 0 })
	}
}

// without returns the set without a point of it.
func (p Points) without(x uint32) Points {
	out := make(Points, 0, len(p)-1)
	for _, y := range p {
		if y != x {
			out = append(out, y)
		}
	}
	return out
}

// sweep drops entries. What they held is open to others.
func (s *Search) sweep(stays func(*entry) bool) {
	kept := s.corpus[:0]
	for i := range s.corpus {
		e := s.corpus[i]
		place := int32(0)
		if stays(&e) {
			kept = append(kept, e)
			place = int32(len(kept))
		}
		for _, p := range e.Holds {
			s.owner[p] = place
		}
	}
	clear(s.corpus[len(kept):])
	s.corpus = kept
}

// bound drops what is worth least, if there is too much.
func (s *Search) bound() {
	for len(s.corpus) > s.opt.Corpus {
		least := 0
		for i := range s.corpus {
			if s.worth(&s.corpus[i]) < s.worth(&s.corpus[least]) {
				least = i
			}
		}
		place := -1
		s.sweep(func(*entry) bool { place++; return place != least })
	}
}

// worth is what an entry and its children gain for what they cost.
func (s *Search) worth(e *entry) uint64 { return min(1+e.Gain/e.Cost, 1<<24) }

// rarity is the share of attention that a point is given.
func (s *Search) rarity(p uint32) uint64 { return (1 << 20) / uint64(max(s.hits[p], 1)) }

// gain is how rare that is what a run reached.
func (s *Search) gain(o *Outcome) (sum uint64) {
	for _, p := range o.Points {
		sum += s.rarity(p)
	}
	return sum
}

// credit books the run of a child with its parent, if that is still there.
func (s *Search) credit(born uint64, o *Outcome) {
	for i := range s.corpus {
		if e := &s.corpus[i]; e.Born == born {
			e.Gain, e.Cost = e.Gain+s.gain(o), e.Cost+o.Steps+baseCost
			if e.Cost > fades {
				e.Gain, e.Cost = e.Gain/2, e.Cost/2
			}
		}
	}
}

const (
	baseCost = 100     // what any run costs beside its steps, in steps
	fades    = 1 << 16 // the cost at which what is known of an entry is worth half
)

// odds are the odds of the entries to become parents: the square of what they gain for their cost.
func (s *Search) odds() []uint64 {
	out := make([]uint64, len(s.corpus))
	for i := range s.corpus {
		rate := s.worth(&s.corpus[i])
		out[i] = rate * rate
	}
	return out
}
