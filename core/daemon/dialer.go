package daemon

import (
	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/mayfly-mcp/mayfly/core/transport/stdio"
)

// realDialer runs stdio peers as processes of this machine.
func realDialer(version string) transport.Dialer {
	return transport.Mux{Stdio: stdio.New(stdio.Options{ClientVersion: version})}
}
