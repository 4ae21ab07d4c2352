package conformance

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// recorded reads observations that a run took down, with one class made noisy by hand and one
// left out.
func recorded(t *testing.T) (seen []observation) {
	t.Helper()
	file, err := os.ReadFile(filepath.Join("testdata", "coldstart.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(file) {
		var o observation
		if err := json.Unmarshal(line, &o); err != nil {
			t.Fatal(err)
		}
		seen = append(seen, o)
	}
	return seen
}

func coldEvidence(seen []observation) evidence {
	return evidence{seen: map[string][]observation{coldStartID: seen}}
}

// TestColdStartAnswer: a recording makes one answer, on a terminal and as JSON.
func TestColdStartAnswer(t *testing.T) {
	a, ok := coldStartAnswer(coldEvidence(recorded(t)))
	if !ok {
		t.Fatal("there is no answer")
	}
	var text bytes.Buffer
	if err := WriteAnswers(&text, []Answer{a}); err != nil {
		t.Fatal(err)
	}
	golden(t, "coldstart.txt", text.Bytes())
	out, err := json.MarshalIndent(a, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "coldstart.json", append(out, '\n'))
}

// take makes a series by hand.
func take(seen *[]observation, what string, took, overshoot time.Duration) {
	*seen = append(*seen, observation{Kind: seenSample, What: coldSeries + what, Min: took, Max: took, Overshoot: overshoot})
}

// TestColdStartPairs: each cold call is compared with the warm ones of the same visit, and the
// control alone discards, whatever the time was.
func TestColdStartPairs(t *testing.T) {
	const ms = time.Millisecond
	quiet, noisy := 10*ms, coldNoise("observer-0")+1
	var seen []observation
	take(&seen, "idle", 2*time.Second, 0)
	take(&seen, "observer-0/first/0.0", 500*ms, quiet)
	for _, x := range []struct {
		visit      string
		cold, warm time.Duration
		noise      time.Duration
	}{{"0.1", 30 * ms, 2 * ms, quiet}, {"1.1", 90 * ms, 60 * ms, quiet}, {"0.11", 41 * ms, 1 * ms, quiet}, {"1.2", 9000 * ms, 1 * ms, noisy}} {
		take(&seen, "observer-0/cold/"+x.visit, x.cold, x.noise)
		take(&seen, "observer-0/warm/"+x.visit+".1", x.warm, quiet)
	}
	take(&seen, "observer-0/warm/0.1.2", 7000*ms, noisy)
	idle, classes, _ := coldTimesOf(seen)
	if idle != 2*time.Second || len(classes) != 1 {
		t.Fatalf("T=%v, %d classes", idle, len(classes))
	}
	c := classes[0]
	want := []time.Duration{28 * ms, 30 * ms, 40 * ms}
	for i := range want {
		if len(c.extra) != len(want) || c.extra[i] != want[i] {
			t.Fatalf("the cold calls took %v more, want %v", c.extra, want)
		}
	}
	if len(c.cold) != 3 || len(c.warm) != 4 || c.noisy != 2 || c.all != 9 || c.first != 1 {
		t.Errorf("%d cold, %d warm, %d of %d discarded, %d first", len(c.cold), len(c.warm), c.noisy, c.all, c.first)
	}
}

// TestColdStartInconclusive: a class of whose cold calls over half were discarded has no numbers.
func TestColdStartInconclusive(t *testing.T) {
	var seen []observation
	for i, noise := range []time.Duration{0, time.Second, time.Second} {
		visit := string(rune('0'+i)) + ".1"
		take(&seen, "go-sdk/cold/"+visit, time.Second, noise)
		take(&seen, "go-sdk/warm/"+visit+".1", time.Millisecond, 0)
	}
	a, ok := coldStartAnswer(coldEvidence(seen))
	if !ok || len(a.Numbers) != 0 || !strings.Contains(a.Words, "go-sdk is INCONCLUSIVE: 2 of 3") {
		t.Errorf("%v %+v", ok, a)
	}
	if a, ok = coldStartAnswer(coldEvidence(seen[:2])); !ok || len(a.Numbers) != 9 {
		t.Errorf("%v %+v", ok, a)
	}
	if _, ok := coldStartAnswer(coldEvidence(nil)); ok {
		t.Error("there is an answer where nothing was measured")
	}
}
