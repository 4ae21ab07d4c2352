package conformance

import (
	"fmt"
	"slices"
)

// Covers says why a capture is no basis for a certificate: it must hold every check of the
// default catalogue of this suite, described as the catalogue describes it, and no other.
func (c *Capture) Covers() error {
	if c.run.Partial {
		return fmt.Errorf("only %d checks were run, which were asked for by name; run the whole catalogue", len(c.run.Checks))
	}
	ran := map[string]checkInfo{}
	for _, info := range c.run.Checks {
		ran[info.ID] = info
	}
	catalogue := infos(Catalogue())
	for _, want := range catalogue {
		got, ok := ran[want.ID]
		if !ok {
			return fmt.Errorf("the check %s of the catalogue is missing", want.ID)
		}
		if !got.same(want) {
			return fmt.Errorf("the check %s is described as %s, and in the catalogue as %s", want.ID, mustJSON(got), mustJSON(want))
		}
	}
	for _, info := range c.run.Checks {
		if !slices.ContainsFunc(catalogue, func(want checkInfo) bool { return want.ID == info.ID }) {
			return fmt.Errorf("the check %s is not in the catalogue", info.ID)
		}
	}
	if hash := CatalogueHash(); c.run.Catalogue != hash {
		return fmt.Errorf("it names the catalogue %s, and that of this suite is %s", c.run.Catalogue, hash)
	}
	return nil
}

func (c checkInfo) same(d checkInfo) bool {
	return c.ID == d.ID && c.Title == d.Title && slices.Equal(c.Clauses, d.Clauses) && c.Level == d.Level && c.Timed == d.Timed
}
