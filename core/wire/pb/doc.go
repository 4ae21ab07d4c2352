// Package pb is the generated Go code of crabtalk.proto: the messages of the daemon
// protocol. Framing, connections and the client are in the package above it.
//
//	env := &pb.ClientMessage{Msg: &pb.ClientMessage_Ping{Ping: &pb.Ping{}}}
//
// Envelopes are easier to build with wire.Request and wire.Answer. The messages follow
// the rules of Go protobuf: pass them by pointer, never copy or compare them by value,
// and share one between goroutines for reading only.
//
// The package does not mask anything. McpInfo.env, McpInfo.auth and the config fields
// carry credentials, so that printing a message prints them.
package pb
