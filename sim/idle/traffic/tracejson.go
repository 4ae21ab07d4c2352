package traffic

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// jsonLines reads an object a line. Lines are read by a scanner that knows flat objects of plain
// strings and plain numbers; whatever it does not know is left to encoding/json, errors included.
type jsonLines struct {
	in   *bufio.Reader // its buffer is MaxLine bytes
	line int
	seen bool // the last line was read
}

func newJSONLines(in *bufio.Reader) *jsonLines { return &jsonLines{in: in} }

func (l *jsonLines) read(f *fields) (int, error) {
	for !l.seen {
		line, err := l.in.ReadSlice('\n')
		l.line++
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return 0, fmt.Errorf("line %d: it is longer than %d bytes", l.line, MaxLine)
		case err == io.EOF:
			l.seen = true
		case err != nil:
			return 0, fmt.Errorf("line %d: %w", l.line, err)
		}
		if line = bytes.Trim(line, " \t\r\n"); len(line) == 0 {
			continue
		}
		if scanFlat(line, f) {
			return l.line, nil
		}
		if err := decode(line, f); err != nil {
			return 0, fmt.Errorf("line %d: %w", l.line, err)
		}
		return l.line, nil
	}
	return 0, io.EOF
}

// field returns the field of a name.
func (f *fields) field(name string) *[]byte {
	switch name {
	case "time":
		return &f.time
	case "tenant":
		return &f.tenant
	case "peer":
		return &f.peer
	case "duration":
		return &f.duration
	}
	return nil
}

// scanFlat reads a line that holds each field once and nothing that needs decoding. It is false
// for every other line, valid or not: a field that is there twice leaves another without a value.
func scanFlat(b []byte, f *fields) bool {
	*f = fields{}
	if b[0] != '{' {
		return false
	}
	b = blank(b[1:])
	for range columns {
		key, rest, ok := plainString(b)
		if !ok {
			return false
		}
		to := f.field(string(key))
		if rest = blank(rest); to == nil || len(rest) == 0 || rest[0] != ':' {
			return false
		}
		if *to, rest, ok = plainValue(blank(rest[1:])); !ok {
			return false
		}
		if rest = blank(rest); len(rest) == 0 {
			return false
		}
		if rest[0] == '}' {
			return len(rest) == 1 && f.time != nil && f.tenant != nil && f.peer != nil && f.duration != nil
		}
		if rest[0] != ',' {
			return false
		}
		b = blank(rest[1:])
	}
	return false
}

func blank(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	return b
}

// plainString reads a string without escapes, and returns what follows it.
func plainString(b []byte) (s, rest []byte, ok bool) {
	if len(b) == 0 || b[0] != '"' {
		return nil, nil, false
	}
	for i := 1; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			return b[1:i:i], b[i+1:], true
		case c == '\\' || c < 0x20:
			return nil, nil, false
		}
	}
	return nil, nil, false
}

// plainValue reads a plain string, or a number without sign and exponent.
func plainValue(b []byte) (v, rest []byte, ok bool) {
	if len(b) > 0 && b[0] == '"' {
		return plainString(b)
	}
	i := digits(b)
	if i == 0 || i > 1 && b[0] == '0' {
		return nil, nil, false
	}
	if i < len(b) && b[i] == '.' {
		n := digits(b[i+1:])
		if n == 0 {
			return nil, nil, false
		}
		i += 1 + n
	}
	if i < len(b) && !bytes.ContainsRune([]byte(" \t,}"), rune(b[i])) {
		return nil, nil, false
	}
	return b[:i:i], b[i:], true
}

func digits(b []byte) (n int) {
	for n < len(b) && b[n] >= '0' && b[n] <= '9' {
		n++
	}
	return n
}

// decode reads any line, by the standard library's tokens.
func decode(line []byte, f *fields) error {
	*f = fields{}
	if !utf8.Valid(line) {
		return errors.New("it is not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return errors.New("it is no JSON object")
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return syntax(err)
		}
		if err := decodeField(d, key.(string), f); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return syntax(err)
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("something follows the object: a line holds one")
	}
	for i, v := range [][]byte{f.time, f.tenant, f.peer, f.duration} {
		if v == nil {
			return fmt.Errorf("the field %s is missing: a line has the fields %s", columns[i], strings.Join(columns, ", "))
		}
	}
	return nil
}

func decodeField(d *json.Decoder, key string, f *fields) error {
	to := f.field(key)
	if to == nil {
		return fmt.Errorf("unknown field %s%s: a line has the fields %s", shown([]byte(key)), Near(key, columns), strings.Join(columns, ", "))
	}
	if *to != nil {
		return fmt.Errorf("the field %s is there twice", key)
	}
	t, err := d.Token()
	if err != nil {
		return syntax(err)
	}
	switch v := t.(type) {
	case string:
		*to = slices.Grow([]byte(v), 1)
	case json.Number:
		*to = []byte(v)
	default:
		return fmt.Errorf("%s: it must be a string or a number", key)
	}
	return nil
}

func syntax(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return errors.New("it is broken off: the object is not closed on its line")
	}
	return fmt.Errorf("it is no JSON object: %w", err)
}
