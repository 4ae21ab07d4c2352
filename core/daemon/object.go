package daemon

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// object is a JSON object that is read key by key, so that a wrong type is refused with the
// name of its key and unknown keys are kept. Numbers in it are json.Number.
type object = map[string]any

// parseObject reads one JSON object and nothing behind it. Its errors hold no value.
func parseObject(text string) (object, error) {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, jsonProblem(err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("there is something behind its end")
	}
	obj, ok := v.(object)
	if !ok {
		return nil, fmt.Errorf("it must be an object, not %s", kindOf(v))
	}
	return obj, nil
}

// jsonProblem is a decoder's error without the value that it complains about.
func jsonProblem(err error) error {
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("it is not JSON from byte %d on", e.Offset)
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("key %s must be a %s", e.Field, e.Type)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it ends too early")
	}
	return err
}

// encodeObject writes an object with sorted keys and without the escapes that HTML needs.
func encodeObject(obj object) []byte { return encode(obj) }

// encodeString writes a string in the same way.
func encodeString(s string) []byte { return encode(s) }

func encode(v any) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("CF-5: what was decoded from JSON does not encode: %v", err))
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}

// mergePatch applies an RFC 7386 merge patch and returns the result. Neither argument is
// changed; the result may share parts with both.
func mergePatch(target, patch object) object {
	out := maps.Clone(target)
	if out == nil {
		out = object{}
	}
	for _, key := range slices.Sorted(maps.Keys(patch)) {
		switch v := patch[key].(type) {
		case nil:
			delete(out, key)
		case object:
			inner, _ := out[key].(object) // anything that is no object is replaced
			out[key] = mergePatch(inner, v)
		default:
			out[key] = v
		}
	}
	return out
}

// reader reads typed values out of an object and collects every complaint.
type reader struct {
	obj  object
	path string // of the object, in front of its keys
	bad  *[]string
}

func (r reader) complain(key, want string, got any) {
	*r.bad = append(*r.bad, fmt.Sprintf("key %s must be %s, not %s", r.path+key, want, kindOf(got)))
}

// problem joins the complaints into one error.
func (r reader) problem() error {
	if len(*r.bad) == 0 {
		return nil
	}
	return errors.New(strings.Join(*r.bad, "; "))
}

func (r reader) str(key string) string {
	v, present := r.obj[key]
	s, ok := v.(string)
	if present && !ok {
		r.complain(key, "a string", v)
	}
	return s
}

// optional reads a string that may be null as well (SPEC ID-6).
func (r reader) optional(key string) string {
	if r.obj[key] == nil {
		return ""
	}
	return r.str(key)
}

func (r reader) boolean(key string, def bool) bool {
	v, present := r.obj[key]
	if !present {
		return def
	}
	b, ok := v.(bool)
	if !ok {
		r.complain(key, "true or false", v)
	}
	return b
}

func (r reader) uint32(key string, def uint32) uint32 {
	v, present := r.obj[key]
	if !present {
		return def
	}
	number, _ := v.(json.Number)
	n, err := strconv.ParseUint(number.String(), 10, 32)
	if err != nil {
		r.complain(key, fmt.Sprintf("a whole number from 0 to %d", uint32(math.MaxUint32)), v)
	}
	return uint32(n)
}

// duration reads a Go duration, such as "1m30s", or a number of whole seconds. Absent and
// null are 0. It is more than nothing otherwise, unless zero may be said as well.
func (r reader) duration(key string, zero bool) time.Duration {
	v := r.obj[key]
	var d time.Duration
	var err error
	switch x := v.(type) {
	case nil:
		return 0
	case string:
		d, err = time.ParseDuration(x)
	case json.Number:
		var n int64
		n, err = strconv.ParseInt(x.String(), 10, 64)
		if err == nil && n > int64(maxIdle/time.Second) {
			n = -1
		}
		d = time.Duration(n) * time.Second
	default:
		err = errors.New("wrong type")
	}
	switch {
	case err != nil:
		r.complain(key, `a duration such as "1m30s", or whole seconds`, v)
	case d < 0 || d > maxIdle || d == 0 && !zero:
		*r.bad = append(*r.bad, fmt.Sprintf("key %s must be more than 0 and at most %v; leave it out for the daemon's own", r.path+key, maxIdle))
	}
	return d
}

// word reads one of a few strings.
func (r reader) word(key string, words ...string) string {
	s := r.optional(key)
	if s != "" && !slices.Contains(words, s) {
		*r.bad = append(*r.bad, fmt.Sprintf("key %s must be one of \"%s\"", r.path+key, strings.Join(words, `", "`)))
	}
	return s
}

func (r reader) list(key string) []any {
	v, present := r.obj[key]
	l, ok := v.([]any)
	if present && !ok {
		r.complain(key, "a list", v)
	}
	return l
}

func (r reader) strs(key string) []string {
	var out []string
	for i, v := range r.list(key) {
		s, ok := v.(string)
		if !ok {
			r.complain(fmt.Sprintf("%s[%d]", key, i), "a string", v)
		}
		out = append(out, s)
	}
	return out
}

func (r reader) object(key string) object {
	v, present := r.obj[key]
	o, ok := v.(object)
	if present && !ok {
		r.complain(key, "an object", v)
	}
	return o
}

func (r reader) strMap(key string) map[string]string {
	obj := r.object(key)
	if len(obj) == 0 {
		return nil
	}
	inner := reader{obj: obj, path: r.path + key + ".", bad: r.bad}
	out := make(map[string]string, len(obj))
	for _, k := range slices.Sorted(maps.Keys(obj)) {
		out[k] = inner.str(k)
	}
	return out
}

// kindOf names a JSON value's type and never shows the value.
func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "a string"
	case json.Number:
		return "this number"
	case []any:
		return "a list"
	case object:
		return "an object"
	}
	panic(fmt.Sprintf("CF-7: %T is no JSON value", v))
}
