package conformance

import (
	"context"
	"net"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/mayfly-mcp/mayfly/core/wire"
	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

// rawConsumer is a consumer without a library: it reads when the check wants it to, and hangs up
// as no library would.
type rawConsumer struct {
	conn *net.UnixConn
	last uint64
}

// rawConsumer attaches one.
func (s *stage) rawConsumer(ctx context.Context, name string) (*rawConsumer, error) {
	conn, err := s.raw(ctx)
	if err != nil {
		return nil, err
	}
	s.later(func() { _ = conn.Close() })
	c := &rawConsumer{conn: conn.(*net.UnixConn)}
	_, err = c.ask(&pb.ConsumerRequest{Msg: &pb.ConsumerRequest_Attach{Attach: &pb.ConsumerAttach{Name: name}}})
	return c, s.asked(ctx, "attach", err)
}

// frame is a request as it travels.
func (c *rawConsumer) frame(r *pb.ConsumerRequest) []byte {
	if r.GetResult() == nil {
		c.last++
		r.Id = c.last
	}
	inner, err := proto.Marshal(r)
	if err != nil {
		panic("CONF-WIRE: " + err.Error())
	}
	payload, err := proto.Marshal(&pb.ClientMessage{Msg: &pb.ClientMessage_Extension{Extension: inner}})
	if err != nil {
		panic("CONF-WIRE: " + err.Error())
	}
	return framed(payload)
}

func (c *rawConsumer) send(r *pb.ConsumerRequest) error {
	_, err := c.conn.Write(c.frame(r))
	return err
}

// next is what the daemon sends next.
func (c *rawConsumer) next() (*pb.ConsumerEvent, error) {
	payload, err := wire.ReadFrame(c.conn)
	if err != nil {
		return nil, err
	}
	var m pb.ServerMessage
	e := &pb.ConsumerEvent{}
	if err := proto.Unmarshal(payload, &m); err != nil {
		return nil, err
	}
	if refused := m.GetError(); refused != nil {
		return nil, &wire.Error{Code: refused.GetCode(), Message: refused.GetMessage()}
	}
	return e, proto.Unmarshal(m.GetExtension(), e)
}

// ask makes a request while nobody calls, and returns its answer.
func (c *rawConsumer) ask(r *pb.ConsumerRequest) (*pb.ConsumerEvent, error) {
	if err := c.send(r); err != nil {
		return nil, err
	}
	e, err := c.next()
	if err != nil {
		return nil, err
	}
	if refused := e.GetRefused(); refused != nil {
		return nil, &wire.RefusedError{Reason: refused.GetReason(), Message: refused.GetMessage()}
	}
	return e, nil
}

// serve registers an entry and makes it visible.
func (c *rawConsumer) serve(r *pb.ConsumerRegister) error {
	e, err := c.ask(registering(r))
	if err != nil {
		return err
	}
	_, err = c.ask(&pb.ConsumerRequest{Msg: &pb.ConsumerRequest_Ready{Ready: &pb.ConsumerReady{Entry: e.GetRegistered().GetEntry()}}})
	return err
}

func registering(r *pb.ConsumerRegister) *pb.ConsumerRequest {
	return &pb.ConsumerRequest{Msg: &pb.ConsumerRequest_Register{Register: r}}
}

// answer ends a call.
func (c *rawConsumer) answer(call uint64, text string) error {
	return c.send(&pb.ConsumerRequest{Msg: &pb.ConsumerRequest_Result{Result: &pb.ConsumerResult{Call: call, Result: textResult(text)}}})
}

// invoked waits for a call.
func (c *rawConsumer) invoked() (*pb.ConsumerInvoke, error) {
	for {
		e, err := c.next()
		if err != nil {
			return nil, err
		}
		if v := e.GetInvoke(); v != nil {
			return v, nil
		}
	}
}

// maxWatched bounds the calls that one consumer is watched for.
const maxWatched = 1 << 14

// watch takes in calls without answering any, until the daemon hangs up.
func (c *rawConsumer) watch() <-chan *pb.ConsumerInvoke {
	calls := make(chan *pb.ConsumerInvoke, maxWatched)
	go func() {
		defer close(calls)
		for range maxWatched {
			v, err := c.invoked()
			if err != nil {
				return // however it hung up
			}
			calls <- v
		}
	}()
	return calls
}

// within counts the calls that come within a while. Where the daemon has hung up none will.
func within(ctx context.Context, calls <-chan *pb.ConsumerInvoke, while time.Duration) (n int, err error) {
	bound := time.NewTimer(while)
	defer bound.Stop()
	for {
		select {
		case _, ok := <-calls:
			if !ok {
				return n, nil
			}
			n++
		case <-bound.C:
			return n, nil
		case <-ctx.Done():
			return n, context.Cause(ctx)
		}
	}
}
