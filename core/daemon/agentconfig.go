package daemon

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/oklog/ulid/v2"
)

// maxAgentConfig bounds one agent's stored configuration; more is refused.
const maxAgentConfig = 1 << 20

// Defaults of an AgentConfig.
const (
	defaultMaxIterations  = 16
	defaultMaxTokens      = 4096
	defaultThinkingBudget = 4096
	defaultCompactMaxLen  = 1024
	defaultRecallLimit    = 5
)

// agentSpec is one AgentConfig, read.
type agentSpec struct {
	description    string
	model          string
	maxIterations  uint32
	toolChoice     string
	thinking       bool
	maxTokens      uint32
	thinkingBudget uint32
	skills         []string
	mcps           []mcpSpec
	compactMaxLen  uint32
}

// record is one stored agent. It never changes; an edit makes a new one.
type record struct {
	id     string // ULID
	name   string
	object object // the stored config, unknown keys included
	config []byte // the same as JSON
	spec   agentSpec
	token  tokenSum // of the agent's token, which no edit of the config changes
}

// newRecord checks a config and makes it the record of an agent.
func newRecord(id, name string, obj object) (*record, error) {
	obj = maps.Clone(obj)
	obj["id"], obj["name"] = id, name
	spec, err := readAgent(obj)
	if err != nil {
		return nil, fmt.Errorf("invalid AgentConfig JSON: %w", err)
	}
	r := &record{id: id, name: name, object: obj, config: encodeObject(obj), spec: spec}
	if len(r.config) > maxAgentConfig {
		return nil, fmt.Errorf("invalid AgentConfig JSON: it has %d bytes and may have %d", len(r.config), maxAgentConfig)
	}
	return r, nil
}

// readAgent reads an AgentConfig and refuses every key of a wrong type by its name.
func readAgent(obj object) (agentSpec, error) {
	r := reader{obj: obj, bad: &[]string{}}
	s := agentSpec{
		description:    r.str("description"),
		model:          r.str("model"),
		maxIterations:  r.uint32("max_iterations", defaultMaxIterations),
		toolChoice:     readToolChoice(r),
		thinking:       r.boolean("thinking", false),
		maxTokens:      r.uint32("max_tokens", defaultMaxTokens),
		thinkingBudget: r.uint32("thinking_budget", defaultThinkingBudget),
		skills:         r.strs("skills"),
		mcps:           readMcps(r),
		compactMaxLen:  r.uint32("compact_tool_max_len", defaultCompactMaxLen),
	}
	r.list("harnesses") // stored for the protocol's sake; nothing here runs one
	r.object("hooks")
	return s, r.problem()
}

// readMcps also refuses names that are empty or taken (SPEC CL-12).
func readMcps(r reader) []mcpSpec {
	var out []mcpSpec
	seen := map[string]bool{}
	for i, v := range r.list("mcps") {
		path := fmt.Sprintf("mcps[%d]", i)
		obj, ok := v.(object)
		if !ok {
			r.complain(path, "an object", v)
			continue
		}
		m := readMcp(reader{obj: obj, path: path + ".", bad: r.bad})
		switch {
		case m.name == "":
			*r.bad = append(*r.bad, fmt.Sprintf("key %s.name is empty: an %v", path, errNoMcpName))
		case seen[m.name]:
			*r.bad = append(*r.bad, fmt.Sprintf("key %s.name: the MCP name '%s' appears twice", path, m.name))
		}
		seen[m.name] = true
		out = append(out, m)
	}
	return out
}

// readToolChoice accepts a word or the object form that names a function.
func readToolChoice(r reader) string {
	v, present := r.obj["tool_choice"]
	if !present {
		return "auto"
	}
	if s, ok := v.(string); ok {
		return s
	}
	obj, _ := v.(object)
	function, _ := obj["function"].(object)
	name, ok := function["name"].(string)
	if !ok || obj["type"] != "function" {
		r.complain("tool_choice", `a string or {"type":"function","function":{"name":…}}`, v)
	}
	return name
}

// mcp finds a declaration by name, or nil.
func (r *record) mcp(name string) *mcpSpec {
	i := slices.IndexFunc(r.spec.mcps, func(m mcpSpec) bool { return m.name == name })
	if i < 0 {
		return nil
	}
	return &r.spec.mcps[i]
}

// defaults are the keys that a full AgentConfig has, whatever was stored.
func defaults() object {
	return object{
		"description": "", "model": "", "max_iterations": defaultMaxIterations, "tool_choice": "auto",
		"thinking": false, "max_tokens": defaultMaxTokens, "thinking_budget": defaultThinkingBudget,
		"skills": []any{}, "mcps": []any{}, "harnesses": []any{}, "compact_tool_max_len": defaultCompactMaxLen,
		"hooks": object{"memory": object{"recall_limit": defaultRecallLimit}},
	}
}

// full is the config as clients see it: what is stored over the defaults.
func (r *record) full(masked bool) string {
	obj := defaults()
	maps.Copy(obj, r.object)
	if masked {
		obj = maskMcps(obj)
	}
	return string(encodeObject(obj))
}

// unmask puts stored secrets back where config shows their mask.
func (r *record) unmask(config object) (object, error) {
	list, ok := config["mcps"].([]any)
	if !ok {
		return config, nil
	}
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = v
		obj, ok := v.(object)
		if !ok {
			continue // refused with its key by whoever reads the config
		}
		name, _ := obj["name"].(string)
		var err error
		if out[i], err = unmaskMcp(obj, r.mcp(name), fmt.Sprintf("mcps[%d].", i)); err != nil {
			return nil, fmt.Errorf("invalid AgentConfig JSON: %w", err)
		}
	}
	config = maps.Clone(config)
	config["mcps"] = out
	return config, nil
}

// parseAgentID checks a ULID and returns its canonical spelling.
func parseAgentID(text string) (string, error) {
	id, err := ulid.ParseStrict(text)
	if err != nil {
		return "", fmt.Errorf("invalid agent id '%s': %w", clip(text, maxQuoted), err)
	}
	return id.String(), nil
}

// checkAgentName applies the protocol's rule for names.
func checkAgentName(name string) error {
	if name == "" {
		return errors.New("agent: name must not be empty")
	}
	if len(name) > maxAgentName {
		return fmt.Errorf("agent: name '%s' must not be longer than %d bytes", clip(name, maxQuoted), maxAgentName)
	}
	if strings.ContainsAny(name, `.[]"`) || strings.ContainsFunc(name, unicode.IsControl) {
		return fmt.Errorf("agent: name '%s' must not contain '.', '[', ']', '\"' or control characters", printable(name))
	}
	return nil
}

const (
	maxAgentName = 256 // bytes
	maxQuoted    = 256 // bytes of a client's own words in an error
)

// printable replaces control characters, so that a name cannot forge a line of a log.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// clip bounds a text and says that it did.
func clip(text string, bound int) string {
	if len(text) <= bound {
		return text
	}
	return strings.ToValidUTF8(text[:bound], "") + "… (cut)"
}
