package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

const (
	// MaxFrame bounds the payload of a frame, in bytes. The protocol sets it: a daemon
	// drops a connection that announces more.
	MaxFrame = 16 << 20

	// headerSize is the length that precedes every payload.
	headerSize = 4

	// firstRead is how much is allocated on the word of a header alone.
	firstRead = 4 << 10
)

// SizeError reports a frame beyond MaxFrame, announced by the other end or about to be
// sent by this one. In the second case nothing was written.
type SizeError struct {
	Size int64 // payload bytes
	Max  int64
}

// Error implements error.
func (e *SizeError) Error() string {
	return fmt.Sprintf("frame of %d bytes exceeds the bound of %d bytes", e.Size, e.Max)
}

// TruncatedError reports a stream that ended inside a frame. It is an
// io.ErrUnexpectedEOF to errors.Is.
type TruncatedError struct {
	Part string // "header" or "payload"
	Got  int    // bytes that arrived
	Want int    // bytes that were due
}

// Error implements error.
func (e *TruncatedError) Error() string {
	return fmt.Sprintf("stream ended inside a frame: %d of %d %s bytes", e.Got, e.Want, e.Part)
}

// Unwrap makes the error an unexpected end of file.
func (e *TruncatedError) Unwrap() error { return io.ErrUnexpectedEOF }

// ReadFrame reads one frame and returns its payload, which may be empty. It returns
// io.EOF when r ends between frames, *TruncatedError when it ends inside one and
// *SizeError for a length beyond MaxFrame, of which only the header has been read then.
// Memory is taken as bytes arrive, so that a header that lies costs firstRead bytes.
func ReadFrame(r io.Reader) ([]byte, error) {
	var header [headerSize]byte
	n, err := io.ReadFull(r, header[:])
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, &TruncatedError{Part: "header", Got: n, Want: headerSize}
	}
	if err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(header[:])
	if size > MaxFrame {
		return nil, &SizeError{Size: int64(size), Max: MaxFrame}
	}
	return readPayload(r, int(size))
}

// readPayload reads size bytes into a buffer that doubles whenever it is full. It does
// not use slices.Grow, which takes up to half as much again.
func readPayload(r io.Reader, size int) ([]byte, error) {
	payload := make([]byte, 0, min(size, firstRead))
	for len(payload) < size {
		if len(payload) == cap(payload) {
			payload = append(make([]byte, 0, min(2*len(payload), size)), payload...)
		}
		n, err := io.ReadFull(r, payload[len(payload):min(cap(payload), size)])
		payload = payload[:len(payload)+n]
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, &TruncatedError{Part: "payload", Got: len(payload), Want: size}
		}
		if err != nil {
			return nil, err
		}
	}
	return payload, nil
}

// WriteFrame writes payload as one frame, in one Write. A payload beyond MaxFrame is
// refused with *SizeError before anything is written.
func WriteFrame(w io.Writer, payload []byte) error {
	if len(payload) > MaxFrame {
		return &SizeError{Size: int64(len(payload)), Max: MaxFrame}
	}
	frame := make([]byte, headerSize, headerSize+len(payload))
	frame = append(frame, payload...)
	putSize(frame)
	_, err := w.Write(frame)
	return err
}

// putSize fills in the header of a frame whose payload is in place.
func putSize(frame []byte) {
	binary.BigEndian.PutUint32(frame, uint32(len(frame)-headerSize))
}
