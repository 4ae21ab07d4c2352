package sim

import (
	"errors"

	"github.com/mayfly-mcp/mayfly/core/registry"
	"github.com/mayfly-mcp/mayfly/sim/spec"
)

// judge holds a call to what must become of it.
func (s *served) judge(e *Entry, id uint64, want spec.Verdict, got int, err error) {
	w, v, x := s.w, &s.under, s.entries[id]
	who := keyOf(e.Name)
	switch {
	case v.ran > 0 && (v.ran != id || x.secret && v.asked != id || !s.model.Admits(id, secretOf(e.Target.Tenant))):
		w.fail("SERVED-PLAN", "t%d calls %s, entry %d: the body of entry %d ran and the plan of entry %d was asked", e.Tenant, who, id, v.ran, v.asked)
	case want == spec.Denied && verdictOf(err) != spec.Denied:
		w.fail("SERVED-PLAN", "t%d calls %s: %v, and the plan denies", e.Tenant, who, err)
	case v.times > 1:
		w.fail("SERVED-GATE", "t%d calls %s: the body ran %d times", e.Tenant, who, v.times)
	case want != spec.Accepted && v.ran > 0:
		w.fail("SERVED-GATE", "t%d calls %s: the body of entry %d ran, and it is %s", e.Tenant, who, id, want)
	case want == spec.Accepted && v.ran == 0:
		w.fail("SERVED-LAW", "t%d calls %s: %v, and it is callable", e.Tenant, who, err)
	case v.ran > 0 && !answered(v, id, got, err), v.ran == 0 && verdictOf(err) != want:
		w.fail("SERVED-GATE", "t%d calls %s: answered %d, %v; the call is %s", e.Tenant, who, got, err, want)
	}
}

// answered says that a body's call has the answer that it may have: its own, or, if its owner died
// meanwhile, that.
func answered(v *visit, id uint64, got int, err error) bool {
	var died *registry.DiedError
	return err == nil && got == int(id) || v.died && errors.As(err, &died)
}

// check holds what is listed and counted to the model.
func (s *served) check() {
	if s.w.violation != nil {
		return
	}
	for k, t := range s.tables {
		var listed []string
		for _, e := range t.List("", 0) {
			listed = append(listed, e.Key())
		}
		want := s.model.List(k)
		same := len(listed) == len(want)
		for i := 0; same && i < len(want); i++ {
			same = listed[i] == want[i]
		}
		if !same {
			s.w.fail("SERVED-LAW", "listed are %q, and %q are served by the living", listed, want)
		}
		if n := t.Len(); n != s.model.Len(k) {
			s.w.fail("SERVED-LAW", "%d are counted, and the living hold %d", n, s.model.Len(k))
		}
	}
}
