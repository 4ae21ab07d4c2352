package observer

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// versions are the protocol revisions a client may ask for and get; another gets the first.
var versions = []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

const (
	codeMethodNotFound = -32601
	codeInvalidParams  = -32602
	codeInternal       = -32603
)

// DefaultTools is the tool list of a peer that was told nothing.
func DefaultTools() []Tool {
	var out []Tool
	for _, n := range []string{"echo", "add", "whoami", "fail", "rpcerror", "crash"} {
		out = append(out, Tool{Name: n, Description: "observer tool " + n})
	}
	return out
}

// answer is what a request is answered with.
type answer struct {
	result any
	err    *rpcError
}

func text(s string) answer { return answer{result: content(s, false)} }

func content(s string, isError bool) map[string]any {
	m := map[string]any{"content": []any{map[string]any{"type": "text", "text": s}}}
	if isError {
		m["isError"] = true
	}
	return m
}

func refusal(code int, format string, args ...any) answer {
	return answer{err: &rpcError{Code: code, Message: fmt.Sprintf(format, args...)}}
}

// handle answers one request, in the manner that the rules ask for.
func (p *peer) handle(req *request, rules []Rule) {
	var a answer
	switch req.Method {
	case "initialize":
		a = p.initialize(req)
	case "tools/list":
		a = answer{result: toolList(p.tools())}
	case "tools/call":
		a = p.call(req)
	case "ping":
		a = answer{result: struct{}{}}
	default:
		a = refusal(codeMethodNotFound, "method not found: %s", req.Method)
	}
	for _, r := range rules {
		a = bend(a, r, req)
	}
	p.deliver(a, rules, req)
}

// bend changes what is answered.
func bend(a answer, r Rule, req *request) answer {
	switch r.Do {
	case RPCError:
		code := r.Code
		if code == 0 {
			code = codeInternal
		}
		return refusal(code, "failed as scripted")
	case IsError:
		return answer{result: content("failed as scripted", true)}
	case Large:
		if req.Method == "tools/list" {
			return answer{result: toolList([]Tool{{Name: "echo", Description: strings.Repeat("x", r.N)}})}
		}
		return text(strings.Repeat("x", r.N))
	case Empty:
		return answer{result: toolList(nil)}
	case Garbled:
		return answer{result: 7}
	}
	return a // the others change how, not what
}

// deliver sends the answer, in whatever way the rules say.
func (p *peer) deliver(a answer, rules []Rule, req *request) {
	m := message{ID: req.ID, Error: a.err}
	if a.err == nil {
		m.Result = mustJSON(a.result)
	}
	times := 1
	for _, r := range rules {
		switch r.Do {
		case Hang:
			return
		case Late:
			req.unsure()
			<-req.cancelled
		case UnknownID:
			p.send(message{ID: json.RawMessage(`"nobody-asked"`), Result: m.Result, Error: m.Error})
		case Double:
			times = 2
		case Truncate:
			p.truncate(m, r.Code)
		}
	}
	for range times {
		p.send(m)
	}
}

// truncate writes half an answer and ends the process.
func (p *peer) truncate(m message, status int) {
	m.JSONRPC = "2.0"
	line := mustJSON(m)
	p.out.Lock()
	p.put(line[:len(line)/2])
	p.out.Unlock()
	p.end(status)
	select {} // the process is ending
}

func (p *peer) initialize(req *request) answer {
	var params struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	_ = json.Unmarshal(req.Params, &params) // no version asked for is one that we do not know
	version := versions[0]
	if slices.Contains(versions, params.ProtocolVersion) {
		version = params.ProtocolVersion
	}
	return answer{result: map[string]any{
		"protocolVersion": version,
		"capabilities":    map[string]any{"tools": map[string]any{"listChanged": true}},
		"serverInfo":      map[string]any{"name": p.opt.name, "version": "1"},
	}}
}

// tools is the list in force.
func (p *peer) tools() []Tool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.behaviour.Tools == nil {
		return DefaultTools()
	}
	return p.behaviour.Tools
}

func toolList(tools []Tool) map[string]any {
	out := make([]Tool, 0, len(tools)) // an empty list is [], never null
	for _, t := range tools {
		if t.InputSchema == nil {
			t.InputSchema = json.RawMessage(`{"type":"object"}`)
		}
		out = append(out, t)
	}
	return map[string]any{"tools": out}
}

// call runs a tool.
func (p *peer) call(req *request) answer {
	var params struct {
		Name      string
		Arguments struct {
			Text string
			A, B float64
		}
	}
	if err := json.Unmarshal(req.Params, &params); err != nil {
		return refusal(codeInvalidParams, "invalid arguments: %v", err)
	}
	if !slices.ContainsFunc(p.tools(), func(t Tool) bool { return t.Name == params.Name }) {
		return refusal(codeInvalidParams, "unknown tool %q", params.Name)
	}
	switch params.Name {
	case "echo":
		return text(params.Arguments.Text)
	case "add":
		return text(fmt.Sprint(params.Arguments.A + params.Arguments.B))
	case "whoami":
		return text(p.token)
	case "fail":
		return answer{result: content("failed as asked", true)}
	case "rpcerror":
		return refusal(codeInvalidParams, "invalid params, as asked")
	case "crash":
		killSelf()
		select {}
	}
	return text(params.Name)
}
