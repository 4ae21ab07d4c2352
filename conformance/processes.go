package conformance

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mayfly-mcp/mayfly/core/wire/pb"
	"github.com/mayfly-mcp/mayfly/fakes/observer"
)

func processChecks() []Check {
	return []Check{
		{ID: "own-process-group", Title: "A server leads a process group of its own.", Clauses: []string{"PR-1"}, run: ownGroup},
		{ID: "whole-tree-ends", Title: "A server that ignores EOF and SIGTERM ends with all that it started when its last claim goes.",
			Clauses: []string{"PR-2", "PR-1", "CF-2"}, cost: 5 * time.Second, run: wholeTree},
		{ID: "death-with-reason", Title: "A server that dies unasked is noticed without traffic, with its exit status in the reason.",
			Clauses: []string{"CA-6", "EV-1"}, run: deathWithReason},
		{ID: "upsert-answers", Title: "An upsert answers after the attempt: a bad command is in the answer, a good one is connected.",
			Clauses: []string{"CF-1", "PC-10"}, run: upsertAnswers},
		{ID: "spawn-error-names-command", Title: "A spawn that fails names the command.", Clauses: []string{"PR-7"}, run: spawnError},
	}
}

// slackOfTree is granted on top of the stop ladder: a loaded machine, not a slow daemon.
const slackOfTree = 4 * time.Second

func ownGroup(ctx context.Context, p *probe) (string, error) {
	r, agent, err := p.one(ctx, brisk(), healthy())
	if err != nil {
		return "", err
	}
	if err := r.echo(ctx, agent, "hello"); err != nil {
		return "", err
	}
	spawn, err := r.firstSpawn(ctx, "s")
	if err != nil {
		return "", err
	}
	if spawn.PGID != spawn.PID {
		return "", failf("the server is in a process group that it does not lead; a signal to it reaches others or misses its children")
	}
	return "pid and process group are the same", nil
}

// stubborn is a server that ends by SIGKILL alone and has a child that is no better.
func stubborn() observer.Behaviour {
	return observer.Behaviour{IgnoreEOF: true, IgnoreTerm: true, Rules: []observer.Rule{
		{At: observer.Initialize, Do: observer.Fork, Child: observer.Child{IgnoreTerm: true, HoldStdio: true}},
	}}
}

// family waits until a stubborn server and its child have both reported.
func (r *rig) family(ctx context.Context, server string) error {
	_, err := r.ctl.Wait(ctx, 0, func(rep observer.Report) bool {
		return rep.Kind == observer.Spawned && rep.Name == server && rep.Spawn.Grandchild
	})
	return err
}

func wholeTree(ctx context.Context, p *probe) (string, error) {
	r, agent, err := p.one(ctx, brisk(), stubborn())
	if err != nil {
		return "", err
	}
	if err := r.echo(ctx, agent, "hello"); err != nil {
		return "", err
	}
	if err := r.family(ctx, "s"); err != nil {
		return "", err
	}
	began := time.Now()
	if err := r.client().DeleteMcp(ctx, agent, "m1"); err != nil {
		return "", err
	}
	bound, cancel := context.WithTimeout(ctx, r.ladder()+slackOfTree)
	defer cancel()
	if err := r.ctl.WaitGone(bound, "s"); err != nil {
		return "", failf("%d processes of the server are left: %v", len(r.ctl.Processes("s")), err)
	}
	return fmt.Sprintf("server and grandchild, both deaf to EOF and SIGTERM, were gone %.1fs after the delete; each rung is %v",
		time.Since(began).Seconds(), r.settings.Grace), nil
}

func deathWithReason(ctx context.Context, p *probe) (string, error) {
	const status = 77
	r, agent, err := p.one(ctx, brisk(), observer.Behaviour{Rules: []observer.Rule{{At: observer.Term, Do: observer.Exit, Code: status}}})
	if err != nil {
		return "", err
	}
	if err := r.fence(ctx); err != nil { // the subscription is in force
		return "", err
	}
	if err := r.echo(ctx, agent, "hello"); err != nil {
		return "", err
	}
	if r.ctl.Terminate("s") != 1 {
		return "", failf("the server was gone before it was told to end")
	}
	var reason string
	err = r.events.wait(ctx, 0, func(e *pb.McpEventMsg) bool {
		reason = e.GetError()
		return e.GetAgent() == agent && e.GetKind() == pb.McpEventKind_MCP_EVENT_KIND_FAILED
	})
	if err != nil {
		return "", err
	}
	if !strings.Contains(reason, fmt.Sprint(status)) {
		return "", failf("the server exited with status %d by itself; the reason is %q", status, r.say(reason))
	}
	return fmt.Sprintf("Failed without any call; the reason is %q", oneLine(r.say(reason))), r.expectStatus(ctx, agent, "m1", pb.McpStatus_MCP_STATUS_FAILED)
}

func upsertAnswers(ctx context.Context, p *probe) (string, error) {
	r, agent, err := p.one(ctx, brisk(), healthy())
	if err != nil {
		return "", err
	}
	bad, err := r.client().UpsertMcp(ctx, agent, mcp{Name: "m1", Command: r.executable("nowhere")}.json())
	if err != nil {
		return "", err
	}
	if bad.GetStatus() != pb.McpStatus_MCP_STATUS_FAILED || bad.GetError() == "" {
		return "", failf("a command that does not exist was answered %s with error %q", bad.GetStatus(), r.say(bad.GetError()))
	}
	good, err := r.client().UpsertMcp(ctx, agent, r.observed("m1", "s", nil).json())
	if err != nil {
		return "", err
	}
	if good.GetStatus() != pb.McpStatus_MCP_STATUS_CONNECTED || int(good.GetToolCount()) != len(observer.DefaultTools()) || good.GetError() != "" {
		return "", failf("a good command was answered %s with %d tools and error %q", good.GetStatus(), good.GetToolCount(), r.say(good.GetError()))
	}
	return fmt.Sprintf("bad command: FAILED in the answer; good one right after: CONNECTED with %d tools", good.GetToolCount()), r.expectSpawns(ctx, "s", 1)
}

func spawnError(ctx context.Context, p *probe) (string, error) {
	r, err := p.rig(ctx, brisk())
	if err != nil {
		return "", err
	}
	const command = "mayfly-no-such-server"
	agent, err := r.agent(ctx, "a", mcp{Name: "m2", Command: command})
	if err != nil {
		return "", err
	}
	info, err := r.client().ReconnectMcp(ctx, agent, "m2") // whether an upsert connects is a matter of its own
	if err != nil {
		return "", err
	}
	if !strings.Contains(info.GetError(), command) {
		return "", failf("the error is %q", r.say(info.GetError()))
	}
	return fmt.Sprintf("the error is %q", oneLine(r.say(info.GetError()))), nil
}
