package mutants

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/mayfly-mcp/mayfly/core/wire"
	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

// capOfTools finds the number of tools in a configuration.
var capOfTools = regexp.MustCompile(`(?m)^max_tools = (\d+)$`)

// open serves MCP at an address, and says in the home where.
func (s *shelf) open(home, addr string) (*http.Server, error) {
	config, err := os.ReadFile(filepath.Join(home, configFile))
	if err != nil {
		return nil, err
	}
	if m := capOfTools.FindSubmatch(config); m != nil {
		s.most, _ = strconv.Atoi(string(m[1]))
	}
	if err := os.MkdirAll(filepath.Join(home, "run"), 0o700); err != nil {
		return nil, err
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	h := &http.Server{Handler: s, ReadHeaderTimeout: slowAnswer}
	go func() { _ = h.Serve(ln) }() // it ends with Close
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	return h, os.WriteFile(filepath.Join(home, mcpPortFile), []byte(port), 0o600)
}

// attends serves a connection that turns out to be a consumer's, and says whether it did.
func (s *shelf) attends(l *link, first []byte) bool {
	payload, ok := extensionOf(first)
	if !ok {
		return false
	}
	var p *patron
	for {
		if p = s.take(l, p, payload); p == nil {
			return true
		}
		frame, err := wire.ReadFrame(l.client)
		if err != nil {
			break
		}
		if payload, ok = extensionOf(frame); !ok {
			break
		}
	}
	s.died(p)
	if s.wrong.noGate || s.wrong.bodyAfterDeath { // somebody may still want to tell it something
		wait(retryTime)
	}
	return true
}

// extensionOf is the request of a consumer in a frame. Those of operators are left to the daemon.
func extensionOf(frame []byte) ([]byte, bool) {
	var m pb.ClientMessage
	if proto.Unmarshal(frame, &m) != nil {
		return nil, false
	}
	x, ok := m.GetMsg().(*pb.ClientMessage_Extension)
	if !ok {
		return nil, false
	}
	r := &pb.ConsumerRequest{}
	if proto.Unmarshal(x.Extension, r) != nil || r.GetMsg() == nil {
		return nil, false
	}
	return x.Extension, true
}

// ServeHTTP implements http.Handler: MCP without sessions, and the stream of what has changed.
func (s *shelf) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	switch q.Method {
	case http.MethodGet:
		s.stream(w, q)
		return
	case http.MethodPost:
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, q.Body, maxLine)).Decode(&m); err != nil {
		http.Error(w, "no JSON", http.StatusBadRequest)
		return
	}
	if m.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	token, _ := strings.CutPrefix(q.Header.Get("Authorization"), "Bearer ")
	res, err := s.answer(q.Context(), token, m.Method, m.Params)
	out := map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": res}
	if err != nil {
		f, ok := errors.AsType[*fault](err)
		if !ok {
			f = &fault{codeInternal, err.Error()}
		}
		delete(out, "result")
		out["error"] = f
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(out) // who is gone is not told
}

// answer performs a request of a client.
func (s *shelf) answer(ctx context.Context, token, method string, params json.RawMessage) (any, error) {
	var p struct {
		Name, URI, Cursor, ProtocolVersion string
	}
	_ = json.Unmarshal(params, &p)
	switch method {
	case "initialize":
		return map[string]any{"protocolVersion": p.ProtocolVersion, "serverInfo": map[string]any{"name": "mayfly", "version": "mutant"},
			"capabilities": map[string]any{"tools": map[string]any{"listChanged": true}, "resources": map[string]any{}}}, nil
	case "ping":
		return map[string]any{}, nil
	case "tools/list":
		return s.page("tools", pb.ConsumerKind_CONSUMER_KIND_TOOL, p.Cursor), nil
	case "resources/list":
		return s.page("resources", pb.ConsumerKind_CONSUMER_KIND_RESOURCE, p.Cursor), nil
	case "resources/templates/list":
		return s.page("resourceTemplates", pb.ConsumerKind_CONSUMER_KIND_TEMPLATE, p.Cursor), nil
	case "tools/call":
		return s.perform(ctx, token, slot{pb.ConsumerKind_CONSUMER_KIND_TOOL, p.Name}, params)
	case "resources/read":
		return s.perform(ctx, token, slot{pb.ConsumerKind_CONSUMER_KIND_RESOURCE, p.URI}, params)
	}
	return nil, &fault{-32601, "there is no such method"}
}

// shelfPage is how many entries a page has.
const shelfPage = 100

// page is one of a listing, after the name in the cursor, or, in a mutant, after so many.
func (s *shelf) page(field string, kind pb.ConsumerKind, cursor string) map[string]any {
	all := s.shown(kind)
	from := 0
	if s.wrong.pagesByPosition {
		from, _ = strconv.Atoi(cursor)
		from = min(from, len(all))
	} else {
		for from < len(all) && cursor != "" && all[from].at.name <= cursor {
			from++
		}
	}
	to := min(from+shelfPage, len(all))
	infos := []json.RawMessage{}
	if s.wrong.nullList && len(all) == 0 {
		infos = nil
	}
	for _, it := range all[from:to] {
		infos = append(infos, it.info)
	}
	out := map[string]any{field: infos}
	if to < len(all) {
		out["nextCursor"] = all[to-1].at.name
		if s.wrong.pagesByPosition {
			out["nextCursor"] = strconv.Itoa(to)
		}
	}
	return out
}

// tellTime gathers changes before they are told.
const tellTime = 50 * time.Millisecond

// stream tells changes until the client is gone.
func (s *shelf) stream(w http.ResponseWriter, q *http.Request) {
	ear := make(chan struct{}, shelfPage)
	s.mu.Lock()
	s.ears[ear] = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.ears, ear)
	}()
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	flush := http.NewResponseController(w).Flush
	for flush() == nil {
		select {
		case <-ear:
		case <-q.Context().Done():
			return
		}
		if s.wrong.tellsNone {
			continue
		}
		if !s.wrong.tellsAll {
			wait(tellTime)
			for len(ear) > 0 {
				<-ear
			}
		}
		fmt.Fprint(w, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n")
	}
}
