package lifecycle

// claimIndex finds claims by their keys. It is a hash table of numbers of claims, whose keys are in
// the slab that whoever looks a claim up reads next anyway; a map would keep keys of its own. It is
// probed linearly, at most half full, and keeps no trace of what was removed, so that it never
// grows but with the claims. Nothing depends on the order of its places.
type claimIndex struct {
	places []int32 // claims, 0 where there is none; a power of two of them
	n      int
}

// leastPlaces is the size of an index that was never full.
const leastPlaces = 16

// home is where the search for a key begins.
func (x *claimIndex) home(key claimKey) int {
	h := (uint64(key.owner)<<32 | uint64(key.name)) * 0x9e3779b97f4a7c15
	return int(h>>32) & (len(x.places) - 1)
}

// placeOf returns the place of a key, or the free one where it would be.
func (x *claimIndex) placeOf(claims []claim, key claimKey) int {
	at := x.home(key)
	for x.places[at] != 0 && claims[x.places[at]].claimKey != key {
		at = (at + 1) & (len(x.places) - 1)
	}
	return at
}

// claimOf returns the claim that an owner holds under a name.
func (m *Machine) claimOf(key claimKey) (i int32, held bool) {
	x := &m.byKey
	i = x.places[x.placeOf(m.claims, key)]
	return i, i != 0
}

// add enters a claim that is not there yet.
func (x *claimIndex) add(claims []claim, i int32) {
	if x.n++; 2*x.n > len(x.places) {
		old := x.places
		x.places = make([]int32, 2*len(old))
		for _, c := range old {
			if c != 0 {
				x.places[x.placeOf(claims, claims[c].claimKey)] = c
			}
		}
	}
	x.places[x.placeOf(claims, claims[i].claimKey)] = i
}

// remove takes a claim out and closes the gap: whoever stands behind it and was pushed away from
// there moves up.
func (x *claimIndex) remove(claims []claim, key claimKey) {
	mask := len(x.places) - 1
	gap := x.placeOf(claims, key)
	x.n--
	for at := (gap + 1) & mask; x.places[at] != 0; at = (at + 1) & mask {
		home := x.home(claims[x.places[at]].claimKey)
		if (at-home)&mask >= (at-gap)&mask {
			x.places[gap] = x.places[at]
			gap = at
		}
	}
	x.places[gap] = 0
}
