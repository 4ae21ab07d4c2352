package conformance

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// CatalogueVersion names the frozen list of requirements. It changes whenever a requirement
// comes, goes, or changes its text, source, level or whether it can be tested; a test holds it
// against the hashes of all versions so far.
const CatalogueVersion = "2"

// Requirement is one clause of the specification that a daemon can be held to from outside,
// or of which it is known why it cannot.
type Requirement struct {
	ID     string `json:"id"`
	Level  Level  `json:"level"`
	Source string `json:"source"`
	Text   string `json:"text"`
	// Observed says how, Checks whose verdict is on this clause, and Beside which checks show it
	// while their verdict is on another one.
	Observed string   `json:"observed,omitempty"`
	Checks   []string `json:"checks,omitempty"`
	Beside   []string `json:"beside,omitempty"`
	// Capabilities are what a target must offer for any of the checks to be applicable.
	Capabilities []Capability `json:"capabilities,omitempty"`
	// Untestable is the reason why no check can hold it; empty for all that are held.
	Untestable string `json:"untestable,omitempty"`
}

// Requirements returns the catalogue in the order of the specification: every clause that RFC
// 0204 or ADR-0068 state or imply and that shows outside a daemon, and the stricter ones of
// our own, to which the same applies.
func Requirements() (out []Requirement) {
	for _, w := range slices.Concat(peerRows, daemonRows, ownerRows) {
		out = append(out, Requirement{ID: w.id, Level: clauseTags[w.id].level(), Source: w.source, Text: w.text, Observed: w.seen, Untestable: w.blind})
	}
	for _, c := range Everything() {
		for i := range out {
			out[i].heldBy(c)
		}
	}
	return out
}

// heldBy adds a check, if it names the requirement.
func (r *Requirement) heldBy(c Check) {
	at := slices.Index(c.Clauses, r.ID)
	if at < 0 {
		return
	}
	if needs := c.Capabilities(); len(r.Checks)+len(r.Beside) == 0 {
		r.Capabilities = slices.Sorted(slices.Values(needs))
	} else {
		r.Capabilities = slices.DeleteFunc(r.Capabilities, func(c Capability) bool { return !slices.Contains(needs, c) })
	}
	if at == 0 {
		r.Checks = append(r.Checks, c.ID)
	} else {
		r.Beside = append(r.Beside, c.ID)
	}
}

// frozen is what a version of the catalogue fixes of a requirement. Checks may come and go
// beside it: which of them a capture must hold is the matter of Covers.
type frozen struct {
	ID         string `json:"id"`
	Level      Level  `json:"level"`
	Source     string `json:"source"`
	Text       string `json:"text"`
	Untestable string `json:"untestable,omitempty"`
}

// CatalogueHash identifies the content of the catalogue: ids, levels, sources and texts of all
// requirements. A certificate and a capture name it.
func CatalogueHash() string { return hashRequirements(Requirements()) }

func hashRequirements(list []Requirement) string {
	var all []frozen
	for _, r := range list {
		all = append(all, frozen{r.ID, r.Level, r.Source, r.Text, r.Untestable})
	}
	return hashJSON(all)
}

// CatalogueCount counts requirements of one level, and how many of them no check can hold.
type CatalogueCount struct {
	Level        Level `json:"level"`
	Requirements int   `json:"requirements"`
	Untestable   int   `json:"untestable"`
	Checks       int   `json:"checks"` // whose verdict has this level
}

// CatalogueCounts counts by level.
func CatalogueCounts() []CatalogueCount {
	out := []CatalogueCount{{Level: Must}, {Level: Should}, {Level: Field}}
	of := func(l Level) *CatalogueCount {
		return &out[slices.IndexFunc(out, func(n CatalogueCount) bool { return n.Level == l })]
	}
	for _, r := range Requirements() {
		n := of(r.Level)
		n.Requirements++
		if r.Untestable != "" {
			n.Untestable++
		}
	}
	for _, c := range Everything() {
		of(c.Level()).Checks++
	}
	return out
}

const catalogueHead = `# Catalogue of requirements, version %s

What a daemon is certified against: clause by clause what it owes, where that is written, how
it is observed from outside and which checks hold it. It is generated: ` + "`go test ./conformance -run Catalogue -update`" + `.

A MUST is stated by RFC 0204 or ADR-0068, a SHOULD is implied by them, and FIELD is a stricter
rule of our own. The first checks of a cell give their verdict on this clause; those in brackets
show it beside another one. Capabilities are what a target must offer for any of them to apply.

Content: %s

| level | requirements | of these untestable | checks |
|---|---|---|---|
`

// WriteCatalogue writes the catalogue as a page.
func WriteCatalogue(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, catalogueHead, CatalogueVersion, CatalogueHash())
	for _, n := range CatalogueCounts() {
		fmt.Fprintf(&b, "| %s | %d | %d | %d |\n", n.Level, n.Requirements, n.Untestable, n.Checks)
	}
	b.WriteString("\n## Requirements\n\n| id | level | requirement | source | observed | checks | capabilities |\n|---|---|---|---|---|---|---|\n")
	for _, r := range Requirements() {
		seen := r.Observed
		if r.Untestable != "" {
			seen = "untestable: " + r.Untestable
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", r.ID, r.Level, r.Text, r.Source, seen, r.holders(), words(r.Capabilities))
	}
	b.WriteString("\n## Checks\n\n| check | level | clauses | what it says | capabilities |\n|---|---|---|---|---|\n")
	for _, c := range Everything() {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", c.ID, c.Level(), strings.Join(c.Clauses, " "), c.Title, words(c.Capabilities()))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// holders names the checks, those in brackets whose verdict is on another clause.
func (r Requirement) holders() string {
	names := slices.Clone(r.Checks)
	for _, id := range r.Beside {
		names = append(names, "("+id+")")
	}
	return strings.Join(names, ", ")
}

func words(list []Capability) string {
	var names []string
	for _, c := range list {
		names = append(names, string(c))
	}
	return strings.Join(names, ", ")
}
