package sim

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

func drawBounds(t *rapid.T, c lifecycle.Config) lifecycle.Config {
	small := func(name string) int { return rapid.IntRange(0, 3).Draw(t, name) }
	c.MaxLive, c.MaxDialing, c.MaxSpawning, c.MaxQueued = small("max live"), small("max dialing"), small("max spawning"), small("max queued")
	c.QueueTimeout = rapid.SampledFrom([]time.Duration{0, time.Second}).Draw(t, "queue timeout")
	return c
}

func drawTape(t *rapid.T) *Tape {
	span := rapid.Map(rapid.Int64Range(0, int64(time.Hour)), func(n int64) time.Duration { return time.Duration(n) })
	flip := rapid.Bool()
	tape := &Tape{
		Name: "x", Seed: rapid.Uint64().Draw(t, "seed"), Tenants: rapid.IntRange(1, 50).Draw(t, "tenants"),
		For: time.Hour, AuditEvery: rapid.IntRange(1, 1000).Draw(t, "audit"), Config: drawBounds(t, hardConfig()),
		Violation: rapid.SampledFrom([]string{"", "EVICT-EARLY"}).Draw(t, "violation"), Hash: rapid.Uint64().Draw(t, "hash"),
	}
	at := time.Duration(0)
	for range rapid.IntRange(0, 20).Draw(t, "entries") {
		at += time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "wait"))
		e := Entry{At: lifecycle.Instant(at), Op: Op(rapid.IntRange(1, ops-1).Draw(t, "op"))}
		switch e.Op {
		case OpRestart:
			e.Kill, e.Span = flip.Draw(t, "kill"), span.Draw(t, "down")
		case OpReload:
			e.Target.Server, e.To = uint32(rapid.IntRange(1, 9).Draw(t, "from")), uint32(rapid.IntRange(1, 9).Draw(t, "to"))
		case OpDown:
			e.Target.Server, e.Span = uint32(rapid.IntRange(1, 9).Draw(t, "down")), span.Draw(t, "for")
		case OpExpire:
			e.Target = Target{Tenant: uint32(rapid.IntRange(1, tape.Tenants).Draw(t, "whose")), Token: uint32(rapid.IntRange(0, 5).Draw(t, "token"))}
		}
		if e.Op < OpDial {
			e.Tenant = uint32(rapid.IntRange(1, tape.Tenants).Draw(t, "tenant"))
		}
		if e.Op > OpDie && e.Op < OpDial {
			e.Name = uint8(rapid.IntRange(1, MaxNames).Draw(t, "name"))
		}
		if e.Op.serves() {
			e.Tenant, e.Name = uint32(rapid.IntRange(1, tape.Tenants).Draw(t, "tenant")), uint8(rapid.IntRange(1, MaxKeys).Draw(t, "key"))
			if s := Serving(rapid.IntRange(0, servings-1).Draw(t, "serve")); s.fits(e.Op) {
				e.Serve = s
			}
			if e.Op == OpCall {
				e.Target.Tenant = uint32(rapid.IntRange(0, tape.Tenants).Draw(t, "as"))
			}
		}
		if e.Op == OpDeclare || e.Op == OpDial {
			e.Target.Server = uint32(rapid.IntRange(1, 9).Draw(t, "server"))
			if flip.Draw(t, "owned") {
				e.Target.Tenant, e.Target.Token = max(e.Tenant, 1), uint32(rapid.IntRange(0, 5).Draw(t, "token"))
			}
		}
		if e.Op == OpDeclare && flip.Draw(t, "wishes") {
			e.Policy = &lifecycle.Policy{IdleTimeout: 1 + span.Draw(t, "idle"), MinUptime: span.Draw(t, "uptime"), StartTimeout: span.Draw(t, "start"),
				ConnectTimeout: span.Draw(t, "connect"), CallTimeout: span.Draw(t, "call"),
				CloseGrace: span.Draw(t, "close"), TerminateGrace: span.Draw(t, "terminate"), Pinned: flip.Draw(t, "pinned")}
		}
		if e.Op == OpConfigure {
			e.Set = &Change{rapid.SampledFrom([]time.Duration{0, time.Second, time.Minute}).Draw(t, "T"), rapid.IntRange(0, 3).Draw(t, "live")}
		}
		if e.Op == OpDispatch {
			e.Call = CallPlan{span.Draw(t, "takes"), End(rapid.IntRange(1, ends-1).Draw(t, "end")), flip.Draw(t, "late"), flip.Draw(t, "twice")}
		}
		if e.Op == OpDial {
			e.Dial = &DialPlan{Outcome: Outcome(rapid.IntRange(1, outcomes-1).Draw(t, "outcome")), After: span.Draw(t, "after"),
				Tools: rapid.Uint16().Draw(t, "tools"), Obeys: lifecycle.Stage(rapid.IntRange(1, 4).Draw(t, "obeys")),
				StopTakes: span.Draw(t, "stop"), Lives: span.Draw(t, "lives"), Spawns: span.Draw(t, "spawns"),
				Starts: span.Draw(t, "starts"), Relists: span.Draw(t, "relists"), Retools: rapid.Uint16().Draw(t, "retools"),
				LosesOnly: flip.Draw(t, "loses"), Clean: flip.Draw(t, "clean"), Late: flip.Draw(t, "late"), Twice: flip.Draw(t, "twice")}
		}
		tape.Entries = append(tape.Entries, e)
	}
	return tape
}

// TestTapeText: decoding what was encoded gives the same tape, and the same text again.
func TestTapeText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tape := drawTape(t)
		text := tape.String()
		got, err := Decode("x", strings.NewReader(text))
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if d := cmp.Diff(tape, got); d != "" {
			t.Fatal(d)
		}
		if got.String() != text {
			t.Fatal("the text changed")
		}
	})
}

// TestAnyTapeRuns: whatever a tape says, the machine breaks no rule in it.
func TestAnyTapeRuns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tape := drawTape(t)
		res, err := Replay(tape, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if res.Violation != nil {
			t.Fatalf("%v\n%s", res.Violation, tape)
		}
	})
}

const goodTape = `mayfly tape 3
seed 3
tenants 2
for 1h0m0s
audit-every 65536
idle-timeout 20s
failed-retry 0s
start-timeout 0s
connect-timeout 30s
call-timeout 1m0s
close-grace 2s
terminate-grace 2s
kill-grace 5s
drain-grace 5s
queue-timeout 0s
max-waiters 4096
max-live 0
max-dialing 0
max-spawning 0
max-queued 0
begin
0s t1 born
1s t1 declare m1 s1
1s t2 born
2s dial s1 connects 100ms tools=1 obeys=close stop=10ms
2s t1 dispatch m1 answered 1s
end
`

func TestGoodTape(t *testing.T) {
	tape, err := Decode("good.tape", strings.NewReader(goodTape))
	if err != nil {
		t.Fatal(err)
	}
	if tape.String() != goodTape {
		t.Errorf("the text changed:\n%s", cmp.Diff(goodTape, tape.String()))
	}
}

const servedTape = `begin
0s t1 born
0s t2 born
1s t1 register k1 secret
1s t1 register r4
1s t1 ready k1
2s t2 resolve k1
2s t2 call k1 as t1 dies-in-plan
3s t2 call k1
3s t1 unregister k1
end
`

// withVersion is the good tape with other entries, under a version.
func withVersion(version, entries string) string {
	head, _, _ := strings.Cut(goodTape, "begin\n")
	return strings.Replace(head, "tape 3", "tape "+version, 1) + entries
}

// A tape says that it needs a program that knows the registry only if it does.
func TestTapeOfARegistry(t *testing.T) {
	tape, err := Decode("served.tape", strings.NewReader(withVersion("4", servedTape)))
	if err != nil {
		t.Fatal(err)
	}
	if got := tape.String(); got != withVersion("4", servedTape) {
		t.Errorf("the text changed:\n%s", cmp.Diff(withVersion("4", servedTape), got))
	}
	tape.Entries = tape.Entries[:2]
	if got := tape.String(); !strings.HasPrefix(got, "mayfly tape 3\n") {
		t.Errorf("a tape that holds nothing new begins with %.14q", got)
	}
	for _, c := range []struct{ version, old, new, want string }{
		{"3", "t2 born", "t2 born", `x.tape:24: register is no operation of "mayfly tape 3"`},
		{"5", "t2 born", "t2 born", `x.tape:1: "mayfly tape 5" is of another version; this program reads "mayfly tape 3" and "mayfly tape 4"`},
		{"4", "register k1", "register k5", `x.tape:24: "k5" is not a key from k1 to k4 or r1 to r4`},
		{"4", "register k1 secret", "register", "x.tape:24: register needs a key"},
		{"4", "k1 secret", "k1 dies-in-plan", `x.tape:24: "dies-in-plan" is no word for register`},
		{"4", "r4", "r4 public", `x.tape:25: "public" is no word for register`},
		{"4", "ready k1", "ready k1 secret", `x.tape:26: "secret" is no word for ready`},
		{"4", "as t1", "as t3", "x.tape:28: tenant t3 does not exist"},
		{"4", "as t1", "as m1", `x.tape:28: "m1" is not a reference`},
		{"4", "dies-in-plan", "dies-in-body twice", `x.tape:28: "twice" is a word too many`},
	} {
		text := withVersion(c.version, strings.Replace(servedTape, c.old, c.new, 1))
		if _, err := Decode("x.tape", strings.NewReader(text)); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s for %s: %v, want %s", c.new, c.old, err, c.want)
		}
	}
}

func TestBadTapes(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"empty", goodTape, "", "x.tape:1: the tape is cut short"},
		{"no tape", "mayfly tape 3", "hello", "x.tape:1: not a tape"},
		{"another version", "mayfly tape 3", "mayfly tape 2", `x.tape:1: "mayfly tape 2" is of another version`},
		{"no end", "answered 1s\nend\n", "answered 1s\n", "x.tape:27: the tape is cut short"},
		{"cut in a line", "answered 1s\nend\n", "answ", "x.tape:26: a dispatch needs"},
		{"text behind the end", "end\n", "end\nmore\n", `x.tape:28: "more" follows`},
		{"unknown setting", "seed 3", "speed 3", `x.tape:2: setting "speed" is unknown`},
		{"setting twice", "seed 3", "seed 3\nseed 3", "x.tape:3: setting seed is there twice"},
		{"setting without a value", "seed 3", "seed", `x.tape:2: "seed" is not a setting`},
		{"unreadable setting", "for 1h0m0s", "for long", `x.tape:4: value "long" of for`},
		{"missing setting", "kill-grace 5s\n", "", "x.tape:20: the header lacks the setting kill-grace"},
		{"absurd size", "tenants 2", "tenants 2000000", "x.tape:3: tenants is 2000000; use 1 to 1000000 (MaxTenants)"},
		{"unknown input", "t2 born", "t2 explode", `x.tape:24: input "explode" is unknown`},
		{"unknown tenant", "t2 born", "t3 born", "x.tape:24: tenant t3 does not exist"},
		{"tenant zero", "t2 born", "t0 born", `x.tape:24: "t0" is not a reference`},
		{"bad name", "declare m1 s1", "declare m5 s1", `x.tape:23: "m5" is out of range`},
		{"foreign credential", "declare m1 s1", "declare m1 s1/t2.0", "x.tape:23: tenant t1 cannot claim s1/t2.0"},
		{"credential of nobody", "dial s1 ", "dial s1/t9.0 ", "x.tape:25: target s1/t9.0 belongs to tenant t9"},
		{"bad target", "declare m1 s1", "declare m1 x1", `x.tape:23: "x1" is not a reference`},
		{"half a target", "declare m1 s1", "declare m1 s1/t1", `x.tape:23: "s1/t1" is not a target`},
		{"backwards", "2s t1 dispatch", "1s t1 dispatch", "x.tape:26: time runs backwards"},
		{"after the end", "2s t1 dispatch", "2h t1 dispatch", "x.tape:26: 2h0m0s is after the end"},
		{"no time", "2s t1 dispatch", "soon t1 dispatch", "x.tape:26: \"soon t1"},
		{"too many words", "t2 born", "t2 born again", `x.tape:24: "again" is a word too many`},
		{"too few words", "declare m1 s1", "declare m1", "x.tape:23: the entry is cut short"},
		{"no name", "declare m1 s1", "declare", "x.tape:23: declare needs a name"},
		{"bad end of a call", "answered 1s", "vanished 1s", `x.tape:26: a call cannot end "vanished"`},
		{"bad duration", "answered 1s", "answered -1s", `x.tape:26: "-1s" is not a duration`},
		{"bad outcome", "connects 100ms", "explodes 100ms", `x.tape:25: a dial cannot go "explodes"`},
		{"bad rung", "obeys=close", "obeys=nobody", `x.tape:25: "obeys=nobody" is not a rung`},
		{"bad tools", "tools=1", "tools=70000", `x.tape:25: "tools=70000" is not a number of tools`},
		{"bad stop", "stop=10ms", "halt=10ms", `x.tape:25: "halt=10ms" is not the time of a stop`},
		{"bad flag", "stop=10ms", "stop=10ms thrice", `x.tape:25: "thrice" is a word too many`},
		{"bad reconfiguration", "1s t2 born", "1s configure idle-timeout=1ms max-live=0", "x.tape:24: \"idle-timeout=1ms\" and \"max-live=0\" are not"},
		{"half a reconfiguration", "1s t2 born", "1s configure idle-timeout=1s", "x.tape:24: the entry is cut short"},
		{"other reconfiguration", "1s t2 born", "1s configure idle-timeout=1s max-lives=1", "x.tape:24: a reconfiguration needs"},
		{"bad restart", "1s t2 born", "1s restart gently 1s", "x.tape:24: a daemon cannot restart by \"gently\""},
		{"endless restart", "1s t2 born", "1s restart kill 2h0m0s", "x.tape:24: 2h0m0s is too long for a restart; use 1h0m0s (MaxOutage) or less"},
		{"half a restart", "1s t2 born", "1s restart kill", "x.tape:24: the entry is cut short"},
		{"long reload", "1s t2 born", "1s reload s1 s2 s3", `x.tape:24: "s3" is a word too many`},
		{"reload of nothing", "1s t2 born", "1s reload s1 m2", `x.tape:24: "m2" is not a reference`},
		{"bad outage", "1s t2 born", "1s down s1 soon", `x.tape:24: "soon" is not a duration`},
		{"bad expiry", "1s t2 born", "1s expire t1", `x.tape:24: "t1" is not a credential`},
		{"expiry of nobody", "1s t2 born", "1s expire t9.0", "x.tape:24: target s0/t9.0 belongs to tenant t9"},
		{"bad wish", "declare m1 s1", "declare m1 s1 idle=soon", `x.tape:23: "soon" is not a duration`},
		{"unknown wish", "declare m1 s1", "declare m1 s1 pinning", `x.tape:23: "pinning" is a word too many`},
		{"bad retools", "stop=10ms", "stop=10ms retools=x", `x.tape:25: "retools=x" is not a number of tools`},
		{"huge line", "t2 born", "t2 " + strings.Repeat("b", maxTapeLine), "x.tape:24: the line is longer than 4096 bytes (maxTapeLine)"},
	} {
		refuses(t, c.name, c.old, c.new, c.want)
	}
}

// refuses holds that the good tape with new in place of old is refused for what it says.
func refuses(t *testing.T, name, old, new, want string) {
	t.Helper()
	text := strings.Replace(goodTape, old, new, 1)
	if text == goodTape {
		t.Fatalf("%s: %q is not in the good tape", name, old)
	}
	_, err := Decode("x.tape", strings.NewReader(text))
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%s:\nwant an error with %s\n got %v", name, want, err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(goodTape)
	f.Add(withVersion("4", servedTape))
	f.Fuzz(func(t *testing.T, text string) {
		tape, err := Decode("x", strings.NewReader(text))
		if err != nil {
			return
		}
		again, err := Decode("x", strings.NewReader(tape.String()))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(tape, again); d != "" {
			t.Fatal(d)
		}
	})
}
