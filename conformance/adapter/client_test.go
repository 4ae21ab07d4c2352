package adapter

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// script plays an adapter: it gets the lines of the runner and returns what it writes. A nil
// answer ends its output.
func script(t *testing.T, l Limits, answer func(line string) []string) *Client {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	go func() {
		lines := bufio.NewScanner(inR)
		for lines.Scan() {
			words := answer(lines.Text())
			if words == nil {
				break
			}
			for _, w := range words {
				if _, err := io.WriteString(outW, w); err != nil {
					return
				}
			}
		}
		_ = outW.Close()
		_, _ = io.Copy(io.Discard, inR)
	}()
	c := NewClient(outR, inW, l, func(s string) string { return strings.ReplaceAll(s, "hunter2", "***") })
	t.Cleanup(func() { _, _, _ = c.Close(), outR.Close(), inR.Close() })
	return c
}

// always answers every line with the same text.
func always(text ...string) func(string) []string { return func(string) []string { return text } }

func TestAnswersOfAnAdapter(t *testing.T) {
	c := script(t, DefaultLimits(), func(line string) []string {
		if strings.Contains(line, `"op":"capabilities"`) {
			return []string{`{"id":1,"result":{"protocol":1,"name":"x","capabilities":["restart"]}}` + "\n\n"}
		}
		return []string{`{"id":2,"error":{"code":404,"message":"no such thing"}}` + "\n"}
	})
	got, err := c.Capabilities(t.Context())
	if diff := cmp.Diff(Capabilities{Protocol: 1, Name: "x", Capabilities: []string{"restart"}}, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	_, err = c.Reconnect(t.Context(), "a", "m")
	if refused, ok := errors.AsType[*RefusedError](err); !ok || refused.Code != 404 {
		t.Errorf("a refusal came as %v", err)
	}
	if c.Fault() != nil {
		t.Errorf("a refusal is a fault: %v", c.Fault())
	}
}

// TestNonsense: every breach is a fault of the adapter that quotes it, and no secret.
func TestNonsense(t *testing.T) {
	short := Limits{Hello: 50 * time.Millisecond, Life: time.Minute, Work: time.Minute}
	for name, tt := range map[string]struct {
		answer func(string) []string
		limits Limits
		want   string
	}{
		"no JSON":        {always("hello hunter2 there\n"), DefaultLimits(), `it wrote "hello *** there", which is no answer`},
		"unknown id":     {always(`{"id":77,"result":{}}` + "\n"), DefaultLimits(), "which answers nothing that was asked"},
		"neither":        {always(`{"id":1}` + "\n"), DefaultLimits(), "neither result nor error"},
		"wrong type":     {always(`{"id":1,"result":{"protocol":"one"}}` + "\n"), DefaultLimits(), `it answered "capabilities" with`},
		"other version":  {always(`{"id":1,"result":{"protocol":2}}` + "\n"), DefaultLimits(), "it speaks version 2 of the protocol, and this is version 1"},
		"ends":           {always([]string(nil)...), DefaultLimits(), "it ended its output"},
		"silent":         {always(""), short, `it did not answer "capabilities" within 50ms`},
		"floods a line":  {always(strings.Repeat("x", MaxLine+1)), DefaultLimits(), "it wrote a line of more than 1048576 bytes"},
		"long nonsense":  {always(strings.Repeat("y", 10_000) + "\n"), DefaultLimits(), "yyyy…\", which is no answer"},
		"half an answer": {always(`{"id":1,"res` + "\n"), DefaultLimits(), "which is no answer"},
	} {
		t.Run(name, func(t *testing.T) {
			c := script(t, tt.limits, tt.answer)
			_, err := c.Capabilities(t.Context())
			if _, ok := errors.AsType[*FaultError](err); !ok || !strings.Contains(err.Error(), tt.want) || len(err.Error()) > 500 {
				t.Errorf("%v\nwant a fault with %q", err, tt.want)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Error("a secret is shown")
			}
		})
	}
}

// TestAFaultEndsEverything: who waits for an answer does not wait for ever.
func TestAFaultEndsEverything(t *testing.T) {
	asked := 0
	c := script(t, DefaultLimits(), func(string) []string {
		if asked++; asked == 1 {
			return []string{""}
		}
		return []string{"nonsense\n"}
	})
	first := make(chan error, 1)
	sent := make(chan struct{})
	ctx := context.WithValue(t.Context(), sentKey{}, func() { close(sent) })
	go func() { first <- c.Stop(ctx) }()
	<-sent
	if err := c.Declare(t.Context(), "a", nil); err == nil {
		t.Error("nonsense is an answer")
	}
	if err := <-first; err == nil || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("the waiting one got %v", err)
	}
	if err := c.Stop(t.Context()); err == nil {
		t.Error("a client with a fault goes on")
	}
}

// driver is a Driver that answers from memory.
type driver struct {
	Driver
	tell func(Event)
}

func (d *driver) Subscribe(_ context.Context, tell func(Event)) error {
	d.tell = tell
	return nil
}

func (d *driver) Upsert(_ context.Context, agent string, mcp json.RawMessage) (Row, error) {
	d.tell(Event{Agent: agent, Name: "m", Kind: "connected", Tools: []string{"echo"}})
	return Row{Name: "m", Status: "connected", Tools: 1}, nil
}

func (d *driver) Dispatch(ctx context.Context, c Call) (Result, error) {
	if c.Tool == "wait" {
		<-ctx.Done()
		return Result{}, ctx.Err()
	}
	return Result{Text: c.Tool + string(c.Args)}, nil
}

// TestServeAndClientMeet lets the two sides of the protocol speak with one another.
func TestServeAndClientMeet(t *testing.T) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- Serve(inR, outW, &driver{})
		_ = outW.Close()
	}()
	c := NewClient(outR, inW, DefaultLimits(), nil)
	events := make(chan Event, 1)
	if err := c.Subscribe(t.Context(), func(e Event) { events <- e }); err != nil {
		t.Fatal(err)
	}
	row, err := c.Upsert(t.Context(), "a", json.RawMessage(`{"name":"m"}`))
	if diff := cmp.Diff(Row{Name: "m", Status: "connected", Tools: 1}, row); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if diff := cmp.Diff(Event{Agent: "a", Name: "m", Kind: "connected", Tools: []string{"echo"}}, <-events); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Dispatch(ctx, Call{Agent: "a", Tool: "wait"}); !errors.Is(err, context.Canceled) {
		t.Errorf("a call that was given up ended with %v", err)
	}
	res, err := c.Dispatch(t.Context(), Call{Agent: "a", Tool: "echo", Args: json.RawMessage(`{"x":1}`)})
	if err != nil || res.Text != `echo{"x":1}` {
		t.Errorf("a call ended with %+v, %v", res, err)
	}
	if err := errors.Join(c.Close(), <-served); err != nil {
		t.Error(err)
	}
}
