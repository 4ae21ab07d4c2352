package endpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/yosida95/uritemplate/v3"

	"github.com/mayfly-mcp/mayfly/core/owner"
	"github.com/mayfly-mcp/mayfly/core/registry"
)

// Resource is a resource to serve.
type Resource struct {
	*mcp.Resource
	Plan registry.Plan // who may read
	Body registry.Body[*mcp.ReadResourceRequest, *mcp.ReadResourceResult]
}

// Template is a family of resources to serve.
type Template struct {
	*mcp.ResourceTemplate
	Plan registry.Plan // who may read
	Body registry.Body[*mcp.ReadResourceRequest, *mcp.ReadResourceResult]
}

// AddResource registers a resource for an owner, as AddTool does a tool.
func (s *Set) AddResource(o *owner.Token, r Resource) (*ResourceEntry, error) {
	if r.Resource == nil {
		return nil, errors.New("register resource: there is no resource")
	}
	if err := goodURI(r.URI); err != nil {
		return nil, fmt.Errorf("register resource %.64q: %w", r.URI, err)
	}
	own := *r.Resource
	if own.Name == "" {
		own.Name = own.URI
	}
	return s.resources.Register(o, registry.Spec[*mcp.ReadResourceRequest, *mcp.ReadResourceResult]{Key: r.URI, Plan: r.Plan, Body: readable(r.Body, own.MIMEType), Info: &own})
}

// pattern is what the table keeps of a template.
type pattern struct {
	template *mcp.ResourceTemplate
	match    *uritemplate.Template
}

// AddTemplate registers a family of resources for an owner, as AddTool does a tool. Its key is
// the template itself.
func (s *Set) AddTemplate(o *owner.Token, t Template) (*ResourceEntry, error) {
	if t.ResourceTemplate == nil {
		return nil, errors.New("register resource template: there is no template")
	}
	match, err := uritemplate.New(t.URITemplate)
	if err != nil {
		return nil, fmt.Errorf("register resource template %.64q: %w", t.URITemplate, err)
	}
	if scheme, _, ok := strings.Cut(t.URITemplate, ":"); !ok || strings.Contains(scheme, "{") {
		return nil, fmt.Errorf("register resource template %.64q: it must begin with a scheme, as file:///{path} does", t.URITemplate)
	}
	own := *t.ResourceTemplate
	if own.Name == "" {
		own.Name = own.URITemplate
	}
	return s.templates.Register(o, registry.Spec[*mcp.ReadResourceRequest, *mcp.ReadResourceResult]{Key: t.URITemplate, Plan: t.Plan, Body: readable(t.Body, own.MIMEType), Info: &pattern{&own, match}})
}

// goodURI refuses what is no absolute URI, and what would leave the place that it names: a
// template must not be led out of its directory, in whatever way the dots are written.
func goodURI(uri string) error {
	if len(uri) > registry.MaxKey {
		return fmt.Errorf("it has more than %d bytes", registry.MaxKey)
	}
	u, err := url.Parse(uri)
	if err != nil {
		return errors.New("it is not a URI")
	}
	if u.Scheme == "" {
		return errors.New("it has no scheme")
	}
	for _, text := range []string{u.Path, u.Opaque, u.RawQuery} {
		for range maxEscapes {
			segments := strings.FieldsFunc(text, func(r rune) bool { return r == '/' || r == '\\' })
			if slices.Contains(segments, "..") || slices.Contains(segments, ".") || strings.ContainsRune(text, 0) {
				return errors.New("its path leaves the place that it names")
			}
			plain, err := url.PathUnescape(text)
			if err != nil || plain == text {
				break
			}
			text = plain
		}
	}
	return nil
}

// maxEscapes is how often a URI may be escaped over and over before goodURI is content.
const maxEscapes = 4

// read performs resources/read on what the scope sees under the URI.
func (s *Scope) read(ctx context.Context, c registry.Caller, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri := req.Params.URI
	if err := goodURI(uri); err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("resource %.256q: %v", uri, err)}
	}
	entry := s.resource(uri)
	if entry == nil {
		return nil, notFound(uri)
	}
	res, err := entry.Call(ctx, c, req)
	if err == nil {
		return res, nil
	}
	if isA[*registry.UnavailableError](err) {
		return nil, notFound(uri)
	}
	if _, rpc := s.wrong(uri, err); rpc != nil {
		return nil, rpc
	}
	return nil, rpcError(err)
}

// notFound is mcp.ResourceNotFoundError, which quotes the URI as Go does: some are no JSON then,
// and their callers would wait for ever.
func notFound(uri string) error {
	data, err := json.Marshal(map[string]string{"uri": uri})
	if err != nil {
		panic("OL-48: a string cannot be written as JSON: " + err.Error())
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "Resource not found", Data: data}
}

// readable is a body whose results are complete and can be sent, as sound is for tools.
func readable(body registry.Body[*mcp.ReadResourceRequest, *mcp.ReadResourceResult], mime string) registry.Body[*mcp.ReadResourceRequest, *mcp.ReadResourceResult] {
	if body == nil {
		return nil
	}
	return func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		uri := req.Params.URI
		res, err := body(ctx, req)
		if err != nil {
			return nil, err
		}
		if res == nil || res.Contents == nil {
			return nil, fmt.Errorf("resource %q %w", uri, errNothing)
		}
		own := *res
		own.Meta, own.Contents = maps.Clone(res.Meta), complete(res.Contents, uri, mime)
		if _, err := json.Marshal(&own); err != nil {
			return nil, fmt.Errorf("resource %q %w", uri, errMalformed)
		}
		return &own, nil
	}
}

// complete copies contents, and fills in what a body may leave out.
func complete(contents []*mcp.ResourceContents, uri, mime string) []*mcp.ResourceContents {
	all := make([]*mcp.ResourceContents, 0, len(contents))
	for _, c := range contents {
		if c == nil {
			continue
		}
		own := *c
		if own.URI == "" {
			own.URI = uri
		}
		if own.MIMEType == "" {
			own.MIMEType = mime
		}
		all = append(all, &own)
	}
	return all
}

// resource finds what serves a URI: the resource itself before a template, and of templates
// the first by name.
func (s *Scope) resource(uri string) *ResourceEntry {
	for _, set := range s.sets() {
		if e, err := set.resources.Resolve(uri); err == nil {
			return e
		}
	}
	for _, set := range s.sets() {
		for _, e := range set.templates.List("", 0) {
			if e.Info().(*pattern).match.Match(uri) != nil {
				return e
			}
		}
	}
	return nil
}
