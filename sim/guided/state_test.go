package guided

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestStatesAreChecked: what is damaged, of another build, or contradicts itself is refused, and the
// error says why.
func TestStatesAreChecked(t *testing.T) {
	s := begin(t, small(1))
	for range 2 {
		round(t, s, 2, planted(bugs[0].trigger))
	}
	s.found(Find{"PLANTED", s.Next()[0], 5})
	text := encoded(t, s)
	replaced := func(old, by string) func() []byte {
		return func() []byte { return []byte(strings.Replace(string(text), old, by, 1)) }
	}
	changed := func(change func(*state)) func() []byte {
		return func() []byte {
			var x state
			if err := json.Unmarshal(text, &x); err != nil {
				t.Fatal(err)
			}
			change(&x)
			out, err := json.Marshal(x)
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
	}
	for want, bad := range map[string]func() []byte{
		"unexpected end":                  func() []byte { return text[:len(text)/2] },
		"MaxState":                        func() []byte { return make([]byte, MaxState+1) },
		"after top-level value":           func() []byte { return append([]byte(string(text)), "x"...) },
		"is of version 2":                 replaced(`"version":1`, `"version":2`),
		"points mean something":           changed(func(x *state) { x.Catalogue = "0" }),
		"unknown field":                   replaced(`"round":`, `"rounds":`),
		"batch is -1":                     changed(func(x *state) { x.Options.Batch = -1 }),
		"options are not compl":           changed(func(x *state) { x.Options.Batch = 0 }),
		"counts for":                      changed(func(x *state) { x.Hits = x.Hits[1:] }),
		"runs in":                         changed(func(x *state) { x.Runs++ }),
		"was reached by 0":                changed(func(x *state) { x.Hits[0] = 0 }),
		"was reached by 25":               changed(func(x *state) { x.Hits[0] = 25 }),
		"not base64":                      replaced(`"seen":"`, `"seen":"!`),
		"is beyond":                       changed(func(x *state) { x.Seen = append(x.Seen, uint32(nPoints)) }),
		"cut off":                         changed(func(x *state) { x.Seen = append(x.Seen, 1) }),
		"MaxFinds":                        changed(func(x *state) { x.Finds = make([]Find, MaxFinds+1) }),
		"find 0: an input":                changed(func(x *state) { x.Finds[0].Input.Tenants = 0 }),
		"names no rule":                   changed(func(x *state) { x.Finds[0].Rule = "" }),
		"its options allow":               changed(func(x *state) { x.Options.Corpus = 1 }),
		"than its options allow":          changed(func(x *state) { x.Options.Blind = true }),
		"input 0 of the corpus: an input": changed(func(x *state) { x.Corpus[0].Input.Mix.Die = 1_000_000 }),
		"holds nothing":                   changed(func(x *state) { x.Corpus[0].Holds = nil }),
		"which is not its own":            changed(func(x *state) { x.Corpus[1].Holds = x.Corpus[0].Holds[:1] }),
		"nothing has reached":             changed(func(x *state) { x.Seen, x.Hits = nil, nil }),
		"books that no run leaves":        changed(func(x *state) { x.Corpus[0].Cost = 0 }),
		"that no run leaves":              changed(func(x *state) { x.Corpus[0].Born = 25 }),
	} {
		if _, err := Decode(bad()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v", want, err)
		}
	}
	if _, err := Decode(text); err != nil {
		t.Error(err)
	}
}

// TestStatesAreSmall: the largest corpus that options allow fits where states are kept.
func TestStatesAreSmall(t *testing.T) {
	o := Options{Seed: 2, Batch: MaxCorpus, Corpus: MaxCorpus}
	s := begin(t, o)
	reach := make(Points, 0, 600) // more than runs reach, further apart
	for p := 0; len(reach) < cap(reach); p += nPoints / cap(reach) {
		reach = append(reach, uint32(p))
	}
	batch := s.Next()
	for i := range batch {
		s.take(&batch[i], &Outcome{Steps: 1 << 40, Points: Points{uint32(nPoints - MaxCorpus + i)}}, 0)
		e := &s.corpus[i]
		e.Reach = append(append(Points{}, reach[:len(reach)-2]...), e.Reach...)
	}
	for i := range MaxFinds {
		s.finds = append(s.finds, Find{strings.Repeat("x", maxRule), batch[i], 1 << 40})
	}
	if text := encoded(t, s); len(s.corpus) != MaxCorpus {
		t.Errorf("the corpus has %d inputs in %d bytes", len(s.corpus), len(text))
	} else {
		t.Logf("%d bytes", len(text))
	}
}

func TestPointsAsText(t *testing.T) {
	for _, p := range []Points{nil, {0}, {0, 1, 200, 70000}, {uint32(nPoints - 1)}} {
		text, err := p.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var back Points
		if err := back.UnmarshalText(text); err != nil || string(mustText(t, back)) != string(text) || len(back) != len(p) {
			t.Errorf("%v became %v: %v", p, back, err)
		}
	}
	for _, bad := range []string{"gA==", "////////////AQ==", "!"} {
		if err := new(Points).UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("%q is read as points", bad)
		}
	}
}

func mustText(t *testing.T, p Points) []byte {
	t.Helper()
	text, err := p.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	return text
}
