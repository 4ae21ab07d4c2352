package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mayfly-mcp/mayfly/core"
	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/transport"
)

// maxToolOutput bounds what a model and a client are shown of one result.
const maxToolOutput = 1 << 20

// metaTool is the only door that a model has to MCP servers.
var metaTool = toolOffer{
	Name: "mcp",
	Description: "Use a tool of the agent's MCP servers. With an empty name it lists the tools that there are, " +
		"one per line. Otherwise name is the exact name of a tool and args holds its arguments.",
	InputSchema: json.RawMessage(`{"type":"object","properties":{` +
		`"name":{"type":"string","description":"exact name of a tool, or empty to list them"},` +
		`"args":{"type":"string","description":"a JSON object with the tool's arguments, as text"}},` +
		`"required":["name"]}`),
}

// tool performs one call of a model. A failure is text for the model and ends nothing.
func (r *run) tool(ctx context.Context, tool string, input json.RawMessage) (output string, isError bool) {
	if tool != metaTool.Name {
		return "tool not available: " + clip(tool, maxQuoted), true
	}
	name, args, err := readMeta(input)
	if err == nil && name == "" {
		output, err = r.list(ctx)
	} else if err == nil {
		output, err = callTool(ctx, r.agent.owner, name, args)
		err = r.lackedBy(explainOff(err, name, r.off()))
	}
	if err != nil {
		return clip(err.Error(), maxToolOutput), true
	}
	return clip(output, maxToolOutput), false
}

// readMeta reads the meta-tool's own arguments.
func readMeta(input json.RawMessage) (name, args string, err error) {
	obj, err := parseObject(string(input))
	if err != nil {
		return "", "", fmt.Errorf("invalid arguments: %w", err)
	}
	r := reader{obj: obj, bad: &[]string{}}
	name, args = r.str("name"), r.optional("args")
	if _, ok := obj["name"]; !ok {
		return "", "", errors.New("invalid arguments: key name is missing")
	}
	if err := r.problem(); err != nil {
		return "", "", fmt.Errorf("invalid arguments: %w", err)
	}
	return name, args, nil
}

func callTool(ctx context.Context, owner *core.Owner, name, args string) (string, error) {
	if args != "" {
		if _, err := parseObject(args); err != nil {
			return "", fmt.Errorf("invalid tool arguments: %w", err)
		}
	}
	res, err := owner.Call(ctx, name, json.RawMessage(args))
	if err != nil {
		return "", err
	}
	return render(res), nil
}

var errListBound = errors.New("the bound of the listing is over")

// list lists what every peer exports. Peers that are not up within the bound are named and
// come up in their own time (SPEC DI-9, DI-15).
func (r *run) list(ctx context.Context) (string, error) {
	listing, err := r.dispatch(ctx)
	if err != nil {
		return "", err
	}
	return listed(listing, r.listBound, r.off(), r.lacks), nil
}

// dispatch brings up the agent's peers and reads their tools, within the bound.
func (r *run) dispatch(ctx context.Context) ([]core.Listing, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer r.clock.AfterFunc(r.listBound, func() { cancel(errListBound) }).Stop()
	listing, err := r.agent.owner.Dispatch(ctx)
	if err != nil && context.Cause(ctx) != errListBound {
		return nil, err
	}
	return listing, nil
}

// listed shows a listing in declaration order, with the peers that could not be asked. A
// name that several export is listed once: a call goes to the first that is able to serve.
func listed(listing []core.Listing, bound time.Duration, off []string, lacks func(string) []string) string {
	var lines, missing []string
	seen := map[string]bool{}
	for _, l := range listing {
		switch {
		case callerr.KindOf(l.Err) == callerr.Cancelled:
			missing = append(missing, fmt.Sprintf("(mcp '%s' is still connecting after %v; list again later)", l.Name, bound))
		case l.Err != nil:
			missing = append(missing, fmt.Sprintf("(mcp '%s' is not available: %s)", l.Name, withMissing(l.Err.Error(), lacks(l.Name))))
		}
		for _, t := range l.Tools {
			if !seen[t.Name] {
				seen[t.Name] = true
				lines = append(lines, t.Name+": "+strings.Join(strings.Fields(t.Description), " "))
			}
		}
	}
	for _, name := range off {
		missing = append(missing, "("+disabledError(name).Msg+")")
	}
	if len(lines) == 0 {
		lines = []string{"no tools found"}
	}
	return strings.Join(append(lines, missing...), "\n")
}

// render is a result as a model reads it: its text, or else its structured content, and a
// note of what text cannot show (SPEC CA-12).
func render(res *transport.Result) string {
	var body struct {
		Content []struct {
			Type string `json:"type"`
		} `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
	}
	text := res.Text()
	if json.Unmarshal(res.Raw, &body) != nil {
		return text
	}
	var hidden []string
	for _, c := range body.Content {
		if c.Type != "text" {
			hidden = append(hidden, c.Type)
		}
	}
	if text == "" && len(body.Structured) > 0 {
		text = string(body.Structured)
	}
	if len(hidden) == 0 {
		return text
	}
	slices.Sort(hidden)
	note := "(not shown: " + strings.Join(slices.Compact(hidden), ", ") + ")"
	if text == "" {
		return note
	}
	return text + "\n" + note
}
