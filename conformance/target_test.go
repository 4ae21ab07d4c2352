package conformance

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/scenarios"
)

func TestParseTarget(t *testing.T) {
	for spec, want := range map[string]Target{
		"embedded": {Name: "embedded"},
		"exec:A=b C={home}/x daemon --home '{home} y' \"q\\\"q\"": {
			Name: "exec:daemon", Vars: []string{"A=b", "C={home}/x"}, Argv: []string{"daemon", "--home", "{home} y", `q"q`},
		},
		"unix:/somewhere/d.sock": {Name: "unix:d.sock", Network: "unix", Address: "/somewhere/d.sock"},
		"tcp:127.0.0.1:6688":     {Name: "tcp:127.0.0.1:6688", Network: "tcp", Address: "127.0.0.1:6688"},
		"adapter:prog -x":        {Name: "adapter:prog", Adapter: true, Argv: []string{"prog", "-x"}},
	} {
		got, err := ParseTarget(spec, "peer")
		if err != nil {
			t.Errorf("%s: %v", spec, err)
			continue
		}
		if spec == "embedded" {
			got.Argv = nil
		}
		show := func(t Target) []any {
			return []any{t.Name, t.Vars, t.Argv, t.Network, t.Address, t.Adapter}
		}
		if diff := cmp.Diff(show(want), show(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", spec, diff)
		}
	}
	for spec, want := range map[string]string{
		"":                    "says nothing",
		"exec:":               "says nothing",
		"exec:A=b":            "variables and no command",
		"exec:daemon 'x":      "ends within quotes",
		"exec:daemon {hoem}":  "there is no placeholder {hoem}; the target may use {home} {socket}",
		"tcp:localhost":       "is no tcp:HOST:PORT",
		"http://localhost:80": `there is no kind of target "http"`,
	} {
		if _, err := ParseTarget(spec, "peer"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", spec, err, want)
		}
	}
}

func TestTemplates(t *testing.T) {
	v := values{home: "/h", socket: "/h/s", model: "http://m", settings: scenarios.DefaultSettings()}
	v.settings.IdleTimeout = 1500 * time.Millisecond
	in := `{"home":"{home}","s":"{socket}","m":"{model}","k":"{key}","a":"{idle_timeout}","b":{idle_timeout_s},"c":{idle_timeout_ms},"d":"{grace}"}`
	want := `{"home":"/h","s":"/h/s","m":"http://m","k":"test","a":"1.5s","b":2,"c":1500,"d":"5s"}`
	if got := v.fill(in); got != want {
		t.Errorf("filled in:\n%s\nwant\n%s", got, want)
	}
	target := Target{Argv: []string{"x"}, Template: in}
	for c, want := range map[Capability]bool{IdleTimeout: true, Grace: true, ConnectTimeout: false, CallTimeout: false, Process: true} {
		if got := slices.Contains(target.Capabilities(), c); got != want {
			t.Errorf("a target that is told what the template says has %s: %v", c, got)
		}
	}
}

// TestEveryCheckSaysWhatItNeeds: a check by hand that is not in the table would be run against
// targets that cannot do it.
func TestEveryCheckSaysWhatItNeeds(t *testing.T) {
	all, ref := Everything(), reference(t)
	for _, c := range all {
		if _, err := scenarios.Named(c.ID); err == nil {
			continue
		}
		if _, ok := byHandNeeds[c.ID]; !ok {
			t.Errorf("%s is not in the table of capabilities", c.ID)
		}
	}
	for id := range byHandNeeds {
		if !slices.ContainsFunc(all, func(c Check) bool { return c.ID == id }) {
			t.Errorf("the table of capabilities has %q, which is no check", id)
		}
	}
	for _, c := range all {
		if why := ref.lacking(c); why != "" {
			t.Errorf("the reference daemon is said to lack something for %s: %s", c.ID, why)
		}
	}
}
