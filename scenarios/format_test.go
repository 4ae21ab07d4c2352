package scenarios

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// FuzzParse feeds Parse anything. It must not panic, and what it accepts must survive
// formatting and parsing unchanged, as a File and as bytes.
func FuzzParse(f *testing.F) {
	for _, file := range All() {
		src, err := embedded.ReadFile(file.Name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
	f.Add([]byte("set grace 1m0s\n\n\n# x\n-- a --\n-- b --\nx"))
	f.Add([]byte("server S ignores=term,eof tools=a\nagent a\nupsert a m S env=_K:# token=t\nstart c1..c3: list a\n"))
	f.Add([]byte("only live\nneeds npx node\nserver S exec=npx,-y,@a/b tools=echo\nagent a\ndeclare a m S\nkill S\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		file, err := Parse("fuzz", src)
		if err != nil {
			return
		}
		roundTrip(t, file)
	})
}

// TestRoundTrip does the same with random files that make sense.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := (&generator{T: t}).file()
		roundTrip(t, f)
		if !f.RunsIn(Live) {
			return // the toy knows what every world knows
		}
		if _, err := Run(t.Context(), f, newToy()); err != nil {
			t.Fatalf("a generated file does not run: %v\n%s", err, Format(f))
		}
	})
}

func roundTrip(t interface{ Fatalf(string, ...any) }, f *File) {
	text := Format(f)
	again, err := Parse(f.Name, text)
	if err != nil {
		t.Fatalf("the formatted file does not parse: %v\n%s", err, text)
	}
	if diff := cmp.Diff(f, again); diff != "" {
		t.Fatalf("the file changed (-before +after):\n%s", diff)
	}
	if text2 := Format(again); !bytes.Equal(text, text2) {
		t.Fatalf("the text changed:\n%s", cmp.Diff(string(text), string(text2)))
	}
}

// generator draws files whose every line is valid where it stands.
type generator struct {
	*rapid.T
	lines   []Line
	servers []string
	agents  []string
	mcps    map[string][]string
	calls   []Calls // the ranges started so far
	named   int
	wide    bool // with words that not every world knows
}

func pick[T any](g *generator, from ...T) T { return rapid.SampledFrom(from).Draw(g.T, "pick") }

func (g *generator) file() *File {
	g.mcps = map[string][]string{}
	g.add(Clauses{pick(g, []string{"CL-1"}, []string{"DI-12", "RE-3"})})
	if rapid.Bool().Draw(g.T, "needs") {
		g.add(Needs{pick(g, []string{"npx"}, []string{"node", "npx"})})
	}
	g.wide = rapid.Bool().Draw(g.T, "wide")
	settings := liveSettings
	if g.wide {
		settings = settingNames
		g.add(Only{[]string{Machine}})
	}
	for _, name := range settings {
		if rapid.Bool().Draw(g.T, "set") {
			g.add(g.set(name))
		}
	}
	for i := range rapid.IntRange(1, 3).Draw(g.T, "servers") {
		g.servers = append(g.servers, fmt.Sprintf("S%d", i))
		g.add(Server{g.servers[i], g.behaviour()})
	}
	g.agent()
	for range rapid.IntRange(0, 30).Draw(g.T, "lines") {
		g.command()
	}
	f := &File{Name: "random", Lines: g.lines}
	if rapid.Bool().Draw(g.T, "attach") {
		f.Attachments = []Attachment{{"tape", "1 2\n\n3\n"}, {"empty", ""}}
	}
	return f
}

func (g *generator) set(name string) Set {
	if new(Settings).bound(name) != nil {
		return Set{Name: name, Count: rapid.IntRange(0, MaxCount).Draw(g.T, "count")}
	}
	return Set{Name: name, Value: time.Duration(rapid.IntRange(int(time.Second), 1<<40).Draw(g.T, "ns"))}
}

// add appends a command, and now and then a comment or a blank line.
func (g *generator) add(c Command) {
	g.lines = append(g.lines, Line{Command: c, Comment: pick(g, "", "", "# why", "#")})
	if rapid.IntRange(0, 5).Draw(g.T, "blank") == 0 {
		g.lines = append(g.lines, Line{Comment: pick(g, "", "# -- x --", "#\ttab  and blanks")})
	}
}

func (g *generator) behaviour() Behaviour {
	b := g.plain()
	if !g.wide {
		return b
	}
	b.Spawn, b.Says = pick(g, 0, time.Second), pick(g, 0, 1500*time.Millisecond)
	b.Stop, b.IgnoresKill = pick(g, 0, time.Minute), rapid.Bool().Draw(g.T, "kill")
	b.Late, b.Twice = rapid.Bool().Draw(g.T, "late"), rapid.Bool().Draw(g.T, "twice")
	b.Answers = pick(g, b.Answers, AnswersLost)
	return b
}

func (g *generator) plain() Behaviour {
	return Behaviour{
		Tools:       pick(g, []string{"echo"}, []string{"echo", "add"}, []string{"add", "echo", "x-y_z"}),
		Connect:     pick(g, 0, time.Nanosecond, 300*time.Millisecond, 90*time.Second),
		Call:        pick(g, 0, 1500*time.Microsecond, time.Hour),
		Fails:       pick(g, FailsNever, FailsSpawn, FailsExit, FailsHang, FailsReject),
		Answers:     pick(g, AnswersOK, AnswersReject, AnswersError, AnswersHang, AnswersExit),
		IgnoresEOF:  rapid.Bool().Draw(g.T, "eof"),
		IgnoresTerm: rapid.Bool().Draw(g.T, "term"),
	}
}

func (g *generator) agent() {
	g.named++
	name := fmt.Sprintf("a%d", g.named)
	g.agents = append(g.agents, name)
	g.add(Agent{name})
	g.claim(name)
}

func (g *generator) claim(agent string) {
	mcp := pick(g, "m1", "m2", "m3")
	g.mcps[agent] = append(g.mcps[agent], mcp)
	g.add(Declare{agent, mcp, g.target(), g.wish()})
}

func (g *generator) target() Target {
	env := []EnvVar{{"X", "1"}, {"_Y", ""}, {"Z0", "a#b=c:d"}}
	return Target{
		Server: pick(g, g.servers...),
		Token:  pick(g, "", "t1", "t2"),
		Env:    pick(g, nil, env[:1:1], env, env[1:]),
	}
}

func (g *generator) wish() Wish {
	if !g.wide {
		return Wish{}
	}
	return pick(g, Wish{}, Wish{Pinned: true}, Wish{Idle: time.Hour, Uptime: time.Second, Start: time.Second, Connect: 90 * time.Second},
		Wish{Call: time.Millisecond, Close: time.Second, Terminate: time.Minute, Pinned: true})
}

func (g *generator) operation(agent string) Operation {
	mcp := pick(g, g.mcps[agent]...)
	if g.wide && rapid.IntRange(0, 4).Draw(g.T, "write off") == 0 {
		return WriteOff{agent, mcp}
	}
	return pick[Operation](g,
		Call{agent, pick(g, "echo", "add", "nothing")},
		List{agent},
		Reconnect{agent, mcp},
		Upsert{agent, mcp, g.target(), g.wish()},
	)
}

// widely adds a command that not every world knows.
func (g *generator) widely(agent, server string) {
	mcp := pick(g, g.mcps[agent]...)
	q := pick(g, Query{Kind: pick(g, Claims, InFlight, Generation, WrittenOff), Agent: agent, MCP: mcp},
		Query{Kind: Replays, Agent: agent}, Query{Kind: Peers})
	g.add(pick[Command](g, Quit{Server: server}, Break{Server: server}, Announce{server}, Restart{}, Restart{Kill: true},
		Configure{g.set(pick(g, settingNames...))}, Reload{server, pick(g, g.servers...)},
		Expect{Query: q, Want: "1"},
		Expect{Query: Query{Kind: Reasons, Agent: agent}, Want: mcp + ":connect " + mcp + ":call-timeout"},
		Expect{Query: Query{Kind: Order, Server: server}, Want: "-"}))
}

func (g *generator) command() {
	agent, server := pick(g, g.agents...), pick(g, g.servers...)
	if g.wide && rapid.IntRange(0, 3).Draw(g.T, "widely") == 0 {
		g.widely(agent, server)
		return
	}
	switch rapid.IntRange(0, 12).Draw(g.T, "command") {
	case 0:
		g.agent()
	case 1:
		g.claim(agent)
	case 2:
		g.add(g.operation(agent))
	case 3, 4:
		g.start(g.operation(agent))
	case 5:
		g.add(Advance{time.Duration(rapid.IntRange(0, 1<<36).Draw(g.T, "ns"))})
	case 6:
		g.add(Kill{Server: server})
	case 7:
		g.add(Change{server, pick(g,
			[]Edit{{Key: "heals"}},
			[]Edit{{"tools", "a,b"}, {"call", "1ms"}, {"fails", "never"}},
			[]Edit{{"connect", "1m30s"}, {"answers", "ok"}, {"ignores", "eof,term"}})})
	case 8:
		point := pick(g, AtInitialize, AtList, AtCall)
		g.add(Hold{server, point})
		g.add(Release{server, pick(g, "", point)})
	case 9:
		g.add(Delete{agent, pick(g, g.mcps[agent]...)})
	case 10:
		g.add(Fence{})
	case 11:
		g.rename(agent)
	case 12:
		g.expect(agent, server)
	}
}

// start begins one to three calls; half of the time they are given up and awaited at once.
func (g *generator) start(op Operation) {
	g.named++
	c := Calls{First: fmt.Sprintf("c%dx1", g.named)}
	if n := rapid.IntRange(1, 3).Draw(g.T, "fanout"); n > 1 {
		c.Last = fmt.Sprintf("c%dx%d", g.named, n)
	}
	g.calls = append(g.calls, c)
	g.add(Start{c, op})
	if rapid.Bool().Draw(g.T, "cancel") {
		g.add(Cancel{c})
		g.add(Await{c})
	}
}

func (g *generator) rename(agent string) {
	g.named++
	to := fmt.Sprintf("a%d", g.named)
	for i, a := range g.agents {
		if a == agent {
			g.agents[i] = to
		}
	}
	g.mcps[to] = g.mcps[agent]
	g.add(Rename{agent, to})
}

func (g *generator) expect(agent, server string) {
	mcp := pick(g, g.mcps[agent]...)
	e := pick(g,
		Expect{Query: Query{Kind: Status, Agent: agent, MCP: mcp}, Want: "connecting"},
		Expect{Query: Query{Kind: Tools, Agent: agent, MCP: mcp}, Want: "12"},
		Expect{Query: Query{Kind: Events, Agent: agent}, Want: "-"},
		Expect{Query: Query{Kind: Events, Agent: agent}, Want: mcp + ":failed " + mcp + ":connected"},
		Expect{Query: Query{Kind: pick(g, Spawns, Running, Arrived), Server: server}, Want: "0"},
	)
	if len(g.calls) > 0 && rapid.Bool().Draw(g.T, "result") {
		e = Expect{Query: Query{Kind: Result}, Calls: pick(g, append(g.calls, Calls{})...), Want: "ok"}
		if g.wide {
			e.Query.Kind = pick(g, Result, Refusal, Retry)
			e.Want = map[Kind]string{Result: "ok", Refusal: "failed:connect", Retry: "1m30s"}[e.Query.Kind]
		}
	}
	g.add(e)
}
