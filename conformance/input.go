package conformance

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mayfly-mcp/mayfly/core/wire"
	"github.com/mayfly-mcp/mayfly/core/wire/pb"
	"github.com/mayfly-mcp/mayfly/fakes/observer"
)

// nobody is a well-formed ULID that no daemon has given out.
const nobody = "00000000000000000000000001"

// healthy is the behaviour of a server that is not the point of a check.
func healthy() observer.Behaviour { return observer.Behaviour{} }

// refusal is a request that must be refused.
type refusal struct {
	what  string
	code  uint32 // 0: any
	names string // what the text must name
	send  func(ctx context.Context, c *wire.Client, agent string) error
}

func inputChecks() []Check {
	refusing := func(id, title, clause string, list func(r *rig) []refusal) Check {
		return Check{ID: id, Title: title, Clauses: []string{clause, "CF-7"}, run: func(ctx context.Context, p *probe) (string, error) {
			return p.refusing(ctx, list)
		}}
	}
	return []Check{
		refusing("unknown-ids", "Requests about an unknown agent are refused by name and change nothing.", "CF-7", unknownIDs),
		refusing("malformed-ids", "Requests with something that is no agent id are refused and change nothing.", "CF-7", malformedIDs),
		refusing("empty-names", "Agents and MCPs without a name are refused.", "CL-12", emptyNames),
		refusing("wrong-types", "A value of the wrong type is refused with the name of its key.", "ID-6", wrongTypes),
		refusing("duplicate-mcps", "Two MCPs of one name in an agent are refused, and nothing of the request is kept.", "CL-12", duplicateMcps),
		refusing("duplicate-agent", "A second agent of the same name is refused, and the first one stays as it is.", "CF-7", duplicateAgent),
		refusing("reconnect-unknown", "A reconnect of an unknown name is refused and starts nothing.", "RC-4", unknownReconnect),
	}
}

// refusing sends every request and wants a refusal that names the thing.
func (p *probe) refusing(ctx context.Context, list func(r *rig) []refusal) (string, error) {
	r, agent, err := p.one(ctx, brisk(), healthy())
	if err != nil {
		return "", err
	}
	all := list(r)
	err = r.harmless(ctx, agent, func() error {
		for _, x := range all {
			err := x.send(ctx, r.client(), agent)
			refused, ok := errors.AsType[*wire.Error](err)
			switch {
			case err == nil:
				return failf("%s was accepted", x.what)
			case !ok:
				return fmt.Errorf("%s: %w", x.what, err)
			case x.code != 0 && refused.Code != x.code:
				return failf("%s was answered %d %q, want %d", x.what, refused.Code, r.say(refused.Message), x.code)
			case !strings.Contains(refused.Message, x.names):
				return failf("%s was refused with %q, which does not name %q", x.what, r.say(refused.Message), x.names)
			}
		}
		return nil
	})
	return fmt.Sprintf("%d requests refused, listings and peer as before", len(all)), err
}

func addressed(id string, missing uint32) []refusal {
	return []refusal{
		{"UpdateAgent", 500, id, func(ctx context.Context, c *wire.Client, _ string) error {
			_, err := c.UpdateAgent(ctx, id, "{}")
			return err
		}},
		{"DeleteAgent", missing, id, func(ctx context.Context, c *wire.Client, _ string) error { return c.DeleteAgent(ctx, id) }},
		{"RenameAgent", 500, id, func(ctx context.Context, c *wire.Client, _ string) error {
			_, err := c.RenameAgent(ctx, id, "other")
			return err
		}},
		{"ListMcps", 500, id, func(ctx context.Context, c *wire.Client, _ string) error {
			_, err := c.ListMcps(ctx, id)
			return err
		}},
		{"UpsertMcp", 500, id, func(ctx context.Context, c *wire.Client, _ string) error {
			_, err := c.UpsertMcp(ctx, id, `{"name":"m","command":"x"}`)
			return err
		}},
		{"DeleteMcp", 500, id, func(ctx context.Context, c *wire.Client, _ string) error { return c.DeleteMcp(ctx, id, "m1") }},
		{"ReconnectMcp", 500, id, func(ctx context.Context, c *wire.Client, _ string) error {
			_, err := c.ReconnectMcp(ctx, id, "m1")
			return err
		}},
		{"Send", 500, id, func(ctx context.Context, c *wire.Client, _ string) error {
			_, err := c.Send(ctx, &pb.SendMsg{Agent: id, Content: "x", SessionHandle: "unknown-id"})
			return err
		}},
	}
}

func unknownIDs(*rig) []refusal {
	return append(addressed(nobody, 404),
		refusal{"GetAgent", 404, "nobody", func(ctx context.Context, c *wire.Client, _ string) error {
			_, err := c.GetAgent(ctx, "nobody")
			return err
		}},
		refusal{"DeleteMcp of an unknown name", 404, "m9", func(ctx context.Context, c *wire.Client, agent string) error {
			return c.DeleteMcp(ctx, agent, "m9")
		}},
		refusal{"Kill of an unknown session", 404, "no-such", func(ctx context.Context, c *wire.Client, _ string) error {
			return c.Kill(ctx, "no-such")
		}},
		refusal{"CancelStream of an unknown session", 500, "no-such", func(ctx context.Context, c *wire.Client, _ string) error {
			return c.CancelStream(ctx, "no-such")
		}})
}

func malformedIDs(*rig) []refusal { return addressed("not-an-id", 500) }

func create(name, config string) func(context.Context, *wire.Client, string) error {
	return func(ctx context.Context, c *wire.Client, _ string) error {
		_, err := c.CreateAgent(ctx, name, config)
		return err
	}
}

func update(patch string) func(context.Context, *wire.Client, string) error {
	return func(ctx context.Context, c *wire.Client, agent string) error {
		_, err := c.UpdateAgent(ctx, agent, patch)
		return err
	}
}

func upsert(config string) func(context.Context, *wire.Client, string) error {
	return func(ctx context.Context, c *wire.Client, agent string) error {
		_, err := c.UpsertMcp(ctx, agent, config)
		return err
	}
}

func emptyNames(r *rig) []refusal {
	nameless := r.observed("", "s", nil)
	return []refusal{
		{"UpsertMcp without a name", 500, "name", upsert(nameless.json())},
		{"CreateAgent with a nameless MCP", 500, "name", create("b", agentConfig(nameless))},
		{"UpdateAgent with a nameless MCP", 500, "name", update(agentConfig(r.observed("m2", "s", nil), nameless))},
		{"CreateAgent without a name", 500, "name", create("", agentConfig())},
	}
}

func wrongTypes(*rig) []refusal {
	return []refusal{
		{"a command that is a number", 500, "command", upsert(`{"name":"m2","command":7}`)},
		{"args that are a string", 500, "args", upsert(`{"name":"m2","command":"x","args":"y"}`)},
		{"an argument that is an object", 500, "args", upsert(`{"name":"m2","command":"x","args":["y",{}]}`)},
		{"an env that is a list", 500, "env", upsert(`{"name":"m2","command":"x","env":["K=V"]}`)},
		{"an env value that is a number", 500, "env", upsert(`{"name":"m2","command":"x","env":{"K":1}}`)},
		{"an auto_restart that is a string", 500, "auto_restart", upsert(`{"name":"m2","command":"x","auto_restart":"yes"}`)},
		{"an mcps that is an object", 500, "mcps", update(`{"mcps":{"name":"m2"}}`)},
		{"max_iterations that are a string", 500, "max_iterations", create("b", `{"max_iterations":"many"}`)},
		{"a config that is no JSON", 500, "JSON", create("b", `{"mcps":`)},
		{"a config that is a list", 500, "JSON", upsert(`[]`)},
	}
}

func duplicateMcps(r *rig) []refusal {
	one, two := r.observed("m7", "s", map[string]string{"X": "1"}), r.observed("m7", "s", map[string]string{"X": "2"})
	return []refusal{
		{"CreateAgent with two MCPs of one name", 500, "m7", create("b", agentConfig(one, two))},
		{"UpdateAgent with two MCPs of one name", 500, "m7", update(agentConfig(one, two))},
	}
}

func duplicateAgent(*rig) []refusal {
	return []refusal{{"CreateAgent with a taken name", 500, "'a'", create("a", agentConfig())}}
}

func unknownReconnect(*rig) []refusal {
	return []refusal{{"ReconnectMcp of a name that was never declared", 500, "m9", func(ctx context.Context, c *wire.Client, agent string) error {
		_, err := c.ReconnectMcp(ctx, agent, "m9")
		return err
	}}}
}
