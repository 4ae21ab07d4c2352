package transport

import (
	"context"

	"github.com/mayfly-mcp/mayfly/core/callerr"
)

// Mux is a Dialer that picks the transport by configuration: HTTP when a URL is set,
// stdio otherwise.
type Mux struct {
	Stdio Dialer
	HTTP  Dialer
}

// Dial implements [Dialer]. A transport that was not configured is a spawn error.
func (m Mux) Dial(ctx context.Context, cfg Config) (Session, error) {
	d, name := m.Stdio, "stdio"
	if cfg.URL != "" {
		d, name = m.HTTP, "HTTP"
	}
	if d == nil {
		return nil, &callerr.Error{
			Kind:     callerr.Transport,
			Phase:    callerr.PhaseSpawn,
			Definite: true,
			Msg:      "failed to spawn MCP server: this host runs no " + name + " peers",
			Hint:     "use another transport, or start the host with a " + name + " dialer",
		}
	}
	return d.Dial(ctx, cfg)
}
