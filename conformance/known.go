package conformance

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
)

// Bounds of a file of known failures.
const (
	maxKnownFile = 1 << 20
	maxKnown     = 1000
)

// Known is a failure that somebody knows of and has put off: as long as it happens as
// described, the outcome does not count it. It is a debt with a due date, so an entry that
// has expired, that passes, or that matches nothing is an error.
type Known struct {
	Check   string `toml:"check" json:"-"`
	Message string `toml:"message" json:"-"` // a regular expression that the evidence must match
	Reason  string `toml:"reason" json:"reason"`
	Owner   string `toml:"owner" json:"owner"`
	Expires string `toml:"expires" json:"expires"` // the last day on which it counts, 2006-01-02

	pattern *regexp.Regexp
}

// ReadKnown reads a file of known failures: TOML with one table known for each.
//
//	[[known]]
//	check = "eviction-measured"
//	message = "T=2s: .* late"
//	reason = "the reaper ticks at T/3"
//	owner = "core"
//	expires = "2027-01-31"
//
// All that is wrong with it is said at once.
func ReadKnown(path string) ([]Known, error) {
	src, err := readBounded(path, maxKnownFile)
	if err != nil {
		return nil, fmt.Errorf("cannot read the known failures: %w", err)
	}
	list, problems := parseKnown(string(src))
	if len(problems) > 0 {
		return nil, fmt.Errorf("%s: %s", path, strings.Join(problems, "; "))
	}
	return list, nil
}

func parseKnown(src string) (list []Known, problems []string) {
	var file struct {
		Known []Known `toml:"known"`
	}
	meta, err := toml.Decode(src, &file)
	if err != nil {
		return nil, []string{err.Error()}
	}
	for _, key := range meta.Undecoded() {
		problems = append(problems, fmt.Sprintf("unknown key %q", key.String()))
	}
	if len(file.Known) > maxKnown {
		return nil, append(problems, fmt.Sprintf("%d entries; %d are the most that is read", len(file.Known), maxKnown))
	}
	all := Everything()
	for i := range file.Known {
		for _, p := range file.Known[i].check(all) {
			problems = append(problems, fmt.Sprintf("entry %d (%s): %s", i+1, file.Known[i].Check, p))
		}
	}
	return file.Known, problems
}

// check says what is wrong with an entry by itself.
func (k *Known) check(all []Check) (problems []string) {
	for _, f := range []struct{ key, value string }{
		{"check", k.Check}, {"message", k.Message}, {"reason", k.Reason}, {"owner", k.Owner}, {"expires", k.Expires}} {
		if strings.TrimSpace(f.value) == "" {
			problems = append(problems, f.key+" is missing or empty")
		}
	}
	if len(problems) > 0 {
		return problems
	}
	if !slices.ContainsFunc(all, func(c Check) bool { return c.ID == k.Check }) {
		problems = append(problems, "there is no such check"+near(k.Check, all))
	}
	var err error
	if k.pattern, err = regexp.Compile(k.Message); err != nil {
		problems = append(problems, fmt.Sprintf("message is no regular expression: %v", err))
	}
	if _, err := time.Parse(time.DateOnly, k.Expires); err != nil {
		problems = append(problems, fmt.Sprintf("expires is %q; write it as %s", k.Expires, time.DateOnly))
	}
	return problems
}

// Expect marks the failures of a report that are known, and returns what is wrong with the
// list, a line each. today decides what has expired. Entries for checks that were not run are
// left alone.
func (r *Report) Expect(list []Known, today time.Time) (problems []string) {
	for i := range list {
		k := &list[i]
		at := slices.IndexFunc(r.Checks, func(c Result) bool { return c.ID == k.Check })
		if at < 0 {
			continue
		}
		if p := k.meets(&r.Checks[at], today); p != "" {
			problems = append(problems, fmt.Sprintf("known failure %s (%s, %s): %s", k.Check, k.Owner, k.Message, p))
		}
	}
	return problems
}

// meets compares an entry with what happened. About a check of which nothing is known it has
// nothing to say: that counts by itself.
func (k *Known) meets(c *Result, today time.Time) (problem string) {
	switch {
	case today.Format(time.DateOnly) > k.Expires:
		return "it has expired on " + k.Expires + "; mend it, or agree on another day"
	case c.Verdict == Pass:
		return "it passes; take the entry out"
	case c.Verdict != Fail:
		return ""
	case !k.pattern.MatchString(c.Evidence):
		return "it fails, but not so: " + c.Evidence
	}
	c.Known = k
	return ""
}

// Excused is the outcome without the failures that are known; see Outcome for the levels.
func (r *Report) Excused(also ...Level) Verdict {
	rest := *r
	rest.Checks = slices.DeleteFunc(slices.Clone(r.Checks), func(c Result) bool { return c.Known != nil })
	return rest.Outcome(also...)
}

// KnownCount is how many failures are known.
func (r *Report) KnownCount() (n int) {
	for _, c := range r.Checks {
		if c.Known != nil {
			n++
		}
	}
	return n
}
