package daemon

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/mayfly-mcp/mayfly/core/transport/stdio"
	"github.com/mayfly-mcp/mayfly/core/wire"
)

// Setting is one knob: what it is set to, and where that was said (SPEC CF-9).
type Setting struct {
	Key   string
	Value string // secrets are masked
	// Origin is "default", the file with the line, "flag", or what else decided.
	Origin string
}

// knob is one key of config.toml. pending ones are read at the start alone, secret ones are
// never shown.
type knob struct {
	key             string
	pending, secret bool
	value           func(s *settings) string
}

func (k knob) show(s *settings) string {
	if v := k.value(s); v == "" || !k.secret {
		return v
	}
	return mask
}

// knobs lists every key of config.toml, in the order in which it is documented.
func knobs() []knob {
	list := []knob{
		{key: "llm.base_url", value: func(s *settings) string { return s.LLM.BaseURL }},
		{key: "llm.api_key", secret: true, value: func(s *settings) string { return s.LLM.APIKey }},
		{key: "llm.kind", value: func(s *settings) string { return s.LLM.Kind }},
		{key: "mcp.idle_timeout", value: func(s *settings) string { return strconv.FormatInt(s.MCP.IdleTimeout, 10) }},
		{key: "mcp.disabled", value: func(s *settings) string { return fmt.Sprintf("%q", s.MCP.Disabled) }},
		{key: "env_overlay.backfill", value: func(s *settings) string { return strconv.FormatBool(s.Overlay.Backfill) }},
		{key: "endpoint.hosts", pending: true, value: func(s *settings) string { return fmt.Sprintf("%q", s.Endpoint.Hosts) }},
		{key: "endpoint.origins", pending: true, value: func(s *settings) string { return fmt.Sprintf("%q", s.Endpoint.Origins) }},
		{key: "metrics.addr", pending: true, value: func(s *settings) string { return s.Metrics.Addr }},
	}
	for i, k := range new(settings).durations() {
		list = append(list, knob{key: k.key, value: func(s *settings) string { return s.durations()[i].d.String() }})
	}
	for i, k := range new(settings).numbers() {
		list = append(list, knob{key: k.key, pending: k.pending, value: func(s *settings) string { return strconv.Itoa(*s.numbers()[i].n) }})
	}
	return list
}

// originOf says where a key's value comes from.
func (s *settings) originOf(key string) string {
	if _, said := s.lines[key]; said {
		return s.at(key)
	}
	return "default"
}

// effective lists every knob, and the names of the environment.
func (s *settings) effective() []Setting {
	var out []Setting
	for _, k := range knobs() {
		out = append(out, Setting{Key: k.key, Value: k.show(s), Origin: s.originOf(k.key)})
	}
	if s.MCP.StopBudget > 0 {
		i := slices.IndexFunc(out, func(k Setting) bool { return k.Key == "mcp.drain_grace" })
		if d := s.drain().String(); d != out[i].Value {
			out[i].Value, out[i].Origin = d, "what mcp.stop_budget leaves"
		}
	}
	for _, name := range s.envNames() {
		out = append(out, Setting{Key: "env." + name, Value: mask, Origin: s.originOf("env." + name)})
	}
	return out
}

// Effective lists every setting that a daemon with this Config would run with. It opens
// nothing; as a daemon does, it raises the process's soft limit of open files.
func Effective(cfg Config) ([]Setting, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s, err := loadSettings(layout(cfg.Home).settings)
	if err != nil {
		return nil, err
	}
	list := s.effective()
	if cfg.Dialer == nil {
		allowed, _ := stdio.DescriptorBudget(s.Limits.MaxLive)
		list = withCap(list, allowed)
	}
	return append(cfg.flags(), list...), nil
}

// withCap shows the cap on live peers that is in force, where the limit of open files says it
// (SPEC PR-9).
func withCap(list []Setting, allowed int) []Setting {
	i := slices.IndexFunc(list, func(k Setting) bool { return k.Key == "limits.max_live" })
	if v := strconv.Itoa(allowed); v != list[i].Value {
		list[i].Value, list[i].Origin = v, "what the limit of open files allows"
	}
	return list
}

// flags are the settings that config.toml does not have.
func (c Config) flags() []Setting {
	tcp := Setting{Key: "tcp", Value: c.TCPAddr, Origin: "flag"}
	if c.TCPAddr == "" {
		tcp.Value, tcp.Origin = DefaultTCPAddr, "default, or a free port"
	}
	frames := Setting{Key: "frame_timeout", Value: c.FrameTimeout.String(), Origin: "caller"}
	if c.FrameTimeout == 0 {
		frames.Value, frames.Origin = wire.DefaultFrameTimeout.String(), "default"
	}
	mcp := Setting{Key: "mcp", Value: c.MCPAddr, Origin: "flag"}
	if c.MCPAddr == "" {
		mcp.Value, mcp.Origin = DefaultMCPAddr, "default, or a free port"
	}
	return []Setting{{Key: "home", Value: c.Home, Origin: "flag, or environment, or default"}, tcp, mcp, frames}
}

// envNames lists the names of the daemon-wide environment.
func (s *settings) envNames() []string { return slices.Sorted(maps.Keys(s.Env)) }
