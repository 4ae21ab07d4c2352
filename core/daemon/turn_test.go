package daemon

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// scripted is an endpoint that answers with the given bodies, one for each request, and
// keeps what it was asked.
type scripted struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []string
	asked  []map[string]any
}

func script(t *testing.T, bodies ...string) *scripted {
	s := &scripted{bodies: bodies}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if req.URL.Path != "/v1/messages" {
			http.NotFound(w, req)
			return
		}
		var q map[string]any
		if err := json.NewDecoder(req.Body).Decode(&q); err != nil {
			t.Errorf("the question is no JSON: %v", err)
		}
		s.asked = append(s.asked, q)
		if len(s.bodies) == 0 {
			http.Error(w, "no more answers", http.StatusBadRequest)
			return
		}
		_, _ = w.Write([]byte(s.bodies[0]))
		s.bodies = s.bodies[1:]
	}))
	t.Cleanup(s.Close)
	return s
}

// asks starts a daemon whose model is the script.
func (s *scripted) start(t *testing.T) *rig {
	return start(t, setup{settings: quick, cfg: func(c *Config) {
		put(t, layout(c.Home).settings, "[llm]\nbase_url = \""+s.URL+"\"\n")
	}})
}

func lines(events ...string) string { return "data: " + strings.Join(events, "\n\ndata: ") + "\n\n" }

const (
	textBlock  = `{"type":"content_block_start","index":%,"content_block":{"type":"text","text":""}}`
	thinkBlock = `{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}`
	toolBlock  = `{"type":"content_block_start","index":%,"content_block":{"type":"tool_use","id":"c1","name":"mcp","input":{}}}`
)

func at(index, event string) string { return strings.Replace(event, "%", index, 1) }

func TestTurnWithThinkingTextAndTool(t *testing.T) {
	s := script(t, lines(
		`{"type":"message_start","message":{"usage":{"input_tokens":5,"cache_read_input_tokens":3}}}`,
		thinkBlock,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"sig"}}`,
		at("1", textBlock),
		`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"let me "}}`,
		`not json`,
		`{"type":"content_block_delta","index":9,"delta":{"type":"text_delta","text":"of no block"}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"see"}}`,
		at("2", toolBlock),
		`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"name\""}}`,
		`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":":\"\"}"}}`,
		`{"type":"message_delta","usage":{"output_tokens":2}}`,
		`{"type":"message_stop"}`,
	), "event: ignored\n"+lines(
		at("0", textBlock),
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"bye"}}`,
		`[DONE]`,
	))
	r := s.start(t)
	id := r.agent("a", `{"description":"be brief","thinking":true,"thinking_budget":100,"max_tokens":50,"tool_choice":"required"}`)
	got := r.ephemeral(id, "hello")
	want := []string{
		"start", "thinking_start", "thinking hm", "thinking_end", "text_start", "chunk let me ", "chunk see",
		"tool_start mcp", "text_end", `tool_start mcp{"name":""}`, "result c1 false no tools found", "complete", "usage 7",
		"text_start", "chunk bye", "text_end", "end ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	checkQuestions(t, s.asked)
}

func checkQuestions(t *testing.T, asked []map[string]any) {
	t.Helper()
	if len(asked) != 2 {
		t.Fatalf("%d questions, want 2", len(asked))
	}
	first := asked[0]
	for key, want := range map[string]any{ // each on its own: the order does not matter
		"stream": true, "max_tokens": 150.0, "tool_choice": map[string]any{"type": "any"},
		"thinking": map[string]any{"type": "enabled", "budget_tokens": 100.0},
		"system":   []any{map[string]any{"type": "text", "text": "be brief"}},
	} {
		if diff := cmp.Diff(want, first[key]); diff != "" {
			t.Errorf("key %s of the question: %s", key, diff)
		}
	}
	want := []any{
		map[string]any{"role": "user", "content": []any{map[string]any{"type": "text", "text": "hello"}}},
		map[string]any{"role": "assistant", "content": []any{
			map[string]any{"type": "thinking", "thinking": "hm", "signature": "sig"},
			map[string]any{"type": "text", "text": "let me see"},
			map[string]any{"type": "tool_use", "id": "c1", "name": "mcp", "input": map[string]any{"name": ""}},
		}},
		map[string]any{"role": "user", "content": []any{
			map[string]any{"type": "tool_result", "tool_use_id": "c1", "content": "no tools found"},
		}},
	}
	if diff := cmp.Diff(want, asked[1]["messages"]); diff != "" {
		t.Error(diff)
	}
}

func TestTurnsThatCannotBeMeant(t *testing.T) {
	for _, c := range []struct{ body, end string }{
		{lines(at("0", toolBlock), `{"type":"message_stop"}`), "end unparsable arguments for mcp"},
		{lines(`{"type":"message_start","message":{}}`, `{"type":"error","error":{"type":"x","message":"overloaded"}}`), "end the LLM endpoint failed: overloaded"},
		{lines(strings.Repeat(at("0", textBlock)+"\n\ndata: ", maxBlocks) + at("0", textBlock)), "end the model's answer has more than 256 blocks"},
		{"data: " + strings.Repeat("x", maxEventLine), "end the LLM endpoint's answer broke off: "},
		{"", "end "},
		{lines(`{"type":"message_stop"}`), "end "},
	} {
		r := script(t, c.body, c.body, c.body).start(t)
		got := r.ephemeral(r.agent("a", `{}`), "x")
		if last := got[len(got)-1]; !strings.HasPrefix(last, c.end) || (c.end == "end " && last != c.end) {
			t.Errorf("%.60q ends with %q, want %q", c.body, last, c.end)
		}
		r.stop()
	}
}

func TestNoEndpointIsSaid(t *testing.T) {
	r := start(t, setup{cfg: func(c *Config) { put(t, layout(c.Home).settings, "") }})
	got := r.ephemeral(r.agent("a", `{}`), "x")
	if want := "end no LLM endpoint is configured: set base_url under [llm] in " + r.d.home.settings; !slices.Contains(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestChoices(t *testing.T) {
	for word, want := range map[string]toolChoice{
		"": {Type: "auto"}, "auto": {Type: "auto"}, "none": {Type: "none"}, "required": {Type: "any"}, "mcp": {Type: "tool", Name: "mcp"},
	} {
		if got := choose(word); got != want {
			t.Errorf("%q: %v, want %v", word, got, want)
		}
	}
	s := agentSpec{toolChoice: "none"}
	if got := ask(s, "", nil).ToolChoice.Type; got != "none" {
		t.Errorf("the config's choice: %s", got)
	}
	if got := ask(s, "required", nil).ToolChoice.Type; got != "any" {
		t.Errorf("the request's choice: %s", got)
	}
}
