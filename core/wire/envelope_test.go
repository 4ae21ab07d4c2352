package wire

import (
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

// TestEveryVariantWraps puts every variant into its envelope and takes it out again.
func TestEveryVariantWraps(t *testing.T) {
	for _, env := range []proto.Message{&pb.ClientMessage{}, &pb.ServerMessage{}} {
		fields := env.ProtoReflect().Descriptor().Fields()
		for i := range fields.Len() {
			field := fields.Get(i)
			if field.Message() == nil {
				continue
			}
			body := env.ProtoReflect().NewField(field).Message().Interface()
			got := proto.Clone(env)
			wrap(got, body)
			if !got.ProtoReflect().Has(field) {
				t.Errorf("%s does not land in field %s of %s", nameOf(body), field.Name(), nameOf(env))
			}
			if Body(got) != body || Variant(got) != nameOf(body) {
				t.Errorf("%s comes out as %T, called %s", nameOf(body), Body(got), Variant(got))
			}
		}
	}
}

func TestVariantNamesWhatIsNoMessage(t *testing.T) {
	tests := []struct {
		payload []byte
		want    string
	}{
		{nil, "empty message"},
		{[]byte{0xba, 0x04, 0x00}, "unknown tag 71"},
		{[]byte{0xa2, 0x06, 0x01, 'x'}, "extension"},
		{[]byte{0xba, 0x01, 0x02, 0x08, 0x01}, "ListSkillsMsg"}, // with a field that we do not know
	}
	for _, tt := range tests {
		m := &pb.ClientMessage{}
		if err := decode(tt.payload, m); err != nil {
			t.Fatal(err)
		}
		if got := Variant(m); got != tt.want {
			t.Errorf("%x is %q, want %q", tt.payload, got, tt.want)
		}
		if body := Body(m); (body == nil) != (tt.want != "ListSkillsMsg") {
			t.Errorf("%x has the body %v", tt.payload, body)
		}
	}
}

func TestDecodeErrors(t *testing.T) {
	tests := map[string][]byte{
		"not protobuf":  {0xff, 0xff, 0xff},
		"cut field":     {0x0a, 0x05, 'a'},
		"invalid UTF-8": {0x82, 0x01, 0x03, 0x0a, 0x01, 0xff}, // GetAgentMsg.name
	}
	for name, payload := range tests {
		err := decode(payload, &pb.ClientMessage{})
		broken, ok := errors.AsType[*DecodeError](err)
		if !ok || broken.Message != "ClientMessage" || broken.Size != len(payload) || broken.Err == nil {
			t.Errorf("%s: %#v", name, err)
		}
	}
	_, err := encode(Request(&pb.GetAgentMsg{Name: "secret\xff"}))
	if err == nil || !strings.Contains(err.Error(), "ClientMessage") || strings.Contains(err.Error(), "secret") {
		t.Errorf("invalid UTF-8 was encoded or shown: %v", err)
	}
}

func TestWrapRefusesStrangers(t *testing.T) {
	expectPanic(t, "WIRE-1", func() { Request(&pb.Pong{}) })
	expectPanic(t, "WIRE-1", func() { Answer(&pb.Ping{}) })
	expectPanic(t, "WIRE-2", func() { Variant(&pb.Ping{}) })
}

func expectPanic(t *testing.T, id string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if text, _ := recover().(string); !strings.HasPrefix(text, id+": ") {
			t.Errorf("panicked with %q, want %s", text, id)
		}
	}()
	f()
}

// TestNamesOfNilMessages holds what bodyAs relies on: a nil message knows its type.
func TestNamesOfNilMessages(t *testing.T) {
	var none *pb.McpInfo
	if got := protoreflect.Name(nameOf(none)); got != "McpInfo" {
		t.Errorf("%q", got)
	}
}
