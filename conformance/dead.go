package conformance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mayfly-mcp/mayfly/core/wire"
	"github.com/mayfly-mcp/mayfly/core/wire/pb"
	"github.com/mayfly-mcp/mayfly/fakes/observer"
)

// deadChecks are about what is over: failures that have aged, and agents that are gone.
func deadChecks() []Check {
	return []Check{
		{ID: "reason-outlives-failure", Title: "The reason of a failure is still listed when the failure has aged.",
			Clauses: []string{"ST-8"}, cost: 2 * idleT, run: reasonOutlives},
		{ID: "dead-agents-are-refused", Title: "Upsert, reconnect and a run of an agent that was deleted are refused and start nothing.",
			Clauses: []string{"PC-7", "CF-7"}, cost: time.Second, run: deadRefused},
		{ID: "dead-agents-hear-nothing", Title: "What happens to a shared peer is told to the agents that are left, and not to one that was deleted.",
			Clauses: []string{"PC-8", "PC-2"}, cost: time.Second, run: deadHearNothing},
		{ID: "dead-agents-spare-successors", Title: "A late removal in the name of an agent that was deleted leaves the declarations of its successor of the same name alone.",
			Clauses: []string{"PC-4", "CF-7"}, cost: time.Second, run: deadSpareSuccessors},
	}
}

func reasonOutlives(ctx context.Context, p *probe) (string, error) {
	s := brisk()
	s.IdleTimeout = idleT
	r, agent, err := p.one(ctx, s, observer.Behaviour{Rules: []observer.Rule{{At: observer.Initialize, Do: observer.Exit, Code: 3}}})
	if err != nil {
		return "", err
	}
	if _, err := r.call(ctx, agent, "echo", map[string]string{"text": "x"}); err != nil {
		return "", err
	}
	failed, err := r.row(ctx, agent, "m1")
	if err != nil {
		return "", err
	}
	if failed.GetStatus() != pb.McpStatus_MCP_STATUS_FAILED || failed.GetError() == "" {
		return "", failf("a server that exits in its connect is listed as %s with the reason %q", failed.GetStatus(), r.say(failed.GetError()))
	}
	for row := failed; row.GetStatus() != pb.McpStatus_MCP_STATUS_DISCONNECTED; {
		if err := pause(ctx, settleStep); err != nil {
			return "", fmt.Errorf("waiting for the failure to age: %w", err)
		}
		if row, err = r.row(ctx, agent, "m1"); err != nil {
			return "", err
		}
		if err := r.reasonOf(row, failed); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("Failed and, later, Disconnected with the reason %q", oneLine(r.say(failed.GetError()))), nil
}

// reasonOf compares the reason of a row with the one that it had.
func (r *rig) reasonOf(row, before *pb.McpInfo) error {
	return r.rec.equal("reason", r.say(before.GetError()), r.say(row.GetError()),
		fmt.Sprintf("the reason was %q; as %s it is listed with %q", r.say(before.GetError()), row.GetStatus(), r.say(row.GetError())))
}

func deadRefused(ctx context.Context, p *probe) (string, error) {
	r, agent, err := p.one(ctx, brisk(), healthy())
	if err != nil {
		return "", err
	}
	if err := r.echo(ctx, agent, "alive"); err != nil {
		return "", err
	}
	if err := r.client().DeleteAgent(ctx, agent); err != nil {
		return "", err
	}
	_, upsert := r.client().UpsertMcp(ctx, agent, r.observed("m2", "s", nil).json())
	_, again := r.client().ReconnectMcp(ctx, agent, "m1")
	_, run := r.call(ctx, agent, "echo", map[string]string{"text": "dead"})
	for _, x := range []struct {
		what string
		err  error
	}{{"an upsert", upsert}, {"a reconnect", again}, {"a run", run}} {
		if err := declined(x.err); err != nil {
			return "", failf("%s of an agent that was deleted: %v", x.what, r.say(err.Error()))
		}
	}
	if n := len(r.ctl.Calls("s")); n != 1 {
		return "", failf("%d calls arrived, one of them by an agent that was deleted", n)
	}
	return "upsert, reconnect and run were refused after the delete", r.expectSpawns(ctx, "s", 1)
}

// declined says why an outcome is none. A run that begins and ends with an error is refused, too.
func declined(err error) error {
	_, refused := errors.AsType[*wire.Error](err)
	_, failed := errors.AsType[*runError](err)
	switch {
	case refused, failed:
		return nil
	case err == nil:
		return errors.New("it was accepted")
	}
	return fmt.Errorf("it was not answered with an error: %w", err)
}

func deadHearNothing(ctx context.Context, p *probe) (string, error) {
	r, agent, err := p.one(ctx, brisk(), healthy())
	if err != nil {
		return "", err
	}
	other, err := r.agent(ctx, "b", r.observed("m2", "s", nil))
	if err != nil {
		return "", err
	}
	if err := r.fence(ctx); err != nil { // the subscription is in force
		return "", err
	}
	if err := r.echo(ctx, agent, "shared"); err != nil {
		return "", err
	}
	if err := r.client().DeleteAgent(ctx, agent); err != nil {
		return "", err
	}
	if err := r.fence(ctx); err != nil { // what the delete itself tells has been told
		return "", err
	}
	before, _, err := r.events.all()
	if err != nil {
		return "", err
	}
	if r.ctl.Terminate("s") != 1 {
		return "", failf("the server that another agent shares is gone with an agent that was deleted")
	}
	if _, err := r.client().ReconnectMcp(ctx, other, "m2"); err != nil {
		return "", err
	}
	if err := r.fence(ctx); err != nil {
		return "", err
	}
	return r.toldTo(agent, other, len(before))
}

// toldTo looks through the events since a position for those of a dead agent and of a live one.
func (r *rig) toldTo(dead, live string, from int) (string, error) {
	seen, _, err := r.events.all()
	if err != nil {
		return "", err
	}
	told := 0
	for _, e := range seen[from:] {
		switch e.GetAgent() {
		case dead:
			return "", failf("%s of %q was told to an agent that had been deleted", eventWord(e.GetKind()), e.GetName())
		case live:
			told++
		}
	}
	if told == 0 {
		return "", failf("the server died and was reconnected, and its owner was told nothing")
	}
	return fmt.Sprintf("the server died and came back: %d events for the agent that is left, none for the deleted one", told), nil
}

func deadSpareSuccessors(ctx context.Context, p *probe) (string, error) {
	r, before, err := p.one(ctx, brisk(), healthy())
	if err != nil {
		return "", err
	}
	if err := r.client().DeleteAgent(ctx, before); err != nil {
		return "", err
	}
	now, err := r.agent(ctx, "a", r.observed("m1", "s", nil))
	if err != nil {
		return "", err
	}
	if err := r.echo(ctx, now, "before"); err != nil {
		return "", err
	}
	for _, x := range []struct {
		what string
		err  error
	}{{"a removal of a declaration", r.client().DeleteMcp(ctx, before, "m1")}, {"a second delete", r.client().DeleteAgent(ctx, before)}} {
		if err := declined(x.err); err != nil {
			return "", failf("%s in the name of an agent that was deleted: %v", x.what, r.say(err.Error()))
		}
	}
	if err := r.expectStatus(ctx, now, "m1", pb.McpStatus_MCP_STATUS_CONNECTED); err != nil {
		return "", err
	}
	if err := r.echo(ctx, now, "after"); err != nil {
		return "", err
	}
	return "two late removals were refused, and the successor's peer runs on", r.expectSpawns(ctx, "s", 1)
}
