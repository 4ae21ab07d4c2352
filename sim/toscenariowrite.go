package sim

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/scenarios"
)

// manner is a way of writing a tape as a scenario.
type manner struct {
	quick bool          // healthy servers connect at once
	await bool          // calls that are answered at once are awaited
	leave bool          // at the end every agent leaves, as in a shutdown
	probe bool          // long pauses are divided where peers must have been stopped, or have aged
	early bool          // deaths come a little earlier than calls that end at the same instant
	apart bool          // every claim has an agent of its own, so that a call means one of them
	idle  time.Duration // T
}

// script is a scenario being written.
type script struct {
	manner
	x     *translator
	head  []scenarios.Command
	intro []scenarios.Server
	lines []timed
	gaps  []string // what cannot be said
	lacks bool     // some of that changes what the rules demand
	unfit bool     // what cannot be said is what the rule is about
	now   lifecycle.Instant

	split    bool // each credential has a server of its own
	servers  map[string]*scenarios.Behaviour
	tokens   []string          // of all claims, with the one that is none
	numbers  map[string]uint32 // of servers
	used     map[string]bool   // servers that something may have been started of
	agents   map[uint32]bool
	names    map[uint32][]uint8             // that a tenant uses
	born     map[uint32]bool                // ever
	claims   map[[2]uint32]scenarios.Target // by tenant and name
	declared map[[2]uint32]bool             // ever
	calls    int
	open     map[[2]uint32][]string // calls that were started, by tenant and name
	deaths   []death
}

// timed is a command at a time.
type timed struct {
	at lifecycle.Instant
	c  scenarios.Command
}

// death is the end of an incarnation by itself.
type death struct {
	at     lifecycle.Instant
	server string
	token  string
}

// write says what can be said of the tape.
func (x *translator) write(m manner) *script {
	s := &script{manner: m, x: x, servers: map[string]*scenarios.Behaviour{}, used: map[string]bool{}, numbers: map[string]uint32{}, agents: map[uint32]bool{}, born: map[uint32]bool{},
		claims: map[[2]uint32]scenarios.Target{}, declared: map[[2]uint32]bool{}, open: map[[2]uint32][]string{}}
	s.split = x.conflict() && !m.apart
	s.names = x.names()
	s.settings()
	entries := x.played.Entries
	for i := range entries {
		e := &entries[i]
		if e.Op == OpDial {
			if i == 0 || entries[i-1].At != e.At {
				s.advanceTo(e.At)
				s.prepare(e) // an attempt that nobody asked for at this instant
			}
			s.dies(e)
			continue
		}
		s.advanceTo(e.At)
		for k := i + 1; k < len(entries) && entries[k].Op == OpDial && entries[k].At == e.At; k++ {
			s.prepare(&entries[k])
		}
		s.act(e)
	}
	s.advanceTo(x.broken.At)
	if m.leave {
		s.leaveAll()
	}
	return s
}

// conflict says that a tenant claims one server under two credentials at a time, whose calls
// the name of a tool would not tell apart.
func (x *translator) conflict() bool {
	held := map[[2]uint32]Target{}
	for i := range x.played.Entries {
		e := &x.played.Entries[i]
		if e.Op != OpDeclare {
			continue
		}
		for n := uint32(1); n <= MaxNames; n++ {
			other, ok := held[[2]uint32{e.Tenant, n}]
			if ok && n != uint32(e.Name) && other.Server == e.Target.Server && other != e.Target {
				return true
			}
		}
		held[[2]uint32{e.Tenant, uint32(e.Name)}] = e.Target
	}
	return false
}

// aboutRoom is the clause of rules that bounds are needed for.
const aboutRoom = "PR-6"

// settings writes those that differ from the language's defaults.
func (s *script) settings() {
	c, usual := &s.x.tape.Config, scenarios.DefaultSettings()
	set := func(name string, d, usual time.Duration) {
		if d != usual {
			s.head = append(s.head, scenarios.Set{Name: name, Value: d})
		}
	}
	set("idle_timeout", s.idle, usual.IdleTimeout)
	set("connect_timeout", c.ConnectTimeout, usual.ConnectTimeout)
	set("call_timeout", c.CallTimeout, usual.CallTimeout)
	set("grace", max(c.CloseGrace, scenarios.MinSetting), usual.Grace)
	usually := lifecycle.DefaultConfig()
	s.lackIf(c.FailedRetry != 0 && c.FailedRetry != c.IdleTimeout, "a failed-retry other than T cannot be set")
	s.lackIf(c.StartTimeout != 0, "a start-timeout cannot be set")
	for i, b := range bounds(c) {
		other := *b.value != *bounds(&usually)[i].value
		s.lackIf(other, b.name+" cannot be set")
		s.unfit = s.unfit || other && s.x.broken.Clause == aboutRoom
	}
}

// gapIf notes what cannot be said, once.
func (s *script) gapIf(is bool, what string) {
	if is && !slices.Contains(s.gaps, what) {
		s.gaps = append(s.gaps, what)
	}
}

// lackIf notes what cannot be said and changes what the rules demand.
func (s *script) lackIf(is bool, what string) {
	s.gapIf(is, what)
	s.lacks = s.lacks || is
}

func (s *script) do(c scenarios.Command) { s.lines = append(s.lines, timed{s.now, c}) }

// advanceTo lets time pass, with the deaths that come in it.
func (s *script) advanceTo(at lifecycle.Instant) {
	for len(s.deaths) > 0 && s.deaths[0].at <= at {
		d := s.deaths[0]
		s.deaths = s.deaths[1:]
		s.pass(d.at)
		s.do(scenarios.Kill{Server: d.server, Token: d.token})
	}
	s.pass(at)
}

func (s *script) pass(at lifecycle.Instant) {
	if s.probe && at > s.now {
		for _, p := range s.probes(at) {
			s.sleep(p)
		}
	}
	s.sleep(at)
}

func (s *script) sleep(at lifecycle.Instant) {
	for at > s.now {
		part := min(time.Duration(at-s.now), scenarios.MaxDuration)
		s.now += lifecycle.Instant(part)
		s.do(scenarios.Advance{By: part})
	}
}

// probes are instants up to another one at which what became unused, or failed, at the time of
// some action must have been stopped or have aged: half a tick after the last one that may do it.
func (s *script) probes(to lifecycle.Instant) (all []lifecycle.Instant) {
	c := &s.x.tape.Config
	window := s.idle + s.idle/4 + s.idle/8
	times := []lifecycle.Instant{s.now}
	for _, l := range s.lines {
		times = append(times, l.at)
	}
	for _, from := range times {
		for _, after := range []time.Duration{0, c.ConnectTimeout, c.CallTimeout} {
			if at := from + lifecycle.Instant(after+window); window > 0 && at > s.now && at < to {
				all = append(all, at)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// names lists the names that each tenant uses.
func (x *translator) names() map[uint32][]uint8 {
	all := map[uint32][]uint8{}
	for i := range x.played.Entries {
		e := &x.played.Entries[i]
		if e.Tenant > 0 && e.Name > 0 && !slices.Contains(all[e.Tenant], e.Name) {
			all[e.Tenant] = append(all[e.Tenant], e.Name)
		}
	}
	return all
}

// agent names whoever has a claim.
func (s *script) agent(tenant uint32, name uint8) string {
	a := agentOf(tenant)
	if s.apart && name > 0 && name != s.names[tenant][0] {
		a += "-" + mcpOf(name)
	}
	return a
}

// agentsOf names all that a tenant is.
func (s *script) agentsOf(tenant uint32) []string {
	all := []string{agentOf(tenant)}
	for i, n := range s.names[tenant] {
		if s.apart && i > 0 {
			all = append(all, s.agent(tenant, n))
		}
	}
	return all
}

func agentOf(tenant uint32) string {
	if tenant <= 26 {
		return string(rune('a' + tenant - 1))
	}
	return "a" + strconv.Itoa(int(tenant))
}

func mcpOf(name uint8) string { return fmt.Sprintf("m%d", name) }

// serverOf names the program of a target.
func (s *script) serverOf(t Target) string {
	name := "S"
	if t.Server > 1 {
		name = fmt.Sprintf("S%d", t.Server)
	}
	if s.split && t.Tenant > 0 {
		name += fmt.Sprintf("-t%d-%d", t.Tenant, t.Token)
	}
	return name
}

func toolOf(server string) string {
	if server == "S" {
		return "echo"
	}
	return "echo-" + server
}

// target writes what a claim points at, and makes sure that its server exists.
func (s *script) target(t Target) scenarios.Target {
	name := s.serverOf(t)
	if s.servers[name] == nil {
		s.servers[name] = &scenarios.Behaviour{Tools: []string{toolOf(name)}, Connect: s.connect(healthy.After)}
		s.numbers[name] = t.Server
		s.intro = append(s.intro, scenarios.Server{Name: name, Behaviour: *s.servers[name]})
	}
	out := scenarios.Target{Server: name}
	if t.Tenant > 0 {
		out.Token = fmt.Sprintf("t%d-%d", t.Tenant, t.Token)
	}
	if !slices.Contains(s.tokens, out.Token) {
		s.tokens = append(s.tokens, out.Token)
	}
	return out
}

func (s *script) connect(after time.Duration) time.Duration {
	if s.quick && after == healthy.After {
		return 0
	}
	return min(after, scenarios.MaxDuration)
}

// prepare makes the server of a target behave as its next incarnation is to.
func (s *script) prepare(e *Entry) {
	t, p := s.target(e.Target), e.Dial
	s.gapIf(p.Relists > 0, "a list of tools that changes under way cannot be said")
	s.gapIf(p.Late || p.Twice, "late and duplicate completions cannot be said")
	s.gapIf(p.LosesOnly && p.Lives > 0, "a session that ends without its process cannot be said")
	s.gapIf(p.Clean && p.Lives > 0, "an exit with status 0 cannot be said")
	s.gapIf(p.Spawns > 0 || p.Starts > 0, "the time until a process exists or says something cannot be said")
	s.gapIf(p.Obeys > lifecycle.StageKill, "a process that outlives SIGKILL cannot be said")
	s.gapIf(p.StopTakes > healthy.StopTakes, "a process that takes its time to obey cannot be said")
	var edits []scenarios.Edit
	b := *s.servers[t.Server]
	if c := s.connect(p.After); p.Outcome == Connects && c != b.Connect {
		b.Connect = c
		edits = append(edits, scenarios.Edit{Key: "connect", Value: c.String()})
	}
	if f := failureOf(p.Outcome); f != b.Fails {
		b.Fails = f
		edits = append(edits, scenarios.Edit{Key: "fails", Value: otherwise(string(f), "never")})
	}
	eof, term := p.Obeys > lifecycle.StageClose, p.Obeys > lifecycle.StageTerminate
	if eof != b.IgnoresEOF || term != b.IgnoresTerm {
		b.IgnoresEOF, b.IgnoresTerm = eof, term
		value := "nothing"
		if term {
			value = "eof,term"
		} else if eof {
			value = "eof"
		}
		edits = append(edits, scenarios.Edit{Key: "ignores", Value: value})
	}
	s.become(t.Server, b, edits)
}

// become changes a server. One that nothing has used yet is introduced as it is to be.
func (s *script) become(name string, b scenarios.Behaviour, edits []scenarios.Edit) {
	if len(edits) == 0 {
		return
	}
	*s.servers[name] = b
	for i := range s.intro {
		if s.intro[i].Name == name && !s.used[name] {
			s.intro[i].Behaviour = b
			return
		}
	}
	s.do(scenarios.Change{Server: name, Edits: edits})
}

func failureOf(o Outcome) scenarios.Failure {
	switch o {
	case Fails, Breaks, Exits:
		return scenarios.FailsExit
	case Hangs:
		return scenarios.FailsHang
	}
	return scenarios.FailsNever
}

func otherwise(s, usual string) string {
	if s == "" {
		return usual
	}
	return s
}

// dies notes when an incarnation is to die by itself.
func (s *script) dies(e *Entry) {
	if e.Dial.Lives == 0 || e.Dial.Outcome != Connects {
		return
	}
	at := e.At + lifecycle.Instant(s.connect(e.Dial.After)+e.Dial.Lives)
	if s.early && at > e.At {
		at -= lifecycle.Instant(time.Millisecond)
	}
	t := s.target(e.Target)
	s.deaths = append(s.deaths, death{at, t.Server, t.Token})
	slices.SortStableFunc(s.deaths, func(a, b death) int { return int(min(max(a.at-b.at, -1), 1)) })
}
