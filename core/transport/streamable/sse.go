package streamable

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// sseBuffer is how much of a stream is read at once.
const sseBuffer = 16 << 10

// events reads a stream of server-sent events. Only their data is of interest: names other
// than "message" mark events that are none of ours, ids serve a resumption that we never ask
// for, and retry times are decisions of the machine.
type events struct {
	in  *bufio.Reader
	max int // bytes of one event
}

// newEvents returns the events of r.
func newEvents(r io.Reader, max int) *events {
	return &events{in: bufio.NewReaderSize(r, sseBuffer), max: max}
}

// next returns the data of the next message. An event that the end of the stream cuts off is
// none, as the format says.
func (e *events) next() ([]byte, error) {
	var data []byte
	name, filled, size := "", false, 0
	for {
		line, err := e.line(&size)
		if err != nil {
			return nil, err
		}
		if len(line) == 0 { // the end of an event
			if filled && (name == "" || name == "message") {
				return data, nil
			}
			data, name, filled, size = nil, "", false, 0
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "event":
			name = string(value)
		case "data":
			if filled {
				data = append(data, '\n')
			}
			data, filled = append(data, value...), filled || len(value) > 0
		}
	}
}

// line returns the next line without its end.
func (e *events) line(size *int) ([]byte, error) {
	var line []byte
	for {
		part, err := e.in.ReadSlice('\n')
		if *size += len(part); *size > e.max {
			return nil, fmt.Errorf("the answer has an event of more than %d bytes", e.max)
		}
		line = append(line, part...)
		switch {
		case err == nil:
			line = bytes.TrimSuffix(line[:len(line)-1], []byte("\r"))
			if len(line) > 0 && line[0] == ':' {
				*size -= len(part) // a comment, such as a sign of life, belongs to no event
				line = nil
				continue
			}
			return line, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}
