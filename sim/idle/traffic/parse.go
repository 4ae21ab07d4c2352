package traffic

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Options are what a spec does not say.
type Options struct {
	// Tenants is how many tenants a population has whose spec does not say; 1 if 0.
	Tenants int
	// Open opens the file of a trace, for every replay from the beginning; os.Open if nil.
	Open func(file string) (io.ReadCloser, error)
	// Trace says how traces are read.
	Trace TraceConfig
}

// MaxSpec bounds a spec, in bytes.
const MaxSpec = 4096

// Parse makes the traffic that a spec describes: a kind and its parameters, as in
//
//	pareto:xm=60s,alpha=1.5,tenants=100
//
// or several populations beside each other, with plus signs between them, or trace: and the
// name of a file. Kinds lists what there is.
func Parse(spec string, o Options) (Traffic, error) {
	if len(spec) > MaxSpec {
		return nil, fmt.Errorf("traffic: a spec of %d bytes: at most %d", len(spec), MaxSpec)
	}
	spec = strings.TrimSpace(spec)
	if file, ok := strings.CutPrefix(spec, "trace:"); ok {
		return parseTrace(file, o)
	}
	var parts []Traffic
	for _, s := range populations(spec) {
		t, err := parseOne(strings.TrimSpace(s), o)
		if err != nil {
			return nil, err
		}
		parts = append(parts, t)
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	return Mix(spec, parts...)
}

// populations splits a spec at the plus signs that a name follows: 1e+3 has none.
func populations(spec string) (out []string) {
	from := 0
	for i := range len(spec) {
		rest := strings.TrimLeft(spec[i+1:], " ")
		if spec[i] == '+' && (rest == "" || rest[0] < '0' || rest[0] > '9') {
			out = append(out, spec[from:i])
			from = i + 1
		}
	}
	return append(out, spec[from:])
}

func parseTrace(file string, o Options) (Traffic, error) {
	if file == "" {
		return nil, errors.New("trace: the file is missing, as in trace:calls.csv")
	}
	open := o.Open
	if open == nil {
		open = func(file string) (io.ReadCloser, error) { return os.Open(file) }
	}
	return NewTrace("trace:"+file, func() (io.ReadCloser, error) { return open(file) }, o.Trace)
}

func parseOne(spec string, o Options) (Traffic, error) {
	name, rest, given := strings.Cut(spec, ":")
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.Name == name })
	if i < 0 {
		var all []string
		for _, k := range kinds {
			all = append(all, k.Name)
		}
		if name == "" {
			return nil, fmt.Errorf("traffic: no kind is named: there are %s", strings.Join(all, ", "))
		}
		return nil, fmt.Errorf("unknown traffic %s%s: there are %s", shown([]byte(name)), Near(name, all), strings.Join(all, ", "))
	}
	k := kinds[i]
	if k.build == nil {
		return nil, fmt.Errorf("%s: a trace cannot be mixed; alone it is written %s", name, k.Form)
	}
	if given && strings.TrimSpace(rest) == "" {
		return nil, fmt.Errorf("%s: nothing follows the colon", name)
	}
	a := &args{kind: k, given: map[string]string{}}
	if err := a.read(rest); err != nil {
		return nil, err
	}
	p := a.population(spec, o)
	t, err := k.build(a, p)
	// What could not be read is told before what that made of the traffic.
	if err = first(a.err, err); err != nil {
		return nil, err
	}
	return t, nil
}

// args are the parameters of one spec. The first that cannot be read leaves its error.
type args struct {
	kind  kind
	given map[string]string
	err   error
}

// common are the parameters of every population.
var common = []string{"tenants", "peers", "takes", "gaps"}

func (a *args) read(rest string) error {
	known := append(slices.Clone(a.kind.params), common...)
	for _, pair := range strings.Split(rest, ",") {
		if rest == "" {
			break
		}
		key, value, ok := strings.Cut(strings.TrimSpace(pair), "=")
		switch {
		case !slices.Contains(known, key):
			return fmt.Errorf("%s: unknown parameter %s%s: there are %s", a.kind.Name, shown([]byte(key)), Near(key, known), strings.Join(known, ", "))
		case !ok || value == "":
			return fmt.Errorf("%s: %s has no value", a.kind.Name, key)
		}
		if _, twice := a.given[key]; twice {
			return fmt.Errorf("%s: %s is given twice", a.kind.Name, key)
		}
		a.given[key] = value
	}
	return nil
}

// value returns a parameter, or what it is if not given; required ones have none.
func (a *args) value(key, otherwise string) string {
	if v, ok := a.given[key]; ok {
		return v
	}
	if otherwise == "" {
		a.fail(fmt.Errorf("%s: %s is missing, as in %s", a.kind.Name, key, a.kind.Form))
	}
	return otherwise
}

func (a *args) fail(err error) { a.err = first(a.err, err) }

func (a *args) bad(key, v, want string) {
	if v != "" {
		a.fail(fmt.Errorf("%s: %s is %s: it must be %s", a.kind.Name, key, shown([]byte(v)), want))
	}
}

func (a *args) number(key, otherwise string) float64 {
	v := a.value(key, otherwise)
	n, err := strconv.ParseFloat(v, 64)
	if err != nil {
		a.bad(key, v, "a number, like 1.5")
	}
	return n
}

func (a *args) whole(key, otherwise string) int {
	v := a.value(key, otherwise)
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 {
		a.bad(key, v, "a whole number from 1")
	}
	return n
}

func (a *args) duration(key, otherwise string) time.Duration {
	v := a.value(key, otherwise)
	d, ok := parseSpan(v)
	if !ok {
		a.bad(key, v, "a duration with its unit, like 90s, 30m, 2h or 1d")
	}
	return d
}

func (a *args) seconds(key, otherwise string) float64 { return a.duration(key, otherwise).Seconds() }

// rate reads calls per time, and returns them per second.
func (a *args) rate(key, otherwise string) float64 {
	v := a.value(key, otherwise)
	n, per, _ := strings.Cut(v, "/")
	calls, err := strconv.ParseFloat(n, 64)
	if per != "" && (per[0] < '0' || per[0] > '9') {
		per = "1" + per
	}
	d, ok := parseSpan(per)
	if err != nil || !ok || d <= 0 {
		a.bad(key, v, "calls per time, like 2/h, 0.5/s or 1/30m")
		return 0
	}
	return calls / d.Seconds()
}

// parseSpan reads a duration of Go, or days.
func parseSpan(v string) (time.Duration, bool) {
	if n, ok := strings.CutSuffix(v, "d"); ok {
		days, err := strconv.ParseFloat(n, 64)
		if err != nil || !(days > -36500 && days < 36500) {
			return 0, false
		}
		return time.Duration(days * 24 * float64(time.Hour)), true
	}
	d, err := time.ParseDuration(v)
	return d, err == nil
}

// population reads the parameters that all kinds share.
func (a *args) population(spec string, o Options) Population {
	p := Population{Name: spec, Tenants: o.Tenants}
	if _, ok := a.given["tenants"]; ok {
		p.Tenants = a.whole("tenants", "1")
	}
	if _, ok := a.given["peers"]; ok {
		p.Peers = a.whole("peers", "1")
	}
	switch v := a.given["takes"]; v {
	case "":
	case "tools":
		p.Takes = ToolTimes()
	default:
		p.Takes = a.takes()
	}
	switch v := a.given["gaps"]; v {
	case "":
		p.Open = a.kind.open
	case "start", "end":
		p.Open = v == "start"
		if a.kind.fixed && p.Open != a.kind.open {
			a.fail(fmt.Errorf("%s: gaps is %q: it cannot be changed here", a.kind.Name, v))
		}
	default:
		a.bad("gaps", v, "start or end: where a gap begins to count")
	}
	return p
}

func (a *args) takes() Law {
	d, ok := parseSpan(a.given["takes"])
	if !ok {
		a.bad("takes", a.given["takes"], "a duration with its unit, like 200ms, or tools")
		return nil
	}
	if d == 0 {
		return none{}
	}
	l, err := Deterministic(d.Seconds())
	if err != nil || d > MaxTakes {
		a.bad("takes", a.given["takes"], fmt.Sprintf("from 1µs to %v, or 0s", MaxTakes))
	}
	return l
}
