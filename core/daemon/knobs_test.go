package daemon

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jonboulle/clockwork"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/core/wire"
	"github.com/mayfly-mcp/mayfly/core/wire/pb"
	"github.com/mayfly-mcp/mayfly/fakes"
	"github.com/mayfly-mcp/mayfly/fakes/llm"
)

// inHost proves a knob whose effect package core has tests for: the host has the value, and
// not only the settings.
func inHost(value string, get func(lifecycle.Config) any, want any) func(t *testing.T, key string) {
	return func(t *testing.T, key string) {
		section, name, _ := strings.Cut(key, ".")
		r := start(t, setup{settings: fmt.Sprintf("[%s]\n%s = %s\n", section, name, value)})
		if got := get(r.d.host.Settings()); !cmp.Equal(got, want) {
			t.Errorf("%s = %s: the host has %v, want %v", key, value, got, want)
		}
		plain := start(t, setup{settings: "[cache]\n"})
		if got := get(plain.d.host.Settings()); cmp.Equal(got, want) {
			t.Errorf("%s: %v is the default; the row proves nothing", key, got)
		}
	}
}

// rowsOfKnobs says for every key of config.toml what it changes (SPEC CF-9).
func rowsOfKnobs() map[string]func(t *testing.T, key string) {
	return map[string]func(t *testing.T, key string){
		"mcp.idle_timeout":    evictsAfter,
		"mcp.failed_retry":    inHost(`"7s"`, func(l lifecycle.Config) any { return l.FailedRetry }, 7*time.Second),
		"mcp.start_timeout":   inHost(`"7s"`, func(l lifecycle.Config) any { return l.StartTimeout }, 7*time.Second),
		"mcp.connect_timeout": failsAfter(fakes.Initialize, "timed out after 20ms"),
		"mcp.call_timeout":    failsAfter(fakes.Call, "no answer within 20ms"),
		"mcp.list_timeout":    listsWithin,
		"mcp.close_grace":     inHost(`"7s"`, func(l lifecycle.Config) any { return l.CloseGrace }, 7*time.Second),
		"mcp.terminate_grace": inHost(`"7s"`, func(l lifecycle.Config) any { return l.TerminateGrace }, 7*time.Second),
		"mcp.kill_grace":      inHost(`"7s"`, func(l lifecycle.Config) any { return l.KillGrace }, 7*time.Second),
		"mcp.drain_grace":     inHost(`"7s"`, func(l lifecycle.Config) any { return l.DrainGrace }, 7*time.Second),
		"mcp.stop_budget":     inHost(`"20s"`, func(l lifecycle.Config) any { return l.DrainGrace }, 10*time.Second),

		"limits.max_live":        evictsForRoom,
		"limits.max_dialing":     inHost("3", func(l lifecycle.Config) any { return l.MaxDialing }, 3),
		"limits.max_spawning":    inHost("3", func(l lifecycle.Config) any { return l.MaxSpawning }, 3),
		"limits.max_queued":      inHost("3", func(l lifecycle.Config) any { return l.MaxQueued }, 3),
		"limits.queue_timeout":   inHost(`"7s"`, func(l lifecycle.Config) any { return l.QueueTimeout }, 7*time.Second),
		"limits.max_waiters":     inHost("3", func(l lifecycle.Config) any { return l.MaxWaiters }, 3),
		"limits.max_connections": boundsConnections,
		"limits.max_sessions":    boundsSessions,
		"limits.max_agents":      boundsAgents,

		"endpoint.hosts":     knocks(`["gw.example"]`, func(q *http.Request) { q.Host = "GW.example:1" }, 403, 200),
		"endpoint.origins":   knocks(`["https://app.example"]`, func(q *http.Request) { q.Header.Set("Origin", "https://app.example") }, 403, 200),
		"endpoint.max_body":  knocks("20", func(*http.Request) {}, 200, 413),
		"endpoint.max_tools": boundsTools,

		"mcp.disabled":         switchesOff,
		"env_overlay.backfill": backfills,
		"metrics.addr":         servesMetrics,
		"llm.base_url":         asksThere,
		"llm.api_key":          asksThere,
		"llm.kind":             asksAs,
	}
}

func TestEveryKnobChangesSomething(t *testing.T) {
	rows := rowsOfKnobs()
	for _, k := range knobs() {
		row := rows[k.key]
		if row == nil {
			t.Errorf("%s has no row that says what it changes", k.key)
			continue
		}
		t.Run(k.key, func(t *testing.T) { row(t, k.key) })
		delete(rows, k.key)
	}
	for key := range rows {
		t.Errorf("%s is no knob", key)
	}
}

// TestEveryFieldIsAKnob finds keys that the parser knows and the list of knobs does not.
func TestEveryFieldIsAKnob(t *testing.T) {
	home := newHome(t)
	var text strings.Builder
	section := ""
	list := knobs()
	slices.SortStableFunc(list, func(a, b knob) int { return strings.Compare(a.key, b.key) })
	for _, k := range list {
		table, name, _ := strings.Cut(k.key, ".")
		if table != section {
			fmt.Fprintf(&text, "[%s]\n", table)
			section = table
		}
		v := k.value(defaultSettings(""))
		if _, err := time.ParseDuration(v); err == nil && v != "0" && strings.ContainsAny(v, "hms") || v == "" {
			v = fmt.Sprintf("%q", v)
		}
		fmt.Fprintf(&text, "%s = %s\n", name, v)
	}
	put(t, layout(home).settings, text.String())
	s, err := loadSettings(layout(home).settings)
	if err != nil || len(s.unknown) > 0 {
		t.Fatalf("%v %q\n%s", err, s.unknown, &text)
	}
	for i, k := range s.effective() {
		if !strings.HasPrefix(k.Origin, layout(home).settings+":") || knobs()[i].key != k.Key {
			t.Errorf("%+v, want a line of the file", k)
		}
	}
	for _, k := range defaultSettings("").effective() {
		if k.Origin != "default" {
			t.Errorf("%+v", k)
		}
	}
}

func evictsAfter(t *testing.T, _ string) {
	clock := clockwork.NewFakeClock()
	r := start(t, setup{settings: "[mcp]\nidle_timeout = 8\n", cfg: func(c *Config) { c.Clock = clock }})
	id := r.agent("a", `{}`)
	if row, err := r.c.UpsertMcp(r.ctx, id, r.server("m", "S")); err != nil || row.Status != pb.McpStatus_MCP_STATUS_CONNECTED {
		t.Fatal(row, err)
	}
	r.eventually("it is evicted", func() bool {
		clock.Advance(2 * time.Second)
		return r.mcp(id, "m").Status == pb.McpStatus_MCP_STATUS_DISCONNECTED
	})
	if n := clock.Since(r.d.began); n < 8*time.Second || n > 30*time.Second {
		t.Errorf("evicted after %v", n)
	}
}

func failsAfter(at fakes.Point, text string) func(*testing.T, string) {
	return func(t *testing.T, key string) {
		_, name, _ := strings.Cut(key, ".")
		r := start(t, setup{settings: "[mcp]\n" + name + " = \"20ms\"\n"})
		id := r.agent("a", `{"mcps":[`+r.server("m", "S")+`]}`)
		r.dialer.Server("S").Hold(at)
		r.ephemeral(id, llm.Plan(llm.Round{llm.Call("echo", nil)}))
		if got := r.mcp(id, "m").Error; !strings.Contains(got, text) {
			t.Errorf("failed with %q, want %q", got, text)
		}
		r.dialer.Server("S").Release(at)
	}
}

// listsWithin: a listing answers with what is known and names the others, which come up in
// their own time (SPEC DI-15).
func listsWithin(t *testing.T, _ string) {
	r := start(t, setup{settings: "[mcp]\nlist_timeout = \"100ms\"\n"})
	r.dialer.Server("slow").Hold(fakes.Initialize)
	r.dialer.Server("dead").Set(fakes.Behaviour{Initialize: fakes.Fault{Do: fakes.Fail}})
	id := r.agent("a", `{"mcps":[{"name":"slow","command":"slow"},`+r.server("m", "S")+`,{"name":"dead","command":"dead"}]}`)
	if _, err := r.c.ReconnectMcp(r.ctx, id, "m"); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(r.ephemeral(id, llm.Plan(llm.Round{llm.Call("", nil)})), "\n")
	for _, want := range []string{"false echo: fake tool echo", "(mcp 'slow' is still connecting after 100ms", "(mcp 'dead' is not available: mcp peer is failed"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nlacks %q", got, want)
		}
	}
	if row := r.mcp(id, "slow"); row.Status != pb.McpStatus_MCP_STATUS_CONNECTING {
		t.Errorf("the attempt was given up: %v", row)
	}
	r.dialer.Server("slow").Release(fakes.Initialize)
	r.eventually("it comes up in its own time", func() bool { return r.mcp(id, "slow").Status == pb.McpStatus_MCP_STATUS_CONNECTED })
}

func evictsForRoom(t *testing.T, _ string) {
	r := start(t, setup{settings: "[limits]\nmax_live = 1\n"})
	id := r.agent("a", `{}`)
	for _, name := range []string{"m1", "m2"} {
		if row, err := r.c.UpsertMcp(r.ctx, id, r.server(name, name)); err != nil || row.Status != pb.McpStatus_MCP_STATUS_CONNECTED {
			t.Fatal(row, err)
		}
	}
	if row := r.mcp(id, "m1"); row.Status != pb.McpStatus_MCP_STATUS_DISCONNECTED {
		t.Errorf("%v", row)
	}
}

func boundsConnections(t *testing.T, _ string) {
	r := start(t, setup{settings: "[limits]\nmax_connections = 2\n"})
	var held []*wire.Conn
	for range 2 {
		c, err := wire.Dial(r.ctx, "unix", r.d.Socket())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.Do(r.ctx, wire.Request(&pb.Ping{})); err != nil {
			t.Fatal(err)
		}
		held = append(held, c)
	}
	refused(t, "a third connection", r.c.Ping(r.ctx), 503, "too many connections; close some")
	_ = held[0].Close()
	r.eventually("there is room again", func() bool { return r.c.Ping(r.ctx) == nil })
}

func boundsSessions(t *testing.T, _ string) {
	r := start(t, setup{settings: "[limits]\nmax_sessions = 1\n"})
	id := r.agent("a", `{}`)
	session := func(handle string) error {
		_, err := r.ask(&pb.CreateSessionMsg{Agent: id, SessionHandle: handle})
		return err
	}
	if err := session("one"); err != nil {
		t.Fatal(err)
	}
	refused(t, "a second session", session("two"), 503, "this daemon keeps 1 sessions at most")
	if _, err := r.ask(&pb.KillMsg{SessionHandle: "one"}); err != nil {
		t.Fatal(err)
	}
	if err := session("two"); err != nil {
		t.Error(err)
	}
}

func boundsAgents(t *testing.T, _ string) {
	r := start(t, setup{settings: "[limits]\nmax_agents = 1\n"})
	id := r.agent("a", `{}`)
	_, err := r.c.CreateAgent(r.ctx, "b", `{}`)
	refused(t, "a second agent", err, 503, "this daemon keeps 1 agents at most")
	if err := r.c.DeleteAgent(r.ctx, id); err != nil {
		t.Fatal(err)
	}
	r.agent("b", `{}`)
}

func backfills(t *testing.T, _ string) {
	peers := map[string]bool{}
	for _, backfill := range []bool{false, true} {
		home := newHome(t)
		put(t, layout(home).key, strings.Repeat("k", keySize))
		r := start(t, setup{home: home, settings: fmt.Sprintf("[env]\nA = \"canary\"\n[env_overlay]\nbackfill = %t\n", backfill)})
		peers[r.mcp(r.agent("a", `{"mcps":[{"name":"m","command":"S"}]}`), "m").Peer] = true
		if warned := strings.Contains(r.log.String(), "env_overlay.backfill is on"); warned != backfill || strings.Contains(r.log.String(), "canary") {
			t.Errorf("backfill %t: %s", backfill, r.log)
		}
	}
	if len(peers) != 2 {
		t.Errorf("the effective configuration is the same: %v", peers)
	}
}

func servesMetrics(t *testing.T, _ string) {
	r := start(t, setup{settings: "[metrics]\naddr = \"127.0.0.1:0\"\n"})
	conn, err := net.Dial("tcp", r.d.MetricsAddr())
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	if plain := start(t, setup{}); plain.d.MetricsAddr() != "" {
		t.Errorf("metrics are served although nobody asked: %s", plain.d.MetricsAddr())
	}
}

func asksThere(t *testing.T, _ string) {
	r := start(t, setup{}) // whose model has an address and a key of its own
	if got := r.ephemeral(r.agent("a", `{}`), "hello"); got[len(got)-1] != "end " {
		t.Errorf("%q", got)
	}
	wrong := start(t, setup{})
	put(t, filepath.Join(wrong.home, "config.toml"), "[llm]\nbase_url = \""+r.model.URL+"\"\napi_key = \"another\"\n")
	if _, err := wrong.d.Reload(); err != nil {
		t.Fatal(err)
	}
	if got := wrong.ephemeral(wrong.agent("a", `{}`), "hello"); !strings.Contains(got[len(got)-1], "HTTP 401") {
		t.Errorf("a wrong key: %q", got)
	}
}

func asksAs(t *testing.T, _ string) {
	for kind, direct := range map[string]bool{"": false, "anthropic": true} {
		s := defaultSettings("")
		s.LLM.Kind = kind
		if got := newModelClient(s, clockwork.NewRealClock()).direct; got != direct {
			t.Errorf("kind %q: %t", kind, got)
		}
	}
}

func TestEffectiveSettings(t *testing.T) {
	home := newHome(t)
	path := layout(home).settings
	put(t, path, "[llm]\napi_key = \"canary\"\n\n[mcp]\nidle_timeout = 60\nstop_budget = \"12s\"\n[env]\nTOKEN = \"canary\"\n")
	got, err := Effective(Config{Home: home, TCPAddr: "127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]string{}
	for _, s := range got {
		lines[s.Key] = s.Value + " | " + s.Origin
	}
	for key, want := range map[string]string{
		"tcp": "127.0.0.1:1 | flag", "llm.api_key": "*** | " + path + ":2", "mcp.idle_timeout": "60 | " + path + ":5",
		"mcp.drain_grace": "2s | what mcp.stop_budget leaves", "mcp.call_timeout": "30s | default",
		"env.TOKEN": "*** | " + path + ":8", "limits.max_agents": "100000 | default",
	} {
		if lines[key] != want {
			t.Errorf("%s: %q, want %q", key, lines[key], want)
		}
	}
	if text := fmt.Sprint(got); strings.Contains(text, "canary") {
		t.Error("a secret is shown")
	}
	if _, err := os.Stat(layout(home).store); err == nil {
		t.Error("it opened the store")
	}
}
