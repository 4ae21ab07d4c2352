// Package wire speaks the daemon protocol: frames, connections and a client. Both ends
// use it, the daemon to serve and everybody else to ask.
//
// A frame is four bytes of length, big endian, and that many bytes of one protobuf
// message: a ClientMessage towards the daemon, a ServerMessage back. There is no
// handshake, no version and no request id.
//
// The smallest use asks one question on a connection of its own:
//
//	c := wire.NewClient("unix", path)
//	info, err := c.ReconnectMcp(ctx, agent, "github")
//	if refused, ok := errors.AsType[*wire.Error](err); ok {
//		// The daemon answered, and the answer was no: refused.Code, refused.Message.
//	}
//
// And the smallest daemon reads requests and writes answers:
//
//	conn := wire.NewConn(accepted, wire.Config{})
//	defer conn.Close()
//	for {
//		req, err := conn.ReadRequest(ctx)
//		if err != nil {
//			return err // io.EOF: the client is gone
//		}
//		switch m := wire.Body(req).(type) {
//		case *pb.Ping:
//			err = conn.WriteAnswer(ctx, wire.Answer(&pb.Pong{}))
//		default:
//			err = conn.WriteAnswer(ctx, wire.Refusal(500, wire.Variant(req)+" is not supported"))
//		}
//	}
//
// # Order of use
//
// Without request ids an answer belongs to the one request outstanding on its
// connection. So [Conn.Do] and [Conn.Stream] refuse, with [ErrBusy], to start a second
// one; a stream must be drained or closed first. [Client] opens a connection per request
// and has no such limit. A stream's request is on its way when Stream returns, not at
// the first Recv; a daemon does not acknowledge a subscription, though, so only a first
// event proves that it took effect.
//
// # Promises
//
// A Conn may be used by several goroutines. Frames are never interleaved, and reading
// and writing do not wait for each other. Every operation ends when its context does.
// A frame in transit is bounded in size by [MaxFrame] and in time by
// [Config.FrameTimeout]; memory grows with the bytes that arrived, not with the length
// that a frame claims. Errors carry sizes and names of variants, never field values.
//
// A connection whose byte stream can no longer be trusted is closed by the operation
// that noticed: half a frame read or written, an oversize frame, a request given up
// before its answer came. It stays open after a refusal and after a message too large
// to be sent, of which nothing was. Reading by hand also leaves it open after a message
// that could not be decoded, since its frame was read whole, and after a context that
// ended while no frame was under way.
//
// # Not promised
//
// No reconnecting, no pool, no retry: a request may have taken effect although its
// answer was lost, and only the caller knows whether asking twice is safe. No
// authentication and no encryption; the protocol has neither. An idle connection is
// never timed out. Variants whose fields are unknown to this package arrive as empty
// messages of the right name.
//
// # Extension
//
// McpInfo has fields of mayfly's own, from number 1000 on, and McpPolicy is a message of its
// own: who shares a peer, since when it is in its state, which policy rules it and what
// holds its next attempt back. The protocol's own numbers stay far below; clients that do
// not know the fields skip them, and a daemon that does not send them leaves them empty.
//
// The requests for listings have a page size and a token, and their answers the token of the
// next page, since a listing may be longer than [MaxFrame]. [Client] asks in this way and
// returns the whole; a daemon that does not know the fields answers with all in one page. Rows
// that are there throughout are listed once, but pages are not of one moment.
//
// The messages of consumer.proto and operator.proto travel as extensions of the envelopes: a
// [Consumer] serves tools through the daemon as long as its connection stands, and
// [Client.MintAgentToken] gives out what clients of MCP come with.
//
// # Regenerating
//
// The code in pb is generated from the .proto files and committed. With protoc 3.21 and
// protoc-gen-go v1.36.12 in PATH (go install
// google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12), run go generate here. A test
// fails when the two differ.
package wire

//go:generate protoc --proto_path=. --go_out=../.. --go_opt=module=github.com/mayfly-mcp/mayfly crabtalk.proto consumer.proto operator.proto
