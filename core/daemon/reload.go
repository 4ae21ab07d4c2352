package daemon

import (
	"fmt"
	"maps"
	"slices"

	"github.com/mayfly-mcp/mayfly/core"
)

// Reloaded says what a reload did.
type Reloaded struct {
	// Changed are the keys of config.toml that have another value from now on, as
	// "key: old -> new"; secrets have no values here.
	Changed []string
	// Pending are those that take effect at the next start.
	Pending []string
	// Replaced are the declarations, as "agent id/name", whose effective configuration is
	// another one, or which were switched on or off. What ran for them is stopped; the next use
	// starts them again.
	Replaced []string
	// Kept is how many declarations are what they were: their processes are not touched.
	Kept int
}

// Reload reads config.toml again and puts it in force as a whole, for every request that
// comes later; requests under way end by the settings with which they began. A file with an
// error in it leaves everything as it was (SPEC CF-6, CF-8).
func (d *Daemon) Reload() (Reloaded, error) {
	d.reloading.Lock()
	defer d.reloading.Unlock()
	done, err := d.reload()
	if err != nil {
		d.metrics.reloads.WithLabelValues("failed").Inc()
		d.log.Error("the configuration was not reloaded; what was in force still is", "reason", err.Error())
		return done, err
	}
	d.metrics.reloads.WithLabelValues(outcomeOK).Inc()
	d.log.Info("configuration reloaded", "file", d.home.settings, "changed", done.Changed, "at_next_start", done.Pending,
		"replaced", done.Replaced, "kept", done.Kept)
	d.warn(d.rules.Load())
	return done, nil
}

func (d *Daemon) reload() (done Reloaded, err error) {
	old := d.rules.Load()
	rules, err := loadSettings(d.home.settings)
	if err != nil {
		return done, err
	}
	done.Changed, done.Pending = rules.differences(old)
	if err := d.agents.begin(); err != nil { // no edit sees the half of it
		return done, err
	}
	defer d.agents.editing.Unlock()
	if err := d.host.Configure(d.times(rules)); err != nil {
		return done, err
	}
	done.Replaced, done.Kept = d.agents.reload(rules.overlay(), rules.Limits.MaxAgents, func() { d.rules.Store(rules) })
	d.tenants.renewAll() // what was switched off is served no longer
	if rules.LLM != old.LLM {
		before := d.llm.Swap(newModelClient(rules, d.cfg.Clock))
		before.close() // its connections that are in use end with their runs
	}
	return done, nil
}

// reload declares everything with another overlay, in one step over all agents. Claims that are
// what they were are left alone by the machine (SPEC CL-6). force is called at the moment at
// which all is in force.
func (as *agents) reload(over overlay, bound int, force func()) (replaced []string, kept int) {
	as.mu.Lock()
	defer as.mu.Unlock()
	before := as.over
	as.over, as.max = over, bound
	var all []core.Change
	orders := map[*agent][]string{}
	for _, r := range as.sorted() {
		for i := range r.spec.mcps {
			m := &r.spec.mcps[i]
			if before.off(m) == over.off(m) && maps.Equal(m.effective(before).Env, m.effective(over).Env) {
				kept++
			} else {
				replaced = append(replaced, r.id+"/"+m.name)
			}
		}
		a := as.byID[r.id]
		off := a.off
		changes, order := as.changes(a, r)
		all = append(all, changes...)
		if !slices.Equal(off, a.off) {
			orders[a] = order
		}
	}
	as.apply(all)
	for a, order := range orders { // of one agent each: none is before another
		a.must(a.owner.Reorder(order))
	}
	force()
	return replaced, kept
}

// differences lists what two settings do not agree on.
func (s *settings) differences(old *settings) (changed, pending []string) {
	for _, k := range knobs() {
		if k.value(old) == k.value(s) {
			continue
		}
		text := k.key
		if !k.secret {
			text = fmt.Sprintf("%s: %s -> %s", k.key, quoted(k.value(old)), quoted(k.value(s)))
		}
		if k.pending {
			pending = append(pending, text)
		} else {
			changed = append(changed, text)
		}
	}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(append(old.envNames(), s.envNames()...)))) {
		was, had := old.Env[name]
		is, has := s.Env[name]
		if had != has || was != is {
			changed = append(changed, "env."+name)
		}
	}
	return changed, pending
}

func quoted(v string) string {
	if v == "" {
		return "nothing"
	}
	return v
}
