package daemon

import (
	"testing"
)

// What a declaration leaves out, leaves empty or says beyond what is known makes no other one
// of it (SPEC ID-6).
func TestWhatMeansNothingIsIgnored(t *testing.T) {
	_, plain, err := parseMcp(`{"name":"m","command":"c"}`)
	if err != nil {
		t.Fatal(err)
	}
	for _, more := range []string{`"url":""`, `"auth":""`, `"env":{}`, `"args":[]`,
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
