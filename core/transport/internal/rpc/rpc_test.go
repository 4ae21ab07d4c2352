package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// wire is a connection whose far side is the test.
type wire struct {
	in     chan jsonrpc.Message
	closed chan struct{}
	once   sync.Once
	gate   func(ctx context.Context, req *jsonrpc.Request) error // may block a write

	mu      sync.Mutex
	written []string // method, or "answer"
}

func newWire() *wire {
	return &wire{in: make(chan jsonrpc.Message, 8), closed: make(chan struct{})}
}

func (w *wire) Connect(context.Context) (mcp.Connection, error) { return w, nil }
func (w *wire) SessionID() string                               { return "" }

func (w *wire) Close() error {
	w.once.Do(func() { close(w.closed) })
	return nil
}

func (w *wire) Read(context.Context) (jsonrpc.Message, error) {
	select {
	case msg := <-w.in:
		return msg, nil
	case <-w.closed:
		return nil, io.EOF
	}
}

// Write answers the handshake by itself and leaves calls to the test.
func (w *wire) Write(ctx context.Context, msg jsonrpc.Message) error {
	req, ok := msg.(*jsonrpc.Request)
	if !ok {
		w.note("answer")
		return nil
	}
	if w.gate != nil {
		if err := w.gate(ctx, req); err != nil {
			return err
		}
	}
	w.note(req.Method)
	if ex := ExchangeOf(ctx); ex != nil && req.IsCall() {
		ex.Wrote()
	}
	switch req.Method {
	case "initialize":
		w.answer(req.ID, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"w","version":"1"}}`)
	case "tools/list":
		w.answer(req.ID, `{"tools":[{"name":"echo"}]}`)
	}
	return nil
}

func (w *wire) answer(id jsonrpc.ID, result string) {
	w.in <- &jsonrpc.Response{ID: id, Result: json.RawMessage(result)}
}

func (w *wire) note(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.written = append(w.written, what)
}

func (w *wire) log() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string{}, w.written...)
}

// open runs the handshake over w.
func open(t *testing.T, w mcp.Transport) *Client {
	t.Helper()
	c := New(w, Options{Name: "t", Version: "1", Protocol: "2025-11-25", MaxFrame: 1 << 20,
		Fault: func() error { return nil }, Lost: func(error) {}})
	if _, err := c.Initialize(context.Background()); err != nil {
		t.Fatal(err)
	}
	return c
}

// id makes the id of a request of ours or of the peer.
func id(v any) jsonrpc.ID {
	out, err := jsonrpc.MakeID(v)
	if err != nil {
		panic(err)
	}
	return out
}

func TestPeerRequestsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire()
		stuck := make(chan struct{})
		c := open(t, &blockingAnswers{wire: w, block: func() { <-stuck }})
		for i := range 2*maxServerRequests + 10 {
			w.in <- &jsonrpc.Request{ID: id(float64(i / 2)), Method: "ping"} // every id twice
			synctest.Wait()
		}
		c.tap.conn.mu.Lock()
		waiting := len(c.tap.conn.asked)
		c.tap.conn.mu.Unlock()
		if waiting != maxServerRequests {
			t.Errorf("%d requests of the peer wait, want the bound %d", waiting, maxServerRequests)
		}
		if got, want := c.Dropped(), int64(maxServerRequests+10); got != want {
			t.Errorf("%d messages dropped, want %d", got, want)
		}
		close(stuck)
		synctest.Wait()
		c.tap.conn.mu.Lock()
		waiting = len(c.tap.conn.asked)
		c.tap.conn.mu.Unlock()
		if waiting != 0 {
			t.Errorf("%d requests of the peer wait after all were answered", waiting)
		}
		c.Shut()
	})
}

// blockingAnswers holds back our answers to the peer.
type blockingAnswers struct {
	*wire
	block func()
}

func (b *blockingAnswers) Connect(context.Context) (mcp.Connection, error) { return b, nil }

func (b *blockingAnswers) Write(ctx context.Context, msg jsonrpc.Message) error {
	if _, ok := msg.(*jsonrpc.Response); ok {
		b.block()
	}
	return b.wire.Write(ctx, msg)
}

func TestCancellationIsAnnouncedOnlyForWhatWasSent(t *testing.T) {
	for _, sent := range []bool{true, false} {
		t.Run(fmt.Sprint("sent ", sent), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWire()
				c := open(t, w)
				w.gate = func(ctx context.Context, req *jsonrpc.Request) error {
					if sent || req.Method != "tools/call" {
						return nil
					}
					<-ctx.Done()
					return ctx.Err()
				}
				ctx, cancel := context.WithCancelCause(context.Background())
				go func() {
					synctest.Wait()
					cancel(errors.New("enough"))
				}()
				_, err := c.Call(ctx, "echo", nil)
				e, ok := errors.AsType[*callerr.Error](err)
				if !ok || e.Kind != callerr.Cancelled || e.Definite == sent {
					t.Errorf("error %#v, want Cancelled with definite %v", err, !sent)
				}
				synctest.Wait()
				want := []string{"initialize", "notifications/initialized", "tools/list"}
				if sent {
					want = append(want, "tools/call", "notifications/cancelled")
				}
				if diff := cmp.Diff(want, w.log()); diff != "" {
					t.Errorf("written (-want +got):\n%s", diff)
				}
				c.Shut()
			})
		})
	}
}

func TestCancelledInitializeIsNotAnnounced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire()
		w.gate = func(ctx context.Context, req *jsonrpc.Request) error {
			if req.Method != "initialize" {
				return nil
			}
			w.note("initialize without answer")
			ExchangeOf(ctx).Wrote()
			return errSwallow
		}
		c := New(&swallow{w}, Options{Name: "t", Version: "1", Protocol: "2025-11-25", MaxFrame: 1,
			Fault: func() error { return nil }, Lost: func(error) {}})
		ctx, cancel := context.WithCancel(context.Background())
		go func() {
			synctest.Wait()
			cancel()
		}()
		_, err := c.Initialize(ctx)
		if callerr.KindOf(err) != callerr.Cancelled {
			t.Errorf("error %v, want Cancelled", err)
		}
		synctest.Wait()
		if diff := cmp.Diff([]string{"initialize without answer"}, w.log()); diff != "" {
			t.Errorf("written (-want +got):\n%s", diff)
		}
	})
}

var errSwallow = errors.New("swallowed")

// swallow is a peer that takes initialize and says nothing.
type swallow struct{ *wire }

func (s *swallow) Connect(context.Context) (mcp.Connection, error) { return s, nil }

func (s *swallow) Write(ctx context.Context, msg jsonrpc.Message) error {
	if err := s.wire.Write(ctx, msg); !errors.Is(err, errSwallow) {
		return err
	}
	return nil
}

func TestRepliesThatNobodyWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire()
		c := open(t, w)
		before := c.Dropped()
		w.answer(id("3"), `{}`)        // the string, not the number
		w.answer(id(float64(1)), `{}`) // initialize, again
		w.answer(id(float64(99)), `{}`)
		w.in <- &jsonrpc.Request{Method: "notifications/message"}
		synctest.Wait()
		if got := c.Dropped() - before; got != 4 {
			t.Errorf("%d messages dropped, want 4", got)
		}
		c.Shut()
	})
}

func TestEndlessToolList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &endless{newWire()}
		c := New(w, Options{Name: "t", Version: "1", Protocol: "2025-11-25", MaxFrame: 1,
			Fault: func() error { return nil }, Lost: func(error) {}})
		_, err := c.Initialize(context.Background())
		if e, ok := errors.AsType[*callerr.Error](err); !ok || e.Kind != callerr.Transport || e.Phase != callerr.PhaseList {
			t.Errorf("error %v, want Transport while listing", err)
		}
		if got := len(w.log()); got > maxPages+5 {
			t.Errorf("%d requests were written", got)
		}
	})
}

// endless names a next page for ever.
type endless struct{ *wire }

func (e *endless) Connect(context.Context) (mcp.Connection, error) { return e, nil }

func (e *endless) Write(ctx context.Context, msg jsonrpc.Message) error {
	if req, ok := msg.(*jsonrpc.Request); ok && req.Method == "tools/list" {
		e.note("tools/list")
		e.answer(req.ID, `{"tools":[],"nextCursor":"more"}`)
		return nil
	}
	return e.wire.Write(ctx, msg)
}
