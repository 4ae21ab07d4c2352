package endpoint

import (
	"context"
	"log/slog"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The SDK knows one tool and one resource, which are never listed: every call goes to them
// with its entry in the context, so that the SDK finishes results as it does its own, and
// adding them again makes it tell its sessions that something has changed.
const (
	hiddenTool     = "mayfly.entry"
	hiddenResource = "mayfly:entry"
)

// newServer makes the SDK's server of a scope.
func newServer(s *Scope) *mcp.Server {
	cfg := s.endpoint.cfg
	server := mcp.NewServer(&mcp.Implementation{Name: cfg.Name, Version: cfg.Version}, &mcp.ServerOptions{
		Logger: slog.New(slog.DiscardHandler),
		Capabilities: &mcp.ServerCapabilities{
			Tools:     &mcp.ToolCapabilities{ListChanged: true},
			Resources: &mcp.ResourceCapabilities{ListChanged: true},
		},
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { *c = private(*c) },
	})
	s.server = server
	s.notify(toolsChanged | resourcesChanged)
	server.AddReceivingMiddleware(s.receive)
	return server
}

// notify makes the SDK send list_changed to the sessions of the scope.
func (s *Scope) notify(what notice) {
	if what&toolsChanged != 0 {
		s.server.AddTool(&mcp.Tool{Name: hiddenTool, InputSchema: &jsonschema.Schema{Type: "object"}}, deliverCall)
	}
	if what&resourcesChanged != 0 {
		s.server.AddResource(&mcp.Resource{Name: hiddenResource, URI: hiddenResource}, deliverRead)
	}
}

// private marks what may be cached at most by who asked: a proxy must not show one tenant what
// another was shown, and the protocol's default is that it may.
func private(c mcp.Cacheable) mcp.Cacheable {
	c.CacheScope = "private"
	return c
}

// delivery is a request on its way through the SDK to an entry.
type delivery struct {
	visit *visit
	key   string // as the client named it
}

type deliveryKey struct{}

func deliverCall(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	d := ctx.Value(deliveryKey{}).(*delivery)
	own := *req
	params := *req.Params
	params.Name = d.key
	own.Params = &params
	return d.visit.scope.call(ctx, d.visit.caller, &own)
}

func deliverRead(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	d := ctx.Value(deliveryKey{}).(*delivery)
	own := *req
	params := *req.Params
	params.URI = d.key
	own.Params = &params
	return d.visit.scope.read(ctx, d.visit.caller, &own)
}

// receive answers listings from the tables, and sends calls on to the hidden entries.
func (s *Scope) receive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		ctx, done := s.requests.begin(ctx, req.GetSession().ID())
		defer done()
		switch r := req.(type) {
		case *mcp.ListToolsRequest:
			return s.listTools(ctx, r)
		case *mcp.ListResourcesRequest:
			return s.listResources(r)
		case *mcp.ListResourceTemplatesRequest:
			return s.listTemplates(r)
		case *mcp.CallToolRequest:
			d := &delivery{s.visit(r.Extra), r.Params.Name}
			own, params := *r, *r.Params
			params.Name = hiddenTool
			own.Params = &params
			return next(context.WithValue(ctx, deliveryKey{}, d), method, &own)
		case *mcp.ReadResourceRequest:
			d := &delivery{s.visit(r.Extra), r.Params.URI}
			own, params := *r, *r.Params
			params.URI = hiddenResource
			own.Params = &params
			return next(context.WithValue(ctx, deliveryKey{}, d), method, &own)
		}
		if v := visitOf(ctx); method == methodListen && v != nil {
			return v.listen(ctx, func(ctx context.Context) (mcp.Result, error) { return next(ctx, method, req) })
		}
		return next(ctx, method, req)
	}
}

// methodListen is a request of the versions without sessions, whose answer is a stream of news.
const methodListen = "subscriptions/listen"

// visit is who a message comes from: the token is that of its own request, whatever request
// opened the session.
func (s *Scope) visit(extra *mcp.RequestExtra) *visit {
	v := &visit{scope: s}
	if extra != nil {
		v.caller.Token, _ = bearerOf(extra.Header) // a malformed one did not come as far as here
	}
	return v
}
