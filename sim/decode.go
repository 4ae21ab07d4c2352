package sim

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// maxTapeLine bounds a line of a tape; no entry comes near it.
const maxTapeLine = 1 << 12

// Decode reads a tape. Every error names the file and the line, and says what is wrong with
// it: another version, an unknown input, a reference that cannot exist, a text cut short. A tape
// that can be read twice, as an io.Seeker, is refused for its size before there is room for it.
func Decode(name string, r io.Reader) (*Tape, error) {
	d := &decoder{tape: &Tape{Name: name}, lines: bufio.NewScanner(r)}
	var err error
	if d.most, err = entriesAtMost(r); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", name, 1, err)
	}
	d.lines.Buffer(make([]byte, 0, maxTapeLine), maxTapeLine)
	if err := d.decode(); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", name, max(d.no, 1), err)
	}
	return d.tape, nil
}

type decoder struct {
	tape   *Tape
	lines  *bufio.Scanner
	no     int
	served bool // the tape may hold operations of the registry
	most   int  // entries, 0 if that is not known before
	seen   map[string]bool
	last   lifecycle.Instant
}

// line returns the next line, or what is wrong with there being none.
func (d *decoder) line() (string, error) {
	if !d.lines.Scan() {
		d.no++
		switch err := d.lines.Err(); {
		case errors.Is(err, bufio.ErrTooLong):
			return "", fmt.Errorf("the line is longer than %d bytes (maxTapeLine); no entry is", maxTapeLine)
		case err != nil:
			return "", fmt.Errorf("cannot be read: %w", err)
		}
		return "", fmt.Errorf("the tape is cut short: no line \"end\" was reached")
	}
	d.no++
	return d.lines.Text(), nil
}

func (d *decoder) decode() error {
	first, err := d.line()
	switch {
	case err != nil:
		return err
	case first == servedMagic:
		d.served = true
	case strings.HasPrefix(first, "mayfly tape ") && first != tapeMagic:
		return fmt.Errorf("%q is of another version; this program reads %q and %q", first, tapeMagic, servedMagic)
	case first != tapeMagic:
		return fmt.Errorf("not a tape: the first line is not %q", tapeMagic)
	}
	if err := d.header(); err != nil {
		return err
	}
	return d.entries()
}

func (d *decoder) header() error {
	d.seen = map[string]bool{}
	for {
		s, err := d.line()
		if err != nil {
			return err
		}
		if s == "begin" {
			return d.checkHeader()
		}
		key, value, ok := strings.Cut(s, " ")
		if !ok {
			return fmt.Errorf("%q is not a setting: write a name and a value", s)
		}
		if d.seen[key] {
			return fmt.Errorf("setting %s is there twice", key)
		}
		d.seen[key] = true
		if err := d.setting(key, value); err != nil {
			return err
		}
		if err := checkAlone(key, value); err != nil {
			return err
		}
	}
}

func (d *decoder) setting(key, value string) (err error) {
	t := d.tape
	switch key {
	case "seed":
		t.Seed, err = strconv.ParseUint(value, 10, 64)
	case "tenants":
		t.Tenants, err = strconv.Atoi(value)
	case "for":
		t.For, err = time.ParseDuration(value)
	case "audit-every":
		t.AuditEvery, err = strconv.Atoi(value)
	case "schedule":
		t.Schedule, err = ParseSchedule(value)
		return err
	case "violation":
		t.Violation = value
	case "hash":
		t.Hash, err = strconv.ParseUint(value, 16, 64)
	default:
		for _, s := range durations(&t.Config) {
			if s.name == key {
				*s.value, err = time.ParseDuration(value)
				return bad(key, value, err)
			}
		}
		for _, s := range bounds(&t.Config) {
			if s.name == key {
				*s.value, err = strconv.Atoi(value)
				return bad(key, value, err)
			}
		}
		return fmt.Errorf("setting %q is unknown", key)
	}
	return bad(key, value, err)
}

// checkAlone finds what is wrong with a setting whatever the others are, to say so at its line.
func checkAlone(key, value string) error {
	o := Options{}.WithDefaults()
	d := &decoder{tape: &Tape{Tenants: o.Tenants, For: o.For, AuditEvery: o.AuditEvery, Config: o.Config}}
	if err := d.setting(key, value); err != nil {
		return err
	}
	return d.tape.options().Validate()
}

func bad(key, value string, err error) error {
	if err != nil {
		return fmt.Errorf("value %q of %s cannot be read", value, key)
	}
	return nil
}

// checkHeader demands every setting, because a default may change between versions.
func (d *decoder) checkHeader() error {
	need := []string{"seed", "tenants", "for", "audit-every"}
	for _, s := range bounds(&d.tape.Config) {
		need = append(need, s.name)
	}
	for _, s := range durations(&d.tape.Config) {
		need = append(need, s.name)
	}
	for _, key := range need {
		if !d.seen[key] {
			return fmt.Errorf("the header lacks the setting %s", key)
		}
	}
	return d.tape.options().Validate()
}

func (d *decoder) entries() error {
	if n := d.most - d.no; n > 1 { // and the end
		d.tape.Entries = make([]Entry, 0, n)
	}
	for {
		s, err := d.line()
		if err != nil {
			return err
		}
		if s == "end" {
			break
		}
		if len(d.tape.Entries) == MaxTape {
			return fmt.Errorf("the tape has more than %d entries (MaxTape)", MaxTape)
		}
		e, err := parseEntry(s)
		if err != nil {
			return err
		}
		if err := d.checkEntry(&e); err != nil {
			return err
		}
		d.tape.Entries = append(d.tape.Entries, e)
	}
	if d.lines.Scan() {
		d.no++
		return fmt.Errorf("%q follows the end of the tape", d.lines.Text())
	}
	return nil
}

// checkEntry refuses what no run of these options can contain.
func (d *decoder) checkEntry(e *Entry) error {
	n := uint32(d.tape.Tenants)
	switch {
	case e.At > lifecycle.Instant(d.tape.For) && e.Op != OpDial: // whose time is of information only
		return fmt.Errorf("%v is after the end of the run at %v", time.Duration(e.At), d.tape.For)
	case e.Op.serves() && !d.served:
		return fmt.Errorf("%s is no operation of %q; a tape with it begins with %q", e.Op, tapeMagic, servedMagic)
	case e.At < d.last:
		return fmt.Errorf("time runs backwards: %v comes after %v", time.Duration(e.At), time.Duration(d.last))
	case e.Tenant > n:
		return fmt.Errorf("tenant t%d does not exist: the run has %d tenants", e.Tenant, n)
	case e.Op.serves() && e.Target.Tenant > n:
		return fmt.Errorf("tenant t%d does not exist: the run has %d tenants", e.Target.Tenant, n)
	case e.Target.Tenant > n:
		return fmt.Errorf("target %v belongs to tenant t%d, and the run has %d tenants", e.Target, e.Target.Tenant, n)
	case e.Op == OpDeclare && e.Target.Tenant != 0 && e.Target.Tenant != e.Tenant:
		return fmt.Errorf("tenant t%d cannot claim %v: that credential is another tenant's", e.Tenant, e.Target)
	}
	d.last = e.At
	return nil
}

// parseEntry is the inverse of Entry.String.
func parseEntry(s string) (e Entry, err error) {
	w := strings.Split(s, " ")
	at, err := time.ParseDuration(w[0])
	if err != nil || at < 0 || len(w) < 2 {
		return e, fmt.Errorf("%q is not an entry: write a time, who, and what", s)
	}
	e.At = lifecycle.Instant(at)
	if op := Op(max(index(opNames[:], w[1]), 0)); op >= OpDial && !op.serves() {
		e.Op = op
		return e, e.parseOperator(w[2:])
	}
	if len(w) < 3 {
		return e, fmt.Errorf("the entry is cut short")
	}
	if e.Tenant, err = parseNumber(w[1], 't', MaxTenants); err != nil {
		return e, err
	}
	op := index(opNames[:], w[2])
	if op < 1 || Op(op) >= OpDial && !Op(op).serves() {
		return e, fmt.Errorf("input %q is unknown", w[2])
	}
	e.Op = Op(op)
	return e, e.parse(w[3:])
}

// parseOperator reads the words behind what no tenant does.
func (e *Entry) parseOperator(w []string) (err error) {
	switch least := map[Op]int{OpDial: 1, OpConfigure: 1, OpRestart: 2, OpReload: 2, OpDown: 2, OpExpire: 1}[e.Op]; {
	case len(w) < least:
		return fmt.Errorf("the entry is cut short")
	case e.Op == OpConfigure:
		e.Set = &Change{}
		return e.Set.parse(w)
	case e.Op == OpDial:
		e.Dial = &DialPlan{}
		if e.Target, err = parseTarget(w[0]); err == nil {
			err = e.Dial.parse(w[1:])
		}
		return err
	case len(w) > least:
		return fmt.Errorf("%q is a word too many", w[least])
	}
	switch e.Op {
	case OpRestart:
		e.Kill = w[0] == "kill"
		if !e.Kill && w[0] != "drain" {
			return fmt.Errorf("a daemon cannot restart by %q: write drain or kill", w[0])
		}
		e.Span, err = parseSpan(w[1])
		if err == nil && e.Span > MaxOutage {
			err = fmt.Errorf("%v is too long for a restart; use %v (MaxOutage) or less", e.Span, MaxOutage)
		}
	case OpReload:
		if e.Target.Server, err = parseNumber(w[0], 's', MaxServers); err == nil {
			e.To, err = parseNumber(w[1], 's', MaxServers)
		}
	case OpDown:
		if e.Target.Server, err = parseNumber(w[0], 's', MaxServers); err == nil {
			e.Span, err = parseSpan(w[1])
		}
	case OpExpire:
		e.Target.Tenant, e.Target.Token, err = parseCredential(w[0])
	}
	return err
}

// parse reads the words behind the name of the operation.
func (e *Entry) parse(w []string) (err error) {
	if e.Op == OpBorn || e.Op == OpDie {
		return exactly(w, 0)
	}
	if e.Op.serves() {
		return e.parseServed(w)
	}
	if len(w) == 0 {
		return fmt.Errorf("%s needs a name such as m1", e.Op)
	}
	n, err := parseNumber(w[0], 'm', MaxNames)
	if err != nil {
		return err
	}
	e.Name = uint8(n)
	switch e.Op {
	case OpDeclare:
		if len(w) < 2 {
			return fmt.Errorf("the entry is cut short")
		}
		if e.Target, err = parseTarget(w[1]); err != nil {
			return err
		}
		e.Policy, err = parsePolicy(w[2:])
		return err
	case OpDispatch:
		return e.Call.parse(w[1:])
	default:
		return exactly(w, 1)
	}
}

func (p *CallPlan) parse(w []string) (err error) {
	if len(w) < 2 {
		return fmt.Errorf("a dispatch needs an end and a duration, such as answered 300ms")
	}
	end := index(endNames[:], w[0])
	if end < 1 {
		return fmt.Errorf("a call cannot end %q", w[0])
	}
	p.End = End(end)
	if p.Takes, err = parseSpan(w[1]); err != nil {
		return err
	}
	return parseFlags(w[2:], "late", &p.Late, "twice", &p.Twice)
}

func (p *DialPlan) parse(w []string) (err error) {
	if len(w) < 5 {
		return fmt.Errorf("a dial needs an outcome, a duration, tools=, obeys= and stop=")
	}
	out := index(outcomeNames[:], w[0])
	if out < 1 {
		return fmt.Errorf("a dial cannot go %q", w[0])
	}
	p.Outcome = Outcome(out)
	if p.After, err = parseSpan(w[1]); err != nil {
		return err
	}
	tools, ok := strings.CutPrefix(w[2], "tools=")
	n, err := strconv.ParseUint(tools, 10, 16)
	if !ok || err != nil {
		return fmt.Errorf("%q is not a number of tools: write tools=3", w[2])
	}
	p.Tools = uint16(n)
	if p.Obeys, err = parseStage(w[3]); err != nil {
		return err
	}
	stop, ok := strings.CutPrefix(w[4], "stop=")
	if !ok {
		return fmt.Errorf("%q is not the time of a stop: write stop=10ms", w[4])
	}
	if p.StopTakes, err = parseSpan(stop); err != nil {
		return err
	}
	if w, err = parseSpans(w[5:], p.spans()); err != nil {
		return err
	}
	if len(w) > 0 && strings.HasPrefix(w[0], "retools=") {
		if n, err = strconv.ParseUint(w[0][len("retools="):], 10, 16); err != nil {
			return fmt.Errorf("%q is not a number of tools: write retools=3", w[0])
		}
		p.Retools, w = uint16(n), w[1:]
	}
	return parseFlags(w, "loses", &p.LosesOnly, "clean", &p.Clean, "late", &p.Late, "twice", &p.Twice)
}

// parsePolicy is the inverse of policyWords.
func parsePolicy(w []string) (*lifecycle.Policy, error) {
	if len(w) == 0 {
		return nil, nil
	}
	p := &lifecycle.Policy{}
	w, err := parseSpans(w, wishes(p))
	if err != nil {
		return nil, err
	}
	return p, parseFlags(w, "pinned", &p.Pinned)
}

// parse reads both settings of a reconfiguration.
func (c *Change) parse(w []string) (err error) {
	if err = exactly(w, 2); err != nil {
		return err
	}
	idle, ok := strings.CutPrefix(w[0], "idle-timeout=")
	live, also := strings.CutPrefix(w[1], "max-live=")
	if !ok || !also {
		return fmt.Errorf("a reconfiguration needs idle-timeout= and max-live=, such as idle-timeout=5m0s max-live=0")
	}
	if c.IdleTimeout, err = parseSpan(idle); err != nil {
		return err
	}
	c.MaxLive, err = strconv.Atoi(live)
	if err != nil || c.MaxLive < 0 || c.IdleTimeout != 0 && c.IdleTimeout < MinPeriod {
		return fmt.Errorf("%q and %q are not a T of 0s, or %v or more, and a bound", w[0], w[1], MinPeriod)
	}
	return nil
}

// parseSpans reads spans such as lives=3s, each at most once and in their order, and returns the
// words behind them.
func parseSpans(w []string, all []setting) (rest []string, err error) {
	for _, s := range all {
		if len(w) == 0 || !strings.HasPrefix(w[0], s.name+"=") {
			continue
		}
		if *s.value, err = parseSpan(w[0][len(s.name)+1:]); err != nil {
			return nil, err
		}
		w = w[1:]
	}
	return w, nil
}

func parseStage(s string) (lifecycle.Stage, error) {
	for g := lifecycle.StageClose; g <= lifecycle.StageStuck; g++ {
		if s == "obeys="+g.String() {
			return g, nil
		}
	}
	return 0, fmt.Errorf("%q is not a rung: write obeys=close, terminate, kill or stuck", s)
}

func parseSpan(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 || d > MaxFor {
		return 0, fmt.Errorf("%q is not a duration from 0s to %v", s, MaxFor)
	}
	return d, nil
}

// parseFlags reads flags, each at most once and in their order.
func parseFlags(w []string, pairs ...any) error {
	for i := 0; i < len(pairs); i += 2 {
		if len(w) > 0 && w[0] == pairs[i].(string) {
			*pairs[i+1].(*bool) = true
			w = w[1:]
		}
	}
	return exactly(w, 0)
}

func exactly(w []string, n int) error {
	if len(w) > n {
		return fmt.Errorf("%q is a word too many", w[n])
	}
	if len(w) < n {
		return fmt.Errorf("the entry is cut short")
	}
	return nil
}

func index(names []string, s string) int {
	for i, n := range names {
		if n == s && i > 0 {
			return i
		}
	}
	return -1
}
