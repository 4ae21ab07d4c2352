package daemon

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/mayfly-mcp/mayfly/core/wire/pb"
	"github.com/mayfly-mcp/mayfly/fakes"
	"github.com/mayfly-mcp/mayfly/fakes/llm"
)

func (r *rig) get(path string) (int, string) {
	r.t.Helper()
	resp, err := http.Get("http://" + r.d.MetricsAddr() + path)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// scrape reads the exposition with Prometheus' own parser. A number is under its name, with
// the value of its label if it has one; a histogram is its count.
func (r *rig) scrape() map[string]float64 {
	r.t.Helper()
	_, text := r.get("/metrics")
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		r.t.Fatal(err)
	}
	out := map[string]float64{}
	for name, f := range families {
		for _, m := range f.Metric {
			key := strings.TrimPrefix(name, "mayfly_")
			for _, l := range m.Label {
				key += " " + l.GetValue()
			}
			switch f.GetType() {
			case dto.MetricType_HISTOGRAM:
				out[key] = float64(m.Histogram.GetSampleCount())
			case dto.MetricType_COUNTER:
				out[key] = m.Counter.GetValue()
			default:
				out[key] = m.Gauge.GetValue()
			}
		}
	}
	return out
}

func TestMetricsCountWhatHappens(t *testing.T) {
	r := start(t, setup{settings: "[metrics]\naddr = \"127.0.0.1:0\"\n[limits]\nmax_live = 2\n"})
	r.dialer.Server("bad").Set(fakes.Behaviour{Initialize: fakes.Fault{Do: fakes.Fail}})
	id := r.agent("a", `{"mcps":[`+r.server("m", "S")+`,{"name":"idle","command":"never"},{"name":"n","command":"N"}]}`)
	r.dialer.Server("N")
	for range 3 {
		r.ephemeral(id, llm.Plan(llm.Round{llm.Call("echo", nil)}))
	}
	r.ephemeral(id, llm.Plan(llm.Round{llm.Call("fail", nil)}))
	if _, err := r.c.UpsertMcp(r.ctx, id, `{"name":"b","command":"bad"}`); err != nil {
		t.Fatal(err)
	}
	if _, err := r.d.Reload(); err != nil {
		t.Fatal(err)
	}
	r.reconfigure("[mcp")
	if _, err := r.d.Reload(); err == nil {
		t.Fatal("a broken file was reloaded")
	}
	got := r.scrape()
	for key, want := range map[string]float64{
		"calls_in_flight": 0, "call_seconds ok": 3, "call_seconds rejected": 1, "connect_seconds connect": 2,
		"peers disconnected": 1, "failures_total connect": 2, "failures_total call-timeout": 0, "agents": 1, "owners": 1,
		"sessions": 0, "queued_attempts": 0, "event_gaps_total": 0, "zombies": 0,
		"incarnations_stuck": 0, "incarnations_written_off": 0, "written_off_total": 0, "stderr_dropped_bytes_total": 0, "incarnations_dialing": 0, "evictions_total": 0, "aged_total": 0, "overloaded_total": 0,
		"reloads_total ok": 1, "reloads_total failed": 1,
	} {
		if n, there := got[key]; !there || n != want {
			t.Errorf("%s is %v (%t), want %v", key, n, there, want)
		}
	}
	if _, there := got["stale_completions_total"]; !there {
		t.Error("stale completions are not counted")
	}
	if got["spawns_total"] < 3 || got["connect_seconds ok"] < 2 || got["reclaimed_total"] < 1 || got["peers connected"] < 1 {
		t.Errorf("%v", got)
	}
	if problems, err := testutil.GatherAndLint(r.d.metrics.registry); err != nil || len(problems) > 0 {
		t.Errorf("%v %v", problems, err)
	}
	_, text := r.get("/metrics")
	for _, secret := range []string{"canary", "echo", id, `"m"`} {
		if strings.Contains(text, secret) {
			t.Errorf("the metrics show %q", secret)
		}
	}
}

func TestHealthAndReadiness(t *testing.T) {
	r := start(t, setup{settings: "[metrics]\naddr = \"127.0.0.1:0\"\n[mcp]\ndrain_grace = \"30s\"\n"})
	for path, want := range map[string]string{"/healthz": "ok\n", "/readyz": "ready\n"} {
		if code, body := r.get(path); code != 200 || body != want {
			t.Errorf("%s: %d %q", path, code, body)
		}
	}
	if code, _ := r.get("/debug/pprof/"); code != 404 {
		t.Errorf("something else is served: %d", code)
	}
	srv := r.dialer.Server("S")
	srv.Hold(fakes.Call)
	id := r.agent("a", `{"mcps":[{"name":"m","command":"S"}]}`)
	ran := make(chan []string, 1)
	go func() { ran <- r.ephemeral(id, llm.Plan(llm.Round{llm.Call("echo", nil)})) }()
	if err := srv.WaitReached(r.ctx, fakes.Call); err != nil {
		t.Fatal(err)
	}
	closed := make(chan error, 1)
	go func() { closed <- r.d.Close(r.ctx) }()
	<-r.d.drain.Done()
	if code, body := r.get("/readyz"); code != 503 || !strings.Contains(body, "shutting down") {
		t.Errorf("while it drains: %d %q", code, body)
	}
	if code, _ := r.get("/healthz"); code != 200 {
		t.Errorf("while it drains it is not healthy: %d", code)
	}
	srv.Release(fakes.Call)
	<-ran
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

func TestAStoreThatCannotBeReadIsNotReady(t *testing.T) {
	r := start(t, setup{settings: "[metrics]\naddr = \"127.0.0.1:0\"\n"})
	if err := r.d.agents.store.db.Close(); err != nil {
		t.Fatal(err)
	}
	if code, body := r.get("/readyz"); code != 503 || !strings.Contains(body, "the store cannot be read") {
		t.Errorf("%d %q", code, body)
	}
}

// TestMetricsCountAFloodOfStderr: a peer that floods its log can be seen, and what it says is
// nowhere else.
func TestMetricsCountAFloodOfStderr(t *testing.T) {
	const flood = 4 << 20
	r := start(t, setup{settings: quick + "[metrics]\naddr = \"127.0.0.1:0\"\n", cfg: func(c *Config) { c.Dialer = nil }})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("head -c %d /dev/zero >&2; exec '%s' peer", flood, self)
	id := r.agent("a", "{}")
	row, err := r.c.UpsertMcp(r.ctx, id, string(encodeObject(object{"name": "m", "command": "/bin/sh", "args": []any{"-c", script}})))
	if err != nil || row.Status != pb.McpStatus_MCP_STATUS_CONNECTED {
		t.Fatalf("%v %v", row, err)
	}
	var n float64
	r.eventually("the flood is counted", func() bool { n = r.scrape()["stderr_dropped_bytes_total"]; return n > flood/2 })
	if n > flood {
		t.Errorf("%v bytes were dropped of %d", n, flood)
	}
}
