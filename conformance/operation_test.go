package conformance

import (
	"encoding/json"
	"testing"

	"github.com/mayfly-mcp/mayfly/scenarios"

	"github.com/mayfly-mcp/mayfly/fakes/observer"
)

// TestResultsAreJudgedByWhatHappened: words decide between a server's no and a loss alone.
// A daemon that says otherwise, or says of a peer that is away that the call failed, is
// classified by what the servers saw.
func TestResultsAreJudgedByWhatHappened(t *testing.T) {
	for _, tt := range []struct {
		text              string
		arrived, answered bool
		want              string
	}{
		{"mcp tool error: no", true, true, "rejected"},
		{"mcp call failed: EOF", true, false, "transport"},
		{"mcp call failed: JSON-RPC error -32000", true, true, "transport"}, // a daemon that takes a no for a loss
		{"mcp call failed: mcp peer 'x' not connected", false, false, "refused"},
		{"tool not available: echo", false, false, "refused"},
		{"the server went away", true, false, "transport"},
		{"the tool said no", true, true, "rejected"},
	} {
		if got := resultWord(toolResult{text: tt.text, isError: true}, tt.arrived, tt.answered); got != tt.want {
			t.Errorf("%q (arrived %v, answered %v) is %s, want %s", tt.text, tt.arrived, tt.answered, got, tt.want)
		}
	}
	if got := resultWord(toolResult{text: "mcp tool error: no"}, true, true); got != "ok" {
		t.Errorf("what is no error is %s", got)
	}
}

func TestMarked(t *testing.T) {
	for params, want := range map[string]bool{
		`{"name":"echo","arguments":{"text":"mark-c1"}}`: true, `{"name":"echo","arguments":{"text":"mark-c2"}}`: false,
		`{"arguments":[]}`: false, `{`: false, ``: false,
	} {
		if got := marked(json.RawMessage(params), "mark-c1"); got != want {
			t.Errorf("%s: %v", params, got)
		}
	}
}

// TestCallsAreFollowed asks a live daemon and a server of ours what became of calls.
func TestCallsAreFollowed(t *testing.T) {
	t.Parallel()
	w := NewWorld(reference(t)).(*world)
	defer func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}()
	s := scenarios.DefaultSettings()
	if err := w.Setup(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if err := w.rig.server("s", healthy()); err != nil {
		t.Fatal(err)
	}
	agent, err := w.rig.agent(t.Context(), "a", w.rig.observed("m1", "s", nil))
	if err != nil {
		t.Fatal(err)
	}
	res, err := w.rig.call(t.Context(), agent, "echo", map[string]string{"text": "mark-c1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		mark              string
		read              int64
		arrived, answered bool
	}{{"mark-c1", res.at, true, true}, {"mark-c1", 1, true, false}, {"mark-c2", observer.Now(), false, false}} {
		if arrived, answered := w.followed(tt.mark, tt.read); arrived != tt.arrived || answered != tt.answered {
			t.Errorf("%s read at %d: arrived %v, answered %v", tt.mark, tt.read, arrived, answered)
		}
	}
}
