package node

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// Relay stands between two ends of TCP connections, and is cut and mended. What is sent while it is cut arrives when
// it is mended, as after a cable was out.
type Relay struct {
	to   string
	l    net.Listener
	drop func(subject string) bool
	lost atomic.Int64

	mu    sync.Mutex
	open  chan struct{} // closed while it is whole
	ended chan struct{}
	all   sync.WaitGroup
}

// NewRelay stands before an address. What a client publishes to a subject that drop names is lost, unnoticed; a nil
// drop loses nothing, and then the connections may speak anything.
func NewRelay(to string, drop func(subject string) bool) (*Relay, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("a relay to %s cannot listen: %w", to, err)
	}
	r := &Relay{to: to, l: l, drop: drop, open: make(chan struct{}), ended: make(chan struct{})}
	close(r.open)
	r.all.Go(r.accept)
	return r, nil
}

// Addr is HOST:PORT of it.
func (r *Relay) Addr() string { return r.l.Addr().String() }

// Lost is how many messages were dropped.
func (r *Relay) Lost() int { return int(r.lost.Load()) }

// Cut lets nothing through from now on.
func (r *Relay) Cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open = make(chan struct{})
}

// Mend lets all through again, what was kept first.
func (r *Relay) Mend() {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-r.open:
	default:
		close(r.open)
	}
}

// Close ends it and all its connections.
func (r *Relay) Close() {
	close(r.ended)
	_ = r.l.Close() // nothing was written to it
	r.all.Wait()
}

// whole waits until the relay is not cut, and says whether it goes on at all.
func (r *Relay) whole() bool {
	r.mu.Lock()
	open := r.open
	r.mu.Unlock()
	select {
	case <-open:
		return true
	case <-r.ended:
		return false
	}
}

func (r *Relay) accept() {
	for {
		near, err := r.l.Accept()
		if err != nil {
			return
		}
		r.all.Go(func() { r.connect(near) })
	}
}

// connect serves one connection until one of its ends closes it.
func (r *Relay) connect(near net.Conn) {
	defer near.Close()
	if !r.whole() {
		return
	}
	far, err := net.Dial("tcp", r.to)
	if err != nil {
		return // the other end sees that it is closed
	}
	defer far.Close()
	over := make(chan struct{}, 2)
	pump := func(to io.Writer, from io.Reader, copy func(io.Writer, io.Reader) error) {
		_ = copy(to, from) // either end has gone
		over <- struct{}{}
	}
	forth := r.copy
	if r.drop != nil {
		forth = r.filter
	}
	r.all.Go(func() { pump(far, near, forth) })
	r.all.Go(func() { pump(near, far, r.copy) })
	select {
	case <-over:
	case <-r.ended:
	}
}

func (r *Relay) copy(to io.Writer, from io.Reader) error {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return err
		}
		if !r.whole() {
			return io.ErrClosedPipe
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return err
		}
	}
}

// filter copies what a client of NATS says, without the messages to drop.
func (r *Relay) filter(to io.Writer, from io.Reader) error {
	in := bufio.NewReader(from)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return err
		}
		subject, size := published(line)
		payload := make([]byte, size)
		if _, err := io.ReadFull(in, payload); err != nil {
			return err
		}
		if subject != "" && r.drop(subject) {
			r.lost.Add(1)
			continue
		}
		if !r.whole() {
			return io.ErrClosedPipe
		}
		if _, err := to.Write(append([]byte(line), payload...)); err != nil {
			return err
		}
	}
}

// published reads a line of the protocol: the subject of a message, if it begins one, and how many bytes follow.
func published(line string) (subject string, size int) {
	words := strings.Fields(line)
	if len(words) < 3 || words[0] != "PUB" && words[0] != "HPUB" {
		return "", 0
	}
	const most = 64 << 20 // more than a server takes
	n, err := strconv.Atoi(words[len(words)-1])
	if err != nil || n < 0 || n > most {
		return "", 0
	}
	return words[1], n + len("\r\n")
}
