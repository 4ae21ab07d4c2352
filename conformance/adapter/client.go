package adapter

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Bounds of the protocol.
const (
	MaxLine  = 1 << 20 // bytes of a line
	MaxCalls = 4096    // operations under way
	maxQuote = 160     // bytes of a line in an error

	lastWords = time.Second // for an adapter that does not read to say why
)

// Limits are how long an adapter may take.
type Limits struct {
	Hello time.Duration // capabilities
	Life  time.Duration // start and stop
	Work  time.Duration // everything else
}

// DefaultLimits are those of PROTOCOL.md.
func DefaultLimits() Limits {
	return Limits{Hello: 30 * time.Second, Life: time.Minute, Work: 5 * time.Minute}
}

// Client is the Driver that speaks JSON lines.
type Client struct {
	limits Limits
	mask   func(string) string

	out sync.Mutex // one line at a time
	w   io.WriteCloser

	mu     sync.Mutex
	next   uint64
	calls  map[uint64]chan answer
	tell   func(Event)
	queued []Event // that came before anybody was told
	fault  error
	over   chan struct{} // closed with the fault
}

// NewClient speaks with the program behind the pipes. mask, if set, makes what the program said
// fit for a report. The client ends with r.
func NewClient(r io.Reader, w io.WriteCloser, l Limits, mask func(string) string) *Client {
	if mask == nil {
		mask = func(s string) string { return s }
	}
	c := &Client{limits: l, mask: mask, w: w, calls: map[uint64]chan answer{}, over: make(chan struct{})}
	go c.read(r)
	return c
}

// Close ends the program's input, by which it knows that nobody is left.
func (c *Client) Close() error { return c.w.Close() }

// Fault is why the client is of no more use, nil while it is.
func (c *Client) Fault() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fault
}

// fail ends the client. The first reason counts.
func (c *Client) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fault == nil {
		c.fault = err
		close(c.over)
	}
}

func (c *Client) read(r io.Reader) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, MaxLine)
	for lines.Scan() {
		if err := c.take(lines.Bytes()); err != nil {
			c.fail(err)
			break
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		c.fail(faultf("it wrote a line of more than %d bytes that begins with %s", MaxLine, c.quote("")))
	case err != nil:
		c.fail(fmt.Errorf("reading from the adapter: %w", err))
	}
	c.fail(faultf("it ended its output"))
	_, _ = io.Copy(io.Discard, r) // so that it does not wait for us while it is being ended
}

// take hands one line on.
func (c *Client) take(line []byte) error {
	if strings.TrimSpace(string(line)) == "" {
		return nil
	}
	var a answer
	if err := json.Unmarshal(line, &a); err != nil {
		return faultf("it wrote %s, which is no answer: %v", c.quote(string(line)), err)
	}
	if a.Event != nil {
		c.event(*a.Event)
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	ch := c.calls[a.ID]
	switch {
	case ch == nil && (a.ID == 0 || a.ID > c.next):
		return faultf("it wrote %s, which answers nothing that was asked", c.quote(string(line)))
	case ch == nil:
		return nil // given up meanwhile
	case a.Error == nil && len(a.Result) == 0:
		return faultf("it wrote %s, which has neither result nor error", c.quote(string(line)))
	}
	delete(c.calls, a.ID)
	ch <- a
	return nil
}

// maxQueued bounds the events that come before a subscription.
const maxQueued = 1024

func (c *Client) event(e Event) {
	c.mu.Lock()
	tell := c.tell
	if tell == nil && len(c.queued) < maxQueued {
		c.queued = append(c.queued, e)
	}
	c.mu.Unlock()
	if tell != nil {
		tell(e)
	}
}

func (c *Client) quote(s string) string {
	if s = c.mask(s); len(s) > maxQuote {
		s = strings.ToValidUTF8(s[:maxQuote], "") + "…"
	}
	return strconv.Quote(s)
}

// sentKey is the key of a function in a context that is called when a request was written.
type sentKey struct{}

// send writes one request with the fields of the given value beside it.
func (c *Client) send(ctx context.Context, op string, fields any) (uint64, chan answer, error) {
	c.mu.Lock()
	if c.fault != nil || len(c.calls) >= MaxCalls {
		defer c.mu.Unlock()
		if c.fault == nil {
			return 0, nil, fmt.Errorf("more than %d operations of an adapter are under way", MaxCalls)
		}
		return 0, nil, c.fault
	}
	c.next++
	id, ch := c.next, make(chan answer, 1)
	c.calls[id] = ch
	c.mu.Unlock()
	c.out.Lock()
	_, err := c.w.Write(line(id, op, fields))
	c.out.Unlock()
	if err != nil {
		select {
		case <-c.over: // what it wrote, or that it ended, says more
		case <-time.After(lastWords):
			c.fail(faultf("it does not read: %v", err))
		}
		return 0, nil, c.Fault()
	}
	Sent(ctx)
	return id, ch, nil
}

// Sent tells the bridge that the operation of this context is in the daemon's hand. A driver in
// Go may call it; the bridge waits a moment for it where the order of operations matters.
func Sent(ctx context.Context) {
	if sent, ok := ctx.Value(sentKey{}).(func()); ok {
		sent()
	}
}

// line is a request with its newline.
func line(id uint64, op string, fields any) []byte {
	head, err := json.Marshal(struct {
		ID uint64 `json:"id"`
		Op string `json:"op"`
	}{id, op})
	if err != nil {
		panic("ADAPTER-JSON: " + err.Error())
	}
	if fields != nil {
		rest, err := json.Marshal(fields)
		if err != nil {
			panic("ADAPTER-JSON: " + err.Error())
		}
		if len(rest) > 2 {
			head = append(append(head[:len(head)-1], ','), rest[1:]...)
		}
	}
	return append(head, '\n')
}

// do sends a request and waits for its answer, which is put into result.
func (c *Client) do(ctx context.Context, limit time.Duration, op string, fields, result any) error {
	id, ch, err := c.send(ctx, op, fields)
	if err != nil {
		return err
	}
	return c.await(ctx, limit, op, id, ch, result)
}

// await waits for the answer to a request.
func (c *Client) await(ctx context.Context, limit time.Duration, op string, id uint64, ch chan answer, result any) (err error) {
	bound := time.NewTimer(limit)
	defer bound.Stop()
	select {
	case a := <-ch:
		return c.result(op, a, result)
	case <-c.over:
		return c.Fault()
	case <-bound.C:
		err = faultf("it did not answer %q within %v", op, limit)
		c.fail(err)
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.calls, id)
	return err
}

func (c *Client) result(op string, a answer, result any) error {
	if a.Error != nil {
		return a.Error
	}
	if err := json.Unmarshal(a.Result, result); err != nil {
		err = faultf("it answered %q with %s: %v", op, c.quote(string(a.Result)), err)
		c.fail(err)
		return err
	}
	return nil
}
