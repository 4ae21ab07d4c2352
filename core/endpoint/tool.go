package endpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mayfly-mcp/mayfly/core/owner"
	"github.com/mayfly-mcp/mayfly/core/registry"
)

// Tool is a tool to serve.
type Tool struct {
	*mcp.Tool               // its name, description and schemas; the input schema may be nil, which takes any object
	Plan      registry.Plan // who may call
	Body      registry.Body[*mcp.CallToolRequest, *mcp.CallToolResult]
}

// toolName is what every client takes, by the specification of 2025-11-25.
var toolName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)

// offer is what the table keeps of a tool for listings and calls.
type offer struct {
	tool  *mcp.Tool
	input *jsonschema.Resolved
}

// AddTool registers a tool for an owner. It is hidden until the entry is told Ready. The
// error names what is wrong with the tool, or is the registry's.
func (s *Set) AddTool(o *owner.Token, t Tool) (*ToolEntry, error) {
	of, err := newOffer(t.Tool)
	if err != nil {
		return nil, err
	}
	return s.tools.Register(o, registry.Spec[*mcp.CallToolRequest, *mcp.CallToolResult]{Key: t.Name, Plan: t.Plan, Body: sound(t.Name, t.Body), Info: of})
}

// sound is a body whose results can be sent. What cannot be written as JSON would otherwise
// keep the caller waiting for ever, or end the process, and the SDK writes into what it is
// given, which a body may give to many: so it is tried here, where a panic is contained, and
// what goes on is a copy.
func sound(name string, body registry.Body[*mcp.CallToolRequest, *mcp.CallToolResult]) registry.Body[*mcp.CallToolRequest, *mcp.CallToolResult] {
	if body == nil {
		return nil
	}
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		res, err := body(ctx, req)
		if err != nil {
			return nil, err
		}
		if res == nil {
			return nil, fmt.Errorf("tool %q %w", name, errNothing)
		}
		own := *res
		own.Meta = maps.Clone(res.Meta)
		if _, err := json.Marshal(&own); err != nil || slices.Contains(own.Content, nil) {
			return nil, fmt.Errorf("tool %q %w", name, errMalformed)
		}
		return &own, nil
	}
}

func newOffer(t *mcp.Tool) (*offer, error) {
	if t == nil {
		return nil, errors.New("register tool: there is no tool")
	}
	if !toolName.MatchString(t.Name) {
		return nil, fmt.Errorf("register tool %.64q: a name has 1 to 128 of the characters A-Z a-z 0-9 _ . -", t.Name)
	}
	own := *t
	if own.InputSchema == nil {
		own.InputSchema = &jsonschema.Schema{Type: "object"}
	}
	input, err := resolved(own.InputSchema)
	if err != nil {
		return nil, fmt.Errorf("register tool %s: input schema: %w", t.Name, err)
	}
	if own.OutputSchema != nil {
		if _, err := resolved(own.OutputSchema); err != nil {
			return nil, fmt.Errorf("register tool %s: output schema: %w", t.Name, err)
		}
	}
	return &offer{&own, input}, nil
}

// resolved reads a schema in whatever form it was given. A schema that refers to others
// elsewhere is refused: nothing is fetched.
func resolved(schema any) (*jsonschema.Resolved, error) {
	data, err := json.Marshal(schema)
	if err != nil {
		return nil, err
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("it is not a JSON schema: %w", err)
	}
	if s.Type != "object" {
		return nil, fmt.Errorf(`its type is %q; it must be "object"`, s.Type)
	}
	return s.Resolve(nil)
}

// check validates arguments. No arguments are an empty object.
func (o *offer) check(args json.RawMessage) error {
	if len(args) == 0 || string(args) == "null" {
		args = json.RawMessage(`{}`)
	}
	var v any
	if err := json.Unmarshal(args, &v); err != nil {
		return fmt.Errorf("the arguments are not JSON: %w", err)
	}
	return o.input.Validate(v)
}

// call performs tools/call on what the scope sees under the name.
func (s *Scope) call(ctx context.Context, c registry.Caller, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	entry, err := s.tool(ctx, req.Params.Name)
	if err != nil {
		return nil, rpcError(err)
	}
	if err := entry.Info().(*offer).check(req.Params.Arguments); err != nil {
		// The model that made the arguments can mend them, so this is a result and not an error.
		return failed(fmt.Sprintf("invalid arguments for tool %s: %.1024s", entry.Key(), err.Error())), nil
	}
	res, err := entry.Call(ctx, c, req)
	if err != nil {
		return s.wrong(entry.Key(), err)
	}
	return res, nil
}

func failed(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// tool resolves a name, and again after a refresh.
func (s *Scope) tool(ctx context.Context, name string) (*ToolEntry, error) {
	entry, err := s.tools.Resolve(name)
	if err != nil && (s.doubt == nil || !s.doubt(name)) {
		entry, err = s.resolveTool(name)
	}
	if err != nil {
		s.fresh(ctx)
		entry, err = s.resolveTool(name)
	}
	return entry, err
}

func (s *Scope) resolveTool(name string) (entry *ToolEntry, err error) {
	for _, set := range s.sets() {
		if entry, err = set.tools.Resolve(name); err == nil {
			return entry, nil
		}
	}
	return nil, err
}
