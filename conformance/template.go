package conformance

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mayfly-mcp/mayfly/scenarios"
)

// DefaultTemplate is the configuration of the protocol's daemon (WIRE.md §7.3): what it cannot
// be told is left at its defaults, and the checks that need it are not applicable.
const DefaultTemplate = `[llm]
base_url = "{model}"
api_key = "{key}"

[mcp]
idle_timeout = {idle_timeout_s}
`

// embeddedTemplate has all that the reference daemon can be told.
const embeddedTemplate = DefaultTemplate + `connect_timeout = "{connect_timeout}"
call_timeout = "{call_timeout}"
close_grace = "{grace}"
terminate_grace = "{grace}"
kill_grace = "{grace}"
drain_grace = "{grace}"

[endpoint]
max_tools = {max_tools}
`

// modelKey is the key that daemons are told to send to the model endpoint, which wants none.
const modelKey = "test"

// values are what placeholders stand for in one start of a daemon.
type values struct {
	home, socket, model string
	settings            scenarios.Settings
	maxTools            int
}

// usualTools is how many tools an endpoint may serve where no check wants less.
const usualTools = 10000

// placeholder matches one. What is in braces otherwise, as in JSON, is left alone.
var placeholder = regexp.MustCompile(`\{[a-z][a-z_]*\}`)

// Placeholders lists what a template, an argument or a variable may contain, for a manual.
func Placeholders() []string {
	names := []string{"{home}", "{socket}", "{model}", "{key}", "{max_tools}"}
	for _, t := range []string{"idle_timeout", "connect_timeout", "call_timeout", "grace"} {
		names = append(names, "{"+t+"}", "{"+t+"_s}", "{"+t+"_ms}")
	}
	return names
}

func (v values) fill(text string) string {
	return placeholder.ReplaceAllStringFunc(text, func(p string) string {
		switch name := strings.Trim(p, "{}"); name {
		case "home":
			return v.home
		case "socket":
			return v.socket
		case "model":
			return v.model
		case "key":
			return modelKey
		case "max_tools":
			return strconv.Itoa(cmp.Or(v.maxTools, usualTools))
		default:
			return v.time(name, p)
		}
	})
}

// time is a duration as Go writes it, in whole seconds or in milliseconds. What is no
// placeholder stays.
func (v values) time(name, text string) string {
	d := map[string]time.Duration{
		"idle_timeout": v.settings.IdleTimeout, "connect_timeout": v.settings.ConnectTimeout,
		"call_timeout": v.settings.CallTimeout, "grace": v.settings.Grace,
	}
	if base, ok := strings.CutSuffix(name, "_ms"); ok {
		if x, known := d[base]; known {
			return strconv.FormatInt(x.Milliseconds(), 10)
		}
	}
	if base, ok := strings.CutSuffix(name, "_s"); ok {
		if x, known := d[base]; known {
			return strconv.FormatInt(int64((x+time.Second-1)/time.Second), 10) // up: 0 would mean never
		}
	}
	if x, known := d[name]; known {
		return x.String()
	}
	return text
}

// texts are all that may have placeholders.
func (t Target) texts() []string {
	return slices.Concat(t.Argv, t.Vars, []string{t.Template})
}

// checkPlaceholders finds those that nothing is known of: a typing error would make the daemon
// run with something in its configuration that nobody meant.
func (t Target) checkPlaceholders() error {
	known := Placeholders()
	for _, text := range t.texts() {
		for _, p := range placeholder.FindAllString(text, -1) {
			if !slices.Contains(known, p) {
				return fmt.Errorf("there is no placeholder %s; the target may use %s", p, strings.Join(known, " "))
			}
		}
	}
	return nil
}

// mentions reports whether the target is told a setting.
func (t Target) mentions(setting string) bool {
	return slices.ContainsFunc(t.texts(), func(text string) bool {
		return strings.Contains(text, "{"+setting+"}") || strings.Contains(text, "{"+setting+"_s}") ||
			strings.Contains(text, "{"+setting+"_ms}")
	})
}
