package sim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
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
	dwell bool          // at the end time passes, in which what is wrong may come to light
	drain bool          // at the end everything is used, and the daemon is told to stop
	slow  bool          // it takes a second until a process exists
	lost  bool          // calls that fail in transport leave their processes alone
	idle  time.Duration // T
	// claimless asks for a reconnect where a tape calls through a claim that is not there, since
	// calls of the language go to whoever has the tool.
	claimless bool
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
	now   lifecycle.Instant

	drained  bool // the daemon was told to stop
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
	wishes   map[[2]uint32]scenarios.Wish
	late     map[uint32]bool // servers whose completions come late
	twice    map[uint32]bool
	calls    int
	open     map[[2]uint32][]string // calls that were started, by tenant and name
	deaths   []death                // and other news of processes
}

// timed is a command at a time.
type timed struct {
	at lifecycle.Instant
	c  scenarios.Command
}

// death is the end of an incarnation by itself, or what else it does by itself.
type death struct {
	at   lifecycle.Instant
	news []scenarios.Command
}

// write says what can be said of the tape.
func (x *translator) write(m manner) *script {
	s := &script{manner: m, x: x, servers: map[string]*scenarios.Behaviour{}, used: map[string]bool{}, numbers: map[string]uint32{}, agents: map[uint32]bool{}, born: map[uint32]bool{},
		claims: map[[2]uint32]scenarios.Target{}, declared: map[[2]uint32]bool{}, open: map[[2]uint32][]string{},
		wishes: map[[2]uint32]scenarios.Wish{}}
	s.late, s.twice = x.strays()
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
	switch {
	case s.drained:
	case m.leave:
		s.leaveAll()
	case m.drain:
		s.drainAll()
	case m.dwell:
		s.dwell()
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
	set("failed_retry", c.FailedRetry, usual.FailedRetry)
	set("start_timeout", c.StartTimeout, usual.StartTimeout)
	set("queue_timeout", otherwise(c.QueueTimeout, usual.QueueTimeout), usual.QueueTimeout)
	if c.KillGrace != c.CloseGrace && s.x.has(func(e *Entry) bool { return e.Op == OpWriteOff }) {
		set("kill_grace", c.KillGrace, usual.KillGrace)
	}
	if s.drain || s.x.has(func(e *Entry) bool { return e.Op == OpDrain || e.Op == OpRestart }) {
		set("drain_grace", max(c.DrainGrace, scenarios.MinSetting), usual.DrainGrace)
	}
	usually := lifecycle.DefaultConfig()
	for i, b := range bounds(c) {
		if *b.value != *bounds(&usually)[i].value && *b.value <= scenarios.MaxCount {
			s.head = append(s.head, scenarios.Set{Name: strings.ReplaceAll(b.name, "-", "_"), Count: *b.value})
		}
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
		for _, c := range d.news {
			s.do(c)
		}
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
	windows := []time.Duration{s.idle + s.idle/4 + s.idle/8, c.FailedRetry + c.FailedRetry/4 + c.FailedRetry/8}
	times := []lifecycle.Instant{s.now}
	for _, l := range s.lines {
		times = append(times, l.at)
	}
	for _, from := range times {
		for _, after := range []time.Duration{0, c.ConnectTimeout, c.CallTimeout} {
			for _, window := range windows {
				if at := from + lifecycle.Instant(after+window); window > 0 && at > s.now && at < to {
					all = append(all, at)
				}
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
		s.servers[name] = &scenarios.Behaviour{Tools: []string{toolOf(name)}, Connect: s.connect(healthy.After),
			Late: s.late[t.Server], Twice: s.twice[t.Server]}
		if s.slow {
			s.servers[name].Spawn = time.Second
		}
		s.numbers[name] = t.Server
		s.intro = append(s.intro, scenarios.Server{Name: name, Behaviour: *s.servers[name]})
	}
	out := scenarios.Target{Server: name}
	if t.Tenant > 0 {
		out.Token = tokenOf(t)
	}
	if !slices.Contains(s.tokens, out.Token) {
		s.tokens = append(s.tokens, out.Token)
	}
	return out
}

func tokenOf(t Target) string { return fmt.Sprintf("t%d-%d", t.Tenant, t.Token) }

func (s *script) connect(after time.Duration) time.Duration {
	if s.quick && after == healthy.After {
		return 0
	}
	return min(after, scenarios.MaxDuration)
}

// prepare makes the server of a target behave as its next incarnation is to.
func (s *script) prepare(e *Entry) {
	t, p := s.target(e.Target), e.Dial
	s.gapIf(p.Obeys > lifecycle.StageKill, "when a process ends that has outlived SIGKILL cannot be said")
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
	edits = append(edits, s.startsAs(&b, p)...)
	edits = append(edits, stopsAs(&b, p)...)
	s.become(t.Server, b, edits)
}

// startsAs edits how a process comes to be.
func (s *script) startsAs(b *scenarios.Behaviour, p *DialPlan) (edits []scenarios.Edit) {
	spawn, says := p.Spawns, max(0, p.Starts-p.Spawns)
	if s.slow {
		spawn = max(spawn, time.Second)
	}
	if spawn != b.Spawn {
		b.Spawn = spawn
		edits = append(edits, scenarios.Edit{Key: "spawn", Value: spawn.String()})
	}
	if says != b.Says {
		b.Says = says
		edits = append(edits, scenarios.Edit{Key: "says", Value: says.String()})
	}
	return edits
}

// stopsAs edits how it takes the stop ladder.
func stopsAs(b *scenarios.Behaviour, p *DialPlan) (edits []scenarios.Edit) {
	was := *b
	b.IgnoresEOF, b.IgnoresTerm, b.IgnoresKill = p.Obeys > lifecycle.StageClose, p.Obeys > lifecycle.StageTerminate, p.Obeys > lifecycle.StageKill
	if b.Stop = 0; p.StopTakes > healthy.StopTakes && !b.IgnoresKill {
		b.Stop = p.StopTakes
	}
	if b.IgnoresEOF != was.IgnoresEOF || b.IgnoresTerm != was.IgnoresTerm || b.IgnoresKill != was.IgnoresKill {
		edits = append(edits, scenarios.Edit{Key: "ignores", Value: [...]string{"nothing", "eof", "eof,term", "eof,term,kill"}[min(max(p.Obeys, 1), 4)-1]})
	}
	if b.Stop != was.Stop {
		edits = append(edits, scenarios.Edit{Key: "stop", Value: b.Stop.String()})
	}
	return edits
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
	case Fails, Breaks:
		return scenarios.FailsReject
	case Exits:
		return scenarios.FailsExit
	case Hangs:
		return scenarios.FailsHang
	}
	return scenarios.FailsNever
}

// otherwise is a value, or the usual one where there is none.
func otherwise[T comparable](v, usual T) T {
	var none T
	if v == none {
		return usual
	}
	return v
}

// dies notes when an incarnation is to die by itself, and when its tools are to change.
func (s *script) dies(e *Entry) {
	if e.Dial.Outcome != Connects {
		return
	}
	up := e.At + lifecycle.Instant(s.connect(e.Dial.After))
	t := s.target(e.Target)
	if n := int(e.Dial.Retools); e.Dial.Relists > 0 && n > 0 {
		b := scenarios.Behaviour{Tools: []string{toolOf(t.Server)}}
		for i := 1; i < min(n, scenarios.MaxTools); i++ {
			b.Tools = append(b.Tools, fmt.Sprintf("tool%d", i+1))
		}
		s.comes(up+lifecycle.Instant(e.Dial.Relists), scenarios.Change{Server: t.Server,
			Edits: []scenarios.Edit{{Key: "tools", Value: strings.Join(b.Tools, ",")}}}, scenarios.Announce{Server: t.Server})
	}
	if e.Dial.Lives == 0 {
		return
	}
	at := up + lifecycle.Instant(e.Dial.Lives)
	if s.early && at > e.At {
		at -= lifecycle.Instant(time.Millisecond)
	}
	switch {
	case e.Dial.LosesOnly:
		s.comes(at, scenarios.Break{Server: t.Server, Token: t.Token})
	case e.Dial.Clean:
		s.comes(at, scenarios.Quit{Server: t.Server, Token: t.Token})
	default:
		s.comes(at, scenarios.Kill{Server: t.Server, Token: t.Token})
	}
}

// comes notes news of a process.
func (s *script) comes(at lifecycle.Instant, news ...scenarios.Command) {
	s.deaths = append(s.deaths, death{at, news})
	slices.SortStableFunc(s.deaths, func(a, b death) int { return int(min(max(a.at-b.at, -1), 1)) })
}
