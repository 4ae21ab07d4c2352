package traffic

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func text(s string) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(s)), nil }
}

// replay reads a trace to its end.
func replay(open func() (io.ReadCloser, error), cfg TraceConfig) (calls []Call, err error) {
	tr, err := NewTrace("calls", open, cfg)
	if err != nil {
		return nil, err
	}
	streams, err := tr.Streams(0)
	if err != nil {
		return nil, err
	}
	for {
		c, ok, err := streams[0].Next(0)
		if err != nil || !ok {
			return calls, err
		}
		calls = append(calls, c)
	}
}

const head = "time,tenant,peer,duration\n"

var three = []Call{
	{At: 0, Takes: 250 * time.Millisecond},
	{At: 12500 * time.Millisecond, Takes: 2 * time.Second, Tenant: 1, Peer: 1},
	{At: time.Minute, Tenant: 0, Peer: 1},
}

func TestTracesSayTheSameInEveryForm(t *testing.T) {
	csv := head + "0,ann,files,0.25\n12.5,bob,\"web, all\",2s\n60,ann,\"web, all\",0\n"
	for name, src := range map[string]string{
		"csv":                    csv,
		"csv, other order":       "peer,duration,tenant,time\nfiles,250ms,ann,0\n\"web, all\",2,bob,1.25e1\n\"web, all\",0s,ann,60\n",
		"csv, spaces and CRLF":   strings.ReplaceAll("time, tenant ,peer,duration\n\n 0 ,ann,files, .25\n12.50,bob,\"web, all\",2s\n60.0,ann,\"web, all\",0", "\n", "\r\n"),
		"csv, byte order mark":   "\ufeff" + csv,
		"csv, dates":             head + "2026-01-31T09:30:00Z,ann,files,0.25\n2026-01-31T10:30:12.5+01:00,bob,\"web, all\",2s\n2026-01-31T09:31:00Z,ann,\"web, all\",0\n",
		"csv, out of order":      head + "60,ann,files,0\n0,bob,web,250ms\n12.5,ann,files,2s\n",
		"jsonl":                  `{"time":0,"tenant":"ann","peer":"files","duration":0.25}` + "\n" + `{"time":12.5,"tenant":"bob","peer":"web","duration":"2s"}` + "\n" + `{"time":60,"tenant":"ann","peer":"web","duration":0}`,
		"jsonl, escapes, spaces": "\n" + ` { "peer" : "\u0066iles", "duration":"250ms","tenant":"ann","time":0e0 } ` + "\r\n\n" + `{"time":"12.5","tenant":7,"peer":"w\"b","duration":2.0}` + "\n" + `{"time":6E1,"tenant":"ann","peer":"w\"b","duration":"0s"}` + "\n",
	} {
		want := three
		if name == "csv, out of order" {
			// Names are numbered in the order of lines.
			want = []Call{{Takes: 250 * time.Millisecond, Tenant: 1, Peer: 1}, {At: 12500 * time.Millisecond, Takes: 2 * time.Second}, {At: time.Minute}}
		}
		got, err := replay(text(src), TraceConfig{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if got, err = replay(text(zipped(src)), TraceConfig{}); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s, gzipped: %v, %v", name, got, err)
		}
	}
}

func TestReplaysBeginAgain(t *testing.T) {
	tr := must(NewTrace("calls", text(head+"1,a,b,2\n5,a,b,2\n"), TraceConfig{}))
	a, b := must(tr.Streams(1)), must(tr.Streams(2))
	for i := range 2 {
		x, _, _ := a[0].Next(0)
		y, _, _ := b[0].Next(0)
		if x != y || x.At != time.Duration(1+4*i)*time.Second {
			t.Errorf("call %d is %+v and %+v", i, x, y)
		}
	}
	r := a[0].(*Replay)
	if tenant, peer := r.Names(0, 0); tenant != "a" || peer != "b" {
		t.Errorf("names %q and %q", tenant, peer)
	}
	for range 2 {
		if c, ok, err := r.Next(0); ok || err != nil {
			t.Errorf("after the end: %+v, %v", c, err)
		}
	}
}

// TestClosedReplaysLetGoOfTheirFile counts files that are open.
func TestClosedReplaysLetGoOfTheirFile(t *testing.T) {
	open := 0
	tr := must(NewTrace("calls", func() (io.ReadCloser, error) {
		open++
		return &counted{strings.NewReader(head + "1,a,b,2\n5,a,b,2\n"), &open}, nil
	}, TraceConfig{}))
	half := must(tr.Streams(1))
	half[0].Next(0)
	if err := Close(half); err != nil || open != 0 {
		t.Errorf("%d files are open after Close: %v", open, err)
	}
	if _, _, err := half[0].Next(0); err == nil {
		t.Error("a closed replay goes on")
	}
	whole := must(tr.Streams(1))
	play(t, whole[0], time.Hour)
	if open != 0 {
		t.Errorf("%d files are open after the end", open)
	}
	Close(whole)
	tr.open = func() (io.ReadCloser, error) { open++; return &counted{strings.NewReader("nothing"), &open}, nil }
	if _, err := tr.Streams(1); err == nil || open != 0 {
		t.Errorf("%d files are open after a bad header: %v", open, err)
	}
}

type counted struct {
	io.Reader
	open *int
}

func (c *counted) Close() error { *c.open--; return nil }

// zipped is a text as gzip writes it.
func zipped(src string) string {
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	io.WriteString(w, src)
	w.Close()
	return z.String()
}

// badTrace is a trace that is refused, and with which words.
type badTrace struct{ name, src, want string }

const allColumns = "time, tenant, peer, duration"

func TestBadTraces(t *testing.T) {
	for _, c := range append(badTables(), badObjects()...) {
		_, err := replay(text(c.src), TraceConfig{})
		if err == nil || err.Error() != "calls: "+c.want {
			t.Errorf("%s:\n got %v\nwant calls: %s", c.name, err, c.want)
		}
	}
}

func badTables() []badTrace {
	long := strings.Repeat("x", MaxLine+1)
	return []badTrace{
		{"empty", "", "it is empty: there is no call in it"},
		{"blank", "\n\n", "it is empty: there is no call in it"},
		{"header only", head, "it is empty: there is no call in it"},
		{"blank lines", head + "\n\n", "it is empty: there is no call in it"},
		{"unknown column", "time,tenant,peer,duraton\n", `line 1: unknown column "duraton" (did you mean "duration"?): the header has the columns ` + allColumns},
		{"fifth column", "time,tenant,peer,duration,tool\n", `line 1: unknown column "tool": the header has the columns ` + allColumns},
		{"no header", "1,a,b,2\n", `line 1: unknown column "1": the header has the columns ` + allColumns},
		{"column twice", "time,tenant,time,peer,duration\n", "line 1: the column time is there twice"},
		{"column missing", "\ntime,tenant,peer\n", "line 2: the column duration is missing: the header has the columns " + allColumns},
		{"field missing", head + "1,a,b,1\n2,a,b\n", "line 3: it has another number of fields than the header"},
		{"empty time", head + ",a,b,1\n", "line 2: time: it is empty"},
		{"negative time", head + "-1,a,b,1\n", `line 2: time: "-1" is negative`},
		{"time no number", head + "soon,a,b,1\n", `line 2: time: "soon" is neither seconds since the start, like 12.5, nor a date of RFC 3339`},
		{"NaN", head + "NaN,a,b,1\n", `line 2: time: "NaN" is neither seconds since the start, like 12.5, nor a date of RFC 3339`},
		{"infinite", head + "1,a,b,1\nInf,a,b,1\n", `line 3: time: "Inf" is neither seconds since the start, like 12.5, nor a date of RFC 3339`},
		{"hexadecimal", head + "0x10,a,b,1\n", `line 2: time: "0x10" is neither seconds since the start, like 12.5, nor a date of RFC 3339`},
		{"epoch", head + "1767225600,a,b,1\n", `line 2: time: "1767225600" s is absurd, more than ten years: give seconds since the start, or dates of RFC 3339`},
		{"huge", head + "1e999,a,b,1\n", `line 2: time: "1e999" s is absurd, more than ten years: give seconds since the start, or dates of RFC 3339`},
		{"bad date", head + "2026-02-30T00:00:00Z,a,b,1\n", `line 2: time: "2026-02-30T00:00:00Z" is not a date of RFC 3339, like 2026-01-31T09:30:00Z`},
		{"date of old", head + "0001-01-01T00:00:00Z,a,b,1\n", `line 2: time: the year of "0001-01-01T00:00:00Z" is absurd: it must be from 1970 to 2200`},
		{"both forms", head + "1,a,b,1\n2026-01-01T00:00:00Z,a,b,1\n", `line 3: time: "2026-01-01T00:00:00Z" is in another form than the lines before: all are seconds, or all are dates`},
		{"far dates", head + "1999-01-01T00:00:00Z,a,b,1\n2026-01-01T00:00:00Z,a,b,1\n", "line 3: time: it is more than 87600h0m0s after the first call"},
		{"no duration", head + "1,a,b,\n", "line 2: duration: it is empty"},
		{"bad duration", head + "1,a,b,fast\n", `line 2: duration: "fast" is neither seconds, like 0.25, nor a duration, like 250ms`},
		{"negative duration", head + "1,a,b,-2s\n", `line 2: duration: "-2s" is negative`},
		{"negative seconds", head + "1,a,b,-0.1\n", `line 2: duration: "-0.1" is negative`},
		{"absurd duration", head + "1,a,b,1e7\n", `line 2: duration: "1e7" is absurd: more than 744h0m0s`},
		{"no tenant", head + "1,,b,1\n", "line 2: tenant: it is empty"},
		{"no peer", head + "1,a, ,1\n", "line 2: peer: it is empty"},
		{"long name", head + "1," + long[:MaxName+1] + ",b,1\n", "line 2: tenant: a name of 257 bytes: at most 256"},
		{"bad name", head + "1,a\xff,b,1\n", `line 2: tenant: "a\xff" is not UTF-8`},
		{"long line", head + "1,a,b,1\n2," + long + ",b,1\n", "line 3: it is longer than 65536 bytes"},
		{"long last line", head + "1,a,b,1\n2," + long, "line 3: it is longer than 65536 bytes"},
		{"open quote", head + "1,a,b,1\n2,\"a,b,1\n3,a,b,1\n", "line 3: a quote is not closed on its line"},
		{"open quote at the end", head + "1,a,b,1\n2,a,b,\"1", "line 3: a quote is not closed on its line"},
		{"stray quotes", head + "1,a\"\"b,b,1\n", `line 2: column 4: bare " in non-quoted-field`},
		{"late", head + "1,a,b,1\n70,a,b,1\n\n9.5,a,b,1\n", "line 5: its time 9.5 s is before 70 s of line 3, and lines may be out of order by up to 1m0s: sort the trace by time"},
		{"late date", head + "2026-01-01T00:02:00Z,a,b,1\n2026-01-01T00:00:00.5Z,a,b,1\n", "line 3: its time 2026-01-01T00:00:00.5Z is before 2026-01-01T00:02:00Z of line 2, and lines may be out of order by up to 1m0s: sort the trace by time"},
	}
}

func badObjects() []badTrace {
	long := strings.Repeat("x", MaxLine+1)
	line := `{"time":1,"tenant":"a","peer":"b","duration":1}` + "\n"
	zippedCSV, zippedJSON := zipped(head+"1,a,b,1\n"), zipped(line)
	return []badTrace{
		{"object broken off", `{"time":1,"tenant":"a"`, "line 1: it is broken off: the object is not closed on its line"},
		{"no object", "{\"time\":1,\"tenant\":\"a\",\"peer\":\"b\",\"duration\":1}\n[1]\n", "line 2: it is no JSON object"},
		{"two objects", `{"time":1,"tenant":"a","peer":"b","duration":1}{}`, "line 1: something follows the object: a line holds one"},
		{"unknown field", `{"time":1,"tenant":"a","pear":"b","duration":1}`, `line 1: unknown field "pear" (did you mean "peer"?): a line has the fields ` + allColumns},
		{"case of a field", `{"Time":1,"tenant":"a","peer":"b","duration":1}`, `line 1: unknown field "Time" (did you mean "time"?): a line has the fields ` + allColumns},
		{"field twice", `{"time":1,"time":1,"tenant":"a","peer":"b","duration":1}`, "line 1: the field time is there twice"},
		{"no such field", `{"time":1,"tenant":"a","peer":"b"}`, "line 1: the field duration is missing: a line has the fields " + allColumns},
		{"null", `{"time":null,"tenant":"a","peer":"b","duration":1}`, "line 1: time: it must be a string or a number"},
		{"list", `{"time":1,"tenant":["a"],"peer":"b","duration":1}`, "line 1: tenant: it must be a string or a number"},
		{"syntax", `{"time":1,,"tenant":"a","peer":"b","duration":1}`, "line 1: it is no JSON object: invalid character ',' looking for beginning of object key string"},
		{"zeros", `{"time":01,"tenant":"a","peer":"b","duration":1}`, "line 1: it is no JSON object: invalid character '1' after object key:value pair"},
		{"negative in JSON", `{"time":-1,"tenant":"a","peer":"b","duration":1}`, `line 1: time: "-1" is negative`},
		{"bytes in JSON", "{\"time\":1,\"tenant\":\"\\u0061\xff\",\"peer\":\"b\",\"duration\":1}", "line 1: it is not UTF-8"},
		{"break in a name", `{"time":1,"tenant":"a\nb","peer":"b","duration":1}`, `line 1: tenant: "a\nb" has a line break or a zero in it`},
		{"control in JSON", "{\"time\":1,\"tenant\":\"a\x01\",\"peer\":\"b\",\"duration\":1}", "line 1: it is no JSON object: invalid character '\\x01' in string literal"},
		{"long JSON", `{"time":1,"tenant":"a","peer":"b","duration":1}` + "\n{" + long, "line 2: it is longer than 65536 bytes"},
		{"broken gzip", "\x1f\x8bnothing at all", "the gzip file is damaged: gzip: invalid header"},
		{"broken off in gzip's header", "\x1f\x8b\x08", "the gzip file is broken off: copy it again"},
		{"broken off gzip", zippedCSV[:len(zippedCSV)-3], "line 3: the gzip file is broken off: copy it again"},
		{"broken off gzip of JSON", zippedJSON[:len(zippedJSON)-1], "line 2: the gzip file is broken off: copy it again"},
		{"altered gzip", zippedCSV[:len(zippedCSV)-8] + "12345678", "line 3: the gzip file is damaged: gzip: invalid checksum"},
		{"array of objects", " [" + line + "]", "it begins with [: write one JSON object a line, without an array around them"},
	}
}

func TestTracesOutOfBounds(t *testing.T) {
	_, err := replay(text(head+"1,a,b,1\n3,a,b,1\n2,a,b,1\n"), TraceConfig{Window: -1})
	if want := "calls: line 4: its time 2 s is before 3 s of line 3, and lines may be out of order by up to 0s: sort the trace by time"; err == nil || err.Error() != want {
		t.Errorf("sorted only: %v, want %s", err, want)
	}
	_, err = replay(text(head+"1,a,b,1\n2,a,b,1\n3,a,b,1\n4,a,b,1\n1.5,a,b,1\n"), TraceConfig{Held: 2})
	if want := "calls: line 6: its time 1.5 s is before 3 s of line 4, and only 2 lines are held back to sort them: sort the trace by time"; err == nil || err.Error() != want {
		t.Errorf("held: %v, want %s", err, want)
	}
	edge := TraceConfig{Window: 2 * time.Second}
	if calls, err := replay(text(head+"1,a,b,1\n3,a,b,1\n1,a,b,1\n"), edge); err != nil || len(calls) != 3 {
		t.Errorf("a line at the edge of the window: %v", err)
	}
	if _, err := replay(text(head+"1,a,b,1\n3,a,b,1\n0.999999999,a,b,1\n"), edge); err == nil || !strings.Contains(err.Error(), "up to 2s") {
		t.Errorf("a line just beyond the window: %v", err)
	}
	for _, c := range []struct {
		cfg  TraceConfig
		want string
	}{
		{TraceConfig{Window: 25 * time.Hour}, "calls: window is 25h0m0s: at most 24h0m0s"},
		{TraceConfig{Held: -1}, "calls: held is -1: it must be from 1 to 4194304"},
	} {
		if _, err := NewTrace("calls", text(head), c.cfg); err == nil || err.Error() != c.want {
			t.Errorf("%+v: %v, want %s", c.cfg, err, c.want)
		}
	}
	broken := errors.New("the disk is gone")
	_, err = replay(func() (io.ReadCloser, error) { return nil, broken }, TraceConfig{})
	if !errors.Is(err, broken) {
		t.Errorf("a file that cannot be opened: %v", err)
	}
	_, err = replay(func() (io.ReadCloser, error) {
		return io.NopCloser(io.MultiReader(strings.NewReader(head+"1,a,b,1\n"), failing{broken})), nil
	}, TraceConfig{})
	if !errors.Is(err, broken) {
		t.Errorf("a file that breaks off: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestSecondsAreReadToTheNanosecond(t *testing.T) {
	for in, want := range map[string]time.Duration{"0": 0, "1.000000001": 1000000001, "0.9999999996": time.Second, "0.9999999994": 999999999,
		"123456789.987654321": 123456789987654321, "1e-9": 1, ".5": time.Second / 2, "5.": 5 * time.Second, "+2": 2 * time.Second, "-0.1": -1} {
		if got, ok := parseSeconds([]byte(in)); !ok || got != want {
			t.Errorf("%s is %d ns, want %d", in, got, want)
		}
	}
	for _, in := range []string{"", ".", "-", "1,5", "1_0", "0x1", "nan", "inf", "1e", "1 2"} {
		if got, ok := parseSeconds([]byte(in)); ok {
			t.Errorf("%q is %v", in, got)
		}
	}
}

// TestNamesAreBounded fills a column.
func TestNamesAreBounded(t *testing.T) {
	n := newNames("tenants")
	for i := range 100 {
		if _, err := n.number("tenant", fmt.Appendf(nil, "%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	n.list = append(n.list, make([]string, MaxNames-100)...)
	_, err := n.number("tenant", []byte("x"))
	if want := `tenant: "x" is one more than the 1048576 tenants that a trace may name`; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if i, err := n.number("tenant", []byte("17")); i != 17 || err != nil {
		t.Errorf("a known name: %d, %v", i, err)
	}
}

// TestOrderSorts compares with a stable sort of everything, for lines that are late by less
// than the window.
func TestOrderSorts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 200).Draw(t, "lines")
		window := time.Duration(rapid.IntRange(0, 20).Draw(t, "window"))
		o, newest := newOrder(TraceConfig{Window: window, Held: 1000}), time.Duration(0)
		var in, out []entry
		drain := func() {
			for o.ready() {
				e, _ := o.pop()
				out = append(out, e)
			}
		}
		for i := range n {
			at := max(newest+time.Duration(rapid.IntRange(-int(window), 8).Draw(t, "step")), 0)
			newest = max(newest, at)
			in = append(in, entry{at: at, line: i})
			if err := o.push(in[i]); err != nil {
				t.Fatalf("line %d: %v", i, err)
			}
			drain()
			if held := o.n + len(o.late); held > 0 && newest-min(in[0].at, newest) > 0 && window == 0 {
				t.Fatalf("%d lines of a sorted trace are held", held)
			}
		}
		for {
			e, ok := o.pop()
			if !ok {
				break
			}
			out = append(out, e)
		}
		slices.SortStableFunc(in, func(a, b entry) int { return int(a.at - b.at) })
		if !slices.Equal(in, out) {
			t.Fatalf("order:\n%v\nwant\n%v", out, in)
		}
	})
}

// lineMaker makes a trace as it is read.
type lineMaker struct {
	lines, made int
	json        bool
	buf         []byte
}

func (m *lineMaker) Read(p []byte) (int, error) {
	for len(m.buf) < len(p) && m.made < m.lines {
		if m.made == 0 && !m.json {
			m.buf = append(m.buf, head...)
		}
		i := m.made
		m.made++
		at := float64(i)/100 + float64(scramble(uint64(i))%2000)/1000
		format := "%.3f,tenant-%d,peer-%d,%.3f\n"
		if m.json {
			format = `{"time":%.3f,"tenant":"tenant-%d","peer":"peer-%d","duration":%.3f}` + "\n"
		}
		m.buf = fmt.Appendf(m.buf, format, at, i%1000, i%7, float64(i%50)/10)
	}
	if len(m.buf) == 0 {
		return 0, io.EOF
	}
	n := copy(p, m.buf)
	m.buf = m.buf[:copy(m.buf, m.buf[n:])]
	return n, nil
}

func (m *lineMaker) Close() error { return nil }

// live reads a generated trace and returns the largest live heap seen at ten points.
func live(t testing.TB, lines int, json bool) (most uint64) {
	tr := must(NewTrace("made", func() (io.ReadCloser, error) { return &lineMaker{lines: lines, json: json}, nil }, TraceConfig{}))
	s := must(tr.Streams(0))[0]
	for n := 0; ; n++ {
		_, ok, err := s.Next(0)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			if n != lines {
				t.Fatalf("%d calls of %d lines", n, lines)
			}
			return most
		}
		if n%(lines/10) == lines/20 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapAlloc)
		}
	}
}

// TestTracesStreamInConstantMemory reads ten times as many lines of the same names: the heap
// stays what it was, but for a margin of what garbage collection leaves.
func TestTracesStreamInConstantMemory(t *testing.T) {
	for _, json := range []bool{false, true} {
		small, large := live(t, 20_000, json), live(t, 200_000, json)
		t.Logf("JSON %t: %d KiB live for 20,000 lines, %d KiB for 200,000", json, small>>10, large>>10)
		if large > small+256<<10 {
			t.Errorf("JSON %t: %d bytes live for 20,000 lines, %d for 200,000", json, small, large)
		}
	}
}

// TestScannersAgree compares the fast scanner with the standard library's tokens on lines that
// are nearly right.
func TestScannersAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.SampledFrom([]string{`"time"`, `"tenant"`, `"peer"`, `"duration"`, `:`, `,`, `{`, `}`, `1`, `0`, `01`, `1.5`, `1.`, `.5`,
			`-1`, `1e3`, `"a"`, `"a\u0041"`, `""`, ` `, "\t", "\x01", `null`, `"`, `\`, "\xff"})
		line := `{"time":1,"tenant":"a","peer":"b","duration":2.5}`
		for range rapid.IntRange(0, 3).Draw(t, "edits") {
			at := rapid.IntRange(0, len(line)).Draw(t, "at")
			end := min(len(line), at+rapid.IntRange(0, 4).Draw(t, "cut"))
			line = line[:at] + piece.Draw(t, "piece") + line[end:]
		}
		agree(t, []byte(line))
	})
}

func agree(t interface{ Fatalf(string, ...any) }, line []byte) {
	if line = bytes.Trim(line, " \t\r\n"); len(line) == 0 || bytes.ContainsAny(line, "\n") {
		return
	}
	var fast, slow fields
	if !scanFlat(line, &fast) || !validNames(&fast) {
		return
	}
	if err := decode(line, &slow); err != nil {
		t.Fatalf("the scanner reads %q, the tokens do not: %v", line, err)
	}
	for i, f := range [][2][]byte{{fast.time, slow.time}, {fast.tenant, slow.tenant}, {fast.peer, slow.peer}, {fast.duration, slow.duration}} {
		if !bytes.Equal(f[0], f[1]) {
			t.Fatalf("the scanner reads %s of %q as %q, the tokens as %q", columns[i], line, f[0], f[1])
		}
	}
}

// validNames is false for fields that are refused later, for bytes that are no text.
func validNames(f *fields) bool {
	return bytes.Equal(bytes.ToValidUTF8(slices.Concat(f.time, f.tenant, f.peer, f.duration), []byte("?")), slices.Concat(f.time, f.tenant, f.peer, f.duration))
}

func FuzzTrace(f *testing.F) {
	for _, s := range []string{head + "0,ann,files,0.25\n12.5,bob,\"web\",2s\n", `{"time":0,"tenant":"ann","peer":"files","duration":0.25}`,
		head + "2026-01-31T09:30:00Z,ann,files,0.25\n", head + "9,a,b,1\n1,a,b,1e-3\n", "\x1f\x8b\x08", "\ufeff" + head} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		for line := range bytes.Lines(src) {
			agree(t, line)
		}
		calls, err := replay(text(string(src)), TraceConfig{Held: 8})
		if err == nil && len(calls) == 0 {
			t.Fatal("an empty trace is no error")
		}
		for i, c := range calls {
			if c.At < 0 || c.At > MaxSpan || c.Takes < 0 || c.Takes > MaxTakes || i > 0 && c.At < calls[i-1].At {
				t.Fatalf("call %d of %q is %+v", i, src, c)
			}
		}
	})
}

func BenchmarkTrace(b *testing.B) {
	for name, json := range map[string]bool{"csv": false, "jsonl": true} {
		b.Run(name, func(b *testing.B) {
			src, err := io.ReadAll(&lineMaker{lines: 100_000, json: json})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			lines := 0
			for b.Loop() {
				calls, err := replay(text(string(src)), TraceConfig{})
				if err != nil {
					b.Fatal(err)
				}
				lines += len(calls)
			}
			b.ReportMetric(float64(lines)/b.Elapsed().Seconds(), "lines/s")
		})
	}
}

// BenchmarkTenMillionLines reads that many and reports the largest live heap.
func BenchmarkTenMillionLines(b *testing.B) {
	for name, json := range map[string]bool{"csv": false, "jsonl": true} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				b.ReportMetric(float64(live(b, 10_000_000, json))/(1<<20), "MiB-live")
			}
		})
	}
}
