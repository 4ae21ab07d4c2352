package observer

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"
)

// tellTimeout bounds a write to a peer. Peers read all the time, so one that does not is
// stopped; its connection is given up rather than the controller held.
const tellTimeout = 2 * time.Second

// proc is a process that reported.
type proc struct {
	Process
	conn net.Conn // nil once the connection ended
}

// fromPeer are the kinds that a process may send after its first report.
var fromPeer = []Kind{Reached, Received, Sent, Signal, StdinEOF, Forked, Exiting}

func (c *Controller) accept() {
	for {
		conn, err := c.ln.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // the peer gave up, or descriptors are short for a moment
		}
		c.mu.Lock()
		full := len(c.conns) >= maxPeers
		if !full {
			c.conns[conn] = true
		}
		c.mu.Unlock()
		if full {
			_ = conn.Close()
			continue
		}
		c.serving.Go(func() { c.serve(conn) })
	}
}

// serve takes the reports of one process. Whatever is no report ends the connection.
func (c *Controller) serve(conn net.Conn) {
	defer func() {
		_ = conn.Close()
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.conns, conn)
	}()
	in := bufio.NewScanner(conn)
	in.Buffer(make([]byte, 0, 4096), maxLine)
	_ = conn.SetReadDeadline(time.Now().Add(sideTimeout)) // fails only on a closed connection, which the read finds
	if !in.Scan() {
		c.garbage(Report{}, fmt.Sprintf("no first report: %v", in.Err()))
		return
	}
	p, err := c.greet(conn, in.Bytes())
	if err != nil {
		c.garbage(Report{}, err.Error())
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	for in.Scan() {
		if err := c.take(p, in.Bytes()); err != nil {
			c.garbage(p.sign(Report{}), err.Error())
			break
		}
	}
	if errors.Is(in.Err(), bufio.ErrTooLong) {
		c.garbage(p.sign(Report{}), fmt.Sprintf("a line over %d bytes", maxLine))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p.conn = nil
	c.record(p.sign(Report{Kind: Ended, Time: Now()}))
}

// greet registers a process and sends it its behaviour.
func (c *Controller) greet(conn net.Conn, line []byte) (*proc, error) {
	var h hello
	if err := json.Unmarshal(line, &h); err != nil {
		return nil, fmt.Errorf("first line is not a report: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.refusal(h); err != nil {
		c.tell(conn, order{Refuse: err.Error()})
		return nil, err
	}
	s := c.script(h.Name)
	info := h.Spawn
	p := &proc{conn: conn, Process: Process{
		Name: h.Name, PID: info.PID, PGID: info.PGID, StartTime: info.StartTime, Grandchild: info.Grandchild, Exec: info.Exec,
	}}
	if info.Grandchild {
		p.Inc = c.incOf(info.Parent)
	} else {
		s.spawns++
		p.Inc = s.spawns
	}
	c.procs = append(c.procs, p)
	c.record(p.sign(h.Report))
	b := s.behaviour
	c.tell(conn, order{Behaviour: &b})
	return p, nil
}

// refusal says why a first report is not one of ours.
func (c *Controller) refusal(h hello) error {
	switch {
	case c.closed:
		return errors.New("the controller is closed")
	case h.Tag != c.tag:
		return errors.New("the tag is of another run")
	case h.Name == "":
		return errors.New("the name is empty")
	case h.Kind != Spawned || h.Spawn == nil || h.Spawn.PID <= 0:
		return errors.New("the first report is not a spawn")
	}
	return nil
}

// incOf is the incarnation behind a pid, the newest one; 0 if it never reported.
func (c *Controller) incOf(pid int) int {
	for _, p := range slices.Backward(c.procs) {
		if p.PID == pid {
			return p.Inc
		}
	}
	return 0
}

// take records a report and acknowledges it.
func (c *Controller) take(p *proc, line []byte) error {
	var r Report
	if err := json.Unmarshal(line, &r); err != nil {
		return fmt.Errorf("not a report: %w", err)
	}
	if !slices.Contains(fromPeer, r.Kind) {
		return fmt.Errorf("a report of kind %q", r.Kind)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.record(p.sign(r))
	c.tell(p.conn, order{Ack: 1})
	return nil
}

// sign makes a report p's, whatever it said itself.
func (p *proc) sign(r Report) Report {
	r.Name, r.Inc, r.PID = p.Name, p.Inc, p.PID
	return r
}

func (c *Controller) garbage(r Report, why string) {
	r.Kind, r.Time, r.Text = Garbage, Now(), why
	c.mu.Lock()
	defer c.mu.Unlock()
	c.record(r)
}

// tell sends an order; c.mu is held. A failure ends the connection, which its reader sees.
func (c *Controller) tell(conn net.Conn, o order) {
	_ = conn.SetWriteDeadline(time.Now().Add(tellTimeout)) // as for the write itself
	if writeLine(conn, o) != nil {
		_ = conn.Close()
	}
}
