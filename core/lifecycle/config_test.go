package lifecycle

import (
	"strings"
	"testing"
)

func TestValidateReportsEveryProblem(t *testing.T) {
	c := Config{IdleTimeout: -1, FailedRetry: -1, CloseGrace: -1, TerminateGrace: -1, KillGrace: -1, DrainGrace: -1,
		StartTimeout: -1, QueueTimeout: -1, MaxLive: -1, MaxDialing: -1, MaxSpawning: -1, MaxQueued: -1}
	err := c.Validate()
	if err == nil {
		t.Fatal("accepted")
	}
	for _, field := range []string{"IdleTimeout", "FailedRetry", "ConnectTimeout", "CallTimeout", "CloseGrace",
		"TerminateGrace", "KillGrace", "DrainGrace", "MaxWaiters",
		"StartTimeout", "QueueTimeout", "MaxLive", "MaxDialing", "MaxSpawning", "MaxQueued"} {
		if !strings.Contains(err.Error(), field) {
			t.Errorf("nothing is said of %s in: %v", field, err)
		}
	}
	if err := DefaultConfig().Validate(); err != nil {
		t.Errorf("the default does not validate: %v", err)
	}
}

func TestPolicyValidateReportsEveryProblem(t *testing.T) {
	err := Policy{IdleTimeout: -1, MinUptime: -1, StartTimeout: -1, ConnectTimeout: -1, CallTimeout: -1,
		CloseGrace: -1, TerminateGrace: -1}.Validate()
	if err == nil {
		t.Fatal("accepted")
	}
	for _, field := range []string{"IdleTimeout", "MinUptime", "StartTimeout", "ConnectTimeout", "CallTimeout", "CloseGrace", "TerminateGrace"} {
		if !strings.Contains(err.Error(), field) {
			t.Errorf("nothing is said of %s in: %v", field, err)
		}
	}
	if err := (Policy{Pinned: true}).Validate(); err != nil {
		t.Errorf("a policy does not validate: %v", err)
	}
}

// TestWords: every value has a word of its own, and a corrupt one can still be printed.
func TestWords(t *testing.T) {
	seen := map[string]bool{}
	for k := InputKind(1); int(k) < inputKinds; k++ {
		if w := k.String(); seen[w] || w == "invalid" {
			t.Errorf("input kind %d is called %q", k, w)
		}
		seen[k.String()] = true
	}
	for _, w := range []string{State(99).String(), Phase(99).String(), Stage(99).String(), Reason(99).String(),
		DoneKind(99).String(), InputKind(99).String(), EffectKind(99).String(), ReplyKind(99).String()} {
		if w != "invalid" {
			t.Errorf("an unknown value is called %q", w)
		}
	}
}
