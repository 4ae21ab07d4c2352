// Package rpc runs MCP through the SDK and keeps what the wire carried.
//
// The SDK does the protocol: handshake, ids, cancellation notices, answers to pings. What
// it returns is not used, because its results lose bytes and its errors misjudge peers.
// Instead every request carries an [Exchange] in its context. The wrapped connection sees
// the context when the request is written, learns the id, and keeps the reply with that id
// before the SDK sees it. [transport.Classify] then decides from the exchange alone.
//
//	c := rpc.New(sdkTransport, rpc.Options{Fault: whyDown})
//	tools, err := c.Initialize(ctx) // once
//	result, err := c.Call(ctx, "echo", args)
//	c.Shut() // pending calls end
//
// A transport below finds the exchange with [ExchangeOf] and tells it what only it can
// know: that bytes were handed to the peer, or which HTTP status came back.
//
// A Client may be used concurrently after Initialize returned. It starts no timer; the
// SDK's own bound of five seconds on a cancellation notice is cut short by Shut. It does
// not own the process or the HTTP session behind the connection.
package rpc
