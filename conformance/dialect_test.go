package conformance

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mayfly-mcp/mayfly/core/wire"
	"github.com/mayfly-mcp/mayfly/core/wire/pb"
	"github.com/mayfly-mcp/mayfly/fakes/llm"
)

// speaking runs the reference daemon behind something that makes it speak another dialect, and
// returns it as a target that runs already.
func speaking(t *testing.T, dialect translator) Target {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	model := ln.Addr().String()
	_ = ln.Close() // the run listens there
	outer := reference(t)
	outer.model = &llm.Server{URL: "http://" + model}
	s := brisk()
	r, err := newRig(t.Context(), outer, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.discard() })
	out, err := startRelay(r.daemon.network, r.daemon.address, filepath.Join(r.dir, "d.sock"), dialect)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(out.close)
	return Target{Name: "running", Network: "unix", Address: out.ln.Addr().String(), Model: model, Peer: outer.Peer, Socket: DefaultSocket}
}

// plain changes nothing.
type plain struct{}

func (plain) request(*pb.ClientMessage) *pb.ServerMessage { return nil }
func (plain) answer(_ context.Context, _ *wire.Client, _ *pb.ClientMessage, m *pb.ServerMessage) *pb.ServerMessage {
	return m
}

// named is a daemon that addresses agents by name: the other side of byName.
type named struct{ byName }

// said is a string field that the generated code does not have.
func said(m protoreflect.ProtoMessage, number protowire.Number) string {
	b := m.ProtoReflect().GetUnknown()
	for len(b) > 0 {
		n, _, size := protowire.ConsumeTag(b)
		value, more := protowire.ConsumeBytes(b[size:])
		if n == number {
			return string(value)
		}
		b = b[size+more:]
	}
	return ""
}

func (d *named) ulid(name string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if id, ok := d.names[name]; ok {
		return id
	}
	return nobody
}

func (d *named) request(m *pb.ClientMessage) *pb.ServerMessage {
	switch q := wire.Body(m).(type) {
	case *pb.CancelStreamMsg:
		return wire.Refusal(400, "empty client message")
	case *pb.UpdateAgentMsg:
		q.Agent = d.ulid(said(q, 1))
	case *pb.DeleteAgentMsg:
		q.Agent = d.ulid(said(q, 1))
	case *pb.RenameAgentMsg:
		q.Agent = d.ulid(said(q, 1))
	case *pb.ListMcpsMsg:
		if q.Agent != "" {
			q.Agent = d.ulid(q.Agent)
		}
	case *pb.UpsertMcpMsg:
		q.Agent = d.ulid(q.Agent)
	case *pb.DeleteMcpMsg:
		q.Agent = d.ulid(q.Agent)
	case *pb.ReconnectMcpMsg:
		q.Agent = d.ulid(q.Agent)
	case *pb.StreamMsg:
		q.Agent, q.SessionHandle = d.ulid(q.Agent), wire.NewHandle()
	}
	return nil
}

func (d *named) answer(_ context.Context, _ *wire.Client, _ *pb.ClientMessage, m *pb.ServerMessage) *pb.ServerMessage {
	d.mu.Lock()
	defer d.mu.Unlock()
	forget := func(info *pb.AgentInfo) {
		for name, id := range d.names {
			if id == info.GetId() {
				delete(d.names, name)
			}
		}
		d.names[info.GetName()], info.Id = info.GetId(), ""
	}
	switch a := wire.Body(m).(type) {
	case *pb.AgentInfo:
		forget(a)
	case *pb.AgentList:
		for _, info := range a.GetAgents() {
			forget(info)
		}
	case *pb.McpEventMsg:
		for name, id := range d.names {
			if id == a.GetAgent() {
				a.Agent = name
				break
			}
		}
	}
	return m
}

// lazy is a daemon in which a declaration comes into force when its agent runs.
type lazy struct {
	named
	never bool
	deaf  bool // to upserts, too, which have to connect by themselves
}

func (d *lazy) request(m *pb.ClientMessage) *pb.ServerMessage {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch q := wire.Body(m).(type) {
	case *pb.StreamMsg:
		d.runs[q.GetAgent()] = "ran"
	case *pb.UpdateAgentMsg:
		delete(d.runs, q.GetAgent())
	case *pb.UpsertMcpMsg:
		if d.deaf {
			delete(d.runs, q.GetAgent())
		}
	case *pb.ReconnectMcpMsg:
		if d.runs[q.GetAgent()] == "" {
			return wire.Refusal(500, "mcp '"+q.GetName()+"' is not registered for agent '"+q.GetAgent()+"'")
		}
	}
	return nil
}

func (d *lazy) answer(_ context.Context, _ *wire.Client, asked *pb.ClientMessage, m *pb.ServerMessage) *pb.ServerMessage {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.runs[asked.GetListMcps().GetAgent()] == "" || d.never {
		for _, row := range m.GetMcpList().GetMcps() {
			row.Status = pb.McpStatus_MCP_STATUS_UNKNOWN
		}
	}
	if q := asked.GetUpsertMcp(); q != nil && d.deaf && d.runs[q.GetAgent()] == "" && m.GetMcpInfo() != nil {
		m.GetMcpInfo().Status = pb.McpStatus_MCP_STATUS_UNKNOWN
	}
	return m
}

// loud is a daemon that tells the same failure twice. The first event of an attempt has to serve
// for it, since nothing can be told here that the daemon behind has not told.
type loud struct {
	plain
	mu   sync.Mutex
	told bool
}

func (d *loud) answer(_ context.Context, _ *wire.Client, _ *pb.ClientMessage, m *pb.ServerMessage) *pb.ServerMessage {
	d.mu.Lock()
	defer d.mu.Unlock()
	if e := m.GetMcpEvent(); e.GetName() == probeMCP && !d.told {
		e.Kind, d.told = pb.McpEventKind_MCP_EVENT_KIND_FAILED, true
	}
	return m
}

// TestDialects: each is found out, and the same checks pass in all of them.
func TestDialects(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		dialect translator
		want    string
		because string
		lacks   string
	}{
		{plain{}, dialectDeclares, "a new agent came with an id of 26 characters; it knows session handles; a declaration was in force", ""},
		{&named{*newByName()}, dialectByName, "a new agent came without an id; it does not know the request that cancels a session", "cancel"},
		{&lazy{named: named{*newByName()}}, dialectPrimes, "a declaration had no state for 5s, and got one", ""},
	} {
		t.Run(tt.want, func(t *testing.T) {
			t.Parallel()
			checks, err := Find("first-call-spawns", "64-callers-one-spawn", "one-of-two-owners-leaves", "rename-keeps-processes",
				"upsert-answers", "cancel-leaves-state", "sigterm-ends-everything", "eviction-window")
			if err != nil {
				t.Fatal(err)
			}
			report, err := Run(t.Context(), speaking(t, tt.dialect), Options{Checks: checks, patience: 20 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			if d := report.Dialect; d.Name != tt.want || !strings.Contains(d.String(), tt.because) {
				t.Errorf("the dialect is %q\nwant %q, because %q", d, tt.want, tt.because)
			}
			for _, r := range report.Checks {
				want := Pass
				switch r.ID {
				case "sigterm-ends-everything", "eviction-window", auditID:
					want = NotApplicable
				case "cancel-leaves-state":
					if tt.lacks != "" {
						want = NotApplicable
					}
				}
				if r.Verdict != want && r.Verdict != Inconclusive {
					t.Errorf("%s is %s: %s; want %s", r.ID, r.Verdict, r.Evidence, want)
				}
			}
		})
	}
}

// TestDetected: what a target needs is in its report, in a few words each.
func TestDetected(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		dialect translator
		want    string
	}{
		{plain{}, "detected: agents by id, session handles, registration when declared; because"},
		{&loud{}, "detected: agents by id, session handles, registration when declared, standings announced again; because"},
		{&named{*newByName()}, "detected: agents by name, no session handles, registration when declared; because"},
	} {
		report, err := Run(t.Context(), speaking(t, tt.dialect), Options{Checks: []Check{}})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(report.Summary(), tt.want) {
			t.Errorf("nothing says %q in\n%s", tt.want, report.Summary())
		}
	}
}

// TestNothingHelpsAnUpsert: where declarations wait for a run, an upsert that does so, too, fails
// the check about upserts.
func TestNothingHelpsAnUpsert(t *testing.T) {
	t.Parallel()
	checks, err := Find("upsert-answers", "first-call-spawns")
	if err != nil {
		t.Fatal(err)
	}
	report, err := Run(t.Context(), speaking(t, &lazy{named: named{*newByName()}, deaf: true}), Options{Checks: checks, patience: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range report.Checks {
		switch {
		case r.ID == "upsert-answers" && (r.Verdict != Fail || !strings.Contains(r.Evidence, "MCP_STATUS_UNKNOWN")), r.ID == "first-call-spawns" && r.Verdict != Pass:
			t.Errorf("%s is %s: %s", r.ID, r.Verdict, r.Evidence)
		}
	}
}

// TestAnUnknownDialect is no target to judge.
func TestAnUnknownDialect(t *testing.T) {
	t.Parallel()
	_, err := Run(t.Context(), speaking(t, &lazy{named: named{*newByName()}, never: true}), Options{Checks: []Check{}})
	if err == nil || !strings.Contains(err.Error(), "a dialect of the protocol that the checks do not know") {
		t.Errorf("%v", err)
	}
}
