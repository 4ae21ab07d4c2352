package daemon

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/mayfly-mcp/mayfly/core/wire"
	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

const (
	// maxOutstanding bounds the requests under way on one connection; a further one is
	// refused.
	maxOutstanding = 64
	// writeQueue bounds the answers that wait for a client to read. A full queue makes this
	// connection's own requests wait, until the write deadline ends the connection.
	writeQueue = 256
)

var errClientGone = errors.New("the client is gone")

// client is one connection. Its requests run at once, their answers leave one by one.
type client struct {
	d        *Daemon
	conn     *wire.Conn
	door     string          // the network through which it came
	ctx      context.Context // ends with the connection
	cancel   context.CancelCauseFunc
	out      chan parcel
	slots    chan struct{} // one token for each request under way
	listing  chan struct{} // the token of the one listing that is built and not sent yet
	requests sync.WaitGroup
	consumer *consumer // nil until it attaches; of the reader alone
}

// parcel is an answer on its way out; sent, if not nil, is called when it has left.
type parcel struct {
	m    *pb.ServerMessage
	sent func()
}

// serve answers a connection until either side ends it, and returns when all of its
// goroutines have ended. A client that goes takes its requests with it; a daemon that stops
// reads no more requests and sends what is still to be answered.
func (d *Daemon) serve(nc net.Conn) {
	c := &client{
		d: d, conn: wire.NewConn(nc, wire.Config{FrameTimeout: d.cfg.FrameTimeout}),
		door: nc.LocalAddr().Network(), out: make(chan parcel, writeQueue), slots: make(chan struct{}, maxOutstanding),
		listing: make(chan struct{}, 1),
	}
	c.ctx, c.cancel = context.WithCancelCause(d.base)
	defer c.cancel(nil)
	var writer sync.WaitGroup
	writer.Go(c.write)
	err := c.read()
	c.consumer.die()
	if d.quiet.Err() == nil {
		c.cancel(errClientGone) // which also ends a write that the client does not read
	}
	c.requests.Wait()
	c.consumer.join()
	close(c.out)
	writer.Wait()
	_ = c.conn.Close() // a client that is gone needs no farewell
	if err != nil {
		d.log.Warn("a connection was closed", "reason", err.Error())
	}
}

// read hands every request to a goroutine of its own. The end of the client's half is the
// end of the client: nobody is left to answer to.
func (c *client) read() error {
	for {
		req, err := c.conn.ReadRequest(c.d.quiet)
		switch {
		case err == nil:
		case err == io.EOF, errors.Is(err, net.ErrClosed), c.d.quiet.Err() != nil:
			return nil
		default:
			return err // undecodable, oversize or cut: the bytes that follow mean nothing
		}
		if ext, ok := req.GetMsg().(*pb.ClientMessage_Extension); ok && operatorRequest(ext.Extension) == nil {
			c.extension(ext.Extension)
			continue
		}
		select {
		case c.slots <- struct{}{}:
			c.requests.Go(func() {
				defer func() { <-c.slots }()
				c.answer(req)
			})
		default:
			c.send(wire.Refusal(codeBusy, "too many requests are outstanding on this connection; wait for an answer"))
		}
	}
}

// write sends the answers. The first one that cannot be sent ends the connection.
func (c *client) write() {
	for p := range c.out {
		if err := c.transmit(p.m); err != nil {
			c.cancel(errClientGone)
			_ = c.conn.Close()
			return
		}
		if p.sent != nil {
			p.sent()
		}
	}
}

// transmit replaces an answer that is too long for a frame by an error that says so.
func (c *client) transmit(m *pb.ServerMessage) error {
	err := c.conn.WriteAnswer(c.ctx, m)
	if long, ok := errors.AsType[*wire.SizeError](err); ok {
		return c.conn.WriteAnswer(c.ctx, wire.Refusal(codeFailed, wire.Variant(m)+" cannot be sent: "+long.Error()+longHint(m)))
	}
	return err
}

// longHint says how a listing that is too long can be had.
func longHint(m *pb.ServerMessage) string {
	if m.GetAgentList() == nil && m.GetMcpList() == nil {
		return ""
	}
	return "; ask for it in pages, with page_size"
}

// send queues an answer. It waits for a client that reads slowly and gives up when the
// connection ends.
func (c *client) send(m *pb.ServerMessage) { c.post(parcel{m: m}) }

func (c *client) post(p parcel) {
	select {
	case c.out <- p:
	case <-c.ctx.Done():
	}
}

// list answers a request whose answer may fill a frame. A connection has one such answer at a
// time, from before it is built until it has been sent: clients that ask for many and read
// none cost a frame each, and not the daemon's memory.
func (c *client) list(req *pb.ClientMessage) error {
	c.note(listingAsked)
	select {
	case c.listing <- struct{}{}:
	case <-c.ctx.Done():
		return nil
	}
	c.note(listingBegun)
	m, err := c.d.perform(c.ctx, c.door, req)
	if err != nil || m == nil {
		c.listed()
		return err
	}
	c.post(parcel{m: wire.Answer(m), sent: c.listed})
	return nil
}

// listed makes room for the next listing.
func (c *client) listed() {
	c.note(listingEnded)
	<-c.listing
}

// listingStep is what a listing of a connection has come to.
type listingStep uint8

const (
	listingAsked listingStep = iota
	listingBegun             // it is in memory from here on
	listingEnded             // it was sent, or refused
)

func (c *client) note(s listingStep) {
	if c.d.onListing != nil {
		c.d.onListing(s)
	}
}

func (c *client) event(m proto.Message) { c.send(wire.Answer(m)) }

// answer performs one request and sends what it answers.
func (c *client) answer(req *pb.ClientMessage) {
	if c.d.stopping() {
		c.refuse(errStopping)
		return
	}
	var m proto.Message
	var err error
	switch body := wire.Body(req).(type) {
	case *pb.StreamMsg:
		err = c.stream(body)
	case *pb.SubscribeMcpEventsMsg:
		err = c.mcpEvents()
	case *pb.SubscribeEvents:
		err = c.agentEvents()
	case *pb.ListAgentsMsg, *pb.ListMcpsMsg, *pb.GetAgentMsg:
		err = c.list(req)
	case nil:
		err = c.operate(req)
	default:
		m, err = c.d.perform(c.ctx, c.door, req)
	}
	switch {
	case err != nil:
		c.refuse(err)
	case m != nil:
		c.event(m)
	}
}

// refuse answers with an error. Its text may quote what the system said, in any encoding, and
// the protocol carries UTF-8 alone.
func (c *client) refuse(err error) {
	c.send(wire.Refusal(codeOf(err), strings.ToValidUTF8(err.Error(), "\uFFFD")))
}

// mcpEvents tells every transition until the connection ends. A client that lagged so far
// that events were lost is told and must subscribe again: the protocol has no snapshot that
// could stand for them (SPEC EV-3).
func (c *client) mcpEvents() error {
	sub, err := c.d.host.Watch()
	if err != nil {
		return errStopping
	}
	defer sub.Close()
	for {
		n, err := sub.Next(c.ctx)
		if err != nil {
			return nil // the connection or the daemon ended
		}
		if n.Gap {
			return errEventsLost
		}
		e := n.Event
		if e.Relisted {
			// The protocol cannot mark it, and its clients would take a second Connected for a
			// new process (SPEC EV-5). The listing shows the new tools.
			continue
		}
		if e.Error != "" {
			e.Error = withMissing(e.Error, c.d.agents.missingOf(e.Agent, e.Name))
		}
		c.event(&pb.McpEventMsg{
			Kind: kindOfEvent(e.State), Name: e.Name, Tools: e.Tools, Error: e.Error,
			Timestamp: timestamp(e.At), Agent: e.Agent,
		})
	}
}

var errEventsLost = &refusal{code: codeBusy, msg: "events were lost; subscribe again"}

// agentEvents tells what runs do, like mcpEvents.
func (c *client) agentEvents() error {
	b := c.d.feed.subscribe()
	defer c.d.feed.unsubscribe(b)
	for {
		select {
		case e, ok := <-b.events:
			if !ok {
				return errEventsLost
			}
			c.event(e)
		case <-c.d.quiet.Done():
			return nil
		case <-c.ctx.Done():
			return nil
		}
	}
}

// refuseConn tells a connection over the bound so, and closes it.
func (d *Daemon) refuseConn(nc net.Conn, bound int) {
	conn := wire.NewConn(nc, wire.Config{FrameTimeout: d.cfg.FrameTimeout})
	defer conn.Close()
	d.log.Warn("a connection was refused", "reason", "too many connections", "bound", bound)
	_ = conn.WriteAnswer(d.base, wire.Refusal(codeBusy, "too many connections; close some")) // it goes either way
}
