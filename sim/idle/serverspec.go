package idle

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// ServerNames lists what ParseServers knows.
func ServerNames() []string {
	names := []string{"mixed"}
	for _, c := range classes {
		names = append(names, c.name)
	}
	return append(names, "fixed:TIME", "failing:SHARE", "failing:SHARE:TIME")
}

// ParseServers reads a fleet: classes separated by commas, each with a weight if there are several, as in
// "python=3,npx=1". "mixed" is the default fleet. lookup, if set, is asked for names that are no class, such as
// files of measurements.
func ParseServers(spec string, lookup func(name string) (Server, error)) (Mix, error) {
	if strings.TrimSpace(spec) == "mixed" {
		return DefaultMix(), nil
	}
	var m Mix
	for _, word := range strings.Split(spec, ",") {
		name, weight, weighted := strings.Cut(strings.TrimSpace(word), "=")
		p := Part{Weight: 1}
		var err error
		if weighted {
			if p.Weight, err = strconv.ParseFloat(weight, 64); err != nil || !(p.Weight > 0 && p.Weight <= maxWeight) {
				return nil, fmt.Errorf("servers %q: weight %q of %s is no positive number; write %s=2", spec, weight, name, name)
			}
		}
		if p.Server, err = parseServer(name, lookup); err != nil {
			return nil, fmt.Errorf("servers %q: %w", spec, err)
		}
		m = append(m, p)
	}
	return m, nil
}

func parseServer(name string, lookup func(string) (Server, error)) (Server, error) {
	if s, ok := classNamed(name); ok {
		return s, nil
	}
	kind, arg, _ := strings.Cut(name, ":")
	switch {
	case kind == "fixed":
		d, err := parseConnect(arg)
		return fixed{name: name, d: d, rss: plainRSS}, err
	case kind == "failing":
		return parseFailing(name, arg)
	case lookup != nil:
		return lookup(name)
	}
	return nil, fmt.Errorf("%q is no class of servers; use one of %s", name, strings.Join(ServerNames(), ", "))
}

// plainRSS is what a server holds of which nothing is known but its connect.
const plainRSS = 85

func parseFailing(name, arg string) (Server, error) {
	share, after, timed := strings.Cut(arg, ":")
	s := failing{fixed: fixed{name: name, rss: plainRSS}}
	var err error
	if s.share, err = strconv.ParseFloat(share, 64); err != nil || !(s.share >= 0 && s.share <= 1) || math.IsNaN(s.share) {
		return nil, fmt.Errorf("%q: share %q is not between 0 and 1; write failing:0.3", name, share)
	}
	if timed {
		if s.d, err = parseConnect(after); err != nil {
			return nil, fmt.Errorf("%q: %w", name, err)
		}
	}
	return s, nil
}

func parseConnect(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	switch {
	case err != nil:
		return 0, errors.New("a connect takes a time such as 2s, not " + strconv.Quote(s))
	case d < 0 || d > maxConnect:
		return 0, fmt.Errorf("a connect of %v: use 0 to %v", d, maxConnect)
	}
	return d, nil
}

// maxConnect bounds the connects of fixed servers.
const maxConnect = 24 * time.Hour
