package sim

import "sort"

// The other shapes of an agenda, which are plain rather than fast.

func (a *agenda) putOther(it item) {
	if a.shape == sortedList {
		i := sort.Search(len(a.heap), func(i int) bool { return it.before(&a.heap[i]) })
		a.heap = append(a.heap, item{})
		copy(a.heap[i+1:], a.heap[i:])
		a.heap[i] = it
		return
	}
	a.heap = append(a.heap, it)
	for i := len(a.heap) - 1; i > 0; {
		parent := (i - 1) / 2
		if !a.heap[i].before(&a.heap[parent]) {
			break
		}
		a.heap[i], a.heap[parent] = a.heap[parent], a.heap[i]
		i = parent
	}
}

func (a *agenda) popSorted() item {
	top := a.heap[0]
	copy(a.heap, a.heap[1:])
	a.heap = a.heap[:len(a.heap)-1]
	return top
}

// sinkBinary puts an item at the top of a binary heap and lets it down.
func (a *agenda) sinkBinary(it item) {
	h := a.heap
	h[0] = it
	for i := 0; ; {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(h); c++ {
			if h[c].before(&h[least]) {
				least = c
			}
		}
		if least == i {
			return
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}
