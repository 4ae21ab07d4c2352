package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// maxSettings bounds config.toml, so that a wrong file is refused and not read whole.
const maxSettings = 1 << 20

// settings is what config.toml says, with the defaults filled in.
type settings struct {
	LLM struct {
		BaseURL string `toml:"base_url"`
		APIKey  string `toml:"api_key"`
		Kind    string `toml:"kind"`
	} `toml:"llm"`
	MCP   mcpSettings       `toml:"mcp"`
	Env   map[string]string `toml:"env"`
	Cache struct {
		Sessions int64 `toml:"sessions"`
	} `toml:"cache"`

	path    string
	unknown []string // keys that nothing here reads
}

// mcpSettings holds the times and bounds of peers. A nil field was not set.
type mcpSettings struct {
	IdleTimeout    *int64    `toml:"idle_timeout"` // whole seconds, as the protocol's other daemon has it
	ConnectTimeout *duration `toml:"connect_timeout"`
	CallTimeout    *duration `toml:"call_timeout"`
	CloseGrace     *duration `toml:"close_grace"`
	TerminateGrace *duration `toml:"terminate_grace"`
	KillGrace      *duration `toml:"kill_grace"`
	DrainGrace     *duration `toml:"drain_grace"`
	FailedRetry    *duration `toml:"failed_retry"`
	MaxSpawns      int       `toml:"max_spawns"`
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

// loadSettings reads config.toml. A file that is not there is an empty one.
func loadSettings(path string) (*settings, error) {
	s := &settings{path: path}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s, nil
	case err != nil:
		return nil, fmt.Errorf("cannot read the configuration: %w", err)
	case info.Size() > maxSettings:
		return nil, fmt.Errorf("%s has %d bytes, more than the %d that a configuration may have; is it the right file?",
			path, info.Size(), maxSettings)
	}
	meta, err := toml.DecodeFile(path, s)
	if err != nil {
		return nil, locate(path, err)
	}
	for _, key := range meta.Undecoded() {
		s.unknown = append(s.unknown, key.String())
	}
	slices.Sort(s.unknown)
	return s, s.validate()
}

var lineOf = regexp.MustCompile(`line (\d+)( \(last key "([^"]*)"\))?: `)

// locate turns the parser's error into file:line and key.
func locate(path string, err error) error {
	msg := strings.TrimPrefix(err.Error(), "toml: ")
	at := lineOf.FindStringSubmatch(msg)
	if at == nil {
		return fmt.Errorf("%s: %s", path, msg)
	}
	msg = strings.Replace(msg, at[0], "", 1)
	if at[3] != "" {
		msg = "key " + at[3] + ": " + msg
	}
	return fmt.Errorf("%s:%s: %s", path, at[1], msg)
}

// validate reports every value that cannot be meant.
func (s *settings) validate() error {
	var errs []error
	bad := func(key, why string) { errs = append(errs, fmt.Errorf("%s: key %s: %s", s.path, key, why)) }
	if s.LLM.Kind != "" && s.LLM.Kind != "anthropic" {
		bad("llm.kind", fmt.Sprintf("%q is not supported; leave it out for a gateway, or use \"anthropic\"", s.LLM.Kind))
	}
	if u, err := url.Parse(s.LLM.BaseURL); s.LLM.BaseURL != "" &&
		(err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https")) {
		bad("llm.base_url", "is not an http or https URL")
	}
	if t := s.MCP.IdleTimeout; t != nil && (*t < 0 || *t > int64(maxIdle/time.Second)) {
		bad("mcp.idle_timeout", fmt.Sprintf("is %d; use 0 (never) to %d seconds", *t, int64(maxIdle/time.Second)))
	}
	if s.MCP.MaxSpawns < 0 {
		bad("mcp.max_spawns", fmt.Sprintf("is %d; use 1 or more, or 0 for the default", s.MCP.MaxSpawns))
	}
	if len(errs) == 0 {
		if err := s.lifecycle().Validate(); err != nil {
			bad("mcp", err.Error())
		}
	}
	return errors.Join(errs...)
}

// maxIdle bounds idle_timeout far above any use and far below an overflow.
const maxIdle = 10 * 365 * 24 * time.Hour

// lifecycle returns the times and bounds of peers.
func (s *settings) lifecycle() *lifecycle.Config {
	c := lifecycle.DefaultConfig()
	if s.MCP.IdleTimeout != nil {
		c.IdleTimeout = time.Duration(*s.MCP.IdleTimeout) * time.Second
	}
	set := func(dst *time.Duration, v *duration) {
		if v != nil {
			*dst = time.Duration(*v)
		}
	}
	set(&c.ConnectTimeout, s.MCP.ConnectTimeout)
	set(&c.CallTimeout, s.MCP.CallTimeout)
	set(&c.CloseGrace, s.MCP.CloseGrace)
	set(&c.TerminateGrace, s.MCP.TerminateGrace)
	set(&c.KillGrace, s.MCP.KillGrace)
	set(&c.DrainGrace, s.MCP.DrainGrace)
	set(&c.FailedRetry, s.MCP.FailedRetry)
	return &c
}

// origin is base_url without a trailing slash and /v1.
func (s *settings) origin() string {
	return strings.TrimRight(strings.TrimSuffix(strings.TrimRight(s.LLM.BaseURL, "/"), "/v1"), "/")
}
