package traffic

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// columns are the names of a trace's fields, in the order of errors.
var columns = []string{"time", "tenant", "peer", "duration"}

// csvLines reads CSV. The header names the columns, in any order.
type csvLines struct {
	csv *csv.Reader
	at  [4]int // column of each field
	buf []byte
}

func newCSVLines(in io.Reader) (*csvLines, error) {
	l := &csvLines{csv: csv.NewReader(&lineGuard{in: in, line: 1})}
	l.csv.ReuseRecord = true
	head, err := l.csv.Read()
	if err == io.EOF {
		return nil, errors.New("it is empty: there is no call in it")
	}
	if err != nil {
		return nil, csvError(err)
	}
	line, _ := l.csv.FieldPos(0)
	for i := range l.at {
		l.at[i] = -1
	}
	for i, name := range head {
		k := slices.Index(columns, strings.TrimSpace(name))
		if k < 0 {
			return nil, fmt.Errorf("line %d: unknown column %s%s: the header has the columns %s", line,
				shown([]byte(name)), Near(name, columns), strings.Join(columns, ", "))
		}
		if l.at[k] >= 0 {
			return nil, fmt.Errorf("line %d: the column %s is there twice", line, columns[k])
		}
		l.at[k] = i
	}
	for k, i := range l.at {
		if i < 0 {
			return nil, fmt.Errorf("line %d: the column %s is missing: the header has the columns %s", line, columns[k], strings.Join(columns, ", "))
		}
	}
	return l, nil
}

func (l *csvLines) read(f *fields) (int, error) {
	rec, err := l.csv.Read()
	if err != nil {
		return 0, csvError(err)
	}
	line, _ := l.csv.FieldPos(0)
	// One copy of the record turns its strings into bytes that names and numbers are read from.
	l.buf = l.buf[:0]
	var end [4]int
	for k, i := range l.at {
		l.buf = append(l.buf, strings.TrimSpace(rec[i])...)
		end[k] = len(l.buf)
	}
	f.time, f.tenant = l.buf[:end[0]], l.buf[end[0]:end[1]]
	f.peer, f.duration = l.buf[end[1]:end[2]], l.buf[end[2]:end[3]]
	return line, nil
}

// csvError says at which line a record is broken.
func csvError(err error) error {
	p, ok := errors.AsType[*csv.ParseError](err)
	switch {
	case !ok:
		return err
	case errors.Is(p.Err, csv.ErrFieldCount):
		return fmt.Errorf("line %d: it has another number of fields than the header", p.Line)
	}
	return fmt.Errorf("line %d: column %d: %w", p.Line, p.Column, p.Err)
}

// lineGuard passes bytes on, and refuses lines that a reader of CSV would hold without bound:
// those too long, and quotes that are not closed on their line.
type lineGuard struct {
	in     io.Reader
	line   int // the number of the line that comes
	length int // of what came of it
	quotes int // in it
	err    error
}

func (g *lineGuard) Read(p []byte) (int, error) {
	if g.err == nil {
		return g.pass(p)
	}
	if err := g.judge(); g.err == io.EOF && err != nil {
		g.err = err
	}
	return 0, g.err
}

// pass reads on, up to the end of the last line that may pass. An error waits until what came
// before it was read.
func (g *lineGuard) pass(p []byte) (n int, err error) {
	n, g.err = g.in.Read(p)
	for from := 0; from < n; {
		rest := p[from:n]
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			g.count(rest)
			if g.length > MaxLine {
				g.err = g.judge()
				return from, nil
			}
			break
		}
		g.count(rest[:i])
		if err := g.judge(); err != nil {
			g.err = err
			return from, nil
		}
		from += i + 1
		g.line, g.length, g.quotes = g.line+1, 0, 0
	}
	if g.err != nil && g.err != io.EOF {
		g.err = fmt.Errorf("line %d: %w", g.line, g.err)
	}
	return n, nil
}

func (g *lineGuard) count(b []byte) {
	g.length += len(b)
	g.quotes += bytes.Count(b, []byte{'"'})
}

func (g *lineGuard) judge() error {
	switch {
	case g.length > MaxLine:
		return fmt.Errorf("line %d: it is longer than %d bytes", g.line, MaxLine)
	case g.quotes%2 != 0:
		return fmt.Errorf("line %d: a quote is not closed on its line", g.line)
	}
	return nil
}
