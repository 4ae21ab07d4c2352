package daemon

import (
	"strings"
	"testing"
)

// What a declaration leaves out, leaves empty or says beyond what is known makes no other one
// of it (SPEC ID-6).
func TestWhatMeansNothingIsIgnored(t *testing.T) {
	_, plain, err := parseMcp(`{"name":"m","command":"c"}`)
	if err != nil {
		t.Fatal(err)
	}
	for _, more := range []string{`"url":""`, `"auth":""`, `"disabled":false`, `"env":{}`, `"args":[]`,
		`"a_key_of_tomorrow":{"deep":[1,"x"]}`} {
		_, other, err := parseMcp(`{"name":"m","command":"c",` + more + `}`)
		if err != nil {
			t.Errorf("%s: %v", more, err)
			continue
		}
		if !sameMcp(&plain, &other) {
			t.Errorf("%s makes another declaration", more)
		}
	}
}

// A cap on live peers that the limit of open files cannot hold is lowered before the first of
// them is started, and that is said (SPEC PR-9).
func TestACapBeyondTheFilesIsLowered(t *testing.T) {
	const asked = 1 << 30 // the most that may be asked for, and more than a kernel lets one process open
	r := start(t, setup{settings: "[limits]\nmax_live = 1073741824\n", cfg: func(c *Config) { c.Dialer = nil }})
	if got := r.d.host.Settings().MaxLive; got < 1 || got >= asked {
		t.Errorf("the host may keep %d peers live", got)
	}
	if log := r.log.String(); !strings.Contains(log, "lower the cap") {
		t.Errorf("the log does not say so: %s", log)
	}
}
