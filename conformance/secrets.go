package conformance

import (
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/mayfly-mcp/mayfly/fakes/observer"
)

func secretChecks() []Check {
	return []Check{
		{ID: "no-secret-shown", Title: "Values of env and auth appear in no log, error, event or listing, even when a server prints them and dies.",
			Clauses: []string{"ID-5", "SE-3", "CA-6"}, cost: 2 * time.Second, run: noSecretShown},
		{ID: "minimal-environment", Title: "A variable of the daemon's own environment does not reach a server.",
			Clauses: []string{"SE-1"}, run: minimalEnvironment},
		{ID: "overlay-by-name", Title: "A variable of the daemon's [env] reaches no server that does not ask for it by name.",
			Clauses: []string{"SE-2"}, run: overlayByName},
		{ID: "no-inherited-descriptors", Title: "A server inherits stdin, stdout and stderr, and no other descriptor.",
			Clauses: []string{"PR-5"}, run: noDescriptors},
	}
}

// blabbing is a server that prints its secret and exits.
const blabbing = `echo "my token is $TOKEN" >&2; exit 3`

func noSecretShown(ctx context.Context, p *probe) (string, error) {
	r, err := p.rig(ctx, brisk())
	if err != nil {
		return "", err
	}
	secretly := func(m mcp, label string) mcp {
		m.Env = map[string]string{"TOKEN": r.canary(label)}
		return m
	}
	if err := r.server("s", healthy()); err != nil {
		return "", err
	}
	if err := r.server("dies", observer.Behaviour{Rules: []observer.Rule{{At: observer.Initialize, Do: observer.Exit, Code: 4}}}); err != nil {
		return "", err
	}
	agent, err := r.agent(ctx, "a", secretly(r.observed("m1", "s", nil), "lives"))
	if err != nil {
		return "", err
	}
	if err := r.echo(ctx, agent, "hello"); err != nil {
		return "", err
	}
	var seen []string
	for _, config := range []string{
		secretly(r.observed("m2", "dies", nil), "dies").json(),
		secretly(mcp{Name: "m3", Command: "/bin/sh", Args: []string{"-c", blabbing}}, "prints").json(),
		secretly(mcp{Name: "m4", Command: r.executable("nowhere")}, "nowhere").json(),
		mustJSON(map[string]any{"name": "m5", "url": "http://127.0.0.1:1/mcp", "auth": "Bearer " + r.canary("auth")}),
		mustJSON(map[string]any{"name": "m6", "command": 7, "env": map[string]string{"TOKEN": r.canary("type")}}),
	} {
		info, err := r.client().UpsertMcp(ctx, agent, config)
		seen = append(seen, prototext.Format(info))
		if err != nil {
			seen = append(seen, err.Error())
		}
	}
	res, err := r.call(ctx, agent, "crash", nil)
	if err != nil {
		return "", err
	}
	return r.unseen(ctx, append(seen, res.text))
}

// unseen gathers everything else that the daemon shows and looks for canaries in it.
func (r *rig) unseen(ctx context.Context, seen []string) (string, error) {
	if err := r.fence(ctx); err != nil {
		return "", err
	}
	list, err := r.client().ListMcps(ctx, "")
	if err != nil {
		return "", err
	}
	agents, err := r.client().ListAgents(ctx)
	if err != nil {
		return "", err
	}
	events, _, err := r.events.all()
	if err != nil {
		return "", err
	}
	show := func(m proto.Message) { seen = append(seen, prototext.Format(m)) }
	for _, m := range list {
		show(m)
	}
	for _, a := range agents {
		show(a)
	}
	for _, e := range events {
		show(e)
	}
	seen = append(seen, r.daemon.log.text())
	for _, text := range seen {
		for _, c := range r.canaries {
			if at := strings.Index(text, c); at >= 0 {
				return "", failf("a secret is shown: …%s", r.say(text[max(0, at-80):at+len(c)]))
			}
		}
	}
	return fmt.Sprintf("%d secrets searched in %d answers, rows and events and in the daemon's log: none found", len(r.canaries), len(seen)-1), nil
}

func minimalEnvironment(ctx context.Context, p *probe) (string, error) {
	const name = "MAYFLY_DAEMON_SECRET"
	r, agent, err := p.one(ctx, brisk(), healthy(), name+"=of-the-daemon")
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
	for _, entry := range spawn.Env {
		if strings.HasPrefix(entry, name+"=") {
			return "", failf("%s of the daemon reached a server, which has %d variables", name, len(spawn.Env))
		}
	}
	return fmt.Sprintf("%s did not reach the server, which has %d variables", name, len(spawn.Env)), nil
}

// overlayByName gives the daemon an overlay and declares a server that knows nothing of it.
func overlayByName(ctx context.Context, p *probe) (string, error) {
	const name = "MAYFLY_OVERLAY"
	if strings.Contains(p.target.Template, "[env]") {
		return "", &ruling{verdict: NotObserved, evidence: "the configuration of the target has an [env] of its own"}
	}
	p.target.Template += "\n[env]\n" + name + " = \"of-the-overlay\"\n"
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
	for _, entry := range spawn.Env {
		if strings.HasPrefix(entry, name+"=") {
			return "", failf("%s of the [env] of the daemon reached a server that did not ask for it", name)
		}
	}
	return fmt.Sprintf("%s of the daemon's [env] did not reach a server that did not ask for it", name), nil
}

// firstSpawn is how the first incarnation of a server found itself.
func (r *rig) firstSpawn(ctx context.Context, server string) (*observer.SpawnInfo, error) {
	rep, err := r.ctl.Wait(ctx, 0, func(rep observer.Report) bool {
		return rep.Kind == observer.Spawned && rep.Name == server && !rep.Spawn.Grandchild
	})
	return rep.Spawn, err
}

func noDescriptors(ctx context.Context, p *probe) (string, error) {
	r, agent, err := p.one(ctx, brisk(), healthy())
	if err != nil {
		return "", err
	}
	other, err := r.sibling(ctx)
	if err != nil {
		return "", err
	}
	if err := r.echo(ctx, agent, "one"); err != nil {
		return "", err
	}
	if err := r.echo(ctx, other, "two"); err != nil { // while the first one's pipes are open
		return "", err
	}
	for _, server := range []string{"s", "t"} {
		spawn, err := r.firstSpawn(ctx, server)
		if err != nil {
			return "", err
		}
		if leaked := spawn.Leaked(); len(leaked) > 0 {
			return "", failf("server %s inherited %d descriptors, the first is %d, %s", server, len(leaked), leaked[0].FD, r.say(leaked[0].Target))
		}
	}
	return "two servers of one daemon: neither inherited anything but its three pipes", nil
}
