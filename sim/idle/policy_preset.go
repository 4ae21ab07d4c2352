package idle

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mayfly-mcp/mayfly/sim/idle/traffic"
)

// Preset is a policy and what it needs of the configuration around it: what ParsePolicy makes of a spec.
type Preset struct {
	Policy  Policy
	spec    string
	changes []func(*Config) error
}

// Name is the spec that makes it again.
func (p Preset) Name() string { return p.spec }

// Apply sets the configuration's policy, and its caps, retries and claims where the spec says so. Set Servers before:
// classes are looked up in them.
func (p Preset) Apply(c *Config) error {
	c.Policy = p.Policy
	for _, change := range p.changes {
		if err := change(c); err != nil {
			return err
		}
	}
	return nil
}

// PolicyKind is one kind of policy, or an addition to one, that ParsePolicy knows.
type PolicyKind struct {
	Name  string
	Form  string // how it is written, with example values for its parameters
	About string // one line
	Adds  bool   // it adds to a policy, behind a plus sign: "exact+retry"
}

// PolicyKinds lists policies and then additions.
func PolicyKinds() []PolicyKind {
	var out []PolicyKind
	for _, k := range policyKinds() {
		out = append(out, k.PolicyKind)
	}
	return out
}

// maxPolicySpec bounds a spec, in bytes.
const maxPolicySpec = 4096

// ParsePolicy makes what a spec describes: a policy and its parameters, and additions behind plus signs, as in
//
//	per-class:npx=2h,native=1m+greedy-dual:max=200+retry:base=1s,cap=5m
//
// Additions alone add to the RFC's policy. PolicyKinds lists what there is.
func ParsePolicy(spec string) (Preset, error) {
	if len(spec) > maxPolicySpec {
		return Preset{}, fmt.Errorf("policy: a spec of %d bytes; use at most %d", len(spec), maxPolicySpec)
	}
	var d policyDraft
	for _, word := range strings.Split(spec, "+") {
		if err := d.read(strings.TrimSpace(word)); err != nil {
			return Preset{}, err
		}
	}
	return d.finish(strings.TrimSpace(spec))
}

// policyDraft is what was read of a spec so far.
type policyDraft struct {
	base    Policy // nil if none was named
	greedy  bool
	retry   *RetryBackoff
	changes []func(*Config) error
	named   []string
}

func (d *policyDraft) read(word string) error {
	name, rest, given := strings.Cut(word, ":")
	kinds := policyKinds()
	i := slices.IndexFunc(kinds, func(k policyKind) bool { return k.Name == name })
	switch {
	case i < 0:
		return unknownPolicy(name)
	case given && strings.TrimSpace(rest) == "":
		return fmt.Errorf("%s: nothing follows the colon; write %s", name, kinds[i].Form)
	case slices.Contains(d.named, name):
		return fmt.Errorf("%s: it is named twice", name)
	case !kinds[i].Adds && d.base != nil:
		return fmt.Errorf("%s: there is a policy already, %s; only additions follow a plus sign", name, d.base.Name())
	}
	d.named = append(d.named, name)
	a := &policyArgs{kind: kinds[i]}
	if err := a.read(rest); err != nil {
		return err
	}
	kinds[i].build(a, d)
	return a.err
}

func unknownPolicy(name string) error {
	var names []string
	for _, k := range policyKinds() {
		names = append(names, k.Name)
	}
	if name == "" {
		return fmt.Errorf("policy: no policy is named: there are %s", strings.Join(names, ", "))
	}
	return fmt.Errorf("policy: there is no %q%s: there are %s", name, traffic.Near(name, names), strings.Join(names, ", "))
}

// finish puts the parts on top of each other: who goes at the cap, then who is retried.
func (d *policyDraft) finish(spec string) (Preset, error) {
	p := orRFC(d.base)
	if d.greedy {
		p = GreedyDual{Retain: p}
	}
	if d.retry != nil {
		d.retry.Policy = p
		p = *d.retry
	}
	if v, ok := p.(validated); ok {
		if err := v.Validate(); err != nil {
			return Preset{}, err
		}
	}
	return Preset{Policy: p, spec: spec, changes: d.changes}, nil
}

func (d *policyDraft) change(f func(*Config) error) { d.changes = append(d.changes, f) }

// cap sets MaxLive, to 0 if the configuration's own is meant, which there must be then.
func (d *policyDraft) cap(name string, most int) {
	d.change(func(c *Config) error {
		if most > 0 {
			c.Machine.MaxLive = most
		}
		if c.Machine.MaxLive == 0 {
			return fmt.Errorf("%s: nothing caps the processes; write %s:max=200 or set MaxLive", name, name)
		}
		return nil
	})
}

// retryFailed replaces the time for which the machine leaves failed peers alone.
func (d *policyDraft) retryFailed(after time.Duration) {
	d.change(func(c *Config) error {
		c.Machine.FailedRetry = after
		return nil
	})
}

// agents has each tenant's claims ask for a timeout of their own, in turn by the tenant's number.
func (d *policyDraft) agents(times []time.Duration, shortest bool) {
	d.change(func(c *Config) error {
		if len(times) == 0 {
			return errors.New("agents: no times are given; write agents:times=5m/1h")
		}
		c.Agents = func(tenant uint32) time.Duration { return times[int(tenant)%len(times)] }
		c.ShortestWins = shortest
		return nil
	})
}
