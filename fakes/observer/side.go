package observer

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// The side protocol: JSON lines. A process sends reports; the controller acknowledges each
// one, and the first acknowledgement carries the behaviour. In between it sends orders.

// maxLine bounds a line of the side protocol, 4 MiB.
const maxLine = 4 << 20

// sideTimeout bounds the wait for the controller's socket and for an acknowledgement.
const sideTimeout = 20 * time.Second

// hello is the first line of a process.
type hello struct {
	Tag  string `json:"tag"`
	Name string `json:"name"`
	Report
}

// order is a line from the controller.
type order struct {
	Ack       int        `json:"ack,omitempty"` // the report that is out is recorded
	Behaviour *Behaviour `json:"behaviour,omitempty"`
	Release   Point      `json:"release,omitempty"`
	Hold      Point      `json:"hold,omitempty"`
	SetTools  bool       `json:"set_tools,omitempty"` // put Tools in force and tell the client
	Tools     []Tool     `json:"tools,omitzero"`
	Refuse    string     `json:"refuse,omitempty"`
}

var errRefused = errors.New("refused by the controller")

// side is a process's end of the socket. A nil side reports nothing.
type side struct {
	conn net.Conn
	in   *bufio.Scanner
	lost chan struct{} // closed when the controller is gone

	mu    sync.Mutex    // one report at a time: sent, then acknowledged
	acks  chan struct{} // from listen to the reporter that waits
	atAck chan func()   // what listen does before it hands over the next acknowledgement
}

// dialSide connects, says hello and returns the first behaviour.
func dialSide(path string, h hello) (*side, *Behaviour, error) {
	conn, err := net.DialTimeout("unix", path, sideTimeout)
	if err != nil {
		return nil, nil, fmt.Errorf("no controller at %s: %w", path, err)
	}
	s := &side{conn: conn, in: bufio.NewScanner(conn), lost: make(chan struct{}), acks: make(chan struct{}, 1), atAck: make(chan func(), 1)}
	s.in.Buffer(make([]byte, 0, 4096), maxLine)
	_ = conn.SetDeadline(time.Now().Add(sideTimeout)) // fails only on a closed connection, which the write finds
	first, err := s.greet(h)
	if err != nil {
		_ = conn.Close()
		return nil, nil, err
	}
	_ = conn.SetDeadline(time.Time{})
	if first.Behaviour == nil {
		first.Behaviour = &Behaviour{}
	}
	return s, first.Behaviour, nil
}

func (s *side) greet(h hello) (order, error) {
	var o order
	if err := writeLine(s.conn, h); err != nil {
		return o, fmt.Errorf("controller hung up: %w", err)
	}
	if !s.in.Scan() {
		return o, fmt.Errorf("controller hung up before it answered: %v", s.in.Err())
	}
	if err := json.Unmarshal(s.in.Bytes(), &o); err != nil {
		return o, fmt.Errorf("controller does not speak the side protocol: %w", err)
	}
	if o.Refuse != "" {
		return o, fmt.Errorf("%w: %s", errRefused, o.Refuse)
	}
	return o, nil
}

// listen hands on orders until the controller is gone, then closes lost.
func (s *side) listen(orders func(order)) {
	defer close(s.lost)
	for s.in.Scan() {
		var o order
		if json.Unmarshal(s.in.Bytes(), &o) != nil {
			return
		}
		if o.Ack == 0 {
			orders(o)
			continue
		}
		select {
		case then := <-s.atAck:
			then()
			s.acks <- struct{}{} // never blocks: one report is out at a time
		default:
			return // an acknowledgement of nothing: this is no controller
		}
	}
}

// report sends a report and returns when the controller has recorded it, or is gone.
func (s *side) report(r Report) { s.reportThen(r, func() {}) }

// reportThen runs then at the acknowledgement's place in the stream of orders: everything
// that the controller ordered before it recorded the report has been obeyed, and nothing
// that it ordered afterwards. So a hold made before the arrival holds, and a release
// followed by a new hold does not catch the one that was released.
func (s *side) reportThen(r Report, then func()) {
	if s == nil {
		then()
		return
	}
	if r.Time == 0 {
		r.Time = Now()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.lost:
		return
	case s.atAck <- then: // room for one, and one report at a time
	}
	if writeLine(s.conn, r) != nil {
		return // listen notices too and ends the process
	}
	select {
	case <-s.acks:
	case <-s.lost:
	case <-time.After(sideTimeout):
		_ = s.conn.Close() // a controller that hangs is as gone as a dead one
	}
}

// writeLine sends one JSON line in one write.
func writeLine(conn net.Conn, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("observer: %w", err)
	}
	_, err = conn.Write(append(data, '\n'))
	return err
}
