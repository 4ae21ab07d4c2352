package profile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
)

// Bounds of a profile.
const (
	MaxBytes  = 16 << 20   // of a file
	MaxStarts = 10_000     // in a profile
	MaxWarm   = 10_000     // warm calls of a start
	maxMS     = 3_600_000  // an hour: no sample is longer
	maxMiB    = 64 << 20   // 64 TiB
	maxCount  = 10_000_000 // processes, tools, timers of a core
)

// file is a profile with what is there for readers.
type file struct {
	Profile
	Summary  json.RawMessage `json:"summary"`
	Warnings json.RawMessage `json:"warnings"`
}

// Encode returns the file of a profile. It refuses what Decode would refuse, except that
// nothing can be drawn from it: a measurement that failed is a record, too.
func (p *Profile) Encode() ([]byte, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	f := file{Profile: *p}
	var err error
	if f.Summary, err = json.Marshal(p.Summary()); err != nil {
		return nil, fmt.Errorf("profile: summary: %w", err)
	}
	warnings := p.Warnings()
	if warnings == nil {
		warnings = []string{}
	}
	if f.Warnings, err = json.Marshal(warnings); err != nil {
		return nil, fmt.Errorf("profile: warnings: %w", err)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(f); err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	return out.Bytes(), nil
}

// Decode reads a profile of at most MaxBytes, and refuses one from which nothing can be drawn.
func Decode(r io.Reader) (*Profile, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("profile: %w", err)
	case len(data) > MaxBytes:
		return nil, fmt.Errorf("profile: more than %d bytes; is it the right file?", MaxBytes)
	case len(bytes.TrimSpace(data)) == 0:
		return nil, errors.New("profile: the file is empty; make one with: mayfly idle measure -o FILE -- COMMAND")
	}
	if err := checkHeader(data); err != nil {
		return nil, err
	}
	var f file
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	p := &f.Profile
	if err := p.check(); err != nil {
		return nil, err
	}
	return p, p.drawable()
}

// checkHeader says what a file is before its fields are looked at, since another version has
// others. It refuses what is not one JSON value.
func checkHeader(data []byte) error {
	var head struct {
		Format  string `json:"format"`
		Version int    `json:"version"`
	}
	err := json.Unmarshal(data, &head)
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		return fmt.Errorf("profile: no JSON: %w, at byte %d", err, syntax.Offset)
	}
	switch {
	case err != nil:
		return fmt.Errorf("profile: %w", err)
	case head.Format != Format:
		return fmt.Errorf("profile: format is %.40q, want %q: this is another kind of file", head.Format, Format)
	case head.Version != Version:
		return fmt.Errorf("profile: version is %d and this program reads %d; measure again, or use the program that made it", head.Version, Version)
	}
	return nil
}

// drawable reports why nothing can be drawn.
func (p *Profile) drawable() error {
	good, _ := p.connects()
	switch {
	case len(p.Starts) == 0:
		return errors.New("profile: starts is empty: there is no sample to draw from; measure again")
	case len(good) == 0:
		return fmt.Errorf("profile: starts: none of the %d succeeded, so there is no latency to draw; the first says: %s", len(p.Starts), p.Starts[0].Failure)
	}
	return nil
}

// class is what names of classes look like: reports put them into tables and file names.
var class = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$`)

// ValidClass reports whether a name can be that of a class.
func ValidClass(name string) bool { return class.MatchString(name) }

// check reports the first field that cannot be.
func (p *Profile) check() error {
	m := p.Machine
	b := &bounds{}
	if p.Format != Format || p.Version != Version {
		b.say("format and version are %q and %d, want %q and %d", p.Format, p.Version, Format, Version)
	}
	if !ValidClass(p.Class) {
		b.say("class is %.80q: use letters, digits and . _ + -, at most 64", p.Class)
	}
	if (len(p.Server.Command) == 0) == (p.Server.URL == "") {
		b.say("server has to have a command or a url, and not both")
	}
	b.count("machine.cores", m.Cores, 1)
	b.count("machine.procs", m.Procs, 1)
	b.number("machine.memory_mib", m.MemoryMiB, maxMiB)
	b.number("machine.load_before", m.LoadBefore, maxCount)
	b.number("machine.load_after", m.LoadAfter, maxCount)
	b.count("machine.timer.n", m.Timer.N, 0)
	b.number("machine.timer.p50_ms", m.Timer.P50, maxMS)
	b.number("machine.timer.p99_ms", m.Timer.P99, maxMS)
	b.number("machine.timer.max_ms", m.Timer.Max, maxMS)
	b.count("settings.starts", p.Settings.Starts, 1)
	b.count("settings.warm", p.Settings.Warm, 0)
	b.number("settings.timeout_ms", p.Settings.TimeoutMS, maxMS)
	b.number("settings.settle_ms", p.Settings.SettleMS, maxMS)
	if len(p.Starts) > MaxStarts {
		b.say("starts has %d entries, more than %d", len(p.Starts), MaxStarts)
		return b.err
	}
	if p.First != nil {
		b.start("first", *p.First)
	}
	for i, s := range p.Starts {
		b.start(fmt.Sprintf("starts[%d]", i), s)
	}
	return b.err
}

// bounds keeps the first thing that is wrong.
type bounds struct{ err error }

func (b *bounds) say(format string, args ...any) {
	if b.err == nil {
		b.err = fmt.Errorf("profile: "+format, args...)
	}
}

func (b *bounds) number(field string, v, most float64) {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		b.say("%s is %v, which is no number", field, v)
	case v < 0:
		b.say("%s is %v; it cannot be negative", field, v)
	case v > most:
		b.say("%s is %v, which is absurd: more than %v", field, v, most)
	}
}

func (b *bounds) count(field string, n, least int) {
	if n < least || n > maxCount {
		b.say("%s is %d; it has to be from %d to %d", field, n, least, maxCount)
	}
}

// start checks one start.
func (b *bounds) start(at string, s Start) {
	b.number(at+".connect_ms", s.ConnectMS, maxMS)
	b.number(at+".spawn_ms", s.SpawnMS, maxMS)
	b.number(at+".heard_ms", s.HeardMS, maxMS)
	b.number(at+".stop_ms", s.StopMS, maxMS)
	b.number(at+".stall_ms", s.StallMS, maxMS)
	b.number(at+".rss_mib", s.RSSMiB, maxMiB)
	b.number(at+".pss_mib", s.PSSMiB, maxMiB)
	b.count(at+".tools", s.Tools, 0)
	b.count(at+".processes", s.Processes, 0)
	if len(s.WarmMS) > MaxWarm {
		b.say("%s.warm_ms has %d entries, more than %d", at, len(s.WarmMS), MaxWarm)
		return
	}
	for i, v := range s.WarmMS {
		b.number(fmt.Sprintf("%s.warm_ms[%d]", at, i), v, maxMS)
	}
	switch {
	case s.SpawnMS > s.ConnectMS:
		b.say("%s.spawn_ms is %v, more than the whole connect_ms of %v", at, s.SpawnMS, s.ConnectMS)
	case s.HeardMS > s.ConnectMS:
		b.say("%s.heard_ms is %v, more than the whole connect_ms of %v", at, s.HeardMS, s.ConnectMS)
	case s.OK && s.ConnectMS == 0:
		b.say("%s.connect_ms is missing or 0: no server connects in no time", at)
	case s.OK && s.Failure != "":
		b.say("%s is ok and has a failure", at)
	case !s.OK && s.Failure == "":
		b.say("%s is not ok and has no failure", at)
	case s.StopRung != "" && !slices.Contains(rungs, s.StopRung):
		b.say("%s.stop_rung is %.40q, want one of %q", at, s.StopRung, rungs)
	}
}
