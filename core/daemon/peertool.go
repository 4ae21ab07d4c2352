package daemon

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mayfly-mcp/mayfly/core"
	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/endpoint"
	"github.com/mayfly-mcp/mayfly/core/registry"
)

type toolBody = registry.Body[*mcp.CallToolRequest, *mcp.CallToolResult]

// body calls a tool of the agent's peers, wherever the agent has it by then.
func (t *tenant) body(name string) toolBody {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		args := req.Params.Arguments
		if string(args) == "null" {
			args = nil
		}
		res, err := t.agent.owner.Call(ctx, name, args)
		if err != nil {
			r := t.run()
			return failedCall(r.lackedBy(explainOff(err, name, r.off())))
		}
		return passOn(res.Raw)
	}
}

// offerMeta offers the meta-tool, with which a client uses the agent's tools by name, those too
// that cannot be served by themselves.
func (t *tenant) offerMeta() error {
	e, err := t.scope.AddTool(t.agent.life.Token, endpoint.Tool{
		Tool: &mcp.Tool{Name: metaTool.Name, Description: metaTool.Description, InputSchema: metaTool.InputSchema},
		Plan: t.plan(), Body: t.meta,
	})
	if err != nil {
		return err
	}
	return e.Ready()
}

func (t *tenant) meta(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	text, failed := t.run().tool(ctx, metaTool.Name, req.Params.Arguments)
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, IsError: failed}, nil
}

// failedCall is what a client gets for a call that failed: the peer's own result or error if it
// gave one, and else words that a model can read.
func failedCall(err error) (*mcp.CallToolResult, error) {
	e, ok := errors.AsType[*callerr.Error](err)
	switch {
	case errors.Is(err, core.ErrClosed):
		return nil, errStopping
	case !ok || e.Kind != callerr.Rejected:
		return nil, err
	case len(e.Result) > 0:
		return passOn(e.Result)
	}
	return nil, err // an error of JSON-RPC is in it, which the endpoint finds
}

// passOn reads a peer's result, with all kinds of content and what it says beside them.
func passOn(raw json.RawMessage) (*mcp.CallToolResult, error) {
	res := &mcp.CallToolResult{}
	if err := json.Unmarshal(raw, res); err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the tool's result has content that MCP does not know"}
	}
	if res.Content == nil {
		res.Content = []mcp.Content{}
	}
	return res, nil
}
