package observer

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// peer is the running server. Every message is handled by its own goroutine, so that one
// held call does not hold the next; run returns when something says how the process ends.
type peer struct {
	opt     options
	side    *side
	token   string
	stderr  io.Writer
	signals <-chan os.Signal
	over    chan int // exit status; the first one counts

	out struct {
		sync.Mutex
		io.Writer
	}

	mu        sync.Mutex
	behaviour Behaviour
	gates     map[Point]chan struct{}
	arrivals  []int // per rule of behaviour, how often it was met
	pings     int

	cancels  map[string]chan struct{} // open requests; closed by their notifications/cancelled
	stopRead chan struct{}
	answers  sync.WaitGroup // requests that will be answered without anybody's help
}

// catchSignals is called before the controller hears of the process, so that a peer which
// has reported cannot die of a signal that it was told to ignore.
func catchSignals() <-chan os.Signal {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	signal.Ignore(syscall.SIGPIPE) // a closed output is an error of the write, not a death
	return signals
}

func newPeer(o options, s *side, b *Behaviour, signals <-chan os.Signal, stdout, stderr io.Writer) *peer {
	p := &peer{
		opt: o, side: s, signals: signals, token: os.Getenv(o.tokenVar), stderr: stderr, over: make(chan int, 1),
		gates: map[Point]chan struct{}{}, cancels: map[string]chan struct{}{}, stopRead: make(chan struct{}),
	}
	p.out.Writer = stdout
	p.adopt(*b)
	return p
}

// run lives the whole life and returns the exit status.
func (p *peer) run(ctx context.Context, stdin io.Reader) int {
	var lost chan struct{}
	if p.side != nil {
		lost = p.side.lost
		go p.side.listen(p.obey)
	}
	go p.watchSignals()
	if p.opt.parent == 0 {
		go func() {
			p.reach(Spawn)
			p.read(stdin)
		}()
	}
	status := ExitOK
	select {
	case status = <-p.over:
	case <-lost:
		status = ExitLost
		fmt.Fprintf(p.stderr, "mayfly peer %s: the controller is gone\n", p.opt.name)
	case <-ctx.Done():
		status = ExitTerminated
	case <-time.After(p.opt.maxLife):
		status = ExitExpired
		fmt.Fprintf(p.stderr, "mayfly peer %s: ended after -max-life %v\n", p.opt.name, p.opt.maxLife)
	}
	p.side.report(Report{Kind: Exiting, Code: status})
	return status
}

// end asks for the exit. The first status counts.
func (p *peer) end(status int) {
	select {
	case p.over <- status:
	default:
	}
}

func (p *peer) watchSignals() {
	for sig := range p.signals {
		p.side.report(Report{Kind: Signal, Text: sig.String()})
		p.mu.Lock()
		ignored := p.behaviour.IgnoreTerm || p.opt.ignoreTerm
		p.mu.Unlock()
		if ignored {
			continue
		}
		go func() {
			p.reach(Term)
			p.end(ExitTerminated)
		}()
	}
}

// adopt puts a behaviour in force: its holds replace those of the old one, which lets go
// whatever the new one does not hold.
func (p *peer) adopt(b Behaviour) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.behaviour = b
	p.arrivals = make([]int, len(b.Rules))
	held := map[Point]bool{}
	for _, at := range b.Hold {
		held[at] = true
		p.hold(at)
	}
	for _, at := range points {
		if !held[at] {
			p.release(at)
		}
	}
}

func (p *peer) hold(at Point) {
	if p.gates[at] == nil {
		p.gates[at] = make(chan struct{})
	}
}

func (p *peer) release(at Point) {
	if g := p.gates[at]; g != nil {
		close(g)
		delete(p.gates, at)
	}
}

// obey carries out an order of the controller.
func (p *peer) obey(o order) {
	if o.Behaviour != nil {
		p.adopt(*o.Behaviour)
	}
	p.mu.Lock()
	if o.Hold != "" {
		p.hold(o.Hold)
	}
	if o.Release != "" {
		p.release(o.Release)
	}
	if o.SetTools {
		p.behaviour.Tools = o.Tools
	}
	p.mu.Unlock()
	if o.SetTools && p.opt.parent == 0 {
		go p.notify("notifications/tools/list_changed", nil)
	}
}

// arrival is what a point has in store for one arrival.
type arrival struct {
	gate  chan struct{}
	rules []Rule // taken already when there is no gate
}

// reach passes a point that is not a request's.
func (p *peer) reach(at Point) { p.pass(at, p.arrive(at, nil), nil) }

// arrive reports an arrival and looks for a gate. The reader calls it for requests, so that
// arrivals have the order of the wire and "the first time" means the first message. The rules
// are those of the moment at which the controller recorded the arrival. What a
// gate holds meets the rules that are in force when it is let go.
func (p *peer) arrive(at Point, req *request) arrival {
	r := Report{Kind: Reached, Point: at}
	if req != nil {
		r.Method, r.ID = req.Method, req.ID
	}
	var a arrival
	p.side.reportThen(r, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if a.gate = p.gates[at]; a.gate == nil {
			a.rules = p.inForce(at, req.tool())
		}
	})
	return a
}

// pass waits for the gate, misbehaves as told and returns the rules about the answer.
func (p *peer) pass(at Point, a arrival, req *request) []Rule {
	if a.gate != nil {
		req.unsure()
		<-a.gate
		p.mu.Lock()
		a.rules = p.inForce(at, req.tool())
		p.mu.Unlock()
	}
	var aboutAnswer []Rule
	for _, r := range a.rules {
		if !p.perform(r, req) {
			aboutAnswer = append(aboutAnswer, r)
		}
	}
	return aboutAnswer
}
