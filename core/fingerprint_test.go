package core

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/core/transport"
)

// configs draws configurations from an alphabet that is small enough for near misses: the
// same letters on either side of a border between two fields.
func configs() *rapid.Generator[transport.Config] {
	word := rapid.StringOfN(rapid.SampledFrom([]rune("ab=\x00")), 0, 3, -1)
	return rapid.Custom(func(t *rapid.T) transport.Config {
		return transport.Config{
			Command: word.Draw(t, "command"),
			Args:    rapid.SliceOfN(word, 0, 3).Draw(t, "args"),
			Env:     rapid.MapOfN(word, word, 0, 2).Draw(t, "env"),
			URL:     word.Draw(t, "url"),
			Auth:    word.Draw(t, "auth"),
		}
	})
}

// ID-1, ID-4: two configurations have one fingerprint if and only if they are equal.
func TestFingerprintIsInjective(t *testing.T) {
	key := []byte("key")
	rapid.Check(t, func(t *rapid.T) {
		a, b := configs().Draw(t, "a"), configs().Draw(t, "b")
		if same := newPrints(key).of(a, "") == newPrints(key).of(b, ""); same != sameConfig(a, b) {
			t.Fatalf("fingerprints equal: %v, configs equal: %v", same, sameConfig(a, b))
		}
	})
}

// ID-4: text that moves over the border of a field, or from one field to another, is another
// configuration. Drawn pairs seldom differ in so little.
func TestFingerprintKeepsBorders(t *testing.T) {
	env := func(kv ...string) map[string]string {
		m := map[string]string{}
		for i := 0; i < len(kv); i += 2 {
			m[kv[i]] = kv[i+1]
		}
		return m
	}
	all := []transport.Config{
		{}, {Command: "ab"}, {Command: "a", Args: []string{"b"}}, {Args: []string{"a", "b"}}, {Args: []string{"ab"}},
		{Args: []string{"ab", ""}}, {Args: []string{"", "ab"}}, {Env: env("a", "b")}, {Env: env("ab", "")},
		{Env: env("", "ab")}, {Env: env("a", "", "b", "")}, {Args: []string{"a"}, Env: env("b", "")},
		{URL: "ab"}, {Auth: "ab"}, {URL: "a", Auth: "b"}, {Command: "a", URL: "b"}, {Command: "a", Auth: "b"},
	}
	seen := map[lifecycle.Fingerprint]int{}
	for i, c := range all {
		fp := newPrints([]byte("key")).of(c, "")
		if j, ok := seen[fp]; ok {
			t.Errorf("%+v and %+v share a fingerprint", all[j], c)
		}
		seen[fp] = i
	}
}

// ID-3, ID-6: neither the order of the environment nor absent against empty matters.
func TestFingerprintIgnoresWhatMeansTheSame(t *testing.T) {
	k := newPrints([]byte("k")) // used again and again
	rapid.Check(t, func(t *rapid.T) {
		c := configs().Draw(t, "config")
		again := c
		again.Env = map[string]string{}
		for _, k := range slices.Backward(slices.Sorted(maps.Keys(c.Env))) {
			again.Env[k] = c.Env[k]
		}
		if len(c.Args) == 0 {
			again.Args = nil
		}
		if k.of(c, "") != k.of(again, "") || !sameConfig(c, again) {
			t.Fatalf("%+v and %+v differ", c, again)
		}
	})
}

// ID-4, ID-5: another daemon's key gives other ids, and what is printed is a short prefix.
func TestFingerprintIsKeyed(t *testing.T) {
	c := transport.Config{Command: "a", Auth: "secret"}
	one, two := newPrints([]byte("one")).of(c, ""), newPrints([]byte("two")).of(c, "")
	if one == two || shortID(one) == shortID(two) {
		t.Error("the fingerprint does not depend on the key")
	}
	if id := shortID(one); len(id) != 16 || !strings.HasPrefix(id, shortID(one)) || bytes.Contains([]byte(id), []byte("secret")) {
		t.Errorf("printed id %q", id)
	}
}

// A recording whose outputs were altered, one field at a time, does not replay: the check
// that every test of the host ends with can fail.
func TestCorruptRecordingIsDetected(t *testing.T) {
	record := func() *Recorder {
		r := &Recorder{}
		r.begin(lifecycle.DefaultConfig())
		m := lifecycle.New(r.cfg)
		for _, in := range []lifecycle.Input{
			lifecycle.OwnerBorn(1), lifecycle.Declare(0, 1, 0, lifecycle.Fingerprint{1}),
			lifecycle.Dispatch(lifecycle.MakeTicket(1, 0), 1, 0), lifecycle.InputConnected(1, 1, 3),
			lifecycle.CallDone(lifecycle.MakeTicket(1, 0), lifecycle.DoneAnswered),
		} {
			r.add(0, in, m.Step(0, in))
		}
		return r
	}
	if err := record().Replay(); err != nil {
		t.Fatalf("an honest recording: %v", err)
	}
	for name, corrupt := range map[string]func(*Recorder){
		"effect":        func(r *Recorder) { r.steps[2].out.Effects[0].Gen++ },
		"effect lost":   func(r *Recorder) { r.steps[2].out.Effects = nil },
		"event":         func(r *Recorder) { r.steps[3].out.Events[0].Tools++ },
		"event order":   func(r *Recorder) { r.steps[2].out.Events[0].Seq++ },
		"reply":         func(r *Recorder) { r.steps[3].out.Replies[0].Ticket++ },
		"reply too few": func(r *Recorder) { r.steps[3].out.Replies = nil },
		"input lost":    func(r *Recorder) { r.steps = slices.Delete(r.steps, 3, 4) },
		"input altered": func(r *Recorder) { r.steps[3].in.Tools++ },
		"config":        func(r *Recorder) { r.cfg.MaxWaiters = 1; r.steps[2].out.Replies = r.steps[3].out.Replies },
	} {
		r := record()
		corrupt(r)
		if replays(r) {
			t.Errorf("%s: the corrupt recording replays", name)
		}
	}
}

// replays counts an invariant that breaks in the replay as a difference.
func replays(r *Recorder) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	return r.Replay() == nil
}
