package conformance

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mayfly-mcp/mayfly/scenarios"
)

// Capability is what a check needs of a target besides the lifecycle itself.
type Capability string

// The capabilities.
const (
	Frames         Capability = "frames"          // it speaks the daemon's wire itself
	Ids            Capability = "ids"             // agents are addressed by ULIDs, and nothing else will do
	Rename         Capability = "rename"          // agents can be renamed
	Process        Capability = "process"         // the runner starts it, and may end it as it likes
	Restart        Capability = "restart"         // it can be stopped and started again in its home
	Dispatch       Capability = "dispatch"        // it can be made to call tools
	Cancel         Capability = "cancel"          // a call can be given up
	IdleTimeout    Capability = "idle-timeout"    // can be set
	ConnectTimeout Capability = "connect-timeout" // can be set
	CallTimeout    Capability = "call-timeout"    // can be set
	Grace          Capability = "grace"           // of each rung of the stop ladder: can be set
	OwnerLiveness  Capability = "owner-liveness"  // consumers serve tools through it, to clients of MCP
	MaxTools       Capability = "max-tools"       // of its endpoint: can be set
)

// byHandNeeds says what the checks need that were written by hand; all of them need Dispatch,
// but for those about owners, which need no agent.
// The table stands apart from the checks, so that none is added without a thought for targets
// other than our own: a test wants an entry for each.
var byHandNeeds = map[string][]Capability{
	"frame-undecodable": {Frames}, "frame-invalid-utf8": {Frames}, "frame-oversize": {Frames},
	"frame-truncated": {Frames}, "frame-empty": {Frames}, "frame-unknown-tag": {Frames},
	"frame-retired-variant": {Frames}, "frame-unsupported-variant": {Frames}, "frame-extension": {Frames},
	"unknown-ids": {Frames, Ids}, "malformed-ids": {Frames, Ids}, "empty-names": {Frames},
	"wrong-types": {Frames}, "duplicate-mcps": {Frames}, "duplicate-agent": {Frames}, "reconnect-unknown": {},
	"registration-starts-nothing": {Restart, Rename}, "64-callers-one-spawn": {}, "connects-side-by-side": {}, "credentials-apart": {},
	"stray-stdout": {}, "notification-first": {}, "double-reply": {}, "unknown-id-reply": {}, "server-ping": {},
	"late-reply": {Cancel}, "error-texts": {}, "rejections-leave-state": {}, "error-replies-leave-state": {}, "reason-outlives-failure": {IdleTimeout},
	"dead-agents-are-refused": {Frames}, "dead-agents-hear-nothing": {}, "dead-agents-spare-successors": {Frames, Ids}, "cut-answer": {}, "stderr-flood": {},
	"huge-answer": {}, "peer-stops-reading": {CallTimeout},
	"eviction-measured": {IdleTimeout}, "connect-timeout-measured": {ConnectTimeout}, "call-timeout-measured": {CallTimeout},
	"no-secret-shown": {}, "minimal-environment": {Process}, "overlay-by-name": {Process}, "steady-refusals-age": {IdleTimeout}, "no-inherited-descriptors": {}, "own-process-group": {},
	"whole-tree-ends": {Grace}, "death-with-reason": {}, "upsert-answers": {}, "spawn-error-names-command": {},
	"sigterm-ends-everything": {Process, Grace, Frames}, "kill-9-keeps-the-acknowledged": {Process, Restart, Frames},
	"kill-9-leaves-no-server": {Process, Frames}, "second-daemon-refused": {Process, Frames}, "unusable-home": {Process, Frames},
	"silent-client-delays-nobody": {Frames},
	timingIdle:                    {IdleTimeout}, timingRetry: {IdleTimeout}, timingSpawn: {}, timingPeers: {}, timingConnect: {ConnectTimeout}, timingReconnect: {},
	coldStartID: {IdleTimeout},
	auditID:     {Restart},

	"owner-takeover":         {Frames, OwnerLiveness},
	"owner-killed":           {Frames, OwnerLiveness},
	"owner-in-flight":        {Frames, OwnerLiveness},
	"owner-restart":          {Frames, OwnerLiveness},
	"owner-hung-keeps":       {Frames, OwnerLiveness},
	"owner-list":             {Frames, OwnerLiveness},
	"owner-unready":          {Frames, OwnerLiveness},
	"owner-late-stop":        {Frames, OwnerLiveness},
	"owner-stop-twice":       {Frames, OwnerLiveness},
	"owner-late-ready":       {Frames, OwnerLiveness},
	"owner-duplicate":        {Frames, OwnerLiveness},
	"owner-duplicate-own":    {Frames, OwnerLiveness},
	"owner-failed-duplicate": {Frames, OwnerLiveness},
	"owner-guarded":          {Frames, OwnerLiveness},
	"owner-plan-race":        {Frames, OwnerLiveness},
	"owner-no-plan":          {Frames, OwnerLiveness},
	"owner-dies-under-calls": {Frames, OwnerLiveness},
	"owner-successor":        {Frames, OwnerLiveness},
	"owner-dead-is-unknown":  {Frames, OwnerLiveness},
	"owner-misbehaves":       {Frames, OwnerLiveness},
	"owner-fleeting":         {Frames, OwnerLiveness},
	"owner-one-winner":       {Frames, OwnerLiveness},
	"owner-resources":        {Frames, OwnerLiveness},
	"owner-empty-list":       {Frames, OwnerLiveness},
	"owner-pages":            {Frames, OwnerLiveness},
	"owner-list-changed":     {Frames, OwnerLiveness},
	"owner-cap":              {Frames, OwnerLiveness, MaxTools},
	"owner-cap-takeover":     {Frames, OwnerLiveness, MaxTools},
	"owner-cap-duplicate":    {Frames, OwnerLiveness, MaxTools},
	"owner-one-place":        {Frames, OwnerLiveness, MaxTools},
}

// Capabilities are what the check needs of a target.
func (c Check) Capabilities() []Capability {
	if f, err := scenarios.Named(c.ID); err == nil {
		return scenarioCapabilities(f)
	}
	needs := slices.Clone(byHandNeeds[c.ID])
	if _, known := byHandNeeds[c.ID]; known && c.ID != auditID && !slices.Contains(needs, OwnerLiveness) {
		needs = append(needs, Dispatch)
	}
	return needs
}

// scenarioCapabilities reads them off a scenario's lines.
func scenarioCapabilities(f *scenarios.File) (needs []Capability) {
	need := func(c Capability, is bool) {
		if is && !slices.Contains(needs, c) {
			needs = append(needs, c)
		}
	}
	s, plain := f.Settings(), scenarios.DefaultSettings()
	need(IdleTimeout, s.IdleTimeout != plain.IdleTimeout)
	need(ConnectTimeout, s.ConnectTimeout != plain.ConnectTimeout)
	need(CallTimeout, s.CallTimeout != plain.CallTimeout)
	for _, l := range f.Lines {
		switch x := l.Command.(type) {
		case scenarios.Server:
			need(Grace, x.Behaviour.IgnoresEOF || x.Behaviour.IgnoresTerm)
		case scenarios.Rename:
			need(Rename, true)
		case scenarios.Call, scenarios.List:
			need(Dispatch, true)
		case scenarios.Start:
			switch x.Op.(type) {
			case scenarios.Call, scenarios.List:
				need(Dispatch, true)
			}
		case scenarios.Cancel:
			need(Cancel, true)
		}
	}
	return needs
}

// Capabilities are what the target offers, as far as it is known: after the preflight of a run
// the dialect counts, too.
func (t Target) Capabilities() []Capability {
	if t.driven() {
		return append([]Capability{Dispatch}, t.can...)
	}
	all := []Capability{Frames, Ids, Rename, Dispatch, Cancel}
	if !t.owned() {
		all = []Capability{Frames, Ids, Rename, Cancel}
		if t.Model != "" {
			all = append(all, Dispatch)
		}
	} else {
		all = append(all, Process, Restart)
		if t.MCPPort != "" {
			all = append(all, OwnerLiveness)
		}
		for setting, c := range map[string]Capability{"idle_timeout": IdleTimeout, "connect_timeout": ConnectTimeout,
			"call_timeout": CallTimeout, "grace": Grace, "max_tools": MaxTools} {
			if t.mentions(setting) {
				all = append(all, c)
			}
		}
	}
	if t.dialect != nil {
		all = slices.DeleteFunc(all, func(c Capability) bool { return slices.Contains(t.dialect.lacks, c) })
	}
	return all
}

// lacking says why a check is not applicable to the target, "" if it is.
func (t Target) lacking(c Check) string {
	offers := t.Capabilities()
	var missing []string
	for _, need := range c.Capabilities() {
		if !slices.Contains(offers, need) {
			missing = append(missing, fmt.Sprintf("%s (%s)", need, t.whyNot(need)))
		}
	}
	return strings.Join(missing, ", ")
}

func (t Target) whyNot(need Capability) string {
	switch {
	case need == OwnerLiveness && t.dialect != nil && t.dialect.noOwners != "":
		return t.dialect.noOwners
	case t.driven():
		return "the adapter does not name it, or the bridge would answer in the daemon's place"
	case t.dialect != nil && slices.Contains(t.dialect.lacks, need):
		return "the dialect has no such thing"
	case !t.owned() && need == Dispatch:
		return "start the daemon with its model endpoint at an address, and give that address as -model"
	case !t.owned() && (need == Process || need == Restart):
		return "left out: it would end a daemon that runs for others"
	case !t.owned():
		return "a daemon that runs already has its configuration"
	}
	return "the template does not mention it"
}
