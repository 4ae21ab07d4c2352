package endpoint

import (
	"context"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The SDK drops the answers to what is in flight on a session that is being closed. So a session
// is closed after its requests were answered, of which the scope keeps the count.

func (s *Scope) begin(v *visit, session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v.session, v.done = session, make(chan struct{})
	s.visitors[v] = struct{}{}
}

func (s *Scope) finish(v *visit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.visitors, v)
	close(v.done)
}

// listen lets a stream of news be ended by Disconnect.
func (v *visit) listen(ctx context.Context, next func(context.Context) (mcp.Result, error)) (mcp.Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	v.scope.mu.Lock()
	v.cancel = cancel
	over := v.over
	v.scope.mu.Unlock()
	if over {
		return nil, &jsonrpc.Error{Code: codeDenied, Message: "the access was withdrawn"}
	}
	return next(ctx)
}

// Disconnect ends the sessions and streams that the tenant has now: each session when the
// requests in progress on it are answered, streams of news at once. The channel is closed when
// all have ended. The entries stay; who may come again begins a new session, which is not ended.
func (s *Scope) Disconnect() <-chan struct{} {
	pending := s.expel()
	var work sync.WaitGroup
	for session := range s.server.Sessions() {
		id := session.ID()
		if id == "" {
			continue // it is one request, which ends by itself
		}
		work.Go(func() {
			for _, v := range pending {
				if v.session == id {
					<-v.done
				}
			}
			_ = session.Close() // its client is told by the end of the stream
		})
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		work.Wait()
		for _, v := range pending {
			<-v.done
		}
	}()
	return ended
}

// expel ends the streams of news, and returns all requests in progress.
func (s *Scope) expel() (pending []*visit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for v := range s.visitors { // in any order: each ends by itself
		v.over = true
		if v.cancel != nil {
			v.cancel()
		}
		pending = append(pending, v)
	}
	return pending
}
