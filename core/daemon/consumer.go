package daemon

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"google.golang.org/protobuf/proto"

	"github.com/mayfly-mcp/mayfly/core/owner"
	"github.com/mayfly-mcp/mayfly/core/registry"
	"github.com/mayfly-mcp/mayfly/core/wire"
	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

const (
	// maxEntries bounds what one consumer may register.
	maxEntries = 4096
	// maxUnsent bounds the invocations that wait in memory for a consumer to read. Callers of
	// a further one wait, as long as they wish.
	maxUnsent = 8
	// maxParams bounds the parameters of an invocation, so that it fits into a frame.
	maxParams = wire.MaxFrame - 1<<10
)

// consumer is a connection that serves tools and resources. It is one owner, which dies with
// the connection (SPEC OL-1, OL-2): nothing else has to be said.
type consumer struct {
	c     *client
	owner *owner.Owner

	unsent chan struct{} // one token for each invocation that has not left

	mu       sync.Mutex
	last     uint64 // entry or call
	entries  map[uint64]entry
	awaiting map[uint64]chan *pb.ConsumerResult
}

// entry is what a consumer holds, of whatever kind.
type entry interface {
	Ready() error
	Unregister()
}

// extension takes one message of a consumer. The reader performs it itself, so that requests
// take effect in the order in which they were sent.
func (c *client) extension(payload []byte) {
	r := &pb.ConsumerRequest{}
	if err := proto.Unmarshal(payload, r); err != nil || r.GetMsg() == nil {
		c.refuse(refuse(codeFailed, "extension not supported"))
		return
	}
	if m, ok := r.GetMsg().(*pb.ConsumerRequest_Attach); ok {
		c.attach(r.GetId(), m.Attach)
		return
	}
	if c.consumer == nil {
		c.tell(r.GetId(), denied(invalid("attach first")))
		return
	}
	if e := c.consumer.perform(r); e != nil {
		c.tell(r.GetId(), e)
	}
}

func (c *client) attach(id uint64, m *pb.ConsumerAttach) {
	switch {
	case c.d.stopping():
		c.tell(id, denied(invalid(errStopping.Error())))
	case c.consumer != nil:
		c.tell(id, denied(invalid("this connection is attached; a consumer has a connection of its own")))
	default:
		k := &consumer{c: c, owner: owner.New(c.ctx, clip(m.GetName(), maxQuoted)), unsent: make(chan struct{}, maxUnsent), entries: map[uint64]entry{}, awaiting: map[uint64]chan *pb.ConsumerResult{}}
		c.consumer = k
		c.d.log.Info("a consumer attached", "owner", k.owner.String())
		c.tell(id, &pb.ConsumerEvent{Msg: &pb.ConsumerEvent_Attached{Attached: &pb.ConsumerAttached{Owner: uint64(k.owner.ID())}}})
	}
}

// die is the death of the owner: the connection is gone.
func (k *consumer) die() {
	if k == nil {
		return
	}
	k.owner.Close()
	k.c.d.log.Info("a consumer is gone", "owner", k.owner.String())
}

// join waits for the bodies, none of which stays after the death.
func (k *consumer) join() {
	if k != nil {
		_ = k.owner.Drain(context.Background()) // fails with its context alone
	}
}

// tell sends an event to a consumer: the answer to its request id, or 0.
func (c *client) tell(id uint64, e *pb.ConsumerEvent) {
	e.Id = id
	c.send(extensionOf(e))
}

func extensionOf(e *pb.ConsumerEvent) *pb.ServerMessage {
	payload, err := proto.Marshal(e)
	if err != nil {
		panic(fmt.Sprintf("WIRE-3: an event cannot be encoded: %v", err))
	}
	return &pb.ServerMessage{Msg: &pb.ServerMessage_Extension{Extension: payload}}
}

func (k *consumer) perform(r *pb.ConsumerRequest) *pb.ConsumerEvent {
	switch m := r.GetMsg().(type) {
	case *pb.ConsumerRequest_Register:
		n, err := k.register(m.Register)
		if err != nil {
			return denied(err)
		}
		return &pb.ConsumerEvent{Msg: &pb.ConsumerEvent_Registered{Registered: &pb.ConsumerRegistered{Entry: n}}}
	case *pb.ConsumerRequest_Ready:
		e, err := k.entry(m.Ready.GetEntry())
		if err == nil {
			err = e.Ready()
		}
		return done(err)
	case *pb.ConsumerRequest_Unregister:
		return done(k.unregister(m.Unregister.GetEntry()))
	case *pb.ConsumerRequest_Result:
		k.result(m.Result)
		return nil
	}
	return denied(invalid("this request is not known here"))
}

func done(err error) *pb.ConsumerEvent {
	if err != nil {
		return denied(err)
	}
	return &pb.ConsumerEvent{Msg: &pb.ConsumerEvent_Done{Done: &pb.ConsumerDone{}}}
}

// invalid is a request that cannot be granted as it is.
func invalid(text string) error { return errors.New(text) }

// denied says why a request was not granted, by the registry's reasons.
func denied(err error) *pb.ConsumerEvent {
	reason := pb.ConsumerReason_CONSUMER_REASON_INVALID
	if _, ok := errors.AsType[*registry.DuplicateError](err); ok {
		reason = pb.ConsumerReason_CONSUMER_REASON_DUPLICATE
	} else if _, ok := errors.AsType[*registry.FullError](err); ok {
		reason = pb.ConsumerReason_CONSUMER_REASON_FULL
	} else if errors.Is(err, registry.ErrDeadOwner) {
		reason = pb.ConsumerReason_CONSUMER_REASON_DEAD
	} else if errors.Is(err, registry.ErrUnregistered) {
		reason = pb.ConsumerReason_CONSUMER_REASON_UNREGISTERED
	}
	return &pb.ConsumerEvent{Msg: &pb.ConsumerEvent_Refused{Refused: &pb.ConsumerRefused{Reason: reason, Message: strings.ToValidUTF8(err.Error(), "\uFFFD")}}}
}

// entry finds what this consumer registered, and nobody else's.
func (k *consumer) entry(n uint64) (entry, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if e := k.entries[n]; e != nil {
		return e, nil
	}
	return nil, fmt.Errorf("entry %d: %w", n, registry.ErrUnregistered)
}

func (k *consumer) unregister(n uint64) error {
	k.mu.Lock()
	e := k.entries[n]
	delete(k.entries, n)
	k.mu.Unlock()
	if e != nil {
		e.Unregister()
	}
	return nil
}

func (k *consumer) register(m *pb.ConsumerRegister) (uint64, error) {
	plan, err := planOf(m.GetPlan())
	if err != nil {
		return 0, err
	}
	if m.GetAgent() != "" && k.c.door != "unix" {
		return 0, invalid("what is for one agent's clients is taken on the unix socket alone: any user may come here")
	}
	set, err := k.c.d.setFor(m.GetAgent())
	if err != nil {
		return 0, err
	}
	k.mu.Lock()
	k.last++
	n, full := k.last, len(k.entries) >= maxEntries
	k.mu.Unlock()
	if full {
		return 0, invalid(fmt.Sprintf("this consumer has registered %d entries, the most that one may", maxEntries))
	}
	e, err := k.offer(set, m, plan, n)
	if err != nil {
		return 0, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.entries[n] = e
	return n, nil
}

// planOf reads who may call. Silence is no plan (SPEC OL-39).
func planOf(p *pb.ConsumerPlan) (registry.Plan, error) {
	sums := p.GetTokenSha256()
	switch {
	case p.GetPublic() && len(sums) > 0:
		return nil, invalid("the plan is public and asks for tokens; say one of the two")
	case p.GetPublic():
		return registry.Public(), nil
	case len(sums) == 0:
		return nil, invalid("there is no plan that says who may call: say public, or give SHA-256 sums of tokens")
	}
	all := make([][sha256.Size]byte, len(sums))
	for i, s := range sums {
		if len(s) != sha256.Size {
			return nil, invalid(fmt.Sprintf("a SHA-256 sum has %d bytes, and number %d has %d", sha256.Size, i+1, len(s)))
		}
		all[i] = [sha256.Size]byte(s)
	}
	return registry.Secret(all...), nil
}

// invoke has the consumer run a body, and waits for the result as long as ctx allows.
func (k *consumer) invoke(ctx context.Context, entry uint64, params any) (json.RawMessage, error) {
	call, answer := k.await()
	defer k.forget(call)
	if err := k.ask(ctx, call, entry, params); err != nil {
		return nil, err
	}
	select {
	case r := <-answer:
		return r.GetResult(), invokeError(r.GetError())
	case <-ctx.Done():
		if k.owner.Alive() {
			k.c.tell(0, &pb.ConsumerEvent{Msg: &pb.ConsumerEvent_Cancel{Cancel: &pb.ConsumerCancel{Call: call}}})
		}
		return nil, context.Cause(ctx)
	}
}

// ask sends an invocation. Of a consumer that does not read, callers who gave up are not kept.
func (k *consumer) ask(ctx context.Context, call, entry uint64, params any) error {
	select {
	case k.unsent <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	data, err := paramsOf(params)
	if err != nil {
		<-k.unsent
		return err
	}
	k.c.post(parcel{
		m:    extensionOf(&pb.ConsumerEvent{Msg: &pb.ConsumerEvent_Invoke{Invoke: &pb.ConsumerInvoke{Call: call, Entry: entry, Params: data}}}),
		sent: func() { <-k.unsent },
	})
	return nil
}

// paramsOf writes parameters as they were: escapes for a page of HTML would make them longer, and
// what is too long for a frame would end the consumer.
func paramsOf(params any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(params); err != nil {
		return nil, fmt.Errorf("cannot encode the parameters: %w", err)
	}
	if data := bytes.TrimSuffix(out.Bytes(), []byte("\n")); len(data) <= maxParams {
		return data, nil
	}
	return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("the parameters have %d bytes; a consumer takes %d", out.Len(), maxParams)}
}

// await makes room for the result of a new call.
func (k *consumer) await() (call uint64, answer chan *pb.ConsumerResult) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.last++
	answer = make(chan *pb.ConsumerResult, 1)
	k.awaiting[k.last] = answer
	return k.last, answer
}

func (k *consumer) forget(call uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.awaiting, call)
}

// result hands over what a body answered. A call that nobody waits for is over.
func (k *consumer) result(r *pb.ConsumerResult) {
	k.mu.Lock()
	answer := k.awaiting[r.GetCall()]
	delete(k.awaiting, r.GetCall()) // a second result has nobody to go to
	k.mu.Unlock()
	if answer != nil {
		answer <- r
	}
}
