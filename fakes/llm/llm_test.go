package llm_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/fakes/llm"
	"github.com/mayfly-mcp/mayfly/fakes/wait"
)

func TestMain(m *testing.M) { os.Exit(wait.Main(m)) }

func start(t *testing.T, cfg llm.Config) *llm.Server {
	t.Helper()
	s, err := llm.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return s
}

func post(t *testing.T, s *llm.Server, body string) (int, string, error) {
	t.Helper()
	resp, err := http.Post(s.URL+"/v1/messages", "application/json", strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(data), err
}

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// converse plays the agent: it sends the plan, answers every call with its own arguments
// and returns the calls and the final text.
func converse(t *testing.T, s *llm.Server, plan string) (calls []string, text string) {
	t.Helper()
	msgs := []string{`{"role":"user","content":` + quote(plan) + `}`}
	for range 10 {
		status, body, err := post(t, s, `{"model":"fake","stream":true,"messages":[`+strings.Join(msgs, ",")+`]}`)
		if err != nil || status != 200 {
			t.Fatalf("status %d, error %v, body %s", status, err, body)
		}
		uses, said := parse(t, body)
		if len(uses) == 0 {
			return calls, said
		}
		var asked, answered []string
		for _, u := range uses {
			calls = append(calls, u.name+" "+u.input)
			asked = append(asked, `{"type":"tool_use","id":"`+u.id+`","name":"`+u.name+`","input":`+u.input+`}`)
			answered = append(answered, `{"type":"tool_result","tool_use_id":"`+u.id+`","content":`+quote("result of "+u.id)+`}`)
		}
		msgs = append(msgs, `{"role":"assistant","content":[`+strings.Join(asked, ",")+`]}`,
			`{"role":"user","content":[`+strings.Join(answered, ",")+`]}`)
	}
	t.Fatal("the plan never ended")
	return nil, ""
}

type use struct{ id, name, input string }

// parse reads a stream the way the daemon's parser does: only lines with "data: " count,
// blocks are numbered by arrival for starts and by index for deltas.
func parse(t *testing.T, body string) (uses []use, text string) {
	t.Helper()
	sc := bufio.NewScanner(strings.NewReader(body))
	for sc.Scan() {
		data, ok := strings.CutPrefix(sc.Text(), "data: ")
		if !ok {
			continue
		}
		var ev struct {
			Type    string
			Index   int
			Block   struct{ Type, ID, Name string } `json:"content_block"`
			Content struct {
				Partial string `json:"partial_json"`
				Text    string
			} `json:"delta"`
		}
		if err := json.Unmarshal([]byte(data), &ev); err != nil {
			t.Fatalf("bad payload %q: %v", data, err)
		}
		switch {
		case ev.Type == "content_block_start" && ev.Block.Type == "tool_use":
			uses = append(uses, use{id: ev.Block.ID, name: ev.Block.Name})
		case ev.Type == "content_block_delta" && ev.Content.Partial != "":
			uses[ev.Index].input += ev.Content.Partial
		case ev.Type == "content_block_delta":
			text += ev.Content.Text
		}
	}
	return uses, text
}

func TestPlanRunsRoundByRound(t *testing.T) {
	s := start(t, llm.Config{})
	plan := llm.Plan(
		llm.Round{llm.Call("echo", map[string]any{"text": "<x>"}), llm.Call("add", map[string]any{"a": 1})},
		llm.Round{{Name: "raw", Args: json.RawMessage(`"not json"`)}, {Tool: "recall", Args: json.RawMessage(`{"q":"z"}`)}},
		llm.Round{llm.Call("", nil)},
	)
	calls, text := converse(t, s, "please follow "+plan+" to the letter")
	want := []string{
		`mcp {"name":"echo","args":"{\"text\":\"<x>\"}"}`,
		`mcp {"name":"add","args":"{\"a\":1}"}`,
		`mcp {"name":"raw","args":"not json"}`,
		`recall {"q":"z"}`,
		`mcp {"name":"","args":""}`,
	}
	if d := cmp.Diff(want, calls); d != "" {
		t.Errorf("calls (-want +got):\n%s", d)
	}
	wantText := "result of call_1_1\nresult of call_1_2\nresult of call_2_1\nresult of call_2_2\nresult of call_3_1"
	if text != wantText {
		t.Errorf("final text %q, want %q", text, wantText)
	}
}

func TestExactBytes(t *testing.T) {
	s := start(t, llm.Config{})
	plan := quote(llm.Plan(llm.Round{llm.Call("echo", map[string]any{"x": 1})}))
	_, body, err := post(t, s, `{"stream":true,"messages":[{"role":"user","content":`+plan+`}]}`)
	if err != nil {
		t.Fatal(err)
	}
	want := `data: {"type":"message_start","message":{"usage":{"input_tokens":1,"output_tokens":0}}}

data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"call_1_1","name":"mcp","input":{}}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"name\":\"echo\",\"args\":\"{\\\"x\\\":1}\"}"}}

data: {"type":"content_block_stop","index":0}

data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":1}}

data: {"type":"message_stop"}

`
	if d := cmp.Diff(want, body); d != "" {
		t.Errorf("stream (-want +got):\n%s", d)
	}
}

func TestOnlyTheLastPlanCounts(t *testing.T) {
	s := start(t, llm.Config{})
	one := quote(llm.Plan(llm.Round{llm.Call("one", nil)}))
	two := quote(llm.Plan(llm.Round{llm.Call("two", nil)}))
	_, body, err := post(t, s, `{"stream":true,"messages":[{"role":"user","content":`+one+`},
		{"role":"assistant","content":[{"type":"tool_use","id":"call_1_1","name":"mcp","input":{}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_1_1","content":[{"type":"text","text":"r"}]}]},
		{"role":"assistant","content":"r"},
		{"role":"user","content":[{"type":"text","text":`+two+`}]}]}`)
	if err != nil {
		t.Fatal(err)
	}
	uses, _ := parse(t, body)
	want := []use{{id: "call_3_1", name: "mcp", input: `{"name":"two","args":""}`}}
	if d := cmp.Diff(want, uses, cmp.AllowUnexported(use{})); d != "" {
		t.Errorf("calls (-want +got):\n%s", d)
	}
}

func TestWholeMessageAndMissingPlan(t *testing.T) {
	s := start(t, llm.Config{})
	_, body, err := post(t, s, `{"model":"m","messages":[{"role":"user","content":"sum up"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		ID, Model string
		Content   []struct{ Type, Text string }
		Usage     map[string]int
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	if got.ID == "" || got.Model != "m" || len(got.Content) != 1 || got.Usage["output_tokens"] != 1 {
		t.Errorf("message lacks a mandatory member: %s", body)
	}
	if !strings.Contains(got.Content[0].Text, "llm.Plan") {
		t.Errorf("a missing plan is not explained: %q", got.Content[0].Text)
	}
}

func TestModelsAndKey(t *testing.T) {
	s := start(t, llm.Config{APIKey: "k", Model: "mm"})
	for key, want := range map[string]int{"": 401, "Bearer nope": 401, "Bearer k": 200} {
		req, _ := http.NewRequest("GET", s.URL+"/v1/models", nil)
		req.Header.Set("Authorization", key)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("key %q: status %d, want %d", key, resp.StatusCode, want)
		}
		if want == 200 && !strings.Contains(string(body), `{"id":"mm","object":"model","created":0,"owned_by":"mayfly","dialects":["anthropic"]}`) {
			t.Errorf("models: %s", body)
		}
	}
}

func TestFaults(t *testing.T) {
	s := start(t, llm.Config{})
	plain := `{"stream":true,"messages":[{"role":"user","content":"x"}]}`
	s.FailNext(llm.Fault{Status: 529}, llm.Fault{Cut: true})
	if status, body, err := post(t, s, plain); err != nil || status != 529 || !strings.Contains(body, "scripted") {
		t.Errorf("status fault: %d %q %v", status, body, err)
	}
	if _, body, err := post(t, s, plain); err == nil || strings.Contains(body, "message_stop") {
		t.Errorf("a cut stream ended cleanly: %q %v", body, err)
	}
	if status, body, err := post(t, s, plain); err != nil || status != 200 || !strings.Contains(body, "message_stop") {
		t.Errorf("after the faults: %d %q %v", status, body, err)
	}
	planned := llm.Script{Plan: []llm.Round{{llm.Call("a", nil)}}, Fault: &llm.Fault{Status: 400}}
	for range 2 { // stateless: a retry fails the same way
		if status, _, err := post(t, s, `{"messages":[{"role":"user","content":`+quote(planned.String())+`}]}`); err != nil || status != 400 {
			t.Errorf("planned fault: %d %v", status, err)
		}
	}
	if got := s.Requests(); got != 5 {
		t.Errorf("%d requests counted, want 5", got)
	}
}

func TestBadRequests(t *testing.T) {
	s := start(t, llm.Config{})
	for _, body := range []string{"", "nonsense", `{"messages":[{"role":"user","content":7}]}`} {
		if status, answer, err := post(t, s, body); err != nil || status != 400 || !strings.Contains(answer, "invalid_request_error") {
			t.Errorf("body %q: %d %q %v", body, status, answer, err)
		}
	}
}

func TestHangEndsWithTheClientAndWithClose(t *testing.T) {
	s := start(t, llm.Config{})
	s.FailNext(llm.Fault{Hang: true}, llm.Fault{Hang: true})
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error, 1)
	send := func(ctx context.Context, out chan<- error) {
		req, _ := http.NewRequestWithContext(ctx, "POST", s.URL+"/v1/messages", strings.NewReader(`{"messages":[]}`))
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			resp.Body.Close()
		}
		out <- err
	}
	go send(ctx, first)
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled client: %v", err)
	}
	second := make(chan error, 1)
	go send(t.Context(), second)
	s.Close()
	if err := <-second; err == nil {
		t.Error("a hanging request got an answer from Close")
	}
	s.Close()
}
