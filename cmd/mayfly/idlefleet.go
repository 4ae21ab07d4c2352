package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"sort"
	"strings"
	"time"

	"github.com/mayfly-mcp/mayfly/sim/idle"
	"github.com/mayfly-mcp/mayfly/sim/idle/profile"
	"github.com/mayfly-mcp/mayfly/sim/idle/report"
)

// measuredServer is a class of servers that were measured.
type measuredServer struct {
	*profile.Profile
	mib float64
}

func (s *measuredServer) Name() string { return s.Class }
func (s *measuredServer) RSS() float64 { return s.mib }

// Connect draws one of the measured starts.
func (s *measuredServer) Connect(rng *rand.Rand) (time.Duration, bool) {
	return s.Profile.Connect(rng.Float64())
}

// Mean is over the measured starts.
func (s *measuredServer) Mean(bound time.Duration) (time.Duration, float64) {
	n, fails, sum := len(s.Starts), 0, time.Duration(0)
	for i := range n {
		d, ok := s.Profile.Connect((float64(i) + 0.5) / float64(n))
		if !ok || d > bound {
			fails++
		}
		sum += min(d, bound) / time.Duration(n)
	}
	return sum, float64(fails) / float64(n)
}

// settleServers reads profiles and makes the fleet.
func (f *idleFlags) settleServers(_ context.Context, b *bench, _ *flag.FlagSet) error {
	measured := map[string]*measuredServer{}
	var names []string
	for _, file := range f.profiles {
		s, notes, err := loadMeasured(file)
		if err != nil {
			return fmt.Errorf("-profile: %w", err)
		}
		if measured[s.Class] != nil {
			return fmt.Errorf("-profile: two files have the class %s; measure one of them again with -class", s.Class)
		}
		measured[s.Class] = s
		names = append(names, s.Class)
		b.notes = append(b.notes, notes...)
	}
	spec := f.servers
	switch {
	case spec == "" && len(names) > 0:
		spec = strings.Join(names, ",")
	case spec == "":
		spec = "mixed"
	}
	lookup := func(name string) (idle.Server, error) {
		if s := measured[name]; s != nil {
			return s, nil
		}
		known := append(idle.ServerNames(), names...)
		return nil, fmt.Errorf("%q is no class of servers; use one of %s", name, strings.Join(known, ", "))
	}
	mix, err := idle.ParseServers(spec, lookup)
	if err != nil {
		return fmt.Errorf("-servers: %w", err)
	}
	for _, name := range names {
		if !contains(mix, name) {
			return fmt.Errorf("-servers: %q leaves out %s, which -profile gives", spec, name)
		}
	}
	b.base.Servers = mix
	return nil
}

func contains(mix idle.Mix, name string) bool {
	for _, p := range mix {
		if p.Server.Name() == name {
			return true
		}
	}
	return false
}

func loadMeasured(file string) (*measuredServer, []string, error) {
	p, err := readProfile(file)
	if err != nil {
		return nil, nil, err
	}
	s := &measuredServer{Profile: p}
	var notes []string
	var known bool
	if s.mib, known = p.RSS(); !known {
		notes = append(notes, fmt.Sprintf("%s: the memory of %s is not known, so it counts for nothing", file, p.Class))
	}
	notes = append(notes, fmt.Sprintf("%s: drawn from %d measured starts of %s", file, len(p.Starts), p.Class))
	for _, w := range p.Warnings() {
		notes = append(notes, file+": "+w)
	}
	return s, notes, nil
}

// fleet describes a mix for reports.
func fleet(mix idle.Mix, bound time.Duration) []report.ServerRow {
	total := 0.0
	for _, p := range mix {
		total += p.Weight
	}
	var rows []report.ServerRow
	for _, p := range mix {
		d, fails := p.Server.Mean(bound)
		rows = append(rows, report.ServerRow{Name: p.Server.Name(), Share: p.Weight / total, Connect: d.Seconds(), Fails: fails, MiB: p.Server.RSS()})
	}
	sort.SliceStable(rows, func(i, j int) bool { return rows[i].Share > rows[j].Share })
	return rows
}
