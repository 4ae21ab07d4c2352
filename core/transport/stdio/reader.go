package stdio

import (
	"bufio"
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// readChunk is how much of a pipe is read at once.
const readChunk = 16 << 10

// errFrameTooLong is a line over the bound.
var errFrameTooLong = errors.New("frame too long")

// drain reads one output of a peer. Besides the end of the pipe it knows a second end: the
// moment when everything is read that the direct child wrote before it died. The two
// differ when a grandchild holds the pipe, and waiting for the first would hide the death.
type drain struct {
	file *os.File
	raw  syscall.RawConn
	last atomic.Bool // the child is dead: an empty pipe ends the story
	once sync.Once
	dry  chan struct{} // closed at either end
	eof  atomic.Bool   // the end was the end of the pipe
}

// newDrain returns a drain of the read end of a pipe.
func newDrain(file *os.File) (*drain, error) {
	raw, err := file.SyscallConn()
	return &drain{file: file, raw: raw, dry: make(chan struct{})}, err
}

// childDied makes the next empty read the end. It returns at once.
func (d *drain) childDied() {
	d.last.Store(true)
	_ = d.file.SetReadDeadline(time.Unix(1, 0)) // long past: wakes a blocked read, nothing else
}

// Read implements io.Reader. Whoever reads has dealt with everything from the read before
// when it calls again, so dry closes after the last byte was dealt with.
func (d *drain) Read(buf []byte) (int, error) {
	for {
		n, empty, err := d.readOnce(buf)
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			_ = d.file.SetReadDeadline(time.Time{})
		case empty:
			d.last.Store(false) // from here on reading only serves to keep writers going
			d.finish()
		case err != nil:
			d.finish()
			return 0, err
		case n == 0:
			d.eof.Store(true)
			return 0, io.EOF // the reader calls finish, after it has judged the end
		default:
			return n, nil
		}
	}
}

// finish closes dry.
func (d *drain) finish() { d.once.Do(func() { close(d.dry) }) }

// readOnce reads what there is. It waits for more unless the child is dead.
func (d *drain) readOnce(buf []byte) (n int, empty bool, err error) {
	var rerr error
	err = d.raw.Read(func(fd uintptr) bool {
		for {
			n, rerr = readFD(fd, buf)
			if rerr != syscall.EINTR {
				break
			}
		}
		if rerr != syscall.EAGAIN {
			return true
		}
		n, rerr, empty = 0, nil, d.last.Load()
		return empty
	})
	if err == nil {
		err = rerr
	}
	return max(n, 0), empty, err
}

// lines splits a stream into lines of bounded length.
type lines struct {
	in  *bufio.Reader
	max int
	buf []byte
}

// newLines returns the lines of r.
func newLines(r io.Reader, max int) *lines {
	return &lines{in: bufio.NewReaderSize(r, readChunk), max: max}
}

// next returns the next line without its end, valid until the call after. A last line that
// was not ended is returned like any other. Over the bound it returns errFrameTooLong, and
// the rest of the line must not be read as lines.
func (l *lines) next() ([]byte, error) {
	if cap(l.buf) > readChunk {
		l.buf = nil // one large reply must not stay in memory for the life of the peer
	}
	l.buf = l.buf[:0]
	for {
		part, err := l.in.ReadSlice('\n')
		if len(l.buf)+len(part) > l.max+1 { // the newline is not part of the frame
			return nil, errFrameTooLong
		}
		l.buf = append(l.buf, part...)
		switch {
		case err == nil:
			return l.buf[:len(l.buf)-1], nil
		case errors.Is(err, bufio.ErrBufferFull):
		case len(l.buf) > 0 && errors.Is(err, io.EOF):
			return l.buf, nil
		default:
			return nil, err
		}
	}
}
