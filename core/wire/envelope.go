package wire

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

// DecodeError reports a payload that is not the message it should be, invalid UTF-8 in
// a string included. The frame around it was whole.
type DecodeError struct {
	Message string // type that was expected
	Size    int    // payload bytes
	Err     error
}

// Error implements error.
func (e *DecodeError) Error() string {
	return fmt.Sprintf("payload of %d bytes is not a %s: %v", e.Size, e.Message, e.Err)
}

// Unwrap returns the decoder's error.
func (e *DecodeError) Unwrap() error { return e.Err }

// Request puts m into the client's envelope. A message that is no variant of it is a
// bug of the caller and panics.
func Request(m proto.Message) *pb.ClientMessage {
	env := &pb.ClientMessage{}
	wrap(env, m)
	return env
}

// Answer puts m into the daemon's envelope. A message that is no variant of it is a
// bug of the caller and panics.
func Answer(m proto.Message) *pb.ServerMessage {
	env := &pb.ServerMessage{}
	wrap(env, m)
	return env
}

// Refusal is the answer that carries an error.
func Refusal(code uint32, message string) *pb.ServerMessage {
	return Answer(&pb.ErrorMsg{Code: code, Message: message})
}

// Body returns the message inside an envelope, or nil when there is none: an empty
// envelope, an unknown tag, or an extension, which is bytes.
func Body(env proto.Message) proto.Message {
	field := variant(env)
	if field == nil || field.Message() == nil {
		return nil
	}
	return env.ProtoReflect().Get(field).Message().Interface()
}

// Variant names what is inside an envelope, for errors: the type of the message,
// "extension", "empty message", or "unknown tag N".
func Variant(env proto.Message) string {
	field := variant(env)
	switch {
	case field == nil:
		return unknownTag(env)
	case field.Message() == nil:
		return string(field.Name())
	}
	return string(field.Message().Name())
}

// wrap sets the variant of env whose type is m's. The types in one envelope are distinct.
func wrap(env, m proto.Message) {
	want := m.ProtoReflect().Descriptor().FullName()
	fields := env.ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		if field.Message() != nil && field.Message().FullName() == want {
			env.ProtoReflect().Set(field, protoreflect.ValueOfMessage(m.ProtoReflect()))
			return
		}
	}
	panic(fmt.Sprintf("WIRE-1: %s is no variant of %s", want, nameOf(env)))
}

// variant returns the field that is set in the envelope's oneof, or nil.
func variant(env proto.Message) protoreflect.FieldDescriptor {
	r := env.ProtoReflect()
	oneof := r.Descriptor().Oneofs().ByName("msg")
	if oneof == nil {
		panic(fmt.Sprintf("WIRE-2: %s is no envelope", nameOf(env)))
	}
	return r.WhichOneof(oneof)
}

// unknownTag names the first field that the envelope does not know.
func unknownTag(env proto.Message) string {
	number, _, n := protowire.ConsumeTag(env.ProtoReflect().GetUnknown())
	if n <= 0 {
		return "empty message"
	}
	return fmt.Sprintf("unknown tag %d", number)
}

// nameOf returns the type name of m, which may be a nil pointer.
func nameOf(m proto.Message) string {
	return string(m.ProtoReflect().Descriptor().Name())
}

// encode returns m as a whole frame. It fails before anything is allocated when m is
// too large.
func encode(m proto.Message) ([]byte, error) {
	size := proto.Size(m)
	if size > MaxFrame {
		return nil, &SizeError{Size: int64(size), Max: MaxFrame}
	}
	frame, err := proto.MarshalOptions{}.MarshalAppend(make([]byte, headerSize, headerSize+size), m)
	if err != nil {
		return nil, fmt.Errorf("cannot encode %s: %w", nameOf(m), err)
	}
	putSize(frame)
	return frame, nil
}

// decode fills m from a payload.
func decode(payload []byte, m proto.Message) error {
	if err := proto.Unmarshal(payload, m); err != nil {
		return &DecodeError{Message: nameOf(m), Size: len(payload), Err: err}
	}
	return nil
}
