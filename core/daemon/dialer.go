package daemon

import (
	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/mayfly-mcp/mayfly/core/transport/stdio"
	"github.com/mayfly-mcp/mayfly/core/transport/streamable"
)

// realDialer runs stdio peers as processes of this machine and reaches the others over HTTP.
func realDialer(version string) transport.Dialer {
	return transport.Mux{
		Stdio: stdio.New(stdio.Options{ClientVersion: version}),
		HTTP:  streamable.New(streamable.Options{ClientVersion: version}),
	}
}
