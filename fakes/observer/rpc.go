package observer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// maxInput bounds a line of stdin, 128 MiB; a longer one ends the peer with ExitInput.
const maxInput = 128 << 20

// message is one line on stdin or stdout.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// request is a message that wants an answer.
type request struct {
	message
	cancelled <-chan struct{}
	settle    func() // takes the request off peer.answers, once
}

// unsure says that the answer now depends on somebody: an exit does not wait for it.
func (r *request) unsure() {
	if r != nil {
		r.settle()
	}
}

// tool is the name of the tool that a call is about.
func (r *request) tool() string {
	if r == nil {
		return ""
	}
	var params struct{ Name string }
	_ = json.Unmarshal(r.Params, &params) // no name is the name of no tool
	return params.Name
}

// read takes messages until stdin ends.
func (p *peer) read(stdin io.Reader) {
	in := bufio.NewReaderSize(stdin, 64<<10)
	for {
		line, err := readLine(in)
		select {
		case <-p.stopRead:
			select {} // what was read in this moment is lost, as scripted
		default:
		}
		if len(bytes.TrimSpace(line)) > 0 {
			p.receive(line)
		}
		if errors.Is(err, errLineTooLong) {
			fmt.Fprintf(p.stderr, "mayfly peer %s: %v\n", p.opt.name, err)
			p.end(ExitInput)
			return
		}
		if err != nil {
			p.inputEnded()
			return
		}
	}
}

// inputEnded exits, unless told not to, after the answers that need nobody's help: so a
// plain peer serves a client that writes everything and closes.
func (p *peer) inputEnded() {
	p.side.report(Report{Kind: StdinEOF})
	p.mu.Lock()
	ignored := p.behaviour.IgnoreEOF
	p.mu.Unlock()
	if ignored {
		return
	}
	p.answers.Wait()
	p.reach(EOF)
	p.end(ExitOK)
}

var errLineTooLong = fmt.Errorf("input line over %d bytes", maxInput)

// readLine reads one line of at most maxInput bytes; the last one may lack its newline.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > maxInput {
			return nil, errLineTooLong
		}
		if err != bufio.ErrBufferFull {
			return line, err
		}
	}
}

// receive reports a message and starts what it asks for.
func (p *peer) receive(line []byte) {
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		p.side.report(Report{Kind: Received, Size: len(line), Text: "not JSON-RPC"})
		p.send(message{ID: json.RawMessage("null"), Error: &rpcError{Code: -32700, Message: "parse error"}})
		return
	}
	r := Report{Kind: Received, Method: m.Method, ID: m.ID, Size: len(line)}
	if len(m.Params) <= MaxParams {
		r.Params = m.Params
	}
	if m.Method == "tools/call" {
		r.Credential = p.token
	}
	p.side.report(r)
	switch {
	case m.Method == "": // an answer to one of our pings
	case m.ID == nil:
		p.notified(m)
	default:
		p.begin(m)
	}
}

// pointOf is the point that a request reaches, or none.
func pointOf(method string) Point {
	switch method {
	case "initialize":
		return Initialize
	case "tools/list":
		return List
	case "tools/call":
		return Call
	}
	return ""
}

// notified handles the one notification that matters here.
func (p *peer) notified(m message) {
	if m.Method != "notifications/cancelled" {
		return
	}
	var params struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(m.Params, &params) != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.cancels[string(params.RequestID)]; c != nil {
		close(c)
		delete(p.cancels, string(params.RequestID))
	}
}

// begin handles a request on its own goroutine. Its cancellation is watched from here on,
// since the next line may already be it.
func (p *peer) begin(m message) {
	cancelled := make(chan struct{})
	p.mu.Lock()
	p.cancels[string(m.ID)] = cancelled
	p.mu.Unlock()
	p.answers.Add(1)
	req := &request{message: m, cancelled: cancelled, settle: sync.OnceFunc(p.answers.Done)}
	at := pointOf(m.Method)
	var a arrival
	if at != "" {
		a = p.arrive(at, req)
	}
	go func() {
		defer req.settle()
		p.handle(req, p.pass(at, a, req))
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.cancels[string(m.ID)] == cancelled {
			delete(p.cancels, string(m.ID))
		}
	}()
}

func (p *peer) notify(method string, params any) {
	m := message{Method: method}
	if params != nil {
		m.Params = mustJSON(params)
	}
	p.send(m)
}

// send reports a message and writes it, in one order for both. The report comes first, so
// that whoever reads the answer finds it in the journal.
func (p *peer) send(m message) {
	m.JSONRPC = "2.0"
	line := append(mustJSON(m), '\n')
	p.out.Lock()
	defer p.out.Unlock()
	p.side.report(Report{Kind: Sent, Method: m.Method, ID: m.ID, Size: len(line)})
	p.put(line)
}

// put writes to stdout, which the caller has locked. A reader that has gone is noticed at
// stdin, so a failed write is not worth more.
func (p *peer) put(line []byte) {
	_, _ = p.out.Write(line)
}

func mustJSON(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("observer: %T is not JSON: %v", v, err))
	}
	return data
}
