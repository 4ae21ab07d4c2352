package adapter

import (
	"context"
	"encoding/json"
)

// object is a result without fields.
type object = map[string]json.RawMessage

// Capabilities implements Driver. It is the first thing that an adapter is asked.
func (c *Client) Capabilities(ctx context.Context) (got Capabilities, err error) {
	if err := c.do(ctx, c.limits.Hello, "capabilities", nil, &got); err != nil {
		return got, err
	}
	if got.Protocol != Version {
		return got, faultf("it speaks version %d of the protocol, and this is version %d", got.Protocol, Version)
	}
	return got, nil
}

// Start implements Driver.
func (c *Client) Start(ctx context.Context, s Start) error {
	return c.do(ctx, c.limits.Life, "start", s, &object{})
}

// Stop implements Driver.
func (c *Client) Stop(ctx context.Context) error {
	return c.do(ctx, c.limits.Life, "stop", nil, &object{})
}

// Declare implements Driver.
func (c *Client) Declare(ctx context.Context, agent string, mcps []json.RawMessage) error {
	return c.do(ctx, c.limits.Work, "declare", struct {
		Agent string            `json:"agent"`
		MCPs  []json.RawMessage `json:"mcps"`
	}{agent, mcps}, &object{})
}

// Upsert implements Driver.
func (c *Client) Upsert(ctx context.Context, agent string, mcp json.RawMessage) (row Row, err error) {
	err = c.do(ctx, c.limits.Work, "upsert", struct {
		Agent string          `json:"agent"`
		MCP   json.RawMessage `json:"mcp"`
	}{agent, mcp}, &row)
	return row, err
}

// named are the fields of operations on one declaration.
type named struct {
	Agent string `json:"agent"`
	Name  string `json:"name,omitempty"`
}

// Delete implements Driver.
func (c *Client) Delete(ctx context.Context, agent, name string) error {
	return c.do(ctx, c.limits.Work, "delete", named{agent, name}, &object{})
}

// Rename implements Renamer.
func (c *Client) Rename(ctx context.Context, agent, to string) error {
	return c.do(ctx, c.limits.Work, "rename", struct {
		Agent string `json:"agent"`
		To    string `json:"to"`
	}{agent, to}, &object{})
}

// Dispatch implements Driver. When the context ends, the adapter is asked to give the call up,
// and its answer is not waited for.
func (c *Client) Dispatch(ctx context.Context, call Call) (res Result, err error) {
	id, ch, err := c.send(ctx, "dispatch", call)
	if err != nil {
		return res, err
	}
	err = c.await(ctx, c.limits.Work, "dispatch", id, ch, &res)
	if ctx.Err() != nil {
		go func() { // whoever gave up does not wait for it; a fault ends the client by itself
			_ = c.do(context.WithoutCancel(ctx), c.limits.Work, "cancel", struct {
				Call uint64 `json:"call"`
			}{id}, &object{})
		}()
	}
	return res, err
}

// List implements Driver.
func (c *Client) List(ctx context.Context, agent string) ([]Row, error) {
	var got struct {
		MCPs []Row `json:"mcps"`
	}
	err := c.do(ctx, c.limits.Work, "list", named{Agent: agent}, &got)
	return got.MCPs, err
}

// Reconnect implements Driver.
func (c *Client) Reconnect(ctx context.Context, agent, name string) (row Row, err error) {
	err = c.do(ctx, c.limits.Work, "reconnect", named{agent, name}, &row)
	return row, err
}

// Subscribe implements Driver.
func (c *Client) Subscribe(ctx context.Context, tell func(Event)) error {
	if err := c.do(ctx, c.limits.Work, "subscribe", nil, &object{}); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.queued {
		tell(e)
	}
	c.queued, c.tell = nil, tell
	return nil
}
