package idle

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mayfly-mcp/mayfly/sim/idle/traffic"
)

// policyArgs are the parameters of one word of a spec. The first that cannot be read leaves its error.
type policyArgs struct {
	kind  policyKind
	given map[string]string
	keys  []string // in their order
	err   error
}

func (a *policyArgs) read(rest string) error {
	a.given = map[string]string{}
	if rest == "" {
		return nil
	}
	for _, pair := range strings.Split(rest, ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
		switch {
		case len(a.kind.params) == 0 && a.kind.params != nil:
			return fmt.Errorf("%s: it takes no parameters, not %q", a.kind.Name, key)
		case a.kind.params != nil && !slices.Contains(a.kind.params, key):
			return fmt.Errorf("%s: there is no parameter %q%s: there are %s", a.kind.Name, key, traffic.Near(key, a.kind.params), strings.Join(a.kind.params, ", "))
		case key == "" || value == "":
			return fmt.Errorf("%s: %q has no value; write %s", a.kind.Name, pair, a.kind.Form)
		case slices.Contains(a.keys, key):
			return fmt.Errorf("%s: %s is given twice", a.kind.Name, key)
		}
		a.given[key] = value
		a.keys = append(a.keys, key)
	}
	return nil
}

func (a *policyArgs) fail(err error) {
	if a.err == nil {
		a.err = err
	}
}

func (a *policyArgs) bad(key, want string) {
	a.fail(fmt.Errorf("%s: %s is %q; it must be %s", a.kind.Name, key, a.given[key], want))
}

func (a *policyArgs) duration(key string, otherwise time.Duration) time.Duration {
	v, ok := a.given[key]
	if !ok {
		return otherwise
	}
	d, err := spanOf(v)
	if err != nil || d <= 0 {
		a.bad(key, "a time with its unit, like 90s, 30m, 2h or 1d")
	}
	return d
}

// needed is a time without a default.
func (a *policyArgs) needed(key string) time.Duration {
	if a.given[key] == "" {
		a.fail(fmt.Errorf("%s: %s is missing; write %s", a.kind.Name, key, a.kind.Form))
	}
	return a.duration(key, time.Nanosecond)
}

// durations are times with slashes between them.
func (a *policyArgs) durations(key string) (out []time.Duration) {
	if a.given[key] == "" {
		a.fail(fmt.Errorf("%s: %s is missing; write %s", a.kind.Name, key, a.kind.Form))
		return nil
	}
	for _, v := range strings.Split(a.given[key], "/") {
		d, err := spanOf(v)
		if err != nil || d <= 0 {
			a.bad(key, "times with slashes between them, like 5m/1h")
			return nil
		}
		out = append(out, d)
	}
	return out
}

func (a *policyArgs) number(key string, otherwise float64) float64 {
	v, ok := a.given[key]
	if !ok {
		return otherwise
	}
	n, err := strconv.ParseFloat(v, 64)
	if err != nil {
		a.bad(key, "a number, like 1.5")
	}
	return n
}

func (a *policyArgs) whole(key string, otherwise int) int {
	v, ok := a.given[key]
	if !ok {
		return otherwise
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 {
		a.bad(key, "a whole number from 1")
	}
	return n
}

// word is one of several; the first is meant if none is given, unless it is empty.
func (a *policyArgs) word(key string, words ...string) string {
	v, ok := a.given[key]
	switch {
	case !ok && words[0] == "":
		a.fail(fmt.Errorf("%s: %s is missing; write %s", a.kind.Name, key, a.kind.Form))
		return ""
	case !ok:
		return words[0]
	case !slices.Contains(words, v):
		a.bad(key, "one of "+strings.Join(slices.DeleteFunc(slices.Clone(words), func(s string) bool { return s == "" }), ", ")+traffic.Near(v, words))
	}
	return v
}

// spanOf reads a duration of Go, or days.
func spanOf(v string) (time.Duration, error) {
	n, days := strings.CutSuffix(v, "d")
	if !days {
		return time.ParseDuration(v)
	}
	x, err := strconv.ParseFloat(n, 64)
	if err != nil || !(x >= 0 && x <= maxTimeout.Hours()/24) {
		return 0, fmt.Errorf("%q is no number of days", n)
	}
	return time.Duration(x * float64(24*time.Hour)), nil
}

// specOf writes a name and its parameters, the empty ones left out.
func specOf(name string, args ...string) string {
	args = slices.DeleteFunc(args, func(s string) bool { return s == "" })
	if len(args) == 0 {
		return name
	}
	return name + ":" + strings.Join(args, ",")
}

// changed is a parameter if it is not the default.
func changed(is bool, arg string) string {
	if !is {
		return ""
	}
	return arg
}

func durationArg(key string, d time.Duration) string {
	return changed(d != 0, key+"="+shortDuration(d))
}

func numberArg(key string, x float64) string { return changed(x != 0, key+"="+shortNumber(x)) }

// shortNumber writes no exponent, whose plus sign would end the word.
func shortNumber(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// shortDuration writes 30m for 30m0s.
func shortDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
