package sim

import "github.com/mayfly-mcp/mayfly/scenarios"

// demands are what rules demand of the peer that broke them, where that can be said without
// knowing what a correct lifecycle does: a kind of question and the answer.
var demands = map[string][]scenarios.Expect{
	"EVICT-EARLY":   {{Query: scenarios.Query{Kind: scenarios.Running}, Want: "1"}},
	"EVICT-BUSY":    {{Query: scenarios.Query{Kind: scenarios.Running}, Want: "1"}},
	"EVICT-OFF":     {{Query: scenarios.Query{Kind: scenarios.Running}, Want: "1"}},
	"EVICT-LATE":    {{Query: scenarios.Query{Kind: scenarios.Running}, Want: "0"}},
	"PROC-ONE":      {{Query: scenarios.Query{Kind: scenarios.Running}, Want: "1"}},
	"PROC-CLAIM":    {{Query: scenarios.Query{Kind: scenarios.Running}, Want: "0"}},
	"LADDER":        {{Query: scenarios.Query{Kind: scenarios.Running}, Want: "0"}},
	"SPAWN-UNASKED": {{Query: scenarios.Query{Kind: scenarios.Spawns}, Want: "0"}},
	"AGE-EARLY":     {{Query: scenarios.Query{Kind: scenarios.Status}, Want: "failed"}},
	"AGE-LATE":      {{Query: scenarios.Query{Kind: scenarios.Status}, Want: "disconnected"}},
	"CONNECT-BOUND": {{Query: scenarios.Query{Kind: scenarios.Status}, Want: "failed"}},
	"CONNECT-CUT":   {{Query: scenarios.Query{Kind: scenarios.Status}, Want: "connecting"}},
	"CALL-STATE":    {{Query: scenarios.Query{Kind: scenarios.Status}, Want: "connected"}},
	"CALL-FAILS":    {{Query: scenarios.Query{Kind: scenarios.Status}, Want: "failed"}},
}

// demandAny is for a violation that is no difference between two lifecycles: the one that is
// supposed to be correct has broken the rule itself.
func (x *translator) demandAny(manners []manner) *scenarios.File {
	res, err := Replay(x.tape, Options{Subject: x.opt.Correct})
	if err != nil || res.Violation == nil || res.Violation.ID != x.broken.ID {
		return nil
	}
	for _, m := range manners {
		if f := x.demand(x.write(m)); f != nil {
			return f
		}
	}
	return nil
}

// demand writes what the rule itself demands. It returns nil when that does not fail, or cannot
// be said.
func (x *translator) demand(s *script) *scenarios.File {
	i := len(s.lines) - 1
	if i < 0 || s.lacks || s.leave {
		return nil
	}
	f := s.file(x.opt.Name, func(k int) (some []scenarios.Expect) {
		if k < i {
			return nil
		}
		for _, d := range demands[x.broken.ID] {
			some = append(some, x.ask(s, d)...)
		}
		return some
	})
	report, err := x.run(f, x.opt.Subject)
	if err != nil || len(report.Outcomes) == 0 || report.Err() == nil {
		return nil
	}
	for i, l := range f.Lines {
		if _, ok := l.Command.(scenarios.Only); ok { // nobody is there who keeps the rule
			f.Lines[i].Command = scenarios.Only{Worlds: withoutLive(f)}
		}
	}
	return f
}

// ask asks a demand of the target that the violation is about, under every name that it has.
func (x *translator) ask(s *script, d scenarios.Expect) (all []scenarios.Expect) {
	t, ok := x.culprit(s)
	if !ok {
		return nil
	}
	if d.Query.Kind != scenarios.Status {
		d.Query.Server, d.Query.Token = t.Server, t.Token
		return append(all, d)
	}
	for tenant := uint32(1); int(tenant) <= x.tape.Tenants; tenant++ {
		for _, n := range s.names[tenant] {
			if c, ok := s.claims[[2]uint32{tenant, uint32(n)}]; ok && c.Server == t.Server && c.Token == t.Token {
				d.Query.Agent, d.Query.MCP = s.agent(tenant, n), mcpOf(n)
				all = append(all, d)
			}
		}
	}
	return all
}

// culprit is the target that the violation names, or the only one there is.
func (x *translator) culprit(s *script) (scenarios.Target, bool) {
	for _, word := range targetWords.FindAllString(x.broken.Detail, 1) {
		if t, err := parseTarget(word); err == nil {
			return s.target(t), true
		}
	}
	if len(s.intro) != 1 || len(s.tokens) > 1 {
		return scenarios.Target{}, false
	}
	t := scenarios.Target{Server: s.intro[0].Name}
	if len(s.tokens) == 1 {
		t.Token = s.tokens[0]
	}
	return t, true
}
