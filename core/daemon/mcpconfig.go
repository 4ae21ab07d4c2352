package daemon

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/mayfly-mcp/mayfly/core"
	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/core/transport"
)

// mask stands for a secret in listings. Written back, it means: keep what is stored.
const mask = "***"

// mcpSpec is one McpServerConfig, read.
type mcpSpec struct {
	name        string
	config      transport.Config
	inherit     []string // keys of the daemon's [env] that it asks for (SPEC SE-2)
	terms       core.Terms
	disabled    bool // kept and never started
	autoRestart bool // stored and shown, never acted upon
}

// overlay is what the daemon adds to every declaration: its environment, and what is off. A declaration gets what it asks for by name, or,
// with backfill, everything.
type overlay struct {
	env      map[string]string
	backfill bool
	disabled []string // names of declarations that are switched off, whatever they say
}

// effective is the configuration that runs: with what the declaration inherits, unless it
// has a value of its own. It is what the fingerprint covers, so a change of the overlay
// reaches a peer as a change of its own env would.
func (m *mcpSpec) effective(over overlay) transport.Config {
	names := m.inherit
	if over.backfill {
		names = slices.Sorted(maps.Keys(over.env))
	}
	c := m.config
	c.Env = maps.Clone(c.Env)
	for _, name := range names {
		v, known := over.env[name]
		if _, own := m.config.Env[name]; own || !known {
			continue
		}
		if c.Env == nil {
			c.Env = map[string]string{}
		}
		c.Env[name] = v
	}
	return c
}

// readMcp reads one McpServerConfig.
func readMcp(r reader) mcpSpec {
	return mcpSpec{
		name: r.str("name"),
		config: transport.Config{
			Command: r.str("command"),
			Args:    r.strs("args"),
			Env:     r.strMap("env"),
			URL:     r.optional("url"),
			Auth:    r.optional("auth"),
		},
		inherit:     r.strs("inherit_env"),
		terms:       readTerms(r),
		disabled:    r.boolean("disabled", false),
		autoRestart: r.boolean("auto_restart", true),
	}
}

// readTerms reads what is outside the configuration: times, and with whom to share (SPEC
// RE-10, DI-14, ID-7).
func readTerms(r reader) core.Terms {
	t := core.Terms{Policy: lifecycle.Policy{
		IdleTimeout:    r.duration("idle_timeout", false),
		MinUptime:      r.duration("min_uptime", true),
		StartTimeout:   r.duration("start_timeout", false),
		ConnectTimeout: r.duration("connect_timeout", false),
		CallTimeout:    r.duration("call_timeout", false),
		CloseGrace:     r.duration("close_grace", false),
		TerminateGrace: r.duration("terminate_grace", false),
		Pinned:         r.boolean("pinned", false),
	}}
	if share := r.word("share", shareFingerprint, string(core.ShareOwner), string(core.ShareNever)); share != shareFingerprint {
		t.Share = core.Share(share)
	}
	return t
}

// shareFingerprint is how a config spells core.ShareFingerprint.
const shareFingerprint = "fingerprint"

var errNoMcpName = errors.New("MCP config must have a name")

// parseMcp reads the config of an UpsertMcp.
func parseMcp(text string) (object, mcpSpec, error) {
	if len(text) > maxAgentConfig {
		return nil, mcpSpec{}, fmt.Errorf("invalid McpServerConfig JSON: it has %d bytes and may have %d", len(text), maxAgentConfig)
	}
	obj, err := parseObject(text)
	if err != nil {
		return nil, mcpSpec{}, fmt.Errorf("invalid McpServerConfig JSON: %w", err)
	}
	r := reader{obj: obj, bad: &[]string{}}
	spec := readMcp(r)
	if err := r.problem(); err != nil {
		return nil, mcpSpec{}, fmt.Errorf("invalid McpServerConfig JSON: %w", err)
	}
	if spec.name == "" {
		return nil, mcpSpec{}, errNoMcpName
	}
	if err := checkURL(spec.config.URL); err != nil {
		return nil, mcpSpec{}, fmt.Errorf("invalid McpServerConfig JSON: %w", err)
	}
	return obj, spec, nil
}

// maskMcps returns a config whose MCPs show no env value, no auth and no value of a query.
func maskMcps(config object) object {
	list, ok := config["mcps"].([]any)
	if !ok {
		return config
	}
	masked := make([]any, len(list))
	for i, v := range list {
		masked[i] = maskMcp(v.(object))
	}
	out := maps.Clone(config)
	out["mcps"] = masked
	return out
}

func maskMcp(obj object) object {
	out := maps.Clone(obj)
	if env, ok := obj["env"].(object); ok {
		hidden := object{}
		for k := range env { // into a map: the order is lost either way
			hidden[k] = mask
		}
		out["env"] = hidden
	}
	if auth, ok := obj["auth"].(string); ok && auth != "" {
		out["auth"] = mask
	}
	if u, ok := obj["url"].(string); ok && u != "" {
		out["url"] = maskURL(u)
	}
	return out
}

// unmaskMcp puts the stored secrets back where a client wrote the mask that a listing had
// shown it. old is what is stored under the name, nil for nothing.
func unmaskMcp(obj object, old *mcpSpec, path string) (object, error) {
	if old == nil {
		old = &mcpSpec{}
	}
	out := maps.Clone(obj)
	if obj["auth"] == mask {
		if old.config.Auth == "" {
			return nil, maskError(path + "auth")
		}
		out["auth"] = old.config.Auth
	}
	if written, ok := obj["url"].(string); ok {
		u, err := unmaskURL(written, old.config.URL, path+"url")
		if err != nil {
			return nil, err
		}
		out["url"] = u
	}
	env, ok := obj["env"].(object)
	if !ok {
		return out, nil
	}
	env = maps.Clone(env)
	for _, k := range slices.Sorted(maps.Keys(env)) {
		if env[k] != mask {
			continue
		}
		v, stored := old.config.Env[k]
		if !stored {
			return nil, maskError(path + "env." + k)
		}
		env[k] = v
	}
	out["env"] = env
	return out, nil
}

func maskError(key string) error {
	return fmt.Errorf("key %s holds the mask %q of a listing and nothing is stored for it; give the value", key, mask)
}

// sameMcp reports whether two specs declare the same.
func sameMcp(a, b *mcpSpec) bool {
	return a.name == b.name && a.autoRestart == b.autoRestart && a.disabled == b.disabled && a.config.Command == b.config.Command &&
		slices.Equal(a.config.Args, b.config.Args) && maps.Equal(a.config.Env, b.config.Env) &&
		a.config.URL == b.config.URL && a.config.Auth == b.config.Auth &&
		slices.Equal(a.inherit, b.inherit) && a.terms == b.terms
}
