package sim

// reduceEntries is delta debugging on the entries: large parts alone first, then everything
// but a part, with parts that become smaller down to one entry.
func (s *shrinker) reduceEntries() {
	d := &delta{shrinker: s, n: len(s.best.Entries)}
	for i := range s.best.Entries {
		d.labels = append(d.labels, i)
	}
	d.reduce()
}

// reduceTenants is the same on whole tenants, with all that they do.
func (s *shrinker) reduceTenants() {
	if s.best.Tenants < 3 {
		return
	}
	d := &delta{shrinker: s, n: s.best.Tenants}
	for i := range s.best.Entries {
		e := &s.best.Entries[i]
		d.labels = append(d.labels, int(max(e.Tenant, e.Target.Tenant))-1)
	}
	d.reduce()
	s.number()
}

// delta leaves units out of the best tape. A unit is all entries with one label.
type delta struct {
	*shrinker
	n      int   // labels go from 0 to n-1; entries with other labels stay
	labels []int // of the entries of the best tape
}

// alone is the number of parts up to which one part is tried alone: it costs little, and is
// rarely enough when there are many.
const alone = 8

func (d *delta) reduce() {
	units := make([]int, d.n) // that are left
	for i := range units {
		units[i] = i
	}
	if d.n > alone {
		units = d.isolate(units)
	}
	for size := (len(units) + 1) / 2; size > 0; size /= 2 {
		for to := len(units); to > 0 && !d.spent; {
			from := max(to-size, 0)
			rest := append(append([]int(nil), units[:from]...), units[to:]...)
			if d.only(rest) {
				units = rest
			}
			to = from
		}
	}
}

// isolate looks for a half, a quarter or an eighth that is enough, and goes on in it.
func (d *delta) isolate(units []int) []int {
	for n := 2; n <= alone && len(units) >= n && !d.spent; n *= 2 {
		for k := n - 1; k >= 0; k-- {
			part := units[k*len(units)/n : (k+1)*len(units)/n]
			if d.only(part) {
				units, n = part, 1
				break
			}
		}
	}
	return units
}

// only tries the best tape with some of its units.
func (d *delta) only(units []int) bool {
	in := make([]bool, d.n)
	for _, u := range units {
		in[u] = true
	}
	var labels []int
	t := d.keeping(func(i int, _ *Entry) bool {
		l := d.labels[i]
		stays := l < 0 || in[l]
		if stays {
			labels = append(labels, l)
		}
		return stays
	})
	if len(t.Entries) == len(d.best.Entries) || !d.try(t, d.tight()) {
		return false
	}
	d.labels = labels
	return true
}

// dropSingles leaves out every single entry that the rule can be broken without, until there
// is none, and says whether it found any. A plan goes with the action before it, too.
func (s *shrinker) dropSingles() bool {
	some := false
	for again := true; again; {
		again = false
		for i := len(s.best.Entries) - 1; i >= 0 && !s.spent; i-- {
			if s.without(i, 1) || s.without(i, 2) {
				again, some = true, true
			}
		}
	}
	s.stats.Minimal = !s.spent
	return some
}

// without tries the best tape without n entries from i on.
func (s *shrinker) without(i, n int) bool {
	if i+n > len(s.best.Entries) {
		return false
	}
	return s.try(s.keeping(func(k int, _ *Entry) bool { return k < i || k >= i+n }), endless)
}
