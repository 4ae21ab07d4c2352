package sim

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/scenarios"
)

// Query implements scenarios.World.
func (w *scenarioWorld) Query(_ context.Context, q scenarios.Query) (string, error) {
	switch q.Kind {
	case scenarios.Status, scenarios.Tools, scenarios.Claims, scenarios.InFlight, scenarios.Told, scenarios.Generation, scenarios.WrittenOff:
		return w.listing(q)
	case scenarios.Events, scenarios.Reasons, scenarios.Replays:
		return w.heard(q)
	case scenarios.Spawns, scenarios.Running, scenarios.Arrived, scenarios.Order:
		s := w.servers[q.Server]
		switch {
		case s == nil:
			return "", fmt.Errorf("server %s does not exist", q.Server)
		case q.Kind == scenarios.Order:
			return orNone(s.order), nil
		}
		return strconv.Itoa(s.count(q.Kind, q.Token)), nil
	case scenarios.Result, scenarios.Credential, scenarios.Refusal, scenarios.Retry:
		return w.ended(q)
	case scenarios.Peers:
		return strconv.Itoa(len(w.remembered)), nil
	}
	return "", fmt.Errorf("the machine world cannot answer %q", q)
}

// heard answers what an agent was told.
func (w *scenarioWorld) heard(q scenarios.Query) (string, error) {
	a := w.agents[q.Agent]
	switch {
	case a == nil:
		return "", fmt.Errorf("agent %s does not exist", q.Agent)
	case q.Kind == scenarios.Replays:
		return strconv.Itoa(a.replays), nil
	case q.Kind == scenarios.Reasons:
		return orNone(a.reasons), nil
	}
	return strings.Join(a.events, " "), nil
}

// ended answers how an operation ended.
func (w *scenarioWorld) ended(q scenarios.Query) (string, error) {
	op := w.calls[q.Call]
	if op == nil {
		return "", fmt.Errorf("call %s was never started", q.Call)
	}
	switch {
	case q.Kind == scenarios.Result:
		return op.result, nil
	case q.Kind == scenarios.Credential:
		return op.credential, nil
	case op.result != resultRefused || op.refusal == "":
		return scenarios.None, nil
	case q.Kind == scenarios.Retry:
		return op.retry, nil
	}
	return op.refusal, nil
}

// listing answers what is listed of a claim.
func (w *scenarioWorld) listing(q scenarios.Query) (string, error) {
	a := w.agents[q.Agent]
	if a == nil {
		return "", fmt.Errorf("agent %s does not exist", q.Agent)
	}
	n := w.nameID(q.MCP)
	i := slices.IndexFunc(a.claims, func(c scenarioClaim) bool { return c.name == n })
	v := lifecycle.View{}
	if i >= 0 {
		v = w.standing(a.claims[i].fp)
	}
	switch q.Kind {
	case scenarios.Tools:
		return strconv.Itoa(int(v.Tools)), nil
	case scenarios.Claims:
		return strconv.Itoa(v.Claims), nil
	case scenarios.InFlight:
		return strconv.Itoa(v.InFlight), nil
	case scenarios.Told:
		return strconv.Itoa(a.told[n]), nil
	case scenarios.Generation:
		return strconv.Itoa(int(v.Gen)), nil
	case scenarios.WrittenOff:
		return strconv.Itoa(v.WrittenOff), nil
	default:
		return v.State.String(), nil
	}
}

// standing asks the lifecycle for a peer. One that was never dialed has no number that the world
// could ask for.
func (w *scenarioWorld) standing(fp lifecycle.Fingerprint) lifecycle.View {
	if id := w.peers[fp]; id != 0 {
		return w.machine.View(id)
	}
	v := lifecycle.View{State: lifecycle.Disconnected}
	for _, a := range w.order {
		for _, c := range a.claims {
			if c.fp == fp {
				v.Claims++
			}
		}
	}
	return v
}

func orNone(words []string) string {
	if len(words) == 0 {
		return scenarios.None
	}
	return strings.Join(words, " ")
}
