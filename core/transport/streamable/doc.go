// Package streamable reaches peers over streamable HTTP.
//
//	d := streamable.New(streamable.Options{})
//	s, err := d.Dial(ctx, transport.Config{URL: "https://host/mcp", Auth: "Bearer …"})
//	tools, err := s.Initialize(ctx)
//	s.Stop(transport.StageClose) // DELETE in the background
//	<-s.Done()
//
// Dial sends nothing: an incarnation begins with its handshake. MCP is the SDK's, over an
// HTTP client of our own, since the SDK's errors take a refused connection for an answer
// of the peer and some answers for a dead connection. Every session has its own connections
// and its own credentials; nothing is shared with another peer (SPEC ID-2).
//
// # Stop
//
// StageClose sends the DELETE that ends the session on the far side; later rungs abandon
// it together with every request in flight. The DELETE has no time of its own: the ladder
// of the caller bounds it. Done closes when no request is in flight any more.
//
// # Promises
//
// Credentials go to the declared origin only; a redirect is followed within that origin,
// and only if it keeps method and body (SPEC SE-4). A body is bounded. Nothing is retried,
// so a request is sent at most once. An answer counts as the peer's own only if it carries
// the id of the request; every other HTTP answer is a transport failure.
//
// # What is not promised
//
// There is no stream for messages that the server sends by itself, no resumption of a
// broken one, and no initialisation after a session expired: the session is down then.
package streamable
