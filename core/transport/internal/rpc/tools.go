package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// maxPages bounds one tool list. A peer that always names a next page is broken.
	maxPages = 1000
	// maxTools bounds one tool list likewise.
	maxTools = 100_000
	// maxEmptyAgain is how often an empty first list is asked for again. A proxy may answer
	// before the server behind it is up (SPEC CA-15). There is no pause in between: waiting
	// is not ours to decide, and a late list announces itself by list_changed.
	maxEmptyAgain = 3
)

// page is one answer to tools/list. Schemas stay as the peer sent them.
type page struct {
	Tools []*struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"inputSchema"`

		// Nothing here looks into these: what a peer puts there costs it no tool.
		Title        json.RawMessage `json:"title"`
		OutputSchema json.RawMessage `json:"outputSchema"`
		Annotations  json.RawMessage `json:"annotations"`
	} `json:"tools"`
	NextCursor string `json:"nextCursor"`
}

// firstList reads the tool list that ends a connect. An empty one is believed at once only
// of a server that declares no tools.
func (c *Client) firstList(ctx context.Context, session *mcp.ClientSession) ([]transport.Tool, error) {
	tools, err := c.list(ctx, session, true)
	for again := 0; again < maxEmptyAgain && err == nil && len(tools) == 0 && declaresTools(session); again++ {
		tools, err = c.list(ctx, session, true)
	}
	return tools, err
}

// list reads every page of the tool list, or fails as a whole: a partial list would make
// tools vanish (SPEC CA-15).
func (c *Client) list(ctx context.Context, session *mcp.ClientSession, handshake bool) ([]transport.Tool, error) {
	tools := []transport.Tool{}
	cursor := ""
	for range maxPages {
		raw, err := c.exchange(ctx, methodList, handshake, func(ctx context.Context) error {
			_, err := session.ListTools(ctx, &mcp.ListToolsParams{Cursor: cursor})
			return err
		})
		if err != nil {
			if cursor == "" && hasNoTools(session, err) {
				return tools, nil
			}
			return nil, err
		}
		next, err := parsePage(raw, &tools)
		if err != nil {
			return nil, c.masked(err)
		}
		if next == "" {
			return tools, nil
		}
		cursor = next
	}
	return nil, badList(fmt.Errorf("more than %d pages", maxPages))
}

// hasNoTools recognises a server that offers prompts or resources only: it declares no
// tools and knows no tools/list.
func hasNoTools(session *mcp.ClientSession, err error) bool {
	wire, ok := errors.AsType[*jsonrpc.Error](err)
	return ok && transport.UnknownMethod(wire) && !declaresTools(session)
}

// declaresTools reports whether the server said that it has tools.
func declaresTools(session *mcp.ClientSession) bool {
	init := session.InitializeResult()
	return init != nil && init.Capabilities != nil && init.Capabilities.Tools != nil
}

// parsePage appends the tools of one page and returns the cursor of the next one.
func parsePage(raw json.RawMessage, tools *[]transport.Tool) (string, error) {
	var p page
	if err := json.Unmarshal(raw, &p); err != nil {
		return "", badList(err)
	}
	if len(*tools)+len(p.Tools) > maxTools {
		return "", badList(fmt.Errorf("more than %d tools", maxTools))
	}
	for i, t := range p.Tools {
		if t == nil || t.Name == "" {
			return "", badList(fmt.Errorf("tool %d has no name", i))
		}
		*tools = append(*tools, transport.Tool{Name: t.Name, Description: t.Description, InputSchema: t.InputSchema,
			Title: t.Title, OutputSchema: t.OutputSchema, Annotations: t.Annotations})
	}
	return p.NextCursor, nil
}

// badList is a tool list that cannot be read.
func badList(why error) error {
	return &callerr.Error{
		Kind:  callerr.Transport,
		Phase: callerr.PhaseList,
		Msg:   "failed to parse tools/list response: " + transport.Clip(why.Error()),
		Err:   why,
	}
}
