package daemon

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/mayfly-mcp/mayfly/core"
	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/core/wire/pb"
	"github.com/mayfly-mcp/mayfly/fakes"
)

func TestTermsOfADeclaration(t *testing.T) {
	for config, want := range map[string]core.Terms{
		`{"name":"m"}`: {},
		`{"name":"m","idle_timeout":90,"min_uptime":"1m","start_timeout":"2m30s","connect_timeout":"5s","call_timeout":7,"close_grace":"8s","terminate_grace":9,"pinned":true,"share":"owner"}`: {
			Policy: lifecycle.Policy{IdleTimeout: 90 * time.Second, MinUptime: time.Minute, StartTimeout: 150 * time.Second,
				ConnectTimeout: 5 * time.Second, CallTimeout: 7 * time.Second, CloseGrace: 8 * time.Second, TerminateGrace: 9 * time.Second, Pinned: true},
			Share: core.ShareOwner},
		`{"name":"m","share":"fingerprint","min_uptime":0,"idle_timeout":null}`: {},
		`{"name":"m","share":"never"}`:                                          {Share: core.ShareNever},
	} {
		_, spec, err := parseMcp(config)
		if err != nil {
			t.Errorf("%s: %v", config, err)
		}
		if diff := cmp.Diff(want, spec.terms); diff != "" {
			t.Errorf("%s: %s", config, diff)
		}
	}
	for config, want := range map[string]string{
		`{"name":"m","idle_timeout":0}`:                    "key idle_timeout must be more than 0",
		`{"name":"m","call_timeout":"-3s"}`:                "key call_timeout must be more than 0",
		`{"name":"m","connect_timeout":"soon"}`:            "key connect_timeout must be a duration such as",
		`{"name":"m","start_timeout":1.5}`:                 "key start_timeout must be a duration",
		`{"name":"m","min_uptime":true}`:                   "key min_uptime must be a duration such as \"1m30s\", or whole seconds, not a boolean",
		`{"name":"m","idle_timeout":9999999999}`:           "key idle_timeout must be more than 0 and at most",
		`{"name":"m","idle_timeout":99999999999999999999}`: "key idle_timeout must be a duration",
		`{"name":"m","pinned":"yes"}`:                      "key pinned must be true or false",
		`{"name":"m","share":"friends"}`:                   `key share must be one of "fingerprint", "owner", "never"`,
		`{"name":"m","inherit_env":"A"}`:                   "key inherit_env must be a list",
		`{"name":"m","inherit_env":["A",1]}`:               "key inherit_env[1] must be a string",
	} {
		if _, _, err := parseMcp(config); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", config, err, want)
		}
	}
}

// TestWhatMakesADeclarationAnother: an answer about one must not be shown for the other.
func TestWhatMakesADeclarationAnother(t *testing.T) {
	base := `{"name":"m","command":"c"`
	_, plain, err := parseMcp(base + "}")
	if err != nil {
		t.Fatal(err)
	}
	for _, more := range []string{``, `,"args":["a"]`, `,"env":{"A":"b"}`, `,"url":"u"`, `,"auth":"a"`, `,"auto_restart":false`,
		`,"inherit_env":["A"]`, `,"share":"owner"`, `,"idle_timeout":1`, `,"pinned":true`} {
		_, other, err := parseMcp(base + more + "}")
		if err != nil {
			t.Fatal(err)
		}
		if sameMcp(&plain, &other) != (more == "") {
			t.Errorf("%q makes no difference, or nothing does", more)
		}
	}
}

func TestWhatAServerInherits(t *testing.T) {
	over := overlay{env: map[string]string{"A": "a", "B": "b"}}
	fill := overlay{env: over.env, backfill: true}
	for _, c := range []struct {
		config string
		over   overlay
		want   map[string]string
	}{
		{`{"name":"m","env":{"X":"x"}}`, over, map[string]string{"X": "x"}},
		{`{"name":"m","inherit_env":["A","NONE"]}`, over, map[string]string{"A": "a"}},
		{`{"name":"m","inherit_env":["A"],"env":{"A":"own"}}`, over, map[string]string{"A": "own"}},
		{`{"name":"m","env":{"B":"own"}}`, fill, map[string]string{"A": "a", "B": "own"}},
		{`{"name":"m","inherit_env":["A"]}`, overlay{}, nil},
	} {
		_, spec, err := parseMcp(c.config)
		if err != nil {
			t.Fatal(err)
		}
		own := len(spec.config.Env)
		if diff := cmp.Diff(c.want, spec.effective(c.over).Env); diff != "" || len(spec.config.Env) != own {
			t.Errorf("%s: %s (own env now %v)", c.config, diff, spec.config.Env)
		}
	}
}

// TestListingsShowWhatRules: the policy in force, how a peer is shared, who it is.
func TestListingsShowWhatRules(t *testing.T) {
	r := start(t, setup{settings: "[env]\nTOKEN = \"overlay-canary\"\n[mcp]\nstart_timeout = \"9s\"\n"})
	r.dialer.Server("S")
	a := r.agent("a", `{"mcps":[{"name":"m","command":"S","idle_timeout":60,"close_grace":11,"call_timeout":"90s","pinned":true},
		{"name":"own","command":"S","share":"owner"},{"name":"alone","command":"S","share":"never"},
		{"name":"asks","command":"S","inherit_env":["TOKEN"]},{"name":"plain","command":"S"}]}`)
	b := r.agent("b", `{"mcps":[{"name":"m","command":"S","idle_timeout":30},{"name":"own","command":"S","share":"owner"}]}`)
	want := &pb.McpPolicy{IdleTimeoutMs: 1800_000, StartTimeoutMs: 9000, ConnectTimeoutMs: 30_000, CallTimeoutMs: 90_000, CloseGraceMs: 11_000, TerminateGraceMs: 2000, Pinned: true}
	row := r.mcp(a, "m")
	// The longest wish of all claims rules: "plain" has none and means the daemon's half hour.
	if diff := cmp.Diff(want, row.Policy, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	if row.Share != "fingerprint" || row.Peer != r.mcp(b, "m").Peer || row.Peer != r.mcp(a, "plain").Peer || row.Since == "" || row.Generation != 0 {
		t.Errorf("%v", row)
	}
	ids := map[string]bool{}
	for _, other := range []*pb.McpInfo{row, r.mcp(a, "own"), r.mcp(a, "alone"), r.mcp(a, "asks"), r.mcp(b, "own")} {
		ids[other.Peer] = true
	}
	if len(ids) != 5 {
		t.Errorf("%d peers, want 5: %v", len(ids), ids)
	}
	asks := r.mcp(a, "asks")
	if diff := cmp.Diff([]string{"TOKEN"}, asks.InheritEnv); diff != "" || strings.Contains(asks.String(), "canary") {
		t.Errorf("%s: %v", diff, asks)
	}
	if got, err := r.c.GetAgent(r.ctx, "a"); err != nil || !strings.Contains(got.Config, `"idle_timeout":60`) || !strings.Contains(got.Config, `"inherit_env":["TOKEN"]`) {
		t.Errorf("%v %v", got, err)
	}
	if up, err := r.c.ReconnectMcp(r.ctx, a, "own"); err != nil || up.Generation != 1 || up.Share != "owner" {
		t.Errorf("%v %v", up, err)
	}
}

// TestAnUpsertTriesAgainWhatHadFailed, once for each request of a human and not twice
// (SPEC CF-1).
func TestAnUpsertTriesAgainWhatHadFailed(t *testing.T) {
	r := start(t, setup{})
	srv := r.dialer.Server("S")
	srv.Set(fakes.Behaviour{Initialize: fakes.Fault{Do: fakes.Fail}})
	id := r.agent("a", `{}`)
	for n := 1; n <= 3; n++ {
		row, err := r.c.UpsertMcp(r.ctx, id, `{"name":"m","command":"S"}`)
		if err != nil || row.Status != pb.McpStatus_MCP_STATUS_FAILED || row.RetryAt <= row.Since {
			t.Fatalf("%v %v", row, err)
		}
		if got := srv.Counts().Spawns; got != n {
			t.Errorf("%d spawns after %d upserts", got, n)
		}
	}
	srv.Set(fakes.Behaviour{})
	row, err := r.c.UpsertMcp(r.ctx, id, `{"name":"m","command":"S"}`)
	if err != nil || row.Status != pb.McpStatus_MCP_STATUS_CONNECTED {
		t.Fatalf("%v %v", row, err)
	}
	if row, err = r.c.UpsertMcp(r.ctx, id, `{"name":"m","command":"S"}`); err != nil || row.Generation != 4 || srv.Counts().Spawns != 4 {
		t.Errorf("an upsert that changes nothing: %v %v, %d spawns", row, err, srv.Counts().Spawns)
	}
}

func TestNotes(t *testing.T) {
	for want, s := range map[string]core.Status{
		"": {}, "queued": {Queued: true}, "stopping": {Stopping: true, Queued: true}, "stuck": {Stuck: true, Stopping: true},
	} {
		if got := noteOf(s); got != want {
			t.Errorf("%+v: %q, want %q", s, got, want)
		}
	}
}
