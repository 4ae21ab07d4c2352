package stdio

import (
	"io"
	"strings"
	"sync"

	"github.com/mayfly-mcp/mayfly/core/transport"
)

// tail keeps the last bytes that a peer wrote to stderr, so that a failure can quote them.
type tail struct {
	mu   sync.Mutex
	ring []byte
	next int  // where the next byte goes
	full bool // the ring has wrapped: its oldest bytes are lost
}

// newTail returns a tail of size bytes.
func newTail(size int) *tail { return &tail{ring: make([]byte, size)} }

// Write implements io.Writer. It never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := len(p)
	if len(t.ring) == 0 {
		return all, nil
	}
	if len(p) > len(t.ring) {
		p = p[len(p)-len(t.ring):]
		t.full = true
	}
	for len(p) > 0 {
		n := copy(t.ring[t.next:], p)
		p = p[n:]
		t.next += n
		if t.next == len(t.ring) {
			t.next, t.full = 0, true
		}
	}
	return all, nil
}

// text returns what is kept, with secrets hidden. When older bytes are lost it begins at
// a line, if there is one.
func (t *tail) text(secrets transport.Secrets) string {
	t.mu.Lock()
	kept := string(t.ring[:t.next])
	if t.full {
		kept = string(t.ring[t.next:]) + kept
	}
	full := t.full
	t.mu.Unlock()
	if !full {
		return clean(secrets.Mask(kept))
	}
	kept = secrets.MaskCut(kept)
	if _, rest, ok := strings.Cut(kept, "\n"); ok && strings.TrimSpace(rest) != "" {
		kept = rest
	}
	return clean(kept)
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
