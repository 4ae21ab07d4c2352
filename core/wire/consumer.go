package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

// ConsumerBody answers one call of an entry that a consumer serves: params and result are those of
// tools/call or resources/read. Its context ends when the caller gives up or the connection
// ends. An error that is an *InvokeError reaches the caller with its code.
type ConsumerBody func(ctx context.Context, params json.RawMessage) (result json.RawMessage, err error)

// InvokeError is a JSON-RPC error that a body gives its caller.
type InvokeError struct {
	Code    int64
	Message string
}

// Error implements error.
func (e *InvokeError) Error() string { return fmt.Sprintf("error %d: %s", e.Code, e.Message) }

// RefusedError says why the daemon did not grant what a consumer asked for.
type RefusedError struct {
	Reason  pb.ConsumerReason
	Message string // the daemon's words
}

// Error implements error.
func (e *RefusedError) Error() string { return e.Message }

// ErrConsumerEnded is why a consumer's requests fail after its end.
var ErrConsumerEnded = errors.New("the consumer's connection has ended")

// Consumer is a connection that serves tools and resources through a daemon. It is one owner:
// its entries live exactly as long as the connection. Its methods may be called concurrently.
type Consumer struct {
	conn  *Conn
	owner uint64
	ctx   context.Context // ends with the connection
	end   context.CancelCauseFunc
	done  chan struct{} // closed when everything has ended

	mu      sync.Mutex
	last    uint64
	waiting map[uint64]chan *pb.ConsumerEvent
	bodies  map[uint64]ConsumerBody
	calls   map[uint64]context.CancelFunc
	work    sync.WaitGroup
}

// Attach connects to a daemon as a consumer. name is for the daemon's logs. A daemon that
// does not know consumers refuses with an *Error.
func Attach(ctx context.Context, network, address, name string) (*Consumer, error) {
	conn, err := Dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c := &Consumer{
		conn: conn, done: make(chan struct{}),
		waiting: map[uint64]chan *pb.ConsumerEvent{}, bodies: map[uint64]ConsumerBody{}, calls: map[uint64]context.CancelFunc{},
	}
	c.ctx, c.end = context.WithCancelCause(context.Background())
	go c.read()
	got, err := c.ask(ctx, &pb.ConsumerRequest{Msg: &pb.ConsumerRequest_Attach{Attach: &pb.ConsumerAttach{Name: name}}})
	if err != nil {
		_ = c.Close() // the error that led here says more
		return nil, fmt.Errorf("attach: %w", err)
	}
	c.owner = got.GetAttached().GetOwner()
	return c, nil
}

// Owner is the number that the daemon gave this start; it gives none twice.
func (c *Consumer) Owner() uint64 { return c.owner }

// Done is closed when the connection has ended and every body has returned.
func (c *Consumer) Done() <-chan struct{} { return c.done }

// Err is why the connection ended, nil while it stands.
func (c *Consumer) Err() error { return context.Cause(c.ctx) }

// Close ends the owner: its entries are gone when the daemon has seen the end. It returns
// when the bodies have.
func (c *Consumer) Close() error {
	c.end(ErrConsumerEnded)
	err := c.conn.Close()
	<-c.done
	return err
}

// Register takes a name for a body. The entry is hidden until Ready. A refusal is a
// *RefusedError.
func (c *Consumer) Register(ctx context.Context, r *pb.ConsumerRegister, body ConsumerBody) (entry uint64, err error) {
	got, err := c.ask(ctx, &pb.ConsumerRequest{Msg: &pb.ConsumerRequest_Register{Register: r}})
	if err != nil {
		return 0, fmt.Errorf("register: %w", err)
	}
	entry = got.GetRegistered().GetEntry()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bodies[entry] = body // before Ready nobody calls
	return entry, nil
}

// Ready makes an entry visible.
func (c *Consumer) Ready(ctx context.Context, entry uint64) error {
	_, err := c.ask(ctx, &pb.ConsumerRequest{Msg: &pb.ConsumerRequest_Ready{Ready: &pb.ConsumerReady{Entry: entry}}})
	if err != nil {
		return fmt.Errorf("ready: %w", err)
	}
	return nil
}

// Unregister takes an entry out. Twice is once.
func (c *Consumer) Unregister(ctx context.Context, entry uint64) error {
	_, err := c.ask(ctx, &pb.ConsumerRequest{Msg: &pb.ConsumerRequest_Unregister{Unregister: &pb.ConsumerUnregister{Entry: entry}}})
	if err != nil {
		return fmt.Errorf("unregister: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.bodies, entry)
	return nil
}

// ask sends a request and waits for its answer.
func (c *Consumer) ask(ctx context.Context, r *pb.ConsumerRequest) (*pb.ConsumerEvent, error) {
	answer := make(chan *pb.ConsumerEvent, 1)
	c.mu.Lock()
	c.last++
	r.Id = c.last
	c.waiting[r.Id] = answer
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.waiting, r.Id)
	}()
	if err := c.send(ctx, r); err != nil {
		return nil, c.why(err)
	}
	select {
	case e := <-answer:
		if refused := e.GetRefused(); refused != nil {
			return nil, &RefusedError{refused.GetReason(), refused.GetMessage()}
		}
		return e, nil
	case <-c.ctx.Done():
		return nil, context.Cause(c.ctx)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// why prefers the end of the connection to what it did to a request.
func (c *Consumer) why(err error) error {
	if errors.Is(err, net.ErrClosed) && c.ctx.Err() != nil {
		return context.Cause(c.ctx)
	}
	return err
}

func (c *Consumer) send(ctx context.Context, r *pb.ConsumerRequest) error {
	payload, err := proto.Marshal(r)
	if err != nil {
		return fmt.Errorf("cannot encode a request: %w", err)
	}
	return c.conn.WriteRequest(ctx, &pb.ClientMessage{Msg: &pb.ClientMessage_Extension{Extension: payload}})
}

// read takes what the daemon sends until the connection ends.
func (c *Consumer) read() {
	defer close(c.done)
	err := c.readAll()
	c.end(err)
	_ = c.conn.Close() // it has ended either way
	c.work.Wait()
}

func (c *Consumer) readAll() error {
	for {
		m, err := c.conn.ReadAnswer(c.ctx)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrConsumerEnded, err)
		}
		if refused := m.GetError(); refused != nil {
			return &Error{Code: refused.GetCode(), Message: refused.GetMessage()}
		}
		if _, ok := m.GetMsg().(*pb.ServerMessage_Extension); !ok {
			return &UnexpectedError{Request: "extension", Want: "extension", Got: Variant(m)}
		}
		e := &pb.ConsumerEvent{}
		if err := decode(m.GetExtension(), e); err != nil {
			return err
		}
		c.take(e)
	}
}

func (c *Consumer) take(e *pb.ConsumerEvent) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch m := e.GetMsg().(type) {
	case *pb.ConsumerEvent_Invoke:
		c.begin(m.Invoke)
	case *pb.ConsumerEvent_Cancel:
		if cancel := c.calls[m.Cancel.GetCall()]; cancel != nil {
			cancel()
		}
	default:
		if answer := c.waiting[e.GetId()]; answer != nil {
			delete(c.waiting, e.GetId()) // a second answer has nobody to go to
			answer <- e
		}
	}
}

// begin runs a body in a goroutine of its own. Called with mu held.
func (c *Consumer) begin(v *pb.ConsumerInvoke) {
	body := c.bodies[v.GetEntry()]
	ctx, cancel := context.WithCancel(c.ctx)
	c.calls[v.GetCall()] = cancel
	c.work.Go(func() {
		defer cancel()
		r := c.run(ctx, body, v)
		c.mu.Lock()
		delete(c.calls, v.GetCall())
		c.mu.Unlock()
		_ = c.send(c.ctx, &pb.ConsumerRequest{Msg: &pb.ConsumerRequest_Result{Result: r}}) // fails with the connection alone
	})
}

func (c *Consumer) run(ctx context.Context, body ConsumerBody, v *pb.ConsumerInvoke) *pb.ConsumerResult {
	r := &pb.ConsumerResult{Call: v.GetCall()}
	if body == nil {
		r.Error = &pb.ConsumerError{Code: codeInternal, Message: "the consumer has no such entry"}
		return r
	}
	res, err := body(ctx, v.GetParams())
	if own, ok := errors.AsType[*InvokeError](err); ok {
		r.Error = &pb.ConsumerError{Code: own.Code, Message: own.Message}
	} else if err != nil {
		r.Error = &pb.ConsumerError{Code: codeInternal, Message: err.Error()}
	}
	r.Result = res
	return r
}

// codeInternal is JSON-RPC's code of an internal error.
const codeInternal = -32603
