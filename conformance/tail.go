package conformance

import (
	"bufio"
	"io"
	"slices"
	"strings"
	"sync"
)

// tail keeps what a daemon says on stderr, the beginning of it if it says too much.
type tail struct {
	mu    sync.Mutex
	lines []string
	size  int
	waits map[string]chan struct{}
}

func (t *tail) follow(r io.Reader) {
	sc := bufio.NewReader(r)
	for {
		line, err := sc.ReadString('\n')
		if line != "" {
			t.add(strings.TrimSuffix(line, "\n"))
		}
		if err != nil {
			return
		}
	}
}

func (t *tail) add(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.size+len(line) <= maxLog {
		t.lines = append(t.lines, line)
		t.size += len(line)
	}
	for text, ch := range t.waits {
		if strings.Contains(line, text) {
			close(ch)
			delete(t.waits, text)
		}
	}
}

// wait returns a channel that is closed when a line contains the text.
func (t *tail) wait(text string) <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	ch := make(chan struct{})
	for _, l := range t.lines {
		if strings.Contains(l, text) {
			close(ch)
			return ch
		}
	}
	if t.waits == nil {
		t.waits = map[string]chan struct{}{}
	}
	t.waits[text] = ch
	return ch
}

// text is everything that was kept.
func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.lines, "\n")
}

// end is the end of it, n lines at most.
func (t *tail) end(n int) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.lines[max(0, len(t.lines)-n):])
}

// last is the end of it on one line.
func (t *tail) last(n int) string { return strings.Join(t.end(n), " | ") }
