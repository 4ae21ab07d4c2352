package mutants

import (
	"net"
	"os"
	"path/filepath"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/mayfly-mcp/mayfly/core/wire"
	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

// hooks tamper with the frames between clients and the daemon. A hook that is nil lets
// everything pass.
type hooks struct {
	// frame sees every frame of a client, broken ones too. It may answer itself, and then the
	// frame goes no further.
	frame func(payload []byte) *pb.ServerMessage
	// request may change a request, or answer it by itself.
	request func(p *proxy, m *pb.ClientMessage) *pb.ServerMessage
	// answer may change an answer, or swallow it by returning nil. asked is the latest
	// request of the connection.
	answer func(p *proxy, asked *pb.ClientMessage, m *pb.ServerMessage) *pb.ServerMessage
	// open, if set, is told about what is under way.
	open *openRequests
	// jam lets every connection wait while a client does not read its answers.
	jam bool
	// consumer, if set, serves the connections of consumers, and says whether one is.
	consumer func(l *link, first []byte) bool
}

// proxy stands where clients expect the daemon.
type proxy struct {
	ln     net.Listener
	inner  string
	hooks  *hooks
	daemon *wire.Client
	one    sync.Mutex
}

func startProxy(home, inner string, h *hooks) (*proxy, error) {
	if h == nil {
		h = &hooks{}
	}
	run := filepath.Join(home, "run")
	if err := os.MkdirAll(run, 0o700); err != nil {
		return nil, err
	}
	ln, err := net.Listen("unix", filepath.Join(run, "crabtalk.sock"))
	if err != nil {
		return nil, err
	}
	p := &proxy{ln: ln, inner: inner, hooks: h, daemon: wire.NewClient("unix", inner)}
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go p.serve(conn)
		}
	}()
	return p, nil
}

func (p *proxy) close() { _ = p.ln.Close() }

// link is one connection of a client and its counterpart.
type link struct {
	p              *proxy
	client, server net.Conn

	mu    sync.Mutex
	asked *pb.ClientMessage
	open  []string // variants of requests without an answer
}

func (p *proxy) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("unix", p.inner)
	if err != nil {
		return
	}
	defer server.Close()
	l := &link{p: p, client: client, server: server}
	defer l.over()
	payload, err := wire.ReadFrame(client)
	if err == nil && p.hooks.consumer != nil && p.hooks.consumer(l, payload) {
		return
	}
	go l.answers()
	for err == nil && l.take(payload) {
		payload, err = wire.ReadFrame(client)
	}
}

// take passes a frame of the client on, and says whether the connection goes on.
func (l *link) take(payload []byte) bool {
	h := l.p.hooks
	if h.frame != nil {
		if own := h.frame(payload); own != nil {
			return l.reply(own)
		}
	}
	var m pb.ClientMessage
	if proto.Unmarshal(payload, &m) != nil {
		return wire.WriteFrame(l.server, payload) == nil
	}
	l.begin(&m)
	if h.request != nil {
		if own := h.request(l.p, &m); own != nil {
			l.settle(own)
			return l.reply(own)
		}
		payload, _ = proto.Marshal(&m)
	}
	return wire.WriteFrame(l.server, payload) == nil
}

func (l *link) reply(m *pb.ServerMessage) bool {
	out, _ := proto.Marshal(m)
	return l.send(out) == nil
}

// answers passes the daemon's frames on.
func (l *link) answers() {
	defer l.client.Close()
	for {
		payload, err := wire.ReadFrame(l.server)
		if err != nil {
			return
		}
		if payload = l.answer(payload); payload != nil && l.send(payload) != nil {
			return
		}
	}
}

func (l *link) answer(payload []byte) []byte {
	var m pb.ServerMessage
	if proto.Unmarshal(payload, &m) != nil {
		return payload
	}
	defer l.settle(&m)
	if l.p.hooks.answer == nil {
		return payload
	}
	l.mu.Lock()
	asked := l.asked
	l.mu.Unlock()
	changed := l.p.hooks.answer(l.p, asked, &m)
	if changed == nil {
		return nil
	}
	out, _ := proto.Marshal(changed)
	return out
}

func (l *link) send(payload []byte) error {
	if l.p.hooks.jam {
		l.p.one.Lock()
		defer l.p.one.Unlock()
	}
	return wire.WriteFrame(l.client, payload)
}
