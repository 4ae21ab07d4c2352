package conformance

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/mayfly-mcp/mayfly/fakes/observer"
)

// Sizes of the gate's checks.
const (
	callers      = 64 // that meet one peer while it connects
	callerAgents = 4  // among whom they are divided
	sideBySide   = 6  // peers that connect at one time
	declarations = 24 // of the check that registering starts nothing
	perToken     = 4  // calls under each of two credentials
)

func gateChecks() []Check {
	return []Check{
		{ID: "registration-starts-nothing", Title: "Creating, updating and renaming agents and restarting the daemon start no process.",
			Clauses: []string{"CL-1", "CF-3"}, cost: time.Second, run: registrationStartsNothing},
		{ID: "64-callers-one-spawn", Title: "64 callers of one idle peer cause one spawn, and all of them are served.",
			Clauses: []string{"DI-2", "ST-3"}, cost: 2 * time.Second, run: manyCallers},
		{ID: "connects-side-by-side", Title: "Peers connect at the same time: each reaches initialize while all others are still in it.",
			Clauses: []string{"DI-3"}, cost: time.Second, run: connectsSideBySide},
		{ID: "credentials-apart", Title: "Two credentials for one command are two processes, and every call arrives with its own.",
			Clauses: []string{"ID-2", "CA-9"}, cost: time.Second, run: credentialsApart},
	}
}

func registrationStartsNothing(ctx context.Context, p *probe) (string, error) {
	r, agent, err := p.one(ctx, brisk(), healthy())
	if err != nil {
		return "", err
	}
	var list []mcp
	for i := range declarations {
		list = append(list, r.observed(fmt.Sprintf("m%d", i), "s", map[string]string{"N": fmt.Sprint(i)}))
	}
	if _, err := r.agent(ctx, "many", list...); err != nil {
		return "", err
	}
	if _, err := r.client().UpdateAgent(ctx, agent, agentConfig(list[:1]...)); err != nil {
		return "", err
	}
	if _, err := r.client().RenameAgent(ctx, agent, "renamed"); err != nil {
		return "", err
	}
	if err := r.expectSpawns(ctx, "s", 0); err != nil {
		return "", err
	}
	if err := r.restart(ctx); err != nil {
		return "", err
	}
	if err := r.expectSpawns(ctx, "s", 0); err != nil {
		return "", err
	}
	if err := r.echo(ctx, agent, "first"); err != nil {
		return "", err
	}
	evidence := fmt.Sprintf("%d declarations, an update, a rename and a restart: no spawn until the first call, fenced by a sibling's spawn", declarations)
	return evidence, r.expectSpawns(ctx, "s", 1)
}

// restart stops the daemon in the orderly way and starts it again in the same home. How it
// ended is a matter of the audit, and of no check that wants it to come back.
func (r *rig) restart(ctx context.Context) error {
	if err := r.daemon.stop(ctx, r.ladder()); err != nil {
		if ctx.Err() != nil {
			return err
		}
		r.endings = append(r.endings, err)
	}
	return r.boot(ctx)
}

func manyCallers(ctx context.Context, p *probe) (string, error) {
	r, err := p.rig(ctx, brisk())
	if err != nil {
		return "", err
	}
	if err := r.server("s", observer.Behaviour{Hold: []observer.Point{observer.Initialize}}); err != nil {
		return "", err
	}
	var flights []*flight
	for i := range callerAgents {
		agent, err := r.agent(ctx, fmt.Sprintf("a%d", i), r.observed(fmt.Sprintf("m%d", i), "s", nil))
		if err != nil {
			return "", err
		}
		for n := range callers / callerAgents {
			f, err := r.begin(ctx, agent, "echo", map[string]string{"text": fmt.Sprintf("%d-%d", i, n)})
			if err != nil {
				return "", err
			}
			flights = append(flights, f)
		}
	}
	if _, err := r.ctl.WaitReached(ctx, "s", observer.Initialize); err != nil {
		return "", err
	}
	if err := r.expectSpawns(ctx, "s", 1); err != nil {
		return "", err
	}
	if n := slices.IndexFunc(flights, (*flight).ended); n >= 0 {
		return "", failf("caller %d was answered %q while initialize was held", n+1, flights[n].result.text)
	}
	r.ctl.Release("s", observer.Initialize)
	for i, f := range flights {
		want := fmt.Sprintf("%d-%d", i/(callers/callerAgents), i%(callers/callerAgents))
		if res, err := f.wait(ctx); err != nil || res.isError || res.text != want {
			return "", failf("caller %d wanted %q and got %q (%v)", i+1, want, r.say(res.text), err)
		}
	}
	if n := len(r.ctl.Calls("s")); n != callers {
		return "", failf("%d calls arrived, want %d", n, callers)
	}
	return fmt.Sprintf("%d callers of %d agents, held at initialize: 1 spawn, %d answers, each its own", callers, callerAgents, callers),
		r.expectSpawns(ctx, "s", 1)
}

func connectsSideBySide(ctx context.Context, p *probe) (string, error) {
	r, err := p.rig(ctx, brisk())
	if err != nil {
		return "", err
	}
	var flights []*flight
	for i := range sideBySide {
		name := fmt.Sprintf("s%d", i)
		if err := r.server(name, observer.Behaviour{Hold: []observer.Point{observer.Initialize}}); err != nil {
			return "", err
		}
		agent, err := r.agent(ctx, "a"+name, r.observed("m1", name, nil))
		if err != nil {
			return "", err
		}
		f, err := r.begin(ctx, agent, "echo", map[string]string{"text": name})
		if err != nil {
			return "", err
		}
		flights = append(flights, f)
	}
	for i := range sideBySide {
		if _, err := r.ctl.WaitReached(ctx, fmt.Sprintf("s%d", i), observer.Initialize); err != nil {
			return "", failf("only %d of %d peers reached initialize while none was released: connects wait for each other", i, sideBySide)
		}
	}
	for i, f := range flights {
		name := fmt.Sprintf("s%d", i)
		r.ctl.Release(name, observer.Initialize)
		if res, err := f.wait(ctx); err != nil || res.text != name {
			return "", failf("the call of %s was answered %q (%v)", name, r.say(res.text), err)
		}
	}
	return fmt.Sprintf("%d peers were in initialize at one moment", sideBySide), nil
}

func credentialsApart(ctx context.Context, p *probe) (string, error) {
	r, err := p.rig(ctx, brisk())
	if err != nil {
		return "", err
	}
	if err := r.server("s", healthy()); err != nil {
		return "", err
	}
	var flights []*flight
	var owners []string
	for _, label := range []string{"one", "two"} {
		secret := r.canary(label)
		agent, err := r.agent(ctx, label, r.observed("m1", "s", map[string]string{"TOKEN": secret}))
		if err != nil {
			return "", err
		}
		for range perToken {
			f, err := r.begin(ctx, agent, "whoami", nil)
			if err != nil {
				return "", err
			}
			flights, owners = append(flights, f), append(owners, secret)
		}
	}
	for i, f := range flights {
		res, err := f.wait(ctx)
		switch {
		case err != nil:
			return "", err
		case res.isError:
			return "", failf("call %d failed: %s", i+1, r.say(res.text))
		case res.text != owners[i]:
			return "", failf("call %d arrived under another agent's credential", i+1)
		}
	}
	return fmt.Sprintf("%d calls at once under 2 credentials: 2 processes, each call under its own", len(flights)), r.expectSpawns(ctx, "s", 2)
}
