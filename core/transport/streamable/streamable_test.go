package streamable

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/mayfly-mcp/mayfly/fakes/wait"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// server is a hand-written endpoint. onCall answers tools/call; everything else works.
type server struct {
	*httptest.Server
	mu      sync.Mutex
	onCall  func(w http.ResponseWriter, r *http.Request, id json.RawMessage)
	onInit  func(w http.ResponseWriter, r *http.Request, id json.RawMessage)
	onList  func(w http.ResponseWriter, r *http.Request, id json.RawMessage)
	onGet   func(w http.ResponseWriter, r *http.Request)
	strict  bool // requests of another session get 404
	session string
	begun   int      // sessions
	seen    []string // "METHOD rpc-method auth session version"
	answers []string // what the client posted without a method
}

// serve starts a server that issues a session id.
func serve(t *testing.T) *server {
	t.Helper()
	s := &server{session: "sess-1"}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// ServeHTTP implements http.Handler.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var req struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	data, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(data, &req)
	s.mu.Lock()
	s.seen = append(s.seen, fmt.Sprintf("%s %s auth=%q session=%q version=%q", r.Method, req.Method,
		r.Header.Get("Authorization"), r.Header.Get(sessionHeader), r.Header.Get(protocolHeader)))
	onCall, onInit, onList, onGet, session := s.onCall, s.onInit, s.onList, s.onGet, s.session
	if r.Method == http.MethodPost && req.Method == "" {
		s.answers = append(s.answers, string(data))
	}
	foreign := s.strict && r.Header.Get(sessionHeader) != session
	if req.Method == "initialize" {
		s.begun++
	}
	s.mu.Unlock()
	switch {
	case req.Method == "initialize" && onInit != nil:
		onInit(w, r, req.ID)
	case req.Method == "initialize":
		w.Header().Set(sessionHeader, session)
		reply(w, req.ID, `"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"h","version":"1"}}`)
	case foreign:
		http.Error(w, "no such session", http.StatusNotFound)
	case r.Method == http.MethodGet && onGet != nil:
		onGet(w, r)
	case r.Method == http.MethodGet:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case req.Method == "tools/list" && onList != nil:
		onList(w, r, req.ID)
	case req.Method == "tools/list":
		reply(w, req.ID, `"result":{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}`)
	case req.Method == "tools/call":
		onCall(w, r, req.ID)
	case r.Method == http.MethodDelete:
		w.WriteHeader(http.StatusNoContent)
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

// log returns what was requested.
func (s *server) log() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.seen...)
}

// told returns the client's own answers.
func (s *server) told() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.answers)
}

// reply writes a JSON-RPC message.
func reply(w http.ResponseWriter, id json.RawMessage, member string) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, id, member)
}

// dial dials and restores the goroutine baseline in the end.
func dial(t *testing.T, opts Options, cfg transport.Config) *session {
	t.Helper()
	baseline(t)
	got, err := New(opts).Dial(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		got.Stop(transport.StageKill)
		await(t, "Done", got.Done())
	})
	return got.(*session)
}

// baselines remembers the tests whose goroutines were counted.
var baselines sync.Map

// baseline counts goroutines before the first session of a test, and again when all of its
// sessions have ended. In between, what belongs to one session comes and goes while another
// is dialed, so that no number taken there is a baseline.
func baseline(t *testing.T) {
	t.Helper()
	if _, counted := baselines.LoadOrStore(t, true); counted {
		return
	}
	wait.Goroutines(t)
}

// connect dials and initializes.
func connect(t *testing.T, s *server, opts Options) *session {
	t.Helper()
	sess := dial(t, opts, transport.Config{URL: s.URL + "/mcp", Auth: "Bearer tok-12345"})
	if _, err := sess.Initialize(t.Context()); err != nil {
		t.Fatalf("initialize: %v", err)
	}
	return sess
}

// How these tests wait.
var (
	await      = wait.Closed
	eventually = wait.Until
)

// wantError checks kind, definiteness and the beginning of the text.
func wantError(t *testing.T, err error, kind callerr.Kind, definite bool, msg string) *callerr.Error {
	t.Helper()
	e, ok := err.(*callerr.Error)
	if !ok {
		t.Fatalf("error %T %v, want a *callerr.Error", err, err)
	}
	if e.Kind != kind || e.Definite != definite || !strings.HasPrefix(e.Msg, msg) {
		t.Fatalf("error is %v definite=%v %q,\n    want %v definite=%v %q…", e.Kind, e.Definite, e.Msg, kind, definite, msg)
	}
	return e
}

func TestConversation(t *testing.T) {
	srv := serve(t)
	srv.onCall = func(w http.ResponseWriter, _ *http.Request, id json.RawMessage) {
		reply(w, id, `"result":{"content":[{"type":"hologram","n":12345678901234567890}]}`)
	}
	s := connect(t, srv, Options{})
	res, err := s.Call(t.Context(), "echo", json.RawMessage(`{"a":1}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(res.Raw), `{"content":[{"type":"hologram","n":12345678901234567890}]}`; got != want {
		t.Errorf("result %s, want it as sent: %s", got, want)
	}
	s.Stop(transport.StageClose)
	await(t, "Done", s.Done())
	auth := ` auth="Bearer tok-12345"`
	want := []string{
		`POST initialize` + auth + ` session="" version=""`,
		`POST notifications/initialized` + auth + ` session="sess-1" version="2025-06-18"`,
		`POST tools/list` + auth + ` session="sess-1" version="2025-06-18"`,
		`POST tools/call` + auth + ` session="sess-1" version="2025-06-18"`,
		`DELETE ` + auth + ` session="sess-1" version="2025-06-18"`,
	}
	if diff := cmp.Diff(want, posts(srv.log())); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	_, err = s.Call(t.Context(), "echo", nil)
	wantError(t, err, callerr.Transport, true, "HTTP request failed: the session is being stopped")
}

// posts drops the GET, which comes whenever it comes.
func posts(log []string) []string {
	return slices.DeleteFunc(log, func(line string) bool { return strings.HasPrefix(line, "GET ") })
}

// answerer answers one tools/call.
type answerer = func(http.ResponseWriter, *http.Request, json.RawMessage)

// status answers with an HTTP status and a text.
func status(code int, body string) answerer {
	return func(w http.ResponseWriter, _ *http.Request, _ json.RawMessage) { http.Error(w, body, code) }
}

// jsonRPC answers with a JSON-RPC reply under an HTTP status.
func jsonRPC(code int, member string) answerer {
	return func(w http.ResponseWriter, _ *http.Request, id json.RawMessage) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, id, member)
	}
}

// text answers with a body in which ID stands for the id.
func text(kind, body string) answerer {
	return func(w http.ResponseWriter, _ *http.Request, id json.RawMessage) {
		w.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(w, strings.ReplaceAll(body, "ID", string(id)))
	}
}

func TestConnectionRefused(t *testing.T) {
	srv := serve(t)
	srv.Close()
	s := dial(t, Options{}, transport.Config{URL: srv.URL})
	_, err := s.Initialize(t.Context())
	e := wantError(t, err, callerr.Transport, true, "HTTP request failed: dial tcp")
	if !errors.Is(e, syscall.ECONNREFUSED) || e.Phase != callerr.PhaseInitialize {
		t.Errorf("cause %v, phase %v", e.Err, e.Phase)
	}
	await(t, "Down", s.Down())
}

func TestHandshakeRefused(t *testing.T) {
	srv := serve(t)
	srv.onInit = func(w http.ResponseWriter, _ *http.Request, _ json.RawMessage) {
		http.Error(w, "token expired", http.StatusUnauthorized)
	}
	s := dial(t, Options{}, transport.Config{URL: srv.URL})
	_, err := s.Initialize(t.Context())
	e := wantError(t, err, callerr.Transport, false, "HTTP 401 Unauthorized: credentials not accepted: token expired")
	if !strings.Contains(e.Hint, "token expired or not accepted") {
		t.Errorf("hint %q does not speak of the token", e.Hint)
	}
}

func TestCancelledCall(t *testing.T) {
	srv := serve(t)
	arrived, release := make(chan struct{}), make(chan struct{})
	srv.onCall = func(w http.ResponseWriter, r *http.Request, id json.RawMessage) {
		close(arrived)
		<-release
	}
	s := connect(t, srv, Options{})
	defer close(release)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-arrived
		cancel()
	}()
	_, err := s.Call(ctx, "echo", nil)
	wantError(t, err, callerr.Cancelled, false, "tools/call cancelled")
	if s.Err() != nil {
		t.Errorf("the session is down: %v", s.Err())
	}
	eventually(t, "the cancellation notice", func() bool {
		return strings.Contains(strings.Join(srv.log(), "\n"), "notifications/cancelled")
	})
}

func TestLaterRungAbandonsEverything(t *testing.T) {
	srv := serve(t)
	arrived, release := make(chan struct{}), make(chan struct{})
	srv.onCall = func(http.ResponseWriter, *http.Request, json.RawMessage) {
		close(arrived)
		<-release
	}
	s := connect(t, srv, Options{})
	defer close(release)
	failed := make(chan error, 1)
	go func() {
		_, err := s.Call(context.Background(), "echo", nil)
		failed <- err
	}()
	await(t, "the call", arrived)
	s.Stop(transport.StageKill)
	s.Stop(transport.StageKill)
	wantError(t, <-failed, callerr.Transport, false, "HTTP request failed: the session is being stopped")
	await(t, "Done", s.Done())
	await(t, "Down", s.Down())
}

func TestHungDeleteIsBoundedByTheLadder(t *testing.T) {
	arrived, release := make(chan struct{}), make(chan struct{})
	srv := serve(t)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			close(arrived)
			<-release
			return
		}
		srv.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	s := dial(t, Options{}, transport.Config{URL: front.URL})
	if _, err := s.Initialize(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer close(release)
	s.Stop(transport.StageClose)
	await(t, "the DELETE", arrived)
	select {
	case <-s.Done():
		t.Fatal("Done closed before the DELETE was answered")
	default:
	}
	s.Stop(transport.StageTerminate)
	await(t, "Done", s.Done())
}

func TestRedirects(t *testing.T) {
	elsewhere := serve(t)
	for _, tc := range []struct {
		name   string
		status int
		target func(own string) string
		msg    string
	}{
		{"same origin", 307, func(own string) string { return own + "/real" }, ""},
		{"same origin, other method", 302, func(own string) string { return own + "/real" }, "HTTP 302 Found"},
		{"endless", 307, func(own string) string { return own + "/again" }, "HTTP 307 Temporary Redirect"},
		{"other origin", 307, func(string) string { return elsewhere.URL + "/x?key=q-secret" }, "HTTP 307 Temporary Redirect: a redirect from OWN to " + elsewhere.URL + " is not followed"},
		{"other origin, permanent", 308, func(string) string { return elsewhere.URL }, "HTTP 308 Permanent Redirect: a redirect from OWN to " + elsewhere.URL + " is not followed"},
		{"other origin, other method", 303, func(string) string { return elsewhere.URL }, "HTTP 303 See Other: a redirect from OWN to " + elsewhere.URL + " is not followed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			srv := serve(t)
			var own *httptest.Server
			own = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/real" {
					http.Redirect(w, r, tc.target(own.URL), tc.status)
					return
				}
				srv.ServeHTTP(w, r)
			}))
			t.Cleanup(own.Close)
			s := dial(t, Options{}, transport.Config{URL: own.URL + "/mcp", Auth: "Bearer tok-12345"})
			_, err := s.Initialize(t.Context())
			if tc.msg == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			e := wantError(t, err, callerr.Transport, false, strings.ReplaceAll(tc.msg, "OWN", own.URL))
			if !strings.Contains(e.Hint, "final address") || strings.Contains(e.Msg, "q-secret") {
				t.Errorf("message %q, hint %q", e.Msg, e.Hint)
			}
		})
	}
	if diff := cmp.Diff([]string{}, elsewhere.log()); diff != "" {
		t.Errorf("the other origin was asked (-want +got):\n%s", diff)
	}
}

func TestBadURLs(t *testing.T) {
	for _, tc := range []struct{ url, msg string }{
		{"http://[::1", "HTTP request failed: url cannot be parsed"},
		{"ftp://host/", `HTTP request failed: url has the scheme "ftp"`},
		{"host/mcp", `HTTP request failed: url has the scheme ""`},
		{"http:///mcp", "HTTP request failed: url has no host"},
		{"http://u:hunter2@host/", "HTTP request failed: url holds credentials"},
	} {
		_, err := New(Options{}).Dial(t.Context(), transport.Config{URL: tc.url})
		e := wantError(t, err, callerr.Transport, true, tc.msg)
		if strings.Contains(fmt.Sprint(e, e.Hint, e.Err), "hunter2") || e.Phase != callerr.PhaseSpawn {
			t.Errorf("%s: %+v", tc.url, e)
		}
	}
}

// TestAgainstTheSDK holds a conversation with the SDK's own server.
func TestAgainstTheSDK(t *testing.T) {
	impl := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "1"}, nil)
	mcp.AddTool(impl, &mcp.Tool{Name: "greet"}, func(_ context.Context, _ *mcp.CallToolRequest, in struct {
		Name string `json:"name"`
	}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "hi " + in.Name}}}, nil, nil
	})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return impl }, nil)
	srv := httptest.NewServer(handler)
	t.Cleanup(srv.Close)
	s := dial(t, Options{}, transport.Config{URL: srv.URL})
	tools, err := s.Initialize(t.Context())
	if err != nil || len(tools) != 1 || tools[0].Name != "greet" {
		t.Fatalf("tools %v, %v", tools, err)
	}
	res, err := s.Call(t.Context(), "greet", json.RawMessage(`{"name":"Ada"}`))
	if err != nil || res.Text() != "hi Ada" {
		t.Fatalf("answer %q, %v", res.Text(), err)
	}
	_, err = s.Call(t.Context(), "unknown", nil)
	wantError(t, err, callerr.Rejected, true, "JSON-RPC error -32602")
	s.Stop(transport.StageClose)
	await(t, "Done", s.Done())
	for range impl.Sessions() {
		t.Error("the server still has a session after the DELETE")
	}
}
