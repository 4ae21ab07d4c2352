package adr

import "fmt"

// Line is a step that was taken.
type Line struct {
	Actor
	Text string
}

func (l Line) String() string { return fmt.Sprintf("%v: %s", l.Actor, l.Text) }

// Shortest is a way to what want looks for, in the fewest steps of any of the fates, nil if
// nothing leads to it. It begins with one step of each of first. It is for the document's semantics
// and the one before.
func (s Semantics) Shortest(fates []Fate, first []Actor, want func(Wrong) bool) []Line {
	var best []Line
	if s.rules == nil {
		return nil
	}
	for _, f := range fates {
		m := newModel(s.rules, f)
		var begun []Line
		for _, a := range first {
			begun = append(begun, Line{a, m.Do(a)})
		}
		if rest, ok := m.shortest(want); ok && (best == nil || len(begun)+len(rest) < len(best)) {
			best = append(begun, rest...)
		}
	}
	return best
}

// reached is how a search came to a state.
type reached struct {
	state model
	from  int // index of the state before
	line  Line
}

// shortest goes through the states by their distance.
func (m *model) shortest(want func(Wrong) bool) (found []Line, ok bool) {
	all := []reached{{state: *m, from: -1}}
	seen := map[model]bool{*m: true}
	for i := 0; i < len(all); i++ {
		here := all[i].state
		if want(here.Wrong()) {
			return way(all, i), true
		}
		for a := range actors {
			if !here.Left(a) {
				continue
			}
			next := here
			line := Line{a, next.Do(a)}
			if !seen[next] {
				seen[next] = true
				all = append(all, reached{next, i, line})
			}
		}
	}
	return nil, false
}

func way(all []reached, i int) []Line {
	if all[i].from < 0 {
		return nil
	}
	return append(way(all, all[i].from), all[i].line)
}
