package adr

// Count goes through all interleavings of a fate.
func (s Semantics) Count(f Fate) Tally {
	if s.rules == nil {
		return s.CountEach(f)
	}
	m := newModel(s.rules, f)
	return m.count(map[model]Tally{})
}

// count counts the ways from a state to the end. Equal states have equally many.
func (m *model) count(known map[model]Tally) Tally {
	if t, ok := known[*m]; ok {
		return t
	}
	var sum Tally
	ended := true
	for a := range actors {
		if m.Left(a) {
			ended = false
			next := *m
			next.Do(a)
			sum = sum.Add(next.count(known))
		}
	}
	if ended {
		sum = tallyOf(m.Wrong())
	}
	known[*m] = sum
	return sum
}

// CountEach runs each interleaving from its beginning to its end, once.
func (s Semantics) CountEach(f Fate) Tally {
	var sum Tally
	var path []choice
	for more := true; more; {
		w := s.New(f)
		path = finish(w, path)
		sum = sum.Add(tallyOf(w.Wrong()))
		w.Close()
		more = turn(&path)
	}
	return sum
}

// choice is who took a step, and who else of those after it could have.
type choice struct{ took, other Actor }

// finish runs a world along a path, and from there on with the first actor who has steps left,
// and returns the whole way.
func finish(w World, path []choice) []choice {
	for i := range path {
		path[i].other = first(w, path[i].took+1)
		w.Do(path[i].took)
	}
	for a := first(w, 0); a < actors; a = first(w, 0) {
		path = append(path, choice{a, first(w, a+1)})
		w.Do(a)
	}
	return path
}

// first is the first actor from one on who has steps left, actors if none has.
func first(w World, a Actor) Actor {
	for a < actors && !w.Left(a) {
		a++
	}
	return a
}

// turn makes of the way of a whole run the beginning of the next: the last choice that could have
// been another is.
func turn(path *[]choice) bool {
	p := *path
	for len(p) > 0 && p[len(p)-1].other == actors {
		p = p[:len(p)-1]
	}
	*path = p
	if len(p) == 0 {
		return false
	}
	c := &p[len(p)-1]
	c.took = c.other
	return true
}
