package daemon

import (
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mayfly-mcp/mayfly/core/wire/pb"
	"github.com/mayfly-mcp/mayfly/fakes"
	"github.com/mayfly-mcp/mayfly/fakes/llm"
)

// TestSecretsStayWhereTheyBelong gives credentials to everything that takes one, provokes
// every kind of failure, and looks for them in logs, errors, listings and events.
func TestSecretsStayWhereTheyBelong(t *testing.T) {
	r := start(t, setup{})
	sub, err := r.c.SubscribeMcpEvents(r.ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	mcps := `{"name":"m","command":"S","env":{"TOKEN":"env-canary"}},
		{"name":"h","url":"http://nowhere.invalid/","auth":"Bearer auth-canary","env":{"OTHER":"env2-canary"}}`
	r.dialer.Server("S").Set(fakes.Behaviour{Tools: fakes.Tools("echo", "crash")})
	id := r.agent("a", `{"mcps":[`+mcps+`]}`)
	var seen []string
	note := func(v any, err error) { seen = append(seen, fmt.Sprint(v, err)) }

	row, err := r.c.ReconnectMcp(r.ctx, id, "m")
	note(row, err)
	row, err = r.c.ReconnectMcp(r.ctx, id, "h")
	note(row, err)
	rows, err := r.c.ListMcps(r.ctx, "")
	note(rows, err)
	agents, err := r.c.ListAgents(r.ctx)
	note(agents, err)
	note(r.ephemeral(id, llm.Plan(llm.Round{llm.Call("", nil), llm.Call("crash", nil)}, llm.Round{llm.Call("crash", nil), llm.Call("nope", nil)})), nil)
	for _, config := range []string{
		`{"mcps":[{"name":"m","env":{"TOKEN":"env-canary"},"auth":7}]}`,
		`{"mcps":[{"name":"m","env":{"TOKEN":"env-canary"}},{"name":"m"}]}`,
		`{"mcps":[{"name":"m","env":{"TOKEN":"env-canary`,
		`{"mcps":[{"name":"m","env":"env-canary"}]}`,
	} {
		info, err := r.c.UpdateAgent(r.ctx, id, config)
		note(info, err)
	}
	for _, config := range []string{`{"name":"m","env":["env-canary"]}`, `{"name":"m","auth":"auth-canary"`, `{"auth":"auth-canary"}`,
		`{"name":"u","url":"http://user:user-canary@nowhere.invalid/"}`, `{"name":"u","url":"http://nowhere.invalid:port-canary/"}`,
		`{"name":"u","url":"user:user-canary@nowhere.invalid"}`} {
		info, err := r.c.UpsertMcp(r.ctx, id, config)
		note(info, err)
	}
	r.model.FailNext(llm.Fault{Status: 400})
	note(r.ephemeral(id, "x"), nil)
	for _, name := range []string{"m", "h"} {
		if err := r.c.DeleteMcp(r.ctx, id, name); err != nil {
			t.Fatal(err)
		}
	}
	for { // up to the last event of all
		e, err := sub.Recv()
		if err != nil {
			t.Fatal(err)
		}
		note(e, nil)
		if e.Name == "h" && e.Kind == pb.McpEventKind_MCP_EVENT_KIND_DISCONNECTED {
			break
		}
	}
	r.stop()
	seen = append(seen, r.log.String())
	for _, text := range seen {
		if i := strings.Index(text, "canary"); i >= 0 {
			t.Errorf("a secret is shown: …%s…", text[max(0, i-200):i])
		}
	}
}

// TestAWholeLifeShowsNoSecret runs real servers, which print their environment on stderr and
// die, against every output that there is: answers, events, log, metrics, settings, and the
// files of the home but the two that hold secrets (SPEC ID-5, SE-3).
func TestAWholeLifeShowsNoSecret(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		http.Error(w, "no entry for "+q.Header.Get("Authorization")+" at "+q.URL.String(), http.StatusUnauthorized)
	}))
	defer refuses.Close()
	r := start(t, setup{cfg: func(c *Config) { c.Dialer = nil },
		settings: "[env]\nOVERLAY = \"overlay-canary\"\n[metrics]\naddr = \"127.0.0.1:0\"\n"})
	sub, err := r.c.SubscribeMcpEvents(r.ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	var seen []string
	note := func(v any, err error) { seen = append(seen, fmt.Sprint(v, err)) }
	id := r.agent("a", "{}")
	shell := func(name, script string) string {
		return fmt.Sprintf(`{"name":%q,"command":"/bin/sh","args":["-c",%s],"inherit_env":["OVERLAY","NONE"],"env":{"TOKEN":"env-canary"}}`, name, encodeString(script))
	}
	for _, config := range []string{
		shell("dies", `echo "no $TOKEN and no $OVERLAY" >&2; exit 7`),
		shell("serves", `echo "has $TOKEN and $OVERLAY" >&2; exec "`+self+`" peer`),
		`{"name":"missing","command":"mayfly-no-such-command","env":{"TOKEN":"env-canary"}}`,
		`{"name":"http","url":"` + refuses.URL + `/?token=query-canary","auth":"Bearer auth-canary"}`,
		`{"name":"closed","url":"http://127.0.0.1:1/?key=query-canary&bare-canary#frag-canary","auth":"auth-canary"}`,
		`{"name":"serves","share":"env-canary-no"`,
	} {
		row, err := r.c.UpsertMcp(r.ctx, id, config)
		note(row, err)
	}
	note(r.ephemeral(id, llm.Plan(llm.Round{llm.Call("", nil), llm.Call("fail", nil)}, llm.Round{llm.Call("crash", nil)})), nil)
	r.reconfigure("[env]\nOVERLAY = \"overlay-canary-2\"\n[env_overlay]\nbackfill = true\n")
	done, err := r.d.Reload()
	note(done, err)
	r.reconfigure("[env]\nOVERLAY = overlay-canary\n")
	done, err = r.d.Reload()
	note(done, err)
	r.reconfigure("[env]\nOVERLAY = \"overlay-canary\"\n")
	effective, err := Effective(r.d.cfg)
	note(effective, err)
	rows, err := r.c.ListMcps(r.ctx, "")
	note(rows, err)
	agents, err := r.c.ListAgents(r.ctx)
	note(agents, err)
	_, exposed := r.get("/metrics")
	note(exposed, nil)
	note(nil, r.c.DeleteAgent(r.ctx, id))
	r.stop()
	for {
		e, err := sub.Recv()
		if err != nil {
			break
		}
		note(e, nil)
	}
	seen = append(append(seen, r.log.String()), homeTexts(t, r.d.home)...)
	for _, text := range seen {
		if i := strings.Index(text, "canary"); i >= 0 {
			t.Errorf("a secret is shown: …%s…", text[max(0, i-200):i])
		}
	}
	if !strings.Contains(strings.Join(seen, ""), "no [masked] and no [masked]") {
		t.Errorf("the dying server's last words are nowhere; the test proves little: %s", seen[0])
	}
}

// homeTexts reads the files of a home, but for those whose purpose is to hold secrets: they
// must be for the owner alone.
func homeTexts(t *testing.T, h home) (texts []string) {
	t.Helper()
	err := filepath.WalkDir(h.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm() != 0o600 {
			t.Errorf("%s has the mode %v", path, info.Mode())
		}
		if path != h.store && path != h.backup() && path != h.settings {
			texts = append(texts, read(t, path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

func TestTheWholeConfigIsForItsEditor(t *testing.T) {
	r := start(t, setup{})
	id := r.agent("a", `{"mcps":[{"name":"m","command":"c","env":{"TOKEN":"env-canary"},"auth":"auth-canary","url":null}]}`)
	got, err := r.c.GetAgent(r.ctx, "a")
	if err != nil || !strings.Contains(got.Config, "env-canary") || !strings.Contains(got.Config, "auth-canary") {
		t.Errorf("GetAgent: %v %v", got, err)
	}
	list, err := r.c.ListAgents(r.ctx)
	if err != nil || strings.Contains(list[0].Config, "canary") || !strings.Contains(list[0].Config, `"env":{"TOKEN":"***"}`) {
		t.Errorf("ListAgents: %v %v", list, err)
	}
	// What a listing showed may be written back and loses nothing.
	if _, err := r.c.UpdateAgent(r.ctx, id, list[0].Config); err != nil {
		t.Fatal(err)
	}
	back, err := r.c.GetAgent(r.ctx, "a")
	if err != nil || back.Config != got.Config {
		t.Errorf("after a round trip: %v %v", back, err)
	}
}

func TestURLsAreMaskedInListings(t *testing.T) {
	for raw, want := range map[string]string{
		"":                              "",
		"https://h/a%2Fb":               "https://h/a%2Fb",
		"https://h/a?token=secret":      "https://h/a?token=***",
		"https://h/?a=secret&b=&secret": "https://h/?a=***&b=&***",
		"https://h/#secret":             "https://h/#***",
		"https://user:secret@h/a?b=c":   "https://***@h/a?b=***",
		"user:secret@h":                 "user:***",
		"http://h:secret/":              "***",
		"/u:secret@h/":                  "***", // a slash more or less than a URL has
		"https:/u:secret@h/":            "***",
		"https:///u:secret@h/":          "***",
	} {
		if got := maskURL(raw); got != want {
			t.Errorf("%q is shown as %q, want %q", raw, got, want)
		}
	}
}

// TestAMaskedURLKeepsItsToken writes a listing's url back. Its mask keeps the token for the
// address that it was given for, and for no other.
func TestAMaskedURLKeepsItsToken(t *testing.T) {
	r := start(t, setup{})
	stored := "http://nowhere.invalid/a?token=query-canary"
	id := r.agent("a", `{"mcps":[{"name":"h","url":"`+stored+`"}]}`)
	row, err := r.c.UpsertMcp(r.ctx, id, `{"name":"h","url":"`+r.mcp(id, "h").Url+`"}`)
	if err != nil || row.Url != "http://nowhere.invalid/a?token=***" {
		t.Errorf("%v %v", row, err)
	}
	if got := r.d.agents.named("a").mcp("h").config.URL; got != stored {
		t.Errorf("after a round trip the url is %q", got)
	}
	_, err = r.c.UpsertMcp(r.ctx, id, `{"name":"h","url":"http://elsewhere.invalid/a?token=***"}`)
	refused(t, "a mask at another address", err, 500, `key url holds the mask "***"`)
	for _, part := range []string{"?token=***&more=new", "?token=%2A%2A%2A&more=new", "?***&more=new", "?more=new#***"} {
		_, err = r.c.UpsertMcp(r.ctx, id, `{"name":"h","url":"http://nowhere.invalid/a`+part+`"}`)
		refused(t, "a mask beside something new", err, 500, `key url holds the mask "***"`)
	}
	_, err = r.c.UpsertMcp(r.ctx, id, `{"name":"h","url":"http://me:pw@nowhere.invalid/"}`)
	refused(t, "an upsert with a password", err, 500, "key url holds a user or a password; put them into auth")
	_, err = r.c.UpsertMcp(r.ctx, id, `{"name":"h","url":"http:/me:pw@nowhere.invalid/"}`)
	refused(t, "an upsert with a password and a slash too few", err, 500, "key url holds a user or a password; put them into auth")
	_, err = r.c.UpdateAgent(r.ctx, id, `{"mcps":[{"name":"h","url":"http://me@nowhere.invalid/"}]}`)
	refused(t, "an update with a user", err, 500, "mcp 'h': key url holds a user or a password")
	_, err = r.c.CreateAgent(r.ctx, "b", `{"mcps":[{"name":"h","url":"http://me@nowhere.invalid/"}]}`)
	refused(t, "an agent with a user", err, 500, "mcp 'h': key url holds a user or a password")
	if got := r.d.agents.named("a").mcp("h").config.URL; got != stored || r.d.agents.count() != 1 {
		t.Errorf("a refused edit changed something: %q", got)
	}
}

// TestABrokenConfigurationShowsNoSecret: whoever forgets the quotes is told where, and not what.
// The reason of a failed reload is in the log (SPEC ID-5).
func TestABrokenConfigurationShowsNoSecret(t *testing.T) {
	path := filepath.Join(newHome(t), "config.toml")
	for _, text := range []string{
		"[llm]\napi_key = canary7\n", "[llm]\napi_key = 7777777777777777777777\n", "[env]\nTOKEN = canary7\n", "[env]\nTOKEN = 0xcanary7\n",
		"[env]\nTOKEN = 2026-canary7\n", "[env]\nTOKEN = [canary7]\n", "[env]\nTOKEN = \"canary7\n", "env = { TOKEN = canary7 }\n",
		"[env]\nTOKEN = -canary7\n", "[env]\nTOKEN = 1.canary7\n", "[env]\nTOKEN = \"x\" canary7\n", "[env]\nTOKEN = 77777777777777777777777.5e7777777\n",
	} {
		put(t, path, text)
		if _, err := loadSettings(path); err == nil || strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), "7777") {
			t.Errorf("%q: %v", text, err)
		} else if !strings.Contains(err.Error(), path+":") {
			t.Errorf("%q: the error does not say where: %v", text, err)
		}
	}
}
