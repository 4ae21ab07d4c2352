package daemon

import (
	"log/slog"
	"strings"
	"time"

	"github.com/mayfly-mcp/mayfly/core"
)

// announce says at the start what an operator might not expect.
func (d *Daemon) announce() {
	rules := d.rules.Load()
	d.warn(rules)
	for _, s := range append(d.cfg.flags(), withCap(rules.effective(), d.host.Settings().MaxLive)...) {
		d.log.Debug("setting", "key", s.Key, "value", s.Value, "origin", s.Origin)
	}
	d.log.Info("daemon serving", "socket", d.home.socket, "tcp", d.TCPAddr(), "mcp", d.MCPAddr(), "metrics", d.MetricsAddr(), "agents", d.agents.count(),
		"idle_timeout", rules.lifecycle().IdleTimeout, "stop_budget", rules.budget())
}

// warn names what is set and means something else than one might think.
func (d *Daemon) warn(s *settings) {
	if len(s.unknown) > 0 {
		d.log.Warn("the configuration has keys that mean nothing here", "file", s.path, "keys", strings.Join(s.unknown, " "))
	}
	names := strings.Join(s.envNames(), " ")
	switch {
	case s.Overlay.Backfill:
		d.log.Warn("env_overlay.backfill is on: every MCP server of every agent gets the whole daemon-wide environment, "+
			"secrets included; let declarations ask by name with inherit_env instead", "file", s.path, "names", names)
	case len(s.Env) > 0:
		d.log.Info("the daemon-wide environment is given to MCP servers that ask for it by name, with inherit_env",
			"file", s.path, "names", names)
	}
	if named, n := d.agents.missing(); n > 0 {
		d.log.Warn("mcps ask with inherit_env for variables that [env] does not have", "file", s.path, "mcps", n, "first", named)
	}
	if s.Cache.Sessions != 0 {
		d.log.Info("cache.sessions has no effect: sessions are bounded by limits.max_sessions", "file", s.path)
	}
}

// throttle lets one line through in a while, and counts those that it held back.
type throttle struct {
	every time.Duration
	last  time.Time
	held  int
}

// pass reports whether the line is due, and how many were held back before it.
func (t *throttle) pass(now time.Time) (held int, say bool) {
	if !t.last.IsZero() && now.Sub(t.last) < t.every {
		t.held++
		return 0, false
	}
	t.last = now
	return t.rest(), true
}

// rest returns how many lines were held back, and forgets them.
func (t *throttle) rest() int {
	n := t.held
	t.held = 0
	return n
}

// about are the fields that name a declaration and its peer in the log.
func about(s core.Status) slog.Attr {
	return slog.Group("", "owner", s.Owner, "agent", s.Agent, "name", s.Name, "peer", s.Peer, "generation", s.Generation)
}
