package idle

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestPolicySpecs: each makes the policy that it names, by the name that makes it again.
func TestPolicySpecs(t *testing.T) {
	tiers, hybrid, hazard, retry := DefaultTiers(), DefaultHybrid(), DefaultHazard(), DefaultRetry()
	tiers.Hot, tiers.Lifetime = time.Hour, true
	hybrid.Bin, hybrid.Head, hybrid.Margin = 2*time.Minute, 0, 0.25
	hazard.B, hazard.Global = 24*time.Hour, true
	retry.Base, retry.Attempts, retry.Policy = 2*sec, 7, GreedyDual{Retain: PerClass{Times: map[string]time.Duration{"npx": 2 * time.Hour, "native": 0}, PerSecond: 1e7}}
	for _, c := range []struct {
		spec, name string
		want       Policy
	}{
		{"rfc", "", RFC{}}, {"exact", "", Exact{}}, {"exact:t=90m", "exact:t=1h30m", Exact{T: 90 * time.Minute}}, {"at-once", "", AtOnce{}}, {"keep", "", Keep{}},
		{"minimax", "", Minimax{}}, {"minimax:b=30m", "", Minimax{B: 1800 * sec}}, {"minimax:wait=600", "", Minimax{Wait: 600}},
		{"random:b=1d", "random:b=24h", Randomised{B: 24 * time.Hour}}, {"sweep:t=1m30s", "", SweepOnDispatch{T: 90 * sec}},
		{"tiers", "", DefaultTiers()}, {"tiers:hot=1h,rate=life", "", tiers},
		{"hybrid", "", DefaultHybrid()}, {"hybrid:bin=2m,head=0,margin=0.25", "", hybrid},
		{"hazard", "", DefaultHazard()}, {"hazard:pool=all,b=24h", "hazard:b=24h,pool=all", hazard},
		{"clairvoyant", "", Offline{}}, {"prewarm:lead=5s", "", Offline{Prewarm: true, Lead: 5 * sec}},
		{"lru:max=3", "rfc", RFC{}}, {"greedy-dual:max=3", "greedy-dual", GreedyDual{Retain: RFC{}}},
		{"retry:base=2s,attempts=7 + greedy-dual + per-class:npx=2h, native=keep, per-second=1e7",
			"per-class:native=keep,npx=2h,per-second=10000000+greedy-dual+retry:base=2s,attempts=7", retry},
	} {
		p, err := ParsePolicy(c.spec)
		if err != nil {
			t.Errorf("%s: %v", c.spec, err)
			continue
		}
		if diff := cmp.Diff(c.want, p.Policy); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.spec, diff)
		}
		if c.name == "" {
			c.name = c.spec
		}
		is(t, "name of the policy", p.Policy.Name(), c.name)
		is(t, "name of the preset", p.Name(), c.spec)
		again, err := ParsePolicy(p.Policy.Name())
		if diff := cmp.Diff(p.Policy, again.Policy); err != nil || diff != "" {
			t.Errorf("%s is not made again by %s: %v\n%s", c.spec, p.Policy.Name(), err, diff)
		}
	}
}

// TestPolicyKindsAreComplete: every form is a spec, with every parameter in it, and has a line about it.
func TestPolicyKindsAreComplete(t *testing.T) {
	for _, k := range policyKinds() {
		p, err := ParsePolicy(k.Form)
		if err != nil {
			t.Errorf("%s: %v", k.Form, err)
			continue
		}
		c := scriptOf()
		if err := p.Apply(&c); err != nil && k.Name != "per-class" {
			t.Errorf("%s: %v", k.Form, err)
		}
		for _, param := range k.params {
			if !strings.Contains(k.Form+k.About, param+"=") && !strings.Contains(k.About, param) {
				t.Errorf("%s: %s is not explained", k.Name, param)
			}
		}
		if k.About == "" || strings.Contains(k.About, "\n") || !strings.HasPrefix(k.Form, k.Name) {
			t.Errorf("%+v is not told in a line", k.PolicyKind)
		}
	}
	is(t, "kinds", len(PolicyKinds()), 19)
}

// TestPresetsApply what belongs to the machine and to claims.
func TestPresetsApply(t *testing.T) {
	c := scriptOf()
	c.Servers = DefaultMix()
	for _, spec := range []string{"rfc:t=7m", "greedy-dual:max=9", "failed-retry:t=1m", "agents:times=5m/1h,wins=shortest", "per-class:npx=1h"} {
		p, err := ParsePolicy(spec)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Apply(&c); err != nil {
			t.Errorf("%s: %v", spec, err)
		}
	}
	is(t, "T", c.Machine.IdleTimeout, 7*time.Minute)
	is(t, "cap", c.Machine.MaxLive, 9)
	is(t, "failed", c.Machine.FailedRetry, time.Minute)
	is(t, "first agent", c.Agents(0), 5*time.Minute)
	is(t, "fourth agent", c.Agents(3), time.Hour)
	is(t, "shortest", c.ShortestWins, true)
	is(t, "policy", c.Policy.Name(), "per-class:npx=1h")

	for spec, want := range map[string]string{"lru": "nothing caps the processes; write lru:max=200", "per-class:npz=1h": `no class "npz" in the fleet (did you mean "npx"?)`} {
		c := scriptOf()
		c.Servers = DefaultMix()
		p, err := ParsePolicy(spec)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Apply(&c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", spec, err, want)
		}
	}
}

func TestBadPolicySpecs(t *testing.T) {
	for spec, want := range map[string]string{
		"":                           "no policy is named",
		"hybird":                     `did you mean "hybrid"?`,
		"exact:q=1m":                 `no parameter "q"`,
		"hybrid:rang=1h":             `did you mean "range"?`,
		"exact:":                     "nothing follows the colon",
		"exact:t":                    "has no value",
		"exact:t=":                   "has no value",
		"exact:t=5":                  "a time with its unit",
		"exact:t=-5s":                "a time with its unit",
		"exact:t=1e9d":               "a time with its unit",
		"exact:t=200000h":            "T is 200000h",
		"exact:t=1s,t=2s":            "given twice",
		"exact+keep":                 "there is a policy already, exact",
		"keep+retry+retry":           "named twice",
		"keep:x=1":                   "takes no parameters",
		"greedy-dual:max=0":          "a whole number from 1",
		"tiers:rate=emu":             `did you mean "ema"?`,
		"tiers:hot-rate=1":           "hot is the higher rate",
		"tiers:weight=NaN":           "Weight is NaN",
		"hybrid:bin=7m":              "whole bins",
		"hazard:learn=no":            "a whole number from 1",
		"minimax:b=1m,wait=3":        "one price",
		"known":                      "law is missing",
		"known:law=exp":              "mean is missing",
		"known:law=exp,mean=0s":      "a time with its unit",
		"known:law=lomax,scale=1m":   "alpha",
		"failed-retry":               "t is missing",
		"agents":                     "times is missing",
		"agents:times=1m/x":          "times with slashes",
		"retry:cap=10ms":             "Cap is 10ms",
		"clairvoyant+retry":          "knows the future and goes alone",
		"per-class":                  "no class is given",
		"per-class:npx=x":            "a time with its unit",
		strings.Repeat("keep+", 999): "a spec of 4995 bytes",
	} {
		if _, err := ParsePolicy(spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v, want %q", spec, err, want)
		}
	}
}

func TestShortDurations(t *testing.T) {
	for d, want := range map[time.Duration]string{30 * time.Minute: "30m", 2 * time.Hour: "2h", 90 * time.Minute: "1h30m", 90 * sec: "1m30s",
		10 * sec: "10s", 10 * time.Minute: "10m", time.Hour + sec: "1h0m1s", 100 * time.Millisecond: "100ms"} {
		is(t, "short", shortDuration(d), want)
	}
}

func FuzzParsePolicy(f *testing.F) {
	for _, k := range PolicyKinds() {
		f.Add(k.Form)
	}
	f.Fuzz(func(t *testing.T, spec string) {
		p, err := ParsePolicy(spec)
		if err != nil {
			return
		}
		p.Policy.Start(fleetEnv()) // what parses can be started
		if _, known := p.Policy.(KnownLaw); known || strings.Contains(p.Policy.Name(), "known:") {
			return
		}
		if again, err := ParsePolicy(p.Policy.Name()); err != nil || again.Policy.Name() != p.Policy.Name() {
			t.Errorf("%q is named %q, which makes %v (%v)", spec, p.Policy.Name(), again.Policy, err)
		}
	})
}
