package daemon

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/mayfly-mcp/mayfly/core/wire"
	"github.com/mayfly-mcp/mayfly/core/wire/pb"
	"github.com/mayfly-mcp/mayfly/fakes"
	"github.com/mayfly-mcp/mayfly/fakes/llm"
)

// raw is a connection by hand.
func (r *rig) raw() net.Conn {
	r.t.Helper()
	conn, err := new(net.Dialer).DialContext(r.ctx, "unix", r.d.Socket())
	if err != nil {
		r.t.Fatal(err)
	}
	deadline, _ := r.ctx.Deadline()
	_ = conn.SetDeadline(deadline)
	r.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func frame(payload []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(payload))), payload...)
}

func TestBadFramesEndTheirOwnConnectionOnly(t *testing.T) {
	r := start(t, setup{})
	other, err := wire.Dial(r.ctx, "unix", r.d.Socket())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	badUTF8 := []byte{0x82, 0x01, 0x03, 0x0a, 0x01, 0xff} // tag 16, GetAgent, with the name "\xff"
	for name, bytes := range map[string][]byte{
		"undecodable":   frame([]byte("\xff\xff\xff")),
		"invalid UTF-8": frame(badUTF8),
		"oversize":      binary.BigEndian.AppendUint32(nil, wire.MaxFrame+1),
		"huge":          {0xff, 0xff, 0xff, 0xff},
	} {
		conn := r.raw()
		if _, err := conn.Write(bytes); err != nil {
			t.Fatal(err)
		}
		if n, err := conn.Read(make([]byte, 1)); err != io.EOF && !isReset(err) {
			t.Errorf("%s: read %d bytes, %v; want the connection closed without a reply", name, n, err)
		}
		if _, err := other.Do(r.ctx, wire.Request(&pb.Ping{})); err != nil {
			t.Errorf("%s: another connection suffered: %v", name, err)
		}
	}
	r.eventually("every closed connection is in the log", func() bool {
		return strings.Count(r.log.String(), "a connection was closed") == 4
	})
}

func isReset(err error) bool {
	return err != nil && strings.Contains(err.Error(), "reset by peer")
}

func TestEmptyAndUnknownFramesAreAnswered(t *testing.T) {
	r := start(t, setup{})
	conn := r.raw()
	for name, payload := range map[string][]byte{
		"empty":       {},
		"unknown tag": {0xca, 0x3e, 0x00}, // field 1001, empty
	} {
		if _, err := conn.Write(frame(payload)); err != nil {
			t.Fatal(err)
		}
		got, err := wire.ReadFrame(conn)
		var m pb.ServerMessage
		if err == nil {
			err = proto.Unmarshal(got, &m)
		}
		if e := m.GetError(); err != nil || e.GetCode() != 400 || e.GetMessage() != "empty client message" {
			t.Errorf("%s: %v %v", name, &m, err)
		}
	}
}

func TestACutFrameAndAHalfCloseEndTheConnection(t *testing.T) {
	r := start(t, setup{})
	for _, bytes := range [][]byte{nil, {0, 0}, {0, 0, 0, 9, 1}} {
		conn := r.raw()
		if _, err := conn.Write(bytes); err != nil {
			t.Fatal(err)
		}
		if err := conn.(*net.UnixConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("after %v and a half-close: %v, want EOF", bytes, err)
		}
	}
	r.eventually("no connection is left", func() bool {
		r.d.connsMu.Lock()
		defer r.d.connsMu.Unlock()
		return r.d.conns == 0
	})
}

func TestRequestsOfOneConnectionRunAtOnceWithinTheBound(t *testing.T) {
	r := start(t, setup{})
	srv := r.dialer.Server("S")
	srv.Hold(fakes.Initialize)
	id := r.agent("a", `{"mcps":[{"name":"m","command":"S"}]}`)
	conn, err := wire.Dial(r.ctx, "unix", r.d.Socket())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for range maxOutstanding + 1 {
		if err := conn.WriteRequest(r.ctx, wire.Request(&pb.ReconnectMcpMsg{Agent: id, Name: "m"})); err != nil {
			t.Fatal(err)
		}
	}
	// The one over the bound is answered while all others are held.
	m, err := conn.ReadAnswer(r.ctx)
	if err != nil || m.GetError().GetCode() != 503 || !strings.Contains(m.GetError().GetMessage(), "outstanding") {
		t.Errorf("over the bound: %v %v", m, err)
	}
	srv.Release(fakes.Initialize)
	for range maxOutstanding {
		if m, err := conn.ReadAnswer(r.ctx); err != nil || m.GetMcpInfo().GetStatus() != pb.McpStatus_MCP_STATUS_CONNECTED {
			t.Fatalf("%v %v", m, err)
		}
	}
}

// TestAClientThatDoesNotReadDelaysNobody fills one connection until the daemon cannot write
// to it any more, and uses others meanwhile (SPEC DI-10).
func TestAClientThatDoesNotReadDelaysNobody(t *testing.T) {
	r := start(t, setup{cfg: func(c *Config) { c.FrameTimeout = 500 * time.Millisecond }})
	big := r.agent("big", `{"description":"`+strings.Repeat("x", 100_000)+`","mcps":[`+r.server("m", "S")+`]}`)
	deaf := r.raw()
	ask, err := proto.Marshal(wire.Request(&pb.GetAgentMsg{Name: "big"}))
	if err != nil {
		t.Fatal(err)
	}
	for range maxOutstanding { // about 12 MB of answers that nobody takes
		if _, err := deaf.Write(frame(ask)); err != nil {
			t.Fatal(err)
		}
	}
	got := r.ephemeral(big, llm.Plan(llm.Round{llm.Call("echo", map[string]any{"text": "hi"})}))
	if got[len(got)-1] != "end " {
		t.Errorf("another client's run: %q", got)
	}
	if err := r.c.Ping(r.ctx); err != nil {
		t.Error(err)
	}
	r.eventually("the deaf client is hung up on", func() bool {
		_, err := deaf.Write(frame(ask))
		return err != nil && !errors.Is(err, os.ErrDeadlineExceeded)
	})
}

func TestALaggingSubscriberIsTold(t *testing.T) {
	r := start(t, setup{})
	id := r.agent("a", `{}`)
	conn, err := wire.Dial(r.ctx, "unix", r.d.Socket())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.WriteRequest(r.ctx, wire.Request(&pb.SubscribeEvents{})); err != nil {
		t.Fatal(err)
	}
	r.eventually("the subscription is there", func() bool {
		r.d.feed.mu.Lock()
		defer r.d.feed.mu.Unlock()
		return len(r.d.feed.subs) == 1
	})
	// More than the queues of the daemon and of the socket hold, at once.
	e := &pb.AgentEventMsg{Agent: id, Content: strings.Repeat("x", 8<<10)}
	for range feedQueue + writeQueue + 512 {
		r.d.feed.publish(e)
	}
	for {
		m, err := conn.ReadAnswer(r.ctx)
		if err != nil {
			t.Fatal(err)
		}
		if refusal := m.GetError(); refusal != nil {
			if refusal.Code != 503 || refusal.Message != "events were lost; subscribe again" {
				t.Errorf("%v", refusal)
			}
			break
		}
	}
	if _, err := conn.Do(r.ctx, wire.Request(&pb.Ping{})); err != nil {
		t.Errorf("the connection is of use afterwards: %v", err)
	}
}

func TestAnAnswerTooLongForAFrameIsAnError(t *testing.T) {
	ours, theirs := net.Pipe()
	c := &client{ctx: t.Context(), conn: wire.NewConn(ours, wire.Config{})}
	defer c.conn.Close()
	reader := wire.NewConn(theirs, wire.Config{})
	defer reader.Close()
	sent := make(chan error, 1)
	go func() {
		sent <- c.transmit(wire.Answer(&pb.AgentList{Agents: []*pb.AgentInfo{{Config: strings.Repeat("x", wire.MaxFrame)}}}))
	}()
	m, err := reader.ReadAnswer(t.Context())
	if e := m.GetError(); err != nil || e.GetCode() != 500 || !strings.HasPrefix(e.GetMessage(), "AgentList cannot be sent: frame of ") {
		t.Errorf("%v %v", m, err)
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
}

// TestALaggingSubscriberOfMcpsIsTold lets one peer with many claims change state while its
// subscriber does not read (SPEC EV-3).
func TestALaggingSubscriberOfMcpsIsTold(t *testing.T) {
	r := start(t, setup{})
	var mcps []string
	for i := range 2000 {
		mcps = append(mcps, r.server("m"+strconv.Itoa(i), "S"))
	}
	id := r.agent("a", `{"mcps":[`+strings.Join(mcps, ",")+`]}`)
	conn, err := wire.Dial(r.ctx, "unix", r.d.Socket())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	first := make(chan error, 1)
	if err := conn.WriteRequest(r.ctx, wire.Request(&pb.SubscribeMcpEventsMsg{})); err != nil {
		t.Fatal(err)
	}
	go func() {
		_, err := conn.ReadAnswer(r.ctx)
		first <- err
	}()
	reconnect := func() bool {
		if _, err := r.c.ReconnectMcp(r.ctx, id, "m0"); err != nil {
			t.Fatal(err)
		}
		return len(first) == 1
	}
	r.eventually("the subscription is there", reconnect)
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	for range eventQueue/6000 + 2 { // each tells 2000 claims three times
		reconnect()
	}
	for {
		m, err := conn.ReadAnswer(r.ctx)
		if err != nil {
			t.Fatal(err)
		}
		if e := m.GetError(); e != nil {
			if e.Code != 503 || e.Message != "events were lost; subscribe again" {
				t.Errorf("%v", e)
			}
			return
		}
	}
}

// TestListingsInALine: a client that asks for many listings and reads none has one of them in
// the daemon's memory at any time, and gets all of them when it reads.
func TestListingsInALine(t *testing.T) {
	const many = 32
	r := start(t, setup{})
	r.agent("big", `{"description":"`+strings.Repeat("x", 1<<19)+`"}`) // more than a socket's buffer
	var mu sync.Mutex
	var steps [3]int
	most := 0
	r.d.onListing = func(s listingStep) { // before the connection that it is called for
		mu.Lock()
		defer mu.Unlock()
		steps[s]++
		most = max(most, steps[listingBegun]-steps[listingEnded])
	}
	nc := r.raw()
	c := wire.NewConn(nc, wire.Config{})
	for range many {
		if err := c.WriteRequest(r.ctx, wire.Request(&pb.ListAgentsMsg{})); err != nil {
			t.Fatal(err)
		}
	}
	r.eventually("all of them have arrived", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return steps[listingAsked] == many
	})
	for range many {
		m, err := c.ReadAnswer(r.ctx)
		if err != nil || len(m.GetAgentList().GetAgents()) != 1 {
			t.Fatalf("%v %v", wire.Variant(m), err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if most != 1 || steps[listingBegun] != many {
		t.Errorf("of %d listings %d were in memory at once, want one at a time", steps[listingBegun], most)
	}
}
