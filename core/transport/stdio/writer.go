package stdio

import (
	"context"
	"errors"
	"os"
	"sync"
)

// errStdinClosed is what a write gets after the first rung of the stop ladder.
var errStdinClosed = errors.New("write to MCP stdin: the peer is being stopped")

// writer owns the stdin of a peer. A write to a pipe that nobody reads ignores contexts,
// so it happens in a goroutine of its own and callers wait beside it. Frames are handed
// over one at a time in order of arrival; those of callers who left are never written.
type writer struct {
	file   *os.File
	frames chan frame // unbuffered: handing over is the moment from which the outcome is unknown
	done   <-chan struct{}
	once   sync.Once
	shut   chan struct{}     // closed with stdin
	fail   func(error) error // turns a write error into what the caller is told
}

// frame is one line to write.
type frame struct {
	data    []byte
	written chan error // capacity 1
}

// run writes frames until the session is done.
func (w *writer) run() {
	for {
		select {
		case f := <-w.frames:
			_, err := w.file.Write(f.data)
			if err != nil {
				err = w.fail(err)
			}
			f.written <- err
		case <-w.done:
			return
		}
	}
}

// write hands data over and waits until it is in the pipe. handed is called when data may
// have reached the peer. Without that, nothing of it ever will.
func (w *writer) write(ctx context.Context, data []byte, handed func(), stop <-chan struct{}) error {
	f := frame{data: data, written: make(chan error, 1)}
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-w.shut:
		return errStdinClosed
	default:
	}
	select {
	case w.frames <- f:
		handed()
	case <-ctx.Done():
		return ctx.Err()
	case <-stop:
		return errStdinClosed
	case <-w.shut:
		return errStdinClosed
	}
	select {
	case err := <-f.written:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-stop:
		return errStdinClosed
	}
}

// close closes stdin, also under a write that blocks. It does not wait.
func (w *writer) close() {
	w.once.Do(func() {
		close(w.shut)
		_ = w.file.Close()
	})
}
