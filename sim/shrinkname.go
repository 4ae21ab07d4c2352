package sim

import "slices"

// edited returns the best tape with every entry changed. Plans and policies are copied, for
// other tapes hold them, too.
func (s *shrinker) edited(change func(i int, e *Entry)) *Tape {
	entries := slices.Clone(s.best.Entries)
	for i := range entries {
		e := &entries[i]
		if e.Policy != nil {
			p := *e.Policy
			e.Policy = &p
		}
		if e.Set != nil {
			c := *e.Set
			e.Set = &c
		}
		if e.Dial != nil {
			p := *e.Dial
			e.Dial = &p
		}
		change(i, e)
	}
	return s.with(entries)
}

// number gives tenants, servers and names the numbers of their first appearance, and tokens
// those of their order, so that a tape of three tenants has three.
func (s *shrinker) number() {
	n := numbering{tenants: map[uint32]uint32{}, servers: map[uint32]uint32{}, names: map[[2]uint32]uint8{},
		tokens: s.tokens()}
	t := s.edited(func(_ int, e *Entry) {
		switch {
		case e.Op.serves():
			e.Name = n.key(e.Name)
		case e.Name > 0:
			e.Name = n.name(e.Tenant, e.Name)
		}
		if e.Target.Tenant > 0 {
			e.Target.Token = uint32(slices.Index(n.tokens[e.Target.Tenant], e.Target.Token))
		}
		e.Tenant, e.Target.Tenant = ordinal(n.tenants, e.Tenant), ordinal(n.tenants, e.Target.Tenant)
		for _, server := range e.servers() {
			*server = ordinal(n.servers, *server)
		}
	})
	t.Tenants = max(len(n.tenants), 1)
	s.try(t, s.tight())
}

// numbering is what has been given a number so far.
type numbering struct {
	tenants, servers map[uint32]uint32
	names            map[[2]uint32]uint8
	tokens           map[uint32][]uint32 // of each tenant, in order
	keys             [kinds][]uint8      // of the registry, in order
}

// tokens lists the tokens of each tenant in their order, in which they grow old.
func (s *shrinker) tokens() map[uint32][]uint32 {
	all := map[uint32][]uint32{}
	for i := range s.best.Entries {
		t := s.best.Entries[i].Target
		if at, found := slices.BinarySearch(all[t.Tenant], t.Token); !found && t.Tenant > 0 {
			all[t.Tenant] = slices.Insert(all[t.Tenant], at, t.Token)
		}
	}
	return all
}

// ordinal numbers keys from 1 by their first appearance; 0 stays 0.
func ordinal(seen map[uint32]uint32, key uint32) uint32 {
	if key == 0 {
		return 0
	}
	n, ok := seen[key]
	if !ok {
		n = uint32(len(seen) + 1)
		seen[key] = n
	}
	return n
}

// key is a key of the registry by its first appearance among its kind.
func (n *numbering) key(name uint8) uint8 {
	kind := kindOf(name)
	at := slices.Index(n.keys[kind], name)
	if at < 0 {
		at = len(n.keys[kind])
		n.keys[kind] = append(n.keys[kind], name)
	}
	return uint8(kind*keysPerKind + at + 1)
}

func (n *numbering) name(tenant uint32, name uint8) uint8 {
	key := [2]uint32{tenant, uint32(name)}
	if n.names[key] == 0 {
		n.names[[2]uint32{tenant, 0}]++ // counts its names
		n.names[key] = n.names[[2]uint32{tenant, 0}]
	}
	return n.names[key]
}

// servers are the places of an entry that name a server; 0 in one names none.
func (e *Entry) servers() []*uint32 { return []*uint32{&e.Target.Server, &e.To} }

// merge makes one of two tenants, or of two servers, and takes credentials away.
func (s *shrinker) merge() bool {
	changed := false
	for to := uint32(1); int(to) <= s.best.Tenants && to <= maxMerged; to++ {
		for from := uint32(s.best.Tenants); from > to; from-- {
			changed = s.replaceTenant(from, to) || changed
		}
	}
	for to := uint32(1); to <= min(s.lastServer(), maxMerged); to++ {
		for from := s.lastServer(); from > to; from-- {
			changed = s.try(s.edited(func(_ int, e *Entry) {
				for _, server := range e.servers() {
					if *server == from {
						*server = to
					}
				}
			}), endless) || changed
		}
	}
	return s.share() || changed
}

// maxMerged bounds how many tenants and servers are tried as a place for the others.
const maxMerged = 4

func (s *shrinker) lastServer() (most uint32) {
	for i := range s.best.Entries {
		for _, server := range s.best.Entries[i].servers() {
			most = max(most, *server)
		}
	}
	return most
}

func (s *shrinker) replaceTenant(from, to uint32) bool {
	return s.try(s.edited(func(_ int, e *Entry) {
		if e.Tenant == from {
			e.Tenant = to
		}
		if e.Target.Tenant == from {
			e.Target.Tenant = to
		}
	}), endless)
}

// share replaces credentials by the one that everybody has: all, then one by one.
func (s *shrinker) share() bool {
	var owned []Target
	for i := range s.best.Entries {
		if t := s.best.Entries[i].Target; t.Server != 0 && t.Tenant != 0 && !slices.Contains(owned, t) {
			owned = append(owned, t)
		}
	}
	if len(owned) == 0 {
		return false
	}
	if s.retarget(func(t Target) bool { return t.Tenant != 0 }) {
		return true
	}
	changed := false
	for _, x := range owned {
		changed = s.retarget(func(t Target) bool { return t == x }) || changed
	}
	return changed
}

func (s *shrinker) retarget(which func(Target) bool) bool {
	return s.try(s.edited(func(_ int, e *Entry) {
		if e.Target.Server > 0 && which(e.Target) {
			e.Target = Target{Server: e.Target.Server}
		}
	}), endless)
}
