package traffic

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"time"
	"unicode/utf8"
)

// The bounds of a trace.
const (
	// MaxLine bounds a line, in bytes.
	MaxLine = 64 << 10
	// MaxName bounds the name of a tenant or a peer, in bytes.
	MaxName = 256
	// MaxNames bounds how many distinct tenants, and how many distinct peers, a trace names. They
	// are all that a replay remembers of the lines behind it.
	MaxNames = 1 << 20
	// MaxSpan bounds the times of a trace, from its start.
	MaxSpan = 10 * 365 * 24 * time.Hour
	// MaxTakes bounds the duration of one call.
	MaxTakes = 31 * 24 * time.Hour
)

// TraceConfig says how a trace is read. Its zero value is the default.
type TraceConfig struct {
	// Window is how much earlier than the latest line before it a line may be; a minute if 0. A
	// negative one accepts sorted traces only.
	Window time.Duration
	// Held bounds the lines that are held back to sort them; 65536 if 0. Where more lines lie in
	// a window, only as many are sorted.
	Held int
}

const (
	traceWindow = time.Minute
	traceHeld   = 1 << 16
	maxWindow   = 24 * time.Hour
	maxHeld     = 1 << 22
)

// Trace is open traffic that somebody recorded: CSV with a header line, or JSONL. The package
// comment says what lines hold.
type Trace struct {
	name string
	open func() (io.ReadCloser, error)
	cfg  TraceConfig
}

// NewTrace reads a trace from what open returns, from the beginning for every replay. The name
// is used in errors and reports.
func NewTrace(name string, open func() (io.ReadCloser, error), cfg TraceConfig) (*Trace, error) {
	if cfg.Window == 0 {
		cfg.Window = traceWindow
	}
	if cfg.Window > maxWindow {
		return nil, fmt.Errorf("%s: window is %v: at most %v", name, cfg.Window, maxWindow)
	}
	cfg.Window = max(cfg.Window, 0)
	if cfg.Held == 0 {
		cfg.Held = traceHeld
	}
	if cfg.Held < 1 || cfg.Held > maxHeld {
		return nil, fmt.Errorf("%s: held is %d: it must be from 1 to %d", name, cfg.Held, maxHeld)
	}
	return &Trace{name: name, open: open, cfg: cfg}, nil
}

// Name is how the trace was called.
func (t *Trace) Name() string { return t.name }

// Open is true: the calls of a trace happen when they happened.
func (t *Trace) Open() bool { return true }

// Streams begins one replay, which is a single stream. It is an io.Closer: whoever does not
// read it to its end, or to an error, closes it.
func (t *Trace) Streams(uint64) ([]Stream, error) {
	src, err := t.open()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.name, err)
	}
	r := &Replay{trace: t, src: src, tenants: newNames("tenants"), peers: newNames("peers")}
	r.order = newOrder(t.cfg)
	if err := r.begin(); err != nil {
		src.Close()
		return nil, fmt.Errorf("%s: %w", t.name, err)
	}
	return []Stream{r}, nil
}

// Close ends whatever streams hold, where a run ends before they do.
func Close(streams []Stream) error {
	var errs []error
	for _, s := range streams {
		if c, ok := s.(io.Closer); ok {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}

// entry is one line of a trace. Its time is since the Unix epoch if it had a date, otherwise
// since the start.
type entry struct {
	at, takes    time.Duration
	line         int
	tenant, peer uint32
}

// Replay is a trace that is being read.
type Replay struct {
	trace  *Trace
	src    io.ReadCloser
	lines  lineReader
	order  *order
	dated  dating
	origin time.Duration
	given  bool  // a call was returned
	err    error // what ended it; io.EOF is the end
	fields

	tenants, peers *names
}

// lineReader gives one line after another.
type lineReader interface {
	// read fills the fields with the next line; io.EOF ends it. Its errors name the line.
	read(f *fields) (line int, err error)
}

// fields are the parts of a line, valid until the next is read. Numbers of JSON are given as
// they are written.
type fields struct{ time, tenant, peer, duration []byte }

// dating says whether a trace has dates or seconds: the first line decides.
type dating uint8

const (
	undecided dating = iota
	inSeconds
	inDates
)

// begin finds out what kind of file it is by its first bytes.
func (r *Replay) begin() error {
	in := bufio.NewReaderSize(r.src, MaxLine)
	if magic, _ := in.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(in)
		if err != nil {
			return zipError(err)
		}
		in = bufio.NewReaderSize(unzipped{z}, MaxLine)
	}
	if bom, _ := in.Peek(3); bytes.Equal(bom, []byte("\xef\xbb\xbf")) {
		in.Discard(3)
	}
	head, err := in.Peek(1024)
	if err != nil && err != io.EOF && len(head) == 0 {
		return err
	}
	if head = bytes.TrimLeft(head, " \t\r\n"); len(head) > 0 && head[0] == '{' {
		r.lines = newJSONLines(in)
		return nil
	}
	if len(head) > 0 && head[0] == '[' {
		return errors.New("it begins with [: write one JSON object a line, without an array around them")
	}
	lines, err := newCSVLines(in)
	r.lines = lines
	return err
}

// unzipped says of what comes out of gzip what is wrong with it.
type unzipped struct{ z *gzip.Reader }

func (u unzipped) Read(p []byte) (int, error) {
	n, err := u.z.Read(p)
	return n, zipError(err)
}

func zipError(err error) error {
	switch err {
	case io.ErrUnexpectedEOF:
		return errors.New("the gzip file is broken off: copy it again")
	case gzip.ErrChecksum, gzip.ErrHeader:
		return fmt.Errorf("the gzip file is damaged: %w", err)
	}
	return err
}

// Next returns the next call. After an error, which names the line, there is nothing more.
func (r *Replay) Next(time.Duration) (Call, bool, error) {
	for r.err == nil && !r.order.ready() {
		r.err = r.take()
	}
	if r.err != nil && r.err != io.EOF {
		return Call{}, false, r.fail(r.err)
	}
	e, ok := r.order.pop()
	if !ok {
		return Call{}, false, r.end()
	}
	if !r.given && r.dated == inDates {
		r.origin = e.at
	}
	r.given = true
	if e.at -= r.origin; e.at > MaxSpan {
		return Call{}, false, r.fail(fmt.Errorf("line %d: time: it is more than %v after the first call", e.line, MaxSpan))
	}
	return Call{At: e.at, Takes: e.takes, Tenant: e.tenant, Peer: e.peer}, true, nil
}

// fail ends the replay with an error, which it keeps returning.
func (r *Replay) fail(err error) error {
	r.err = err
	return errors.Join(fmt.Errorf("%s: %w", r.trace.name, err), r.release())
}

func (r *Replay) end() error {
	if !r.given {
		return r.fail(errors.New("it is empty: there is no call in it"))
	}
	return r.release()
}

// Close ends the replay. It does nothing after its end.
func (r *Replay) Close() error {
	if r.src != nil {
		r.err = errors.New("the replay was closed")
	}
	return r.release()
}

// release closes the file, once.
func (r *Replay) release() error {
	src := r.src
	if r.src = nil; src == nil {
		return nil
	}
	return src.Close()
}

// Names returns what the trace calls a tenant and a peer that Next has returned.
func (r *Replay) Names(tenant, peer uint32) (string, string) {
	return r.tenants.list[tenant], r.peers.list[peer]
}

// take reads a line into the order.
func (r *Replay) take() error {
	line, err := r.lines.read(&r.fields)
	if err != nil {
		return err
	}
	e, err := r.parse()
	if err != nil {
		return fmt.Errorf("line %d: %w", line, err)
	}
	e.line = line
	if err := r.order.push(e); err != nil {
		return fmt.Errorf("line %d: %w", line, r.explain(err))
	}
	return nil
}

func (r *Replay) parse() (e entry, err error) {
	var dated dating
	if e.at, dated, err = parseTime(r.time); err != nil {
		return e, err
	}
	if r.dated != undecided && dated != r.dated {
		return e, fmt.Errorf("time: %q is in another form than the lines before: all are seconds, or all are dates", r.time)
	}
	r.dated = dated
	if e.takes, err = parseTakes(r.duration); err != nil {
		return e, err
	}
	if e.tenant, err = r.tenants.number("tenant", r.tenant); err != nil {
		return e, err
	}
	e.peer, err = r.peers.number("peer", r.peer)
	return e, err
}

// explain puts the times of lines that are out of order into the form of the trace.
func (r *Replay) explain(err error) error {
	late, ok := errors.AsType[*lateError](err)
	if !ok {
		return err
	}
	why := fmt.Sprintf("lines may be out of order by up to %v", r.trace.cfg.Window)
	if late.held {
		why = fmt.Sprintf("only %d lines are held back to sort them", r.trace.cfg.Held)
	}
	return fmt.Errorf("its time %s is before %s of line %d, and %s: sort the trace by time",
		r.show(late.at), r.show(late.than), late.line, why)
}

func (r *Replay) show(at time.Duration) string {
	if r.dated == inDates {
		return time.Unix(0, int64(at)).UTC().Format(time.RFC3339Nano)
	}
	return fmt.Sprintf("%g s", at.Seconds())
}

// names numbers the distinct names of a column.
type names struct {
	what string
	of   map[string]uint32
	list []string
}

func newNames(what string) *names { return &names{what: what, of: map[string]uint32{}} }

func (n *names) number(field string, name []byte) (uint32, error) {
	if i, ok := n.of[string(name)]; ok {
		return i, nil
	}
	switch {
	case len(name) == 0:
		return 0, fmt.Errorf("%s: it is empty", field)
	case len(name) > MaxName:
		return 0, fmt.Errorf("%s: a name of %d bytes: at most %d", field, len(name), MaxName)
	case !utf8.Valid(name):
		return 0, fmt.Errorf("%s: %q is not UTF-8", field, name)
	case bytes.ContainsAny(name, "\n\r\x00"):
		return 0, fmt.Errorf("%s: %q has a line break or a zero in it", field, name)
	case len(n.list) == MaxNames:
		return 0, fmt.Errorf("%s: %q is one more than the %d %s that a trace may name", field, name, MaxNames, n.what)
	}
	s, i := string(name), uint32(len(n.list))
	n.of[s], n.list = i, append(n.list, s)
	return i, nil
}
