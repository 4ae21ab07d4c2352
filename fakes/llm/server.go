package llm

// Config is the one argument of Start.
type Config struct {
	APIKey string // when set, requests without it as bearer token or x-api-key get 401
	Model  string // advertised by /v1/models; empty means "fake"
}

// Server is a running endpoint.
type Server struct {
	URL string // origin, for base_url
}

// Start listens on a free loopback port.
func Start(cfg Config) (*Server, error) { panic("skeleton") }

// FailNext queues faults for the next requests to /v1/messages, one each.
func (s *Server) FailNext(faults ...Fault) { panic("skeleton") }

// Requests counts the requests to /v1/messages so far.
func (s *Server) Requests() int { panic("skeleton") }

// Close stops the endpoint and ends every request. It is idempotent.
func (s *Server) Close() { panic("skeleton") }
