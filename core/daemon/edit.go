package daemon

import (
	"crypto/rand"
	"slices"
	"time"

	"github.com/oklog/ulid/v2"
)

// An edit is one unit: checks, then the store, then the claims and memory together. What is
// refused by a check or by the disk changes nothing (SPEC CF-5, CF-7, CL-12).

// create stores a new agent and declares its MCPs.
func (as *agents) create(name, config string, now time.Time) (*record, error) {
	if err := checkAgentName(name); err != nil {
		return nil, err
	}
	obj, err := parseAgent(config)
	if err != nil {
		return nil, err
	}
	if obj, err = (&record{}).unmask(obj); err != nil {
		return nil, err
	}
	if err := as.begin(); err != nil {
		return nil, err
	}
	defer as.editing.Unlock()
	switch {
	case as.named(name) != nil:
		return nil, refuse(codeFailed, "agent '%s' already exists", name)
	case as.count() >= as.bound():
		return nil, refuse(codeBusy, "this daemon keeps %d agents at most; delete some first", as.bound())
	}
	id, err := ulid.New(ulid.Timestamp(now), rand.Reader)
	if err != nil {
		return nil, err
	}
	rec, err := admitted(newRecord(id.String(), name, obj))
	if err != nil {
		return nil, err
	}
	if err := as.store.put(nil, rec); err != nil {
		return nil, err
	}
	as.mu.Lock()
	defer as.mu.Unlock()
	as.add(rec)
	return rec, nil
}

// admitted checks what a store of an earlier daemon may hold and an edit may not bring in.
func admitted(rec *record, err error) (*record, error) {
	if err != nil {
		return nil, err
	}
	for _, m := range rec.spec.mcps {
		if err := checkURL(m.config.URL); err != nil {
			return nil, refuse(codeFailed, "invalid AgentConfig JSON: mcp '%s': %v", clip(m.name, maxQuoted), err)
		}
	}
	return rec, nil
}

func parseAgent(config string) (object, error) {
	if len(config) > maxAgentConfig {
		return nil, refuse(codeFailed, "invalid AgentConfig JSON: it has %d bytes and may have %d", len(config), maxAgentConfig)
	}
	obj, err := parseObject(config)
	if err != nil {
		return nil, refuse(codeFailed, "invalid AgentConfig JSON: %v", err)
	}
	return obj, nil
}

// update merges a patch into the stored config.
func (as *agents) update(id, patch string) (*record, error) {
	obj, err := parseAgent(patch)
	if err != nil {
		if _, bad := parseAgentID(id); bad != nil {
			return nil, bad
		}
		return nil, err
	}
	return as.edit(id, func(old *record) (*record, error) {
		plain, err := old.unmask(obj)
		if err != nil {
			return nil, err
		}
		return admitted(newRecord(old.id, old.name, mergePatch(old.object, plain)))
	})
}

// rename moves an agent to another name. Its claims stay as they are (SPEC CL-10).
func (as *agents) rename(id, name string) (*record, error) {
	return as.edit(id, func(old *record) (*record, error) {
		if err := checkAgentName(name); err != nil {
			return nil, err
		}
		if other := as.named(name); other != nil && other.id != old.id {
			return nil, refuse(codeFailed, "agent '%s' already exists", name)
		}
		return newRecord(old.id, name, old.object)
	})
}

// upsert declares an MCP, replacing the one of its name in place.
func (as *agents) upsert(id, config string) (*agent, *mcpSpec, error) {
	if _, err := parseAgentID(id); err != nil {
		return nil, nil, err
	}
	obj, spec, err := parseMcp(config)
	if err != nil {
		return nil, nil, err
	}
	rec, err := as.edit(id, func(old *record) (*record, error) {
		plain, err := unmaskMcp(obj, old.mcp(spec.name), "")
		if err != nil {
			return nil, refuse(codeFailed, "invalid McpServerConfig JSON: %v", err)
		}
		list := slices.Clone(old.mcpObjects())
		if at := indexOfMcp(list, spec.name); at >= 0 {
			list[at] = plain
		} else {
			list = append(list, plain)
		}
		return old.withMcps(list)
	})
	if err != nil {
		return nil, nil, err
	}
	a, err := as.find(id)
	return a, rec.mcp(spec.name), err
}

// deleteMcp removes a declaration. The peer is on its stop ladder when it returns, if this
// was its last claim (SPEC CF-2).
func (as *agents) deleteMcp(id, name string) error {
	_, err := as.edit(id, func(old *record) (*record, error) {
		list := slices.Clone(old.mcpObjects())
		at := indexOfMcp(list, name)
		if at < 0 {
			return nil, refuse(codeNotFound, "mcp '%s' not found", clip(name, maxQuoted))
		}
		return old.withMcps(slices.Delete(list, at, at+1))
	})
	return err
}

// remove deletes an agent. Its owner dies and with it every claim.
func (as *agents) remove(text string) error {
	id, err := parseAgentID(text)
	if err != nil {
		return err
	}
	if err := as.begin(); err != nil {
		return err
	}
	defer as.editing.Unlock()
	a, err := as.find(id)
	if err != nil {
		return refuse(codeNotFound, "agent '%s' not found in local manifest", id)
	}
	if err := as.store.remove(a.rec); err != nil {
		return err
	}
	as.forget(a)
	as.gone(a)
	return nil
}

// forget is the death of an agent: claims, entries and token go in one step.
func (as *agents) forget(a *agent) {
	as.mu.Lock()
	defer as.mu.Unlock()
	delete(as.byID, a.id)
	delete(as.byName, a.rec.name)
	as.swapToken(a, a.rec.token, tokenSum{})
	a.life.Close()
}

// edit replaces an agent's configuration by what change makes of it.
func (as *agents) edit(id string, change func(old *record) (*record, error)) (*record, error) {
	return as.replace(id, func(old *record) (*record, error) {
		rec, err := change(old)
		if err == nil {
			rec.token = old.token
		}
		return rec, err
	})
}

// replace puts another record in the place of an agent's.
func (as *agents) replace(id string, change func(old *record) (*record, error)) (*record, error) {
	if _, err := parseAgentID(id); err != nil {
		return nil, err
	}
	if err := as.begin(); err != nil {
		return nil, err
	}
	defer as.editing.Unlock()
	a, err := as.find(id)
	if err != nil {
		return nil, err
	}
	old := a.rec // only edits write it
	rec, err := change(old)
	if err != nil {
		return nil, err
	}
	if err := as.store.put(old, rec); err != nil {
		return nil, err
	}
	as.publish(a, old, rec)
	as.changed(a, rec.token != old.token)
	return rec, nil
}

// publish puts a stored record in force.
func (as *agents) publish(a *agent, old, rec *record) {
	as.mu.Lock()
	defer as.mu.Unlock()
	delete(as.byName, old.name)
	as.byName[rec.name] = a
	as.swapToken(a, old.token, rec.token)
	a.rec = rec
	as.declare(a, old)
}

// mcpObjects are the declarations as they are stored.
func (r *record) mcpObjects() []any {
	list, _ := r.object["mcps"].([]any)
	return list
}

func (r *record) withMcps(list []any) (*record, error) {
	return newRecord(r.id, r.name, mergePatch(r.object, object{"mcps": list}))
}

func indexOfMcp(list []any, name string) int {
	return slices.IndexFunc(list, func(v any) bool { return v.(object)["name"] == name })
}
