package conformance

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/mayfly-mcp/mayfly/core/wire"
	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

// TestRequestsAreReworded: names and handles of a check get its prefix, and ids become names,
// in every request that has one. All else stays as it is.
func TestRequestsAreReworded(t *testing.T) {
	space := &namespace{prefix: "p-", ids: map[string]bool{}}
	names := newByName()
	names.names["ID"] = "a"
	for _, tt := range []struct {
		by          translator
		asked, want proto.Message
	}{
		{space, &pb.CreateAgentMsg{Name: "a", Config: "{}"}, &pb.CreateAgentMsg{Name: "p-a", Config: "{}"}},
		{space, &pb.CreateAgentMsg{}, &pb.CreateAgentMsg{}}, // to be refused
		{space, &pb.RenameAgentMsg{Agent: "ID", NewName: "b"}, &pb.RenameAgentMsg{Agent: "ID", NewName: "p-b"}},
		{space, &pb.GetAgentMsg{Name: "a"}, &pb.GetAgentMsg{Name: "p-a"}},
		{space, &pb.StreamMsg{Agent: "ID", SessionHandle: "h"}, &pb.StreamMsg{Agent: "ID", SessionHandle: "p-h"}},
		{space, &pb.SendMsg{SessionHandle: "h"}, &pb.SendMsg{SessionHandle: "p-h"}},
		{space, &pb.CreateSessionMsg{SessionHandle: "h"}, &pb.CreateSessionMsg{SessionHandle: "p-h"}},
		{space, &pb.CancelStreamMsg{SessionHandle: "h"}, &pb.CancelStreamMsg{SessionHandle: "p-h"}},
		{space, &pb.KillMsg{SessionHandle: "h"}, &pb.KillMsg{SessionHandle: "p-h"}},
		{space, &pb.DeleteMcpMsg{Name: "m", Agent: "ID"}, &pb.DeleteMcpMsg{Name: "m", Agent: "ID"}},
		{names, &pb.ListMcpsMsg{Agent: "ID"}, &pb.ListMcpsMsg{Agent: "a"}},
		{names, &pb.ListMcpsMsg{}, &pb.ListMcpsMsg{}},
		{names, &pb.UpsertMcpMsg{Agent: "ID", Config: "{}"}, &pb.UpsertMcpMsg{Agent: "a", Config: "{}"}},
		{names, &pb.DeleteMcpMsg{Agent: "ID", Name: "ID"}, &pb.DeleteMcpMsg{Agent: "a", Name: "ID"}},
		{names, &pb.ReconnectMcpMsg{Agent: "ID", Name: "m"}, &pb.ReconnectMcpMsg{Agent: "a", Name: "m"}},
		{names, &pb.ReconnectMcpMsg{Agent: "other"}, &pb.ReconnectMcpMsg{Agent: "other"}},
		{names, &pb.Ping{}, &pb.Ping{}},
	} {
		m := wire.Request(proto.Clone(tt.asked))
		if own := tt.by.request(m); own != nil {
			t.Errorf("%T was answered: %v", tt.asked, own)
		}
		if diff := cmp.Diff(wire.Request(tt.want), m, protocmp.Transform()); diff != "" {
			t.Errorf("%T %v (-want +got):\n%s", tt.by, tt.asked, diff)
		}
	}
	for _, by := range []translator{space, names} { // what says nothing is passed on
		if m := (&pb.ClientMessage{}); by.request(m) != nil || !proto.Equal(m, &pb.ClientMessage{}) {
			t.Errorf("%T made something of an empty envelope: %v", by, m)
		}
	}
}
