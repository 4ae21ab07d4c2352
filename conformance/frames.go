package conformance

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/mayfly-mcp/mayfly/core/wire"
	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

// Tags of the client's envelope that WIRE.md gives a meaning.
const (
	tagGetConfig  = 31
	tagListSkills = 23
	tagExtension  = 100
	tagUnknown    = 1999
)

// frameChecks send what is no request. The connection may be lost by it, and nothing else.
func frameChecks() []Check {
	broken := func(id, title string, frame []byte) Check {
		return Check{ID: id, Title: title, Clauses: []string{"CF-7"}, run: func(ctx context.Context, p *probe) (string, error) {
			return p.brokenFrame(ctx, frame)
		}}
	}
	refused := func(id, title string, tag protowire.Number, code uint32) Check {
		return Check{ID: id, Title: title, Clauses: []string{"CF-7"}, run: func(ctx context.Context, p *probe) (string, error) {
			return p.refusedFrame(ctx, tag, code)
		}}
	}
	return []Check{
		broken("frame-undecodable", "A frame that is no message ends its connection and nothing else.", framed([]byte{0x0a, 0xff, 0x01})),
		broken("frame-invalid-utf8", "A string that is not UTF-8 ends its connection and nothing else.", framed(invalidUTF8())),
		broken("frame-oversize", "A frame that announces more than 16 MiB ends its connection and nothing else.", oversize()),
		{ID: "frame-truncated", Title: "A client that hangs up in the middle of a frame changes nothing.",
			Clauses: []string{"CF-7"}, run: truncatedFrame},
		refused("frame-empty", "A frame without content is answered 400.", 0, 400),
		refused("frame-unknown-tag", "A message with an unknown tag is answered 400.", tagUnknown, 400),
		refused("frame-retired-variant", "GetConfig is answered 410.", tagGetConfig, 410),
		refused("frame-unsupported-variant", "A variant that the daemon does not serve is answered 500.", tagListSkills, 500),
		refused("frame-extension", "The bytes extension is answered 500.", tagExtension, 500),
	}
}

func framed(payload []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(payload))), payload...)
}

func oversize() []byte { return binary.BigEndian.AppendUint32(nil, wire.MaxFrame+1) }

// invalidUTF8 is a GetAgent whose name is no text.
func invalidUTF8() []byte {
	inner := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), []byte{0xc3, 0x28})
	return protowire.AppendBytes(protowire.AppendTag(nil, 16, protowire.BytesType), inner)
}

// raw opens a connection without any protocol.
func (r *rig) raw(ctx context.Context) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, r.daemon.network, r.daemon.address)
	if err != nil {
		return nil, err
	}
	if at, ok := ctx.Deadline(); ok {
		err = conn.SetDeadline(at)
	}
	return conn, err
}

// snapshot is everything that a client can see of the agents.
func (r *rig) snapshot(ctx context.Context) (string, error) {
	agents, err := r.client().ListAgents(ctx)
	if err != nil {
		return "", err
	}
	rows, err := r.client().ListMcps(ctx, "")
	if err != nil {
		return "", err
	}
	for _, row := range rows { // the runner's own fence starts its peer again and again
		row.Generation, row.Since = 0, ""
	}
	all := &pb.McpList{Mcps: rows}
	list := &pb.AgentList{Agents: agents}
	a, errA := proto.MarshalOptions{Deterministic: true}.Marshal(list)
	b, errB := proto.MarshalOptions{Deterministic: true}.Marshal(all)
	return string(a) + string(b), errors.Join(errA, errB)
}

// harmless runs something and finds that it changed nothing: not the listings, not the
// running peer, not the daemon's ability to serve.
func (r *rig) harmless(ctx context.Context, agent string, do func() error) error {
	if err := errors.Join(r.echo(ctx, agent, "before"), r.fence(ctx)); err != nil {
		return err
	}
	before, err := r.snapshot(ctx)
	if err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	after, err := r.snapshot(ctx)
	if err != nil {
		return err
	}
	if before != after {
		return failf("the listings changed")
	}
	if err := r.echo(ctx, agent, "after"); err != nil {
		return err
	}
	return r.expectSpawns(ctx, "s", 1)
}

func (p *probe) brokenFrame(ctx context.Context, frame []byte) (string, error) {
	r, agent, err := p.one(ctx, brisk(), healthy())
	if err != nil {
		return "", err
	}
	began := time.Now()
	var took time.Duration
	err = r.harmless(ctx, agent, func() error {
		conn, err := r.raw(ctx)
		if err != nil {
			return err
		}
		defer conn.Close()
		if _, err := conn.Write(frame); err != nil {
			return fmt.Errorf("sending the frame: %w", err)
		}
		reply, err := io.ReadAll(conn)
		took = time.Since(began)
		if len(reply) > 0 {
			return failf("it was answered with %d bytes; the connection must be closed without a reply", len(reply))
		}
		if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
			return failf("the connection was not closed")
		}
		return nil // closed or reset: both end it
	})
	return fmt.Sprintf("the connection was closed without a reply within %.1fs; listings, peer and daemon as before", took.Seconds()), err
}

func truncatedFrame(ctx context.Context, p *probe) (string, error) {
	r, agent, err := p.one(ctx, brisk(), healthy())
	if err != nil {
		return "", err
	}
	whole, err := proto.Marshal(wire.Request(&pb.CreateAgentMsg{Name: "half", Config: agentConfig()}))
	if err != nil {
		return "", err
	}
	frame := framed(whole)
	err = r.harmless(ctx, agent, func() error {
		for _, n := range []int{1, 3, 4, 5, len(frame) - 1} {
			conn, err := r.raw(ctx)
			if err != nil {
				return err
			}
			_, err = conn.Write(frame[:n])
			if err := errors.Join(err, conn.Close()); err != nil {
				return fmt.Errorf("sending %d bytes: %w", n, err)
			}
		}
		return r.fence(ctx)
	})
	return "five clients hung up after 1, 3, 4, 5 and all but the last byte of a request; nothing changed", err
}

// refusedFrame sends an envelope with one empty field, or none for tag 0.
func (p *probe) refusedFrame(ctx context.Context, tag protowire.Number, code uint32) (string, error) {
	r, agent, err := p.one(ctx, brisk(), healthy())
	if err != nil {
		return "", err
	}
	var payload []byte
	if tag != 0 {
		payload = protowire.AppendBytes(protowire.AppendTag(nil, tag, protowire.BytesType), nil)
	}
	var got *pb.ErrorMsg
	err = r.harmless(ctx, agent, func() error {
		nc, err := r.raw(ctx)
		if err != nil {
			return err
		}
		conn := wire.NewConn(nc, wire.Config{})
		defer conn.Close()
		if _, err := nc.Write(framed(payload)); err != nil {
			return fmt.Errorf("sending the frame: %w", err)
		}
		m, err := conn.ReadAnswer(ctx)
		if err != nil {
			return fmt.Errorf("reading the refusal: %w", eofIsUnexpected(err))
		}
		if tag == tagListSkills && m.GetError() == nil && wire.Variant(m) == "SkillList" {
			return &ruling{verdict: NotObserved, evidence: "the daemon serves skills, so that there was nothing to refuse"}
		}
		if got = m.GetError(); got.GetCode() != code {
			return failf("it was answered by %s %d, want an error %d", wire.Variant(m), got.GetCode(), code)
		}
		if got.GetMessage() == "" {
			return failf("the error %d has no text", code)
		}
		_, err = conn.Do(ctx, wire.Request(&pb.Ping{})) // the connection goes on
		return err
	})
	return fmt.Sprintf("answered %d %q, and the connection went on", code, got.GetMessage()), err
}

// eofIsUnexpected makes a hang-up of the daemon what it is.
func eofIsUnexpected(err error) error {
	if err == io.EOF {
		return fmt.Errorf("the daemon closed the connection: %w", io.ErrUnexpectedEOF)
	}
	return err
}
