package daemon

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/mayfly-mcp/mayfly/core/endpoint"
	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/core/registry"
)

// maxSettings bounds config.toml, so that a wrong file is refused and not read whole.
const maxSettings = 1 << 20

// settings is what config.toml says over the defaults. They never change: a reload makes
// new ones.
type settings struct {
	LLM struct {
		BaseURL string `toml:"base_url"`
		APIKey  string `toml:"api_key"`
		Kind    string `toml:"kind"`
	} `toml:"llm"`
	MCP     mcpSettings       `toml:"mcp"`
	Limits  limitSettings     `toml:"limits"`
	Env     map[string]string `toml:"env"`
	Overlay struct {
		Backfill bool `toml:"backfill"`
	} `toml:"env_overlay"`
	Metrics struct {
		Addr string `toml:"addr"`
	} `toml:"metrics"`
	Endpoint endpointSettings `toml:"endpoint"`
	Cache    struct {
		Sessions int64 `toml:"sessions"`
	} `toml:"cache"`

	path    string
	unknown []string       // keys that nothing here reads
	lines   map[string]int // where a key was set, 0 when only the parser knows
}

// mcpSettings holds the times of peers.
type mcpSettings struct {
	IdleTimeout    int64    `toml:"idle_timeout"` // whole seconds, as the protocol's other daemon has it
	FailedRetry    duration `toml:"failed_retry"`
	StartTimeout   duration `toml:"start_timeout"`
	ConnectTimeout duration `toml:"connect_timeout"`
	CallTimeout    duration `toml:"call_timeout"`
	ListTimeout    duration `toml:"list_timeout"`
	CloseGrace     duration `toml:"close_grace"`
	TerminateGrace duration `toml:"terminate_grace"`
	KillGrace      duration `toml:"kill_grace"`
	DrainGrace     duration `toml:"drain_grace"`
	StopBudget     duration `toml:"stop_budget"`
	Disabled       []string `toml:"disabled"` // names of declarations, in every agent
}

// limitSettings holds the bounds. 0 is no bound, or the default where one is said.
type limitSettings struct {
	MaxLive        int      `toml:"max_live"`
	MaxDialing     int      `toml:"max_dialing"`
	MaxSpawning    int      `toml:"max_spawning"`
	MaxQueued      int      `toml:"max_queued"`
	QueueTimeout   duration `toml:"queue_timeout"`
	MaxWaiters     int      `toml:"max_waiters"`
	MaxConnections int      `toml:"max_connections"`
	MaxSessions    int      `toml:"max_sessions"`
	MaxAgents      int      `toml:"max_agents"`
}

// endpointSettings are those of the endpoint for clients of MCP. They are read at the start.
type endpointSettings struct {
	Hosts    []string `toml:"hosts"`   // names in the Host header, beside those of loopback
	Origins  []string `toml:"origins"` // pages that may call
	MaxBody  int      `toml:"max_body"`
	MaxTools int      `toml:"max_tools"` // of one agent, and of all consumers for everybody
}

// Defaults that are not lifecycle's.
const (
	defaultListTimeout    = 15 * time.Second
	defaultMaxQueued      = 65536
	defaultQueueTimeout   = time.Minute
	defaultMaxConnections = 4096
	defaultMaxSessions    = 10_000
	defaultMaxAgents      = 100_000
)

func defaultSettings(path string) *settings {
	s := &settings{path: path, lines: map[string]int{}}
	l := lifecycle.DefaultConfig()
	s.MCP = mcpSettings{
		IdleTimeout: int64(l.IdleTimeout / time.Second), FailedRetry: duration(l.FailedRetry),
		StartTimeout: duration(l.StartTimeout), ConnectTimeout: duration(l.ConnectTimeout),
		CallTimeout: duration(l.CallTimeout), ListTimeout: duration(defaultListTimeout),
		CloseGrace: duration(l.CloseGrace), TerminateGrace: duration(l.TerminateGrace),
		KillGrace: duration(l.KillGrace), DrainGrace: duration(l.DrainGrace),
	}
	s.Limits = limitSettings{
		MaxLive: l.MaxLive, MaxDialing: l.MaxDialing, MaxSpawning: 4 * runtime.GOMAXPROCS(0),
		MaxQueued: defaultMaxQueued, QueueTimeout: duration(defaultQueueTimeout), MaxWaiters: l.MaxWaiters,
		MaxConnections: defaultMaxConnections, MaxSessions: defaultMaxSessions, MaxAgents: defaultMaxAgents,
	}
	s.Endpoint = endpointSettings{MaxBody: endpoint.DefaultMaxBody, MaxTools: endpoint.DefaultMaxTools}
	return s
}

// duration reads "1m30s".
type duration time.Duration

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is not a duration; write a number and a unit, such as \"30s\" or \"1m30s\"", text)
	}
	*d = duration(v)
	return nil
}

// String writes what UnmarshalText reads.
func (d duration) String() string { return time.Duration(d).String() }

// loadSettings reads config.toml. A file that is not there is an empty one.
func loadSettings(path string) (*settings, error) {
	s := defaultSettings(path)
	text, err := readRegular(path, maxSettings)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s, nil
	case err != nil:
		return nil, fmt.Errorf("cannot read the configuration: %w", err)
	}
	meta, err := toml.Decode(string(text), s)
	if err != nil {
		return nil, locate(path, err)
	}
	found := linesOf(string(text))
	for _, key := range meta.Keys() {
		s.lines[key.String()] = found[key.String()]
	}
	for _, key := range meta.Undecoded() {
		s.unknown = append(s.unknown, key.String())
	}
	slices.Sort(s.unknown)
	return s, s.validate()
}

// linesOf finds the lines on which keys are set. The parser does not tell. Keys of inline
// tables, and those in quotes, are not found; their values are in force all the same.
func linesOf(text string) map[string]int {
	lines := map[string]int{}
	table, n := "", 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "["); ok {
			name, _, _ = strings.Cut(name, "]")
			table = strings.TrimSpace(name) + "."
			continue
		}
		key, _, ok := strings.Cut(line, "=")
		if key = table + strings.TrimSpace(key); ok && lines[key] == 0 {
			lines[key] = n
		}
	}
	return lines
}

// at names the place of a key in the file.
func (s *settings) at(key string) string {
	if n := s.lines[key]; n > 0 {
		return fmt.Sprintf("%s:%d", s.path, n)
	}
	return s.path
}

var lineOf = regexp.MustCompile(`line (\d+)( \(last key "([^"]*)"\))?: `)

// takesSecret tells keys whose values are not repeated.
func takesSecret(key string) bool { return key == "llm.api_key" || strings.HasPrefix(key, "env.") }

// locate turns the parser's error into file:line and key. The parser quotes what it could not
// read, which may be half a secret (SPEC ID-5).
func locate(path string, err error) error {
	msg := strings.TrimPrefix(err.Error(), "toml: ")
	at := lineOf.FindStringSubmatch(msg)
	if at == nil {
		return fmt.Errorf("%s: %s", path, msg)
	}
	msg = strings.Replace(msg, at[0], "", 1)
	if takesSecret(at[3]) && !strings.HasPrefix(msg, "Key '") { // that one repeats the key alone
		msg = "its line cannot be read; write the value in quotes"
	}
	if at[3] != "" {
		msg = "key " + at[3] + ": " + msg
	}
	return fmt.Errorf("%s:%s: %s", path, at[1], msg)
}

// validate reports every value that cannot be meant.
func (s *settings) validate() error {
	var errs []error
	bad := func(key, why string) { errs = append(errs, fmt.Errorf("%s: key %s: %s", s.at(key), key, why)) }
	if s.LLM.Kind != "" && s.LLM.Kind != "anthropic" {
		bad("llm.kind", fmt.Sprintf("%q is not supported; leave it out for a gateway, or use \"anthropic\"", s.LLM.Kind))
	}
	if why := badOrigin(s.LLM.BaseURL); s.LLM.BaseURL != "" && why != "" {
		bad("llm.base_url", why)
	}
	if t := s.MCP.IdleTimeout; t < 0 || t > int64(maxIdle/time.Second) {
		bad("mcp.idle_timeout", fmt.Sprintf("is %d; use 0 (never) to %d seconds", t, int64(maxIdle/time.Second)))
	}
	if err := checkLoopback(s.Metrics.Addr); s.Metrics.Addr != "" && err != nil {
		bad("metrics.addr", err.Error())
	}
	for _, k := range s.durations() {
		if d := time.Duration(*k.d); d < k.least || d > maxIdle {
			bad(k.key, fmt.Sprintf("is %v; use %v to %v", d, k.least, maxIdle))
		}
	}
	for _, k := range s.numbers() {
		if most := cmp.Or(k.most, maxLimit); *k.n < k.least || *k.n > most {
			bad(k.key, fmt.Sprintf("is %d; use %d to %d", *k.n, k.least, most))
		}
	}
	s.Endpoint.check(bad)
	if len(errs) == 0 {
		s.checkBudget(bad)
	}
	return errors.Join(errs...)
}

// badOrigin says what is wrong with an origin, and does not repeat it: an error of the network
// would show what else it holds (SPEC ID-5).
func badOrigin(raw string) string {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return "is not an http or https URL"
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return "holds more than an origin; put a credential into llm.api_key"
	}
	return ""
}

const (
	// maxIdle bounds every time far above any use and far below an overflow.
	maxIdle = 10 * 365 * 24 * time.Hour
	// maxLimit does so for every number.
	maxLimit = 1 << 30
)

type durationKnob struct {
	key   string
	d     *duration
	least time.Duration
}

func (s *settings) durations() []durationKnob {
	m := &s.MCP
	return []durationKnob{
		{"mcp.failed_retry", &m.FailedRetry, 0}, {"mcp.start_timeout", &m.StartTimeout, 0},
		{"mcp.connect_timeout", &m.ConnectTimeout, 1}, {"mcp.call_timeout", &m.CallTimeout, 1},
		{"mcp.list_timeout", &m.ListTimeout, 1}, {"mcp.close_grace", &m.CloseGrace, 0},
		{"mcp.terminate_grace", &m.TerminateGrace, 0}, {"mcp.kill_grace", &m.KillGrace, 0},
		{"mcp.drain_grace", &m.DrainGrace, 0}, {"mcp.stop_budget", &m.StopBudget, 0},
		{"limits.queue_timeout", &s.Limits.QueueTimeout, 1},
	}
}

type numberKnob struct {
	key     string
	n       *int
	least   int
	most    int // 0 is maxLimit
	pending bool
}

func (s *settings) numbers() []numberKnob {
	l, e := &s.Limits, &s.Endpoint
	return []numberKnob{
		{key: "limits.max_live", n: &l.MaxLive}, {key: "limits.max_dialing", n: &l.MaxDialing},
		{key: "limits.max_spawning", n: &l.MaxSpawning, least: 1}, {key: "limits.max_queued", n: &l.MaxQueued, least: 1},
		{key: "limits.max_waiters", n: &l.MaxWaiters, least: 1}, {key: "limits.max_connections", n: &l.MaxConnections, least: 1},
		{key: "limits.max_sessions", n: &l.MaxSessions, least: 1}, {key: "limits.max_agents", n: &l.MaxAgents, least: 1},
		{key: "endpoint.max_body", n: &e.MaxBody, least: 1, pending: true},
		{key: "endpoint.max_tools", n: &e.MaxTools, least: 1, most: registry.MaxEntries, pending: true},
	}
}

// check wants names as they stand in the headers: one that can never be there would let nobody in.
func (e *endpointSettings) check(bad func(key, why string)) {
	for _, h := range e.Hosts {
		if h == "" || strings.ContainsAny(h, "/ @") || strings.Contains(h, ":") && net.ParseIP(h) == nil {
			bad("endpoint.hosts", fmt.Sprintf("%q is not a name or an address without a port", clip(h, maxQuoted)))
		}
	}
	for _, o := range e.Origins {
		u, err := url.Parse(o)
		if err != nil || u.Scheme == "" || u.Host == "" || u.Scheme+"://"+u.Host != o {
			bad("endpoint.origins", fmt.Sprintf("%q is not an origin such as https://app.example", clip(o, maxQuoted)))
		}
	}
}

// ladder is how long the stop ladder takes of a peer that ignores every rung but the last.
func (s *settings) ladder() time.Duration {
	return time.Duration(s.MCP.CloseGrace + s.MCP.TerminateGrace + s.MCP.KillGrace)
}

// checkBudget wants the stop budget to hold the ladder: calls in flight get what it leaves
// (SPEC SH-3).
func (s *settings) checkBudget(bad func(key, why string)) {
	budget := time.Duration(s.MCP.StopBudget)
	if need := s.ladder() + flushOf(budget); budget > 0 && budget < need {
		bad("mcp.stop_budget", fmt.Sprintf("is %v and the stop ladder needs %v of it; "+
			"give more, or shorten close_grace, terminate_grace and kill_grace", budget, need))
	}
}

// flushOf is the part of a stop budget in which clients take their last answers.
func flushOf(budget time.Duration) time.Duration {
	if budget == 0 {
		return flushTimeout
	}
	return min(flushTimeout, budget/10)
}

// drain is what calls in flight get when the daemon stops: drain_grace, or what the stop
// budget leaves beside the ladder if that is less.
func (s *settings) drain() time.Duration {
	budget, grace := time.Duration(s.MCP.StopBudget), time.Duration(s.MCP.DrainGrace)
	if budget == 0 {
		return grace
	}
	left := budget - s.ladder() - flushOf(budget)
	if _, said := s.lines["mcp.drain_grace"]; said {
		return min(left, grace)
	}
	return left
}

// budget is the time in which a stop ends whatever peers do.
func (s *settings) budget() time.Duration {
	if s.MCP.StopBudget > 0 {
		return time.Duration(s.MCP.StopBudget)
	}
	return s.drain() + s.ladder() + closeSlack
}

// lifecycle returns the times and bounds of peers.
func (s *settings) lifecycle() lifecycle.Config {
	m, l := &s.MCP, &s.Limits
	return lifecycle.Config{
		IdleTimeout: time.Duration(m.IdleTimeout) * time.Second, FailedRetry: time.Duration(m.FailedRetry),
		StartTimeout: time.Duration(m.StartTimeout), ConnectTimeout: time.Duration(m.ConnectTimeout),
		CallTimeout: time.Duration(m.CallTimeout), CloseGrace: time.Duration(m.CloseGrace),
		TerminateGrace: time.Duration(m.TerminateGrace), KillGrace: time.Duration(m.KillGrace),
		DrainGrace: s.drain(), MaxWaiters: l.MaxWaiters, MaxLive: l.MaxLive, MaxDialing: l.MaxDialing,
		MaxSpawning: l.MaxSpawning, MaxQueued: l.MaxQueued, QueueTimeout: time.Duration(l.QueueTimeout),
	}
}

// overlay is what declarations may inherit.
func (s *settings) overlay() overlay {
	return overlay{env: s.Env, backfill: s.Overlay.Backfill, disabled: s.MCP.Disabled}
}

// origin is base_url without a trailing slash and /v1.
func (s *settings) origin() string {
	return strings.TrimRight(strings.TrimSuffix(strings.TrimRight(s.LLM.BaseURL, "/"), "/v1"), "/")
}
