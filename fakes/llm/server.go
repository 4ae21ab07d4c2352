package llm

import (
	"cmp"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
)

// Config is the one argument of Start.
type Config struct {
	APIKey string // when set, requests without it as bearer token or x-api-key get 401
	Model  string // advertised by /v1/models; empty means "fake"
	Addr   string // host:port to listen at; empty means a free loopback port
}

// maxBody bounds a request: 16 MiB, the daemon's own frame bound. Larger ones get 413.
const maxBody = 16 << 20

// Server is a running endpoint.
type Server struct {
	URL string // origin, for base_url

	cfg    Config
	http   *http.Server
	served chan struct{}
	once   sync.Once

	mu       sync.Mutex
	faults   []Fault
	requests int
}

// Start listens at the configured address, or on a free loopback port.
func Start(cfg Config) (*Server, error) {
	if cfg.Model == "" {
		cfg.Model = "fake"
	}
	ln, err := net.Listen("tcp", cmp.Or(cfg.Addr, "127.0.0.1:0"))
	if err != nil {
		return nil, fmt.Errorf("the model endpoint cannot listen: %w", err)
	}
	s := &Server{URL: "http://" + ln.Addr().String(), cfg: cfg, served: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", s.models)
	mux.HandleFunc("POST /v1/messages", s.messages)
	s.http = &http.Server{Handler: s.guard(mux)}
	go func() {
		defer close(s.served)
		_ = s.http.Serve(ln) // it returns only when Close closed it
	}()
	return s, nil
}

// FailNext queues faults for the next requests to /v1/messages, one each. Their Round
// does not matter.
func (s *Server) FailNext(faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, faults...)
}

// Requests counts the requests to /v1/messages so far, failed ones included.
func (s *Server) Requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

// Close stops the endpoint and ends every request. It is idempotent.
func (s *Server) Close() {
	s.once.Do(func() {
		_ = s.http.Close() // it ends the requests with their connections; there is nobody to tell
		<-s.served
	})
}

// guard refuses requests without the key.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.cfg.APIKey != "" && !same(r.Header.Get("Authorization"), "Bearer "+s.cfg.APIKey) && !same(r.Header.Get("X-Api-Key"), s.cfg.APIKey) {
			fail(w, http.StatusUnauthorized, "authentication_error", "missing or wrong API key")
			return
		}
		next.ServeHTTP(w, r)
	})
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"object":"list","data":[{"id":%s,"object":"model","created":0,"owned_by":"mayfly","dialects":["anthropic"]}]}`, mustJSON(s.cfg.Model))
}

// messages answers one step of an agent. A queued fault comes before the plan's own.
func (s *Server) messages(w http.ResponseWriter, r *http.Request) {
	queued := s.count()
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		fail(w, http.StatusRequestEntityTooLarge, "request_too_large", err.Error())
		return
	}
	var req request
	if err := json.Unmarshal(body, &req); err != nil {
		fail(w, http.StatusBadRequest, "invalid_request_error", err.Error())
		return
	}
	t := next(req.Messages)
	if queued != nil {
		t.fault = queued
	}
	if t.fault != nil && !t.fault.Cut {
		misbehave(w, r, *t.fault)
		return
	}
	if !req.Stream {
		w.Header().Set("Content-Type", "application/json")
		cutWrite(w, []string{t.whole(req.Model)}, t.fault)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	var frames []string
	for _, e := range t.events() {
		frames = append(frames, frame(e))
	}
	cutWrite(w, frames, t.fault)
}

// count counts a request and takes its queued fault.
func (s *Server) count() *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	if len(s.faults) == 0 {
		return nil
	}
	f := s.faults[0]
	s.faults = s.faults[1:]
	return &f
}

// misbehave performs a fault that sends no part of an answer.
func misbehave(w http.ResponseWriter, r *http.Request, f Fault) {
	if f.Hang {
		<-r.Context().Done()
		panic(http.ErrAbortHandler) // the way to close a connection without an answer
	}
	status := f.Status
	if status == 0 {
		status = http.StatusInternalServerError
	}
	fail(w, status, "api_error", "failed as scripted")
}

// cutWrite writes the parts. With a fault it stops in the middle of them, or of a single
// one, and breaks the connection.
func cutWrite(w http.ResponseWriter, parts []string, f *Fault) {
	for i, p := range parts {
		if f != nil && i == len(parts)/2 {
			_, _ = io.WriteString(w, p[:len(p)/2]) // the client may have gone, which is as good
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		if _, err := io.WriteString(w, p); err != nil {
			return
		}
	}
}

// fail answers in the error shape of the Messages API.
func fail(w http.ResponseWriter, status int, kind, msg string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"type":"error","error":{"type":%q,"message":%s}}`, kind, mustJSON(msg))
}
