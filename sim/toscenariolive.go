package sim

import (
	"slices"
	"time"

	"github.com/mayfly-mcp/mayfly/scenarios"
)

// What a file must stay within to be run against a live daemon.
const (
	liveBound  = 2 * time.Minute        // that it may take
	liveMargin = 700 * time.Millisecond // that it keeps away from every deadline
	liveLag    = 50 * time.Millisecond  // that each line may take
)

// limit writes the worlds that a file can be run in into its only line: all of them, if no word
// and no time of it stands against that.
func (x *translator) limit(f *scenarios.File) {
	worlds := f.Worlds()
	if slices.Contains(worlds, scenarios.Live) && !x.livable(f) {
		worlds = withoutLive(f)
	}
	if !x.tieless(f) {
		worlds = []string{scenarios.Machine}
	}
	all := len(worlds) == 3
	for i, l := range f.Lines {
		if _, ok := l.Command.(scenarios.Only); !ok {
			continue
		}
		if f.Lines[i].Command = (scenarios.Only{Worlds: worlds}); all {
			f.Lines = slices.Delete(f.Lines, i, i+1)
		}
		return
	}
}

// withoutLive are the worlds in virtual time that can do what a file says.
func withoutLive(f *scenarios.File) []string {
	return slices.DeleteFunc(f.Worlds(), func(w string) bool { return w == scenarios.Live })
}

// livable says that a file means the same in real time: it is short, in whole seconds, nothing of
// it runs beside its lines, and a correct lifecycle passes it also when each line takes a little
// and each pause is longer or shorter than written.
func (x *translator) livable(f *scenarios.File) bool {
	total := time.Duration(0)
	for _, l := range f.Lines {
		switch c := l.Command.(type) {
		case scenarios.Start, scenarios.Cancel:
			return false
		case scenarios.Advance:
			total += c.By
		}
	}
	s := f.Settings()
	if total > liveBound || !whole(s.IdleTimeout, s.ConnectTimeout, s.CallTimeout, s.Grace) || !liveServers(f) {
		return false
	}
	for _, shift := range []time.Duration{-liveMargin, 0, liveMargin} {
		report, err := x.run(loosened(f, shift), x.opt.Correct)
		if err != nil || report.Err() != nil {
			return false
		}
	}
	return true
}

// tieless says that a file does not depend on the order of things that happen at one instant, which
// a host with its goroutines does not promise: a correct lifecycle passes it also when every server
// is a little slower, or faster, than written.
func (x *translator) tieless(f *scenarios.File) bool {
	for _, shift := range []time.Duration{-1, 1} {
		report, err := x.run(jittered(f, shift), x.opt.Correct)
		if err != nil || report.Err() != nil {
			return false
		}
	}
	return true
}

// jittered is a file whose servers take a little longer or shorter. Pauses are long enough for both.
func jittered(f *scenarios.File, shift time.Duration) *scenarios.File {
	other := *f
	other.Lines = slices.Clone(f.Lines)
	jitter := func(d *time.Duration) {
		if *d > 0 {
			*d += shift
		}
	}
	for i, l := range f.Lines {
		switch c := l.Command.(type) {
		case scenarios.Advance:
			other.Lines[i].Command = scenarios.Advance{By: c.By + 10*max(0, shift)}
		case scenarios.Server:
			b := &c.Behaviour
			for _, d := range []*time.Duration{&b.Connect, &b.Call, &b.Spawn, &b.Says, &b.Stop} {
				jitter(d)
			}
			other.Lines[i].Command = c
		case scenarios.Change:
			c.Edits = slices.Clone(c.Edits)
			for k, e := range c.Edits {
				if d, err := time.ParseDuration(e.Value); err == nil {
					jitter(&d)
					c.Edits[k].Value = d.String()
				}
			}
			other.Lines[i].Command = c
		}
	}
	return &other
}

// whole says that times are whole seconds.
func whole(all ...time.Duration) bool {
	for _, d := range all {
		if d%time.Second != 0 {
			return false
		}
	}
	return true
}

// liveServers says that delays of servers are whole seconds.
func liveServers(f *scenarios.File) bool {
	for _, l := range f.Lines {
		switch c := l.Command.(type) {
		case scenarios.Server:
			if !whole(c.Behaviour.Connect, c.Behaviour.Call) {
				return false
			}
		case scenarios.Change:
			for _, e := range c.Edits {
				if d, err := time.ParseDuration(e.Value); err == nil && !whole(d) {
					return false
				}
			}
		}
	}
	return true
}

// loosened is a file as real time would have it.
func loosened(f *scenarios.File, shift time.Duration) *scenarios.File {
	loose := *f
	loose.Lines = nil
	begun := false
	for _, l := range f.Lines {
		switch c := l.Command.(type) {
		case scenarios.Advance:
			l.Command = scenarios.Advance{By: max(0, c.By+shift)}
		case scenarios.Server:
			begun = true
		}
		loose.Lines = append(loose.Lines, l)
		if _, asks := l.Command.(scenarios.Expect); begun && !asks {
			loose.Lines = append(loose.Lines, scenarios.Line{Command: scenarios.Advance{By: liveLag}})
		}
	}
	return &loose
}
