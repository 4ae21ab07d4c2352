package daemon

import (
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/mayfly-mcp/mayfly/core"
	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// announce says at the start what an operator might not expect.
func (d *Daemon) announce() {
	if len(d.settings.unknown) > 0 {
		d.log.Warn("the configuration has keys that mean nothing here", "file", d.settings.path,
			"keys", strings.Join(d.settings.unknown, " "))
	}
	if len(d.settings.Env) > 0 {
		d.log.Warn("the daemon-wide environment is not given to MCP servers; put what a server needs into its own env",
			"file", d.settings.path, "names", strings.Join(slices.Sorted(maps.Keys(d.settings.Env)), " "))
	}
	if d.settings.Cache.Sessions != 0 {
		d.log.Info("cache.sessions has no effect: sessions are bounded by their number and length", "file", d.settings.path)
	}
	d.log.Info("daemon serving", "socket", d.home.socket, "tcp", d.TCPAddr(), "agents", d.agents.count(),
		"idle_timeout", d.times.IdleTimeout, "connect_timeout", d.times.ConnectTimeout, "call_timeout", d.times.CallTimeout)
}

// logPeers writes every transition to the log.
func (d *Daemon) logPeers() {
	sub, err := d.host.Watch()
	if err != nil {
		return // a stop came first
	}
	defer sub.Close()
	for {
		n, err := sub.Next(d.base)
		if err != nil {
			return
		}
		if n.Gap {
			d.log.Warn("the log missed transitions of peers")
			continue
		}
		d.logPeer(n.Event)
	}
}

func (d *Daemon) logPeer(e core.Event) {
	level, attrs := slog.LevelInfo, []any{"agent", e.Agent, "mcp", e.Name, "peer", e.Peer, "generation", e.Generation}
	switch e.State {
	case lifecycle.Connected:
		attrs = append(attrs, "tools", len(e.Tools))
	case lifecycle.Failed:
		level, attrs = slog.LevelWarn, append(attrs, "reason", e.Error)
	case lifecycle.Connecting:
		level = slog.LevelDebug
	case lifecycle.Disconnected, lifecycle.NoState:
	}
	d.log.Log(d.base, level, "mcp "+e.State.String(), attrs...)
}
