package sim

import "fmt"

// servedWords are the words behind an operation of the registry.
func (e *Entry) servedWords() []string {
	words := []string{keyOf(e.Name)}
	if e.Op == OpCall && e.Target.Tenant > 0 {
		words = append(words, "as", fmt.Sprintf("t%d", e.Target.Tenant))
	}
	if e.Serve > 0 {
		words = append(words, e.Serve.String())
	}
	return words
}

// String returns the word used on tapes.
func (s Serving) String() string { return word(servingNames[:], int(s)) }

// parseServed is the inverse of servedWords.
func (e *Entry) parseServed(w []string) (err error) {
	if len(w) == 0 {
		return fmt.Errorf("%s needs a key such as k1", e.Op)
	}
	if e.Name, err = parseKey(w[0]); err != nil {
		return err
	}
	w = w[1:]
	if e.Op == OpCall && len(w) > 1 && w[0] == "as" {
		if e.Target.Tenant, err = parseNumber(w[1], 't', MaxTenants); err != nil {
			return err
		}
		w = w[2:]
	}
	if len(w) > 0 {
		if e.Serve = Serving(max(index(servingNames[:], w[0]), 0)); !e.Serve.fits(e.Op) {
			return fmt.Errorf("%q is no word for %s", w[0], e.Op)
		}
		w = w[1:]
	}
	return exactly(w, 0)
}

// fits says that an operation may be marked so.
func (s Serving) fits(o Op) bool {
	return o == OpRegister && s == ServeSecret || o == OpCall && s >= DieInPlan
}

// parseKey is the inverse of keyOf.
func parseKey(s string) (uint8, error) {
	if k := index(keyNames[:], s); k > 0 {
		return uint8(k), nil
	}
	return 0, fmt.Errorf("%q is not a key from k1 to k%d or r1 to r%d", s, keysPerKind, keysPerKind)
}
