package core

import (
	"slices"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// names numbers the claims of one owner. Numbers are dense; one that was given up serves the
// next name. Most owners hold a few names, and finding one of a few takes no index: a map of
// one name costs more than all else that an owner keeps of it.
type names struct {
	all  []string // by NameID; "" for a number that is free
	free []lifecycle.NameID
	ids  map[string]lifecycle.NameID // nil until there are more than fewNames
}

const fewNames = 8

// find returns the number of a name, and whether it has one.
func (n *names) find(name string) (lifecycle.NameID, bool) {
	if n.ids != nil {
		id, ok := n.ids[name]
		return id, ok
	}
	i := slices.Index(n.all, name)
	return lifecycle.NameID(max(i, 0)), i >= 0 && name != ""
}

// add numbers a name that has no number.
func (n *names) add(name string) (id lifecycle.NameID) {
	if k := len(n.free); k > 0 {
		id, n.free = n.free[k-1], n.free[:k-1]
		n.all[id] = name
	} else {
		id = lifecycle.NameID(len(n.all))
		n.all = append(n.all, name)
	}
	if n.ids == nil && len(n.all) > fewNames {
		n.index()
	} else if n.ids != nil {
		n.ids[name] = id
	}
	return id
}

func (n *names) index() {
	n.ids = make(map[string]lifecycle.NameID, len(n.all))
	for i, name := range n.all {
		if name != "" {
			n.ids[name] = lifecycle.NameID(i)
		}
	}
}

// drop frees the number of a name.
func (n *names) drop(id lifecycle.NameID) {
	delete(n.ids, n.all[id])
	n.all[id] = ""
	n.free = append(n.free, id)
}

// of returns the name of a number that is in use.
func (n *names) of(id lifecycle.NameID) string { return n.all[id] }
