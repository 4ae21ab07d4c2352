package queue

import (
	"bytes"
	"strings"
	"testing"
)

// TestThin: samples stay few, in order, with the first and the last.
func TestThin(t *testing.T) {
	var all []Sample
	for i := range uint64(10_000) {
		all = thin(append(all, Sample{Seeds: i}), 100)
		if len(all) > 100 || all[0].Seeds != 0 || all[len(all)-1].Seeds != i {
			t.Fatalf("after %d: %d samples, from %d to %d", i, len(all), all[0].Seeds, all[len(all)-1].Seeds)
		}
	}
	for i := range all[1:] {
		if all[i].Seeds >= all[i+1].Seeds {
			t.Fatalf("samples are out of order: %v", all)
		}
	}
}

// TestShown: no form of an address shows its password.
func TestShown(t *testing.T) {
	for in, want := range map[string]string{
		"nats://a:1":                     "nats://a:1",
		"nats://u:pw@a:1,tls://u:pw@b:2": "nats://a:1,tls://b:2",
		" nats://token@a:1 ,nats://b":    "nats://a:1,nats://b",
		"u:pw@a:1":                       "a:1",
		"nats://u:p%zz@a:1":              "a:1",
		"nats://u:pw@[::1]:1":            "nats://[::1]:1",
	} {
		if got := shown(in); got != want || strings.Contains(got, "pw") {
			t.Errorf("%q is shown as %q, want %q", in, got, want)
		}
	}
}

// TestPack: what is packed comes back, and something else does not.
func TestPack(t *testing.T) {
	text := []byte(strings.Repeat(`{"seed":1,"steps":2}`, 1000))
	p := pack(text)
	if back, err := unpack(p); err != nil || !bytes.Equal(back, text) || len(p) > len(text)/10 {
		t.Errorf("%d bytes, packed %d, came back as %d: %v", len(text), len(p), len(back), err)
	}
	if _, err := unpack(text); err == nil {
		t.Error("plain text was unpacked")
	}
}
