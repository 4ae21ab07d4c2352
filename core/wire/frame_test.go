package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"reflect"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

// header is the four bytes that announce size.
func header(size uint32) []byte { return binary.BigEndian.AppendUint32(nil, size) }

func TestReadFrameErrors(t *testing.T) {
	broken := errors.New("broken")
	tests := []struct {
		name string
		in   io.Reader
		want error
	}{
		{"nothing", bytes.NewReader(nil), io.EOF},
		{"cut header", bytes.NewReader([]byte{0, 0}), &TruncatedError{Part: "header", Got: 2, Want: 4}},
		{"no payload", bytes.NewReader(header(5)), &TruncatedError{Part: "payload", Got: 0, Want: 5}},
		{"cut payload", bytes.NewReader(append(header(5), "abc"...)), &TruncatedError{Part: "payload", Got: 3, Want: 5}},
		{"cut late", bytes.NewReader(append(header(3*firstRead), make([]byte, 2*firstRead)...)),
			&TruncatedError{Part: "payload", Got: 2 * firstRead, Want: 3 * firstRead}},
		{"one too large", bytes.NewReader(header(MaxFrame + 1)), &SizeError{Size: MaxFrame + 1, Max: MaxFrame}},
		{"largest length", bytes.NewReader(header(0xffffffff)), &SizeError{Size: 0xffffffff, Max: MaxFrame}},
		{"reader fails first", iotest.ErrReader(broken), broken},
		{"reader fails later", io.MultiReader(bytes.NewReader(append(header(5), 'a')), iotest.ErrReader(broken)), broken},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			payload, err := ReadFrame(tt.in)
			if payload != nil {
				t.Errorf("payload of %d bytes beside an error", len(payload))
			}
			if !reflect.DeepEqual(err, tt.want) {
				t.Errorf("error %#v, want %#v", err, tt.want)
			}
		})
	}
}

func TestFrameErrorTexts(t *testing.T) {
	size := (&SizeError{Size: MaxFrame + 1, Max: MaxFrame}).Error()
	if want := "frame of 16777217 bytes exceeds the bound of 16777216 bytes"; size != want {
		t.Errorf("%q, want %q", size, want)
	}
	cut := &TruncatedError{Part: "payload", Got: 3, Want: 5}
	if want := "stream ended inside a frame: 3 of 5 payload bytes"; cut.Error() != want {
		t.Errorf("%q, want %q", cut, want)
	}
	if !errors.Is(cut, io.ErrUnexpectedEOF) {
		t.Error("a truncated frame is no unexpected EOF")
	}
}

func TestLargestFramePasses(t *testing.T) {
	var stream bytes.Buffer
	if err := WriteFrame(&stream, make([]byte, MaxFrame)); err != nil {
		t.Fatal(err)
	}
	payload, err := ReadFrame(&stream)
	if err != nil || len(payload) != MaxFrame {
		t.Errorf("read %d bytes, error %v", len(payload), err)
	}
	err = WriteFrame(&stream, make([]byte, MaxFrame+1))
	if diff := cmp.Diff(error(&SizeError{Size: MaxFrame + 1, Max: MaxFrame}), err); diff != "" {
		t.Errorf("one byte more (-want +got):\n%s", diff)
	}
	if stream.Len() != 0 {
		t.Errorf("%d bytes of a refused frame were written", stream.Len())
	}
}

// greedReader fails the test when it is offered a larger buffer than what it has handed
// out before justifies, which is how much a reader believed a header.
type greedReader struct {
	t       *testing.T
	in      io.Reader
	given   int
	largest int
}

func (g *greedReader) Read(p []byte) (int, error) {
	if allowed := max(firstRead, g.given); len(p) > allowed {
		g.t.Errorf("a buffer of %d bytes was taken after %d bytes arrived", len(p), g.given)
	}
	g.largest = max(g.largest, len(p))
	n, err := g.in.Read(p)
	g.given += n
	return n, err
}

func TestMemoryFollowsArrivalNotTheHeader(t *testing.T) {
	for _, arrive := range []int{0, 1, firstRead, 10 * firstRead, 1 << 20} {
		in := io.MultiReader(bytes.NewReader(header(MaxFrame)), bytes.NewReader(make([]byte, arrive)))
		g := &greedReader{t: t, in: in}
		_, err := ReadFrame(g)
		want := error(&TruncatedError{Part: "payload", Got: arrive, Want: MaxFrame})
		if diff := cmp.Diff(want, err); diff != "" {
			t.Errorf("%d bytes (-want +got):\n%s", arrive, diff)
		}
		if g.largest == 0 {
			t.Error("nothing was read")
		}
	}
}

func TestWriteFrameIsOneWrite(t *testing.T) {
	var writes countingWriter
	if err := WriteFrame(&writes, []byte("abc")); err != nil {
		t.Fatal(err)
	}
	if writes != 1 {
		t.Errorf("%d writes for one frame, want 1: others could come between", writes)
	}
}

type countingWriter int

func (c *countingWriter) Write(p []byte) (int, error) { *c++; return len(p), nil }

func TestFramesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		payloads := rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 0, 3*firstRead), 0, 5).Draw(t, "payloads")
		var stream bytes.Buffer
		for _, p := range payloads {
			if err := WriteFrame(&stream, p); err != nil {
				t.Fatal(err)
			}
		}
		var in io.Reader = &stream
		switch rapid.IntRange(0, 2).Draw(t, "chunks") {
		case 1:
			in = iotest.OneByteReader(in)
		case 2:
			in = iotest.DataErrReader(iotest.HalfReader(in))
		}
		for i, want := range payloads {
			got, err := ReadFrame(in)
			if err != nil || !bytes.Equal(got, want) {
				t.Fatalf("frame %d: %d bytes, error %v; want %d bytes", i, len(got), err, len(want))
			}
		}
		if _, err := ReadFrame(in); err != io.EOF {
			t.Fatalf("after the last frame: %v, want EOF", err)
		}
	})
}

func TestMessagesRoundTrip(t *testing.T) {
	text := rapid.String()
	rapid.Check(t, func(t *rapid.T) {
		want := Answer(&pb.McpInfo{
			Name: text.Draw(t, "name"), Args: rapid.SliceOf(text).Draw(t, "args"),
			Env: rapid.MapOf(text, text).Draw(t, "env"), Error: text.Draw(t, "error"),
			Status:    pb.McpStatus(rapid.Int32Range(0, 9).Draw(t, "status")), // unknown values survive
			ToolCount: rapid.Uint32().Draw(t, "tools"), AutoRestart: rapid.Bool().Draw(t, "restart"),
		})
		frame, err := encode(want)
		if err != nil {
			t.Fatal(err)
		}
		payload, err := ReadFrame(bytes.NewReader(frame))
		if err != nil {
			t.Fatal(err)
		}
		got := &pb.ServerMessage{}
		if err := decode(payload, got); err != nil || !proto.Equal(want, got) {
			t.Fatalf("sent %v, received %v, error %v", want, got, err)
		}
	})
}

func FuzzReadFrame(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0, 0})
	f.Add(header(0))
	f.Add(append(header(3), 0xf2, 0x01, 0x00))
	f.Add(append(header(3), 0xff, 0xff, 0xff))
	f.Add(header(MaxFrame))
	f.Add(header(MaxFrame + 1))
	f.Fuzz(func(t *testing.T, in []byte) {
		rest := bytes.NewReader(in)
		for {
			before := len(in) - rest.Len()
			payload, err := ReadFrame(&greedReader{t: t, in: rest})
			if err != nil {
				checkReadError(t, err, len(in) == before)
				return
			}
			var again bytes.Buffer
			if err := WriteFrame(&again, payload); err != nil {
				t.Fatal(err)
			}
			if consumed := in[before : len(in)-rest.Len()]; !bytes.Equal(again.Bytes(), consumed) {
				t.Fatalf("frame %x was read from %x", again.Bytes(), consumed)
			}
			checkDecode(t, payload)
		}
	})
}

func checkReadError(t *testing.T, err error, atEnd bool) {
	_, cut := errors.AsType[*TruncatedError](err)
	_, large := errors.AsType[*SizeError](err)
	if (err == io.EOF) != atEnd || (!cut && !large && err != io.EOF) {
		t.Fatalf("error %v, at the end: %v", err, atEnd)
	}
}

// checkDecode makes sure that any payload is a message or a DecodeError, and that a
// message can be named and sent on.
func checkDecode(t *testing.T, payload []byte) {
	for _, m := range []proto.Message{&pb.ClientMessage{}, &pb.ServerMessage{}} {
		if err := decode(payload, m); err != nil {
			if _, ok := errors.AsType[*DecodeError](err); !ok {
				t.Fatalf("%x: %v is no DecodeError", payload, err)
			}
			continue
		}
		if Variant(m) == "" {
			t.Fatalf("%x: no name", payload)
		}
		if _, err := encode(m); err != nil {
			t.Fatalf("%x: decoded and cannot be encoded: %v", payload, err)
		}
	}
}
