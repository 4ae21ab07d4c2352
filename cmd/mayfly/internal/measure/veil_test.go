package measure

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/mayfly-mcp/mayfly/sim/idle/profile"
)

// TestVeil: what looks like a secret is hidden, and ordinary words are not.
func TestVeil(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ args, want []string }{
		{[]string{"-y", "@modelcontextprotocol/server-everything"}, []string{"-y", "@modelcontextprotocol/server-everything"}},
		{[]string{"-y", "@modelcontextprotocol/server-sequential-thinking@2026.8.31"}, []string{"-y", "@modelcontextprotocol/server-sequential-thinking@2026.8.31"}},
		{[]string{"--port", "8080", "/srv/data/notes-2024"}, []string{"--port", "8080", "/srv/data/notes-2024"}},
		{[]string{"--api-key", "hunter2"}, []string{"--api-key", "[masked]"}},
		{[]string{"--api-key=hunter2", "x"}, []string{"--api-key=[masked]", "x"}},
		{[]string{"--apiKey=hunter2"}, []string{"--apiKey=[masked]"}},
		{[]string{"--password", "--verbose"}, []string{"--password", "--verbose"}},
		{[]string{"-e", "FOO=bar1", "-e", "lower=bar2"}, []string{"-e", "FOO=[masked]", "-e", "lower=[masked]"}},
		{[]string{"-H", "X-Team: blue"}, []string{"-H", "X-Team: [masked]"}},
		{[]string{"--header", "Authorization: Bearer abcdef"}, []string{"--header", "Authorization: [masked]"}},
		{[]string{"Authorization: Bearer abcdef"}, []string{"Authorization: Bearer [masked]"}},
		{[]string{"-c", "TOKEN=abc run --secret 'a b' && X=1 y"}, []string{"-c", "TOKEN=[masked] run --secret [masked] && X=[masked] y"}},
		{[]string{"postgres://joe:sesame@db:5432/x?sslmode=off"}, []string{"postgres://[masked]@db:5432/x?sslmode=[masked]"}},
		{[]string{"--url=https://h/p?key=1234&plain#frag"}, []string{"--url=https://h/p?key=[masked]&[masked]#[masked]"}},
		{[]string{"https://h/s/0a1b2c3d4e5f6a7b8c9d0e1f/mcp"}, []string{"https://h/s/[masked]/mcp"}},
		{[]string{"ghp_abcdefghijkl"}, []string{"[masked]"}},
		{[]string{"sk-abc-123-xyz"}, []string{"[masked]"}},
		{[]string{"a3f5a3f5a3f5a3f5a3f5a3f5"}, []string{"[masked]"}},
		{[]string{`{"token":"abc","n":1}`}, []string{`{"token":[masked],"n":1}`}},
	} {
		v := newVeil(transport.Config{Command: "x", Args: tt.args})
		if d := cmp.Diff(tt.want, v.args); d != "" {
			t.Errorf("%q:\n%s", tt.args, d)
		}
	}
}

// TestVeilOfTexts: what was hidden in the command line is hidden in what a server says, too.
func TestVeilOfTexts(t *testing.T) {
	t.Parallel()
	v := newVeil(transport.Config{
		Command: "x", Env: map[string]string{"A": "envsecret", "B": "on"},
		Args: []string{"--token", "argsecret", "http://joe:urlsecret@h/?q=query%20secret"},
	})
	got := v.text("on argsecret,\n\tenvsecret; urlsecret query secret query%20secret\xff")
	want := "on [masked], [masked]; [masked] [masked] [masked]\uFFFD"
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := v.text("\x1b[2J\a\u009b31m\u202e \u00e9 ok"); got != "\uFFFD[2J\uFFFD\uFFFD31m\uFFFD \u00e9 ok" {
		t.Errorf("%q may do something to a terminal", got)
	}
	own := v.text("bad key sk-live-abcdef123456 (Authorization: Bearer abc.def) of https://me:pass@h/x?k=v, auth: no such file")
	if want := "bad key [masked] (Authorization: Bearer [masked] of https://[masked]@h/x?k=[masked] auth: no such file"; own != want {
		t.Errorf("a server's own keys: %q, want %q", own, want)
	}
	if long := v.text(strings.Repeat("é", 10_000)); len(long) > maxReason+10 || !strings.HasSuffix(long, "é […]") {
		t.Errorf("%d bytes, which end in %q", len(long), long[len(long)-10:])
	}
}

// TestClassOf: servers are named by what tells them apart.
func TestClassOf(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]profile.Server{
		"server-everything": {Command: []string{"npx", "-y", "@modelcontextprotocol/server-everything@1.2"}},
		"git":               {Command: []string{"docker", "run", "-i", "--rm", "mcp/git"}},
		"gopls":             {Command: []string{"/usr/local/bin/gopls", "mcp"}},
		"index.js":          {Command: []string{"node", "dist/index.js"}},
		"npx":               {Command: []string{"npx", "[masked]"}},
		"example.org":       {URL: "https://example.org:8443/mcp?x=[masked]"},
		"server":            {Command: []string{"…"}},
		"my-server":         {Command: []string{"./my server"}},
	} {
		if got := ClassOf(s); got != want {
			t.Errorf("%+v is %q, want %q", s, got, want)
		}
	}
}
