package daemon

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mayfly-mcp/mayfly/core"
	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// A declaration that is switched off, by its own key or by mcp.disabled, is kept and listed
// and holds no claim: nothing can start it, and what runs for it is stopped as if it were
// deleted.

// noteDisabled is what a listing says of it.
const noteDisabled = "disabled"

// off reports whether a declaration is switched off.
func (o overlay) off(m *mcpSpec) bool { return m.disabled || slices.Contains(o.disabled, m.name) }

// offOf names what is switched off of an agent.
func (o overlay) offOf(r *record) []string {
	var names []string
	for i := range r.spec.mcps {
		if m := &r.spec.mcps[i]; o.off(m) {
			names = append(names, m.name)
		}
	}
	return names
}

// offOf names what is switched off of an agent now.
func (as *agents) offOf(a *agent) []string {
	as.mu.RLock()
	defer as.mu.RUnlock()
	return a.off
}

// isOff reports whether a declaration of an agent is switched off now.
func (as *agents) isOff(a *agent, name string) bool { return slices.Contains(as.offOf(a), name) }

// disabledError says no in the name of what is switched off.
func disabledError(names ...string) *callerr.Error {
	text := fmt.Sprintf("mcp '%s' is disabled", strings.Join(names, "', '"))
	return &callerr.Error{Kind: callerr.Rejected, Definite: true, Msg: text,
		Hint: `an upsert without "disabled" switches it on, or mcp.disabled in config.toml without its name`}
}

// explainOff says with an unknown tool that somebody who might export it is switched off.
func explainOff(err error, tool string, off []string) error {
	if e, ok := errors.AsType[*core.RefusedError](err); !ok || e.Reason != lifecycle.ReasonNoClaim || len(off) == 0 {
		return err
	}
	e := disabledError(off...)
	e.Msg = "tool not available: " + clip(tool, maxQuoted) + "; " + e.Msg
	return e
}
