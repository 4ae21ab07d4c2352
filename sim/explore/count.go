package explore

// Count is a number with what it counts.
type Count struct {
	What string
	N    uint64
}

// Counts says what was done, by kind of move.
func (r *Result) Counts() (all []Count) {
	for op := 1; op < ops; op++ {
		if n := r.Taken[op]; n > 0 {
			all = append(all, Count{Op(op).String(), n})
		}
	}
	return all
}
