package daemon

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/mayfly-mcp/mayfly/core"
	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/core/transport/stdio"
)

// A variable that a declaration asks for with inherit_env and that nobody has does not refuse
// the declaration: many servers can do without one. It is named where it may be the reason:
// in the log, and beside the failure of what was started without it.

// maxMissing bounds the declarations that one line of the log names.
const maxMissing = 16

// missing names what a declaration asks for and gets from nobody: neither from its own env,
// nor from [env], nor from what every process is given.
func (m *mcpSpec) missing(over overlay) []string {
	var out []string
	for _, name := range m.inherit {
		_, own := m.config.Env[name]
		_, known := over.env[name]
		if !own && !known && !givenToAll(name) && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// givenToAll reports whether a variable is set and reaches every server (SPEC SE-1).
func givenToAll(name string) bool {
	_, set := os.LookupEnv(name)
	return set && len(stdio.Environ([]string{name + "="}, nil)) > 0
}

// withMissing names beside a failure what was not there.
func withMissing(failure string, names []string) string {
	if failure == "" || len(names) == 0 {
		return failure
	}
	return failure + "; " + missingText(names)
}

func missingText(names []string) string {
	return fmt.Sprintf("inherit_env asks for %s, which [env] of config.toml does not have", strings.Join(names, ", "))
}

// missingOf names what a declaration of an agent lacks; nothing for one that is gone.
func (as *agents) missingOf(id, name string) []string {
	as.mu.RLock()
	defer as.mu.RUnlock()
	if a := as.byID[id]; a != nil {
		if m := a.rec.mcp(name); m != nil {
			return m.missing(as.over)
		}
	}
	return nil
}

// missing lists the declarations of all agents that lack something, as "agent id/name: names",
// and counts them; no more than maxMissing are named.
func (as *agents) missing() (named []string, count int) {
	as.mu.RLock()
	defer as.mu.RUnlock()
	for _, r := range as.sorted() {
		for i := range r.spec.mcps {
			m := &r.spec.mcps[i]
			names := m.missing(as.over)
			if len(names) == 0 || as.over.off(m) {
				continue
			}
			if count++; count <= maxMissing {
				named = append(named, r.id+"/"+m.name+": "+strings.Join(names, " "))
			}
		}
	}
	return named, count
}

// lackedBy adds to the refusal of a call what the agent's servers lack: one of them failed.
func (r *run) lackedBy(err error) error {
	if e, ok := errors.AsType[*core.RefusedError](err); !ok || e.Reason != lifecycle.ReasonFailed {
		return err
	}
	for _, m := range r.rec.spec.mcps {
		if names := r.lacks(m.name); len(names) > 0 {
			err = fmt.Errorf("%w; mcp '%s': %s", err, m.name, missingText(names))
		}
	}
	return err
}
