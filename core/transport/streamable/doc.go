// Package streamable reaches peers over streamable HTTP.
//
//	d := streamable.New(streamable.Options{})
//	s, err := d.Dial(ctx, transport.Config{URL: "https://host/mcp", Auth: "Bearer …"})
//	tools, err := s.Initialize(ctx)
//	s.Stop(transport.StageClose) // DELETE in the background
//	<-s.Done()
//
// Dial sends nothing: an incarnation begins with its handshake. MCP is the SDK's, over an
// HTTP client of our own. The SDK gets every reply as a plain JSON answer and no other: its
// errors take a refused connection for an answer of the peer, and some answers, streams that
// break and streams that stay open for the end of the session. Every session has its own
// connections and its own credentials; nothing is shared with another peer (SPEC ID-2).
//
// # What is sent twice
//
// A request leaves twice in two cases, both of which prove that it was not processed. A kept
// connection turns out to be closed before one byte of the request was written to it:
// net/http takes another connection. And the server answers 404 to a request that names a
// session, without an answer of its own that carries the id of the request: the protocol has
// servers say so instead of processing it. Then the session is begun again, once for all
// calls that meet the loss, and each of them is sent once more; a second 404 ends the
// session. Everything else, a connection that breaks after the write included, is a failure
// of unknown outcome (SPEC CA-7, CA-11).
//
// # What the server says by itself
//
// A server that keeps sessions is asked for a stream, and announcements of another tool list
// on it, or on the stream of an answer, come out of Changed. Pings are answered. The end of
// the stream is a hint: servers and proxies end idle streams all the time. Another one is
// asked for, at most three times in a row if they end within a second, and the answer to
// that tells more. 404: the session is gone and is begun again without waiting for a call,
// unless no call has used it since the last time; then the session is down, since renewing
// it for ever would defeat the server's own idle time. 401 or 403: down, with a reason that
// speaks of credentials. No connection: the server is gone, down. Any other answer: there is
// no stream any more, and the session lives on.
//
// # Stop
//
// StageClose sends the DELETE that ends the session on the far side; later rungs abandon
// it together with every request in flight. The DELETE has no time of its own: the ladder
// of the caller bounds it. Done closes when no request is in flight any more.
//
// # Promises
//
// Credentials go to the declared origin only; a redirect is followed within that origin, at
// most five times, and only if it keeps method and body. One that leaves the origin is a
// failure that names both origins (SPEC SE-4). A JSON answer and each event of a stream are
// bounded, a stream as a whole is not: the call's own time bounds it. At most four streams
// that a server keeps open after its answer are read on, so that their connections can serve
// again; over that the oldest is cut. An answer counts as the peer's own only if it carries
// the id of the request; every other HTTP answer is a transport failure, and leaves the
// session up unless it says that the credentials are not accepted. No timer runs.
//
// # What is not promised
//
// A broken stream is not resumed. A server that issues no session is not listened to, and
// its death shows at the next call. A peer that resets a connection silently, as a firewall
// does that forgets it, is noticed when something is written. Clean is always false: there
// is no process whose exit status could be told.
package streamable
