package daemon

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mayfly-mcp/mayfly/core/endpoint"
	"github.com/mayfly-mcp/mayfly/core/registry"
	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

// offer registers what a consumer offers, with bodies that ask the consumer.
func (k *consumer) offer(set *endpoint.Set, m *pb.ConsumerRegister, plan registry.Plan, n uint64) (entry, error) {
	tok := k.owner.Token
	switch m.GetKind() {
	case pb.ConsumerKind_CONSUMER_KIND_TOOL:
		tool, err := infoOf[mcp.Tool](m)
		if err != nil {
			return nil, err
		}
		return held(set.AddTool(tok, endpoint.Tool{Tool: tool, Plan: plan, Body: k.callBody(n)}))
	case pb.ConsumerKind_CONSUMER_KIND_RESOURCE:
		r, err := infoOf[mcp.Resource](m)
		if err != nil {
			return nil, err
		}
		return held(set.AddResource(tok, endpoint.Resource{Resource: r, Plan: plan, Body: k.readBody(n)}))
	case pb.ConsumerKind_CONSUMER_KIND_TEMPLATE:
		t, err := infoOf[mcp.ResourceTemplate](m)
		if err != nil {
			return nil, err
		}
		return held(set.AddTemplate(tok, endpoint.Template{ResourceTemplate: t, Plan: plan, Body: k.readBody(n)}))
	}
	return nil, invalid("the kind is not a tool, a resource or a resource template")
}

// held keeps a nil entry from becoming a value that is not nil.
func held[E entry](e E, err error) (entry, error) {
	if err != nil {
		return nil, err
	}
	return e, nil
}

// infoOf reads the description of an entry.
func infoOf[T any](m *pb.ConsumerRegister) (*T, error) {
	v := new(T)
	if err := json.Unmarshal(m.GetInfo(), v); err != nil {
		return nil, fmt.Errorf("info is not the JSON of a %T: %w", *v, err)
	}
	return v, nil
}

func (k *consumer) callBody(n uint64) registry.Body[*mcp.CallToolRequest, *mcp.CallToolResult] {
	return func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return asked[mcp.CallToolResult](ctx, k, n, r.Params)
	}
}

func (k *consumer) readBody(n uint64) registry.Body[*mcp.ReadResourceRequest, *mcp.ReadResourceResult] {
	return func(ctx context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return asked[mcp.ReadResourceResult](ctx, k, n, r.Params)
	}
}

// asked is the consumer's answer, nil when it gave none.
func asked[R any](ctx context.Context, k *consumer, n uint64, params any) (*R, error) {
	data, err := k.invoke(ctx, n, params)
	if err != nil || len(data) == 0 {
		return nil, err
	}
	res := new(R)
	if err := json.Unmarshal(data, res); err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: fmt.Sprintf("the consumer's result is not a %T", *res)}
	}
	return res, nil
}

func invokeError(e *pb.ConsumerError) error {
	if e == nil {
		return nil
	}
	return &jsonrpc.Error{Code: e.GetCode(), Message: e.GetMessage()}
}
