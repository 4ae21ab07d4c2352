package conformance

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
)

// Bounds of what is kept of a daemon's words.
const (
	maxLog     = 1 << 20        // bytes, half of them the first and half of them the last
	maxLogLine = 64 << 10       // bytes of a line; what is longer comes in pieces
	lineCost   = 24             // bytes that a line takes beside its text
	logGap     = "… (%d lines)" // in place of what was not kept
)

// tail keeps what a daemon says on stderr: if it says too much, the beginning and the end of it.
type tail struct {
	mu      sync.Mutex
	head    lines
	back    lines
	dropped int // in between
	waits   map[string]chan struct{}
}

// lines are some lines and the room that they take.
type lines struct {
	text []string
	size int
}

func (l *lines) add(line string) {
	l.text = append(l.text, line)
	l.size += len(line) + lineCost
}

// shift takes the first line away.
func (l *lines) shift() {
	l.size -= len(l.text[0]) + lineCost
	l.text = l.text[1:]
}

func (t *tail) follow(r io.Reader) {
	in := bufio.NewReaderSize(r, maxLogLine)
	for {
		line, err := in.ReadSlice('\n')
		if len(line) > 0 {
			t.add(strings.TrimSuffix(string(line), "\n"))
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

func (t *tail) add(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.back.text) == 0 && t.dropped == 0 && t.head.size+len(line)+lineCost <= maxLog/2 {
		t.head.add(line)
	} else {
		for t.back.add(line); t.back.size > maxLog/2; t.dropped++ {
			t.back.shift()
		}
	}
	for text, ch := range t.waits {
		if strings.Contains(line, text) {
			close(ch)
			delete(t.waits, text)
		}
	}
}

// kept are the lines that were kept, and where some were not a word about it.
func (t *tail) kept() []string {
	if t.dropped == 0 {
		return slices.Concat(t.head.text, t.back.text)
	}
	return slices.Concat(t.head.text, []string{fmt.Sprintf(logGap, t.dropped)}, t.back.text)
}

// wait returns a channel that is closed when a line contains the text.
func (t *tail) wait(text string) <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	ch := make(chan struct{})
	for _, l := range t.kept() {
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
	return strings.Join(t.kept(), "\n")
}

// end is the end of it, n lines at most.
func (t *tail) end(n int) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := t.kept()
	return slices.Clone(kept[max(0, len(kept)-n):])
}

// maxSaid is how much of a line is quoted, in bytes.
const maxSaid = 240

// last is the end of it on one line that can be shown.
func (t *tail) last(n int) string {
	said := t.end(n)
	for i, line := range said {
		if len(line) > maxSaid {
			line = line[:maxSaid] + "…"
		}
		said[i] = clipped(line)
	}
	return strings.Join(said, " | ")
}
