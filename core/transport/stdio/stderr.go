package stdio

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mayfly-mcp/mayfly/core/transport"
)

// tail keeps the last bytes that a peer wrote to stderr, so that a failure can quote them, and
// counts the others.
type tail struct {
	all *atomic.Int64 // what all tails of a dialer have dropped

	mu      sync.Mutex
	ring    []byte
	next    int   // where the next byte goes
	dropped int64 // bytes that are not in the ring any more
	filled  int   // bytes of the ring that were written
}

// newTail returns a tail of size bytes that adds what it drops to all.
func newTail(size int, all *atomic.Int64) *tail { return &tail{all: all, ring: make([]byte, size)} }

// Write implements io.Writer. It never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	written := len(p)
	lost := max(0, t.filled+written-len(t.ring))
	t.dropped += int64(lost)
	t.all.Add(int64(lost))
	t.filled += written - lost
	p = p[max(0, written-len(t.ring)):]
	for len(p) > 0 {
		n := copy(t.ring[t.next:], p)
		p = p[n:]
		t.next = (t.next + n) % len(t.ring)
	}
	return written, nil
}

// text returns what is kept, with secrets hidden, and how many bytes before it are not. When
// there are any it begins at a line, if there is one.
func (t *tail) text(secrets transport.Secrets) (kept string, dropped int64) {
	t.mu.Lock()
	kept, dropped = string(t.ring[:t.next]), t.dropped
	if t.filled == len(t.ring) {
		kept = string(t.ring[t.next:]) + kept
	}
	t.mu.Unlock()
	if dropped == 0 {
		return clean(secrets.Mask(kept)), 0
	}
	kept = secrets.MaskCut(kept)
	if _, rest, ok := strings.Cut(kept, "\n"); ok && strings.TrimSpace(rest) != "" {
		kept = rest
	}
	return clean(kept), dropped
}

// quote is what an error says of stderr, "" when nothing is to be said.
func (t *tail) quote(secrets transport.Secrets) string {
	switch text, dropped := t.text(secrets); {
	case dropped > 0:
		return fmt.Sprintf("; stderr, after %d bytes that were not kept: %s", dropped, text)
	case text != "":
		return "; stderr: " + text
	}
	return ""
}

// clean makes a text of unknown origin fit for a message.
func clean(text string) string {
	return strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD"))
}

// keep drains r into the tail for ever. A peer whose stderr nobody reads blocks after
// 64 KiB, and every call to it times out.
func (t *tail) keep(r *drain) {
	_, _ = io.CopyBuffer(struct{ io.Writer }{t}, struct{ io.Reader }{r}, make([]byte, readChunk))
	r.finish()
}
