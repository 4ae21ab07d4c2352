package adapt

import (
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// Keeper decides about one server, whatever becomes of the others. One that embeds its [Peer] has
// the usual answers to Connected, Failed, Exited and Released from it, and is left with four methods.
type Keeper interface {
	// Call asks to use the server: admit it, refuse it, or let it wait.
	Call(Call)
	// Ended is told of every call that was admitted. It is lost if no answer will come, which fails
	// a server that is Connected.
	Ended(lost bool)
	// Next is when Tick has something to do, Never if never.
	Next() time.Duration
	// Tick says that this time has come.
	Tick()

	// Connected says that the attempt under way has a session.
	Connected()
	// Failed says that the attempt under way, or the session that there was, is over.
	Failed()
	// Exited says that nothing of the newest run is left, after Failed if that was news.
	Exited()
	// Released says that the last claim is gone, and with it all who waited.
	Released()
}

// Each makes a lifecycle of keepers, one for each server. News of a run that is being stopped or
// that is over does not reach them.
func Each[K Keeper](keep func(*Peer, lifecycle.Config) K) func(Host, lifecycle.Config) Lifecycle {
	return func(h Host, cfg lifecycle.Config) Lifecycle {
		return &keepers{host: h, keep: func(p *Peer) Keeper { return keep(p, cfg) }, all: make([]kept, 1)}
	}
}

// Peer is a server to its keeper: what can be done with it, and the books of it. A keeper may
// change State, too; its methods keep it as most would.
type Peer struct {
	State    lifecycle.State
	Since    time.Duration // when a method last changed State
	Run      Run           // the newest
	Running  bool          // from Start until its exit was seen
	Claims   int
	InFlight int           // calls that were admitted and have not ended
	Used     time.Duration // when it connected, or a call was admitted or ended
	Waiting  []Call        // in the order in which they came

	id   Server
	host Host
}

// Now is the time since the host began.
func (p *Peer) Now() time.Duration { return p.host.Now() }

// Start begins an attempt. The last run must have exited.
func (p *Peer) Start() {
	p.Run, p.Running = p.host.Start(p.id), true
	p.become(lifecycle.Connecting)
}

// Stop ends what runs, if anything does, and leaves the server Disconnected.
func (p *Peer) Stop() {
	p.become(lifecycle.Disconnected)
	p.Halt()
}

// Halt ends what runs, and says nothing of the state.
func (p *Peer) Halt() {
	if p.Running {
		p.host.Stop(p.Run)
	}
}

// Wait keeps a call for later.
func (p *Peer) Wait(c Call) { p.Waiting = append(p.Waiting, c) }

// Admit lets a call run, if its caller is still there.
func (p *Peer) Admit(c Call) {
	if p.host.Admit(c, p.Run) {
		p.InFlight++
		p.Used = p.Now()
	}
}

// Refuse answers a call by the failure of the server.
func (p *Peer) Refuse(c Call) { p.host.Refuse(c) }

// Connected is that of most keepers: those who wait are admitted.
func (p *Peer) Connected() {
	p.become(lifecycle.Connected)
	p.Used = p.Now()
	for _, c := range p.takeWaiting() {
		p.Admit(c)
	}
}

// Failed is that of most keepers: what is left of the run is stopped, and those who wait are refused.
func (p *Peer) Failed() {
	p.become(lifecycle.Failed)
	p.Halt()
	for _, c := range p.takeWaiting() {
		p.Refuse(c)
	}
}

// Exited is that of most keepers: it starts again for those who wait.
func (p *Peer) Exited() {
	if len(p.Waiting) > 0 {
		p.Start()
	}
}

// Released is that of most keepers: it stops, and a failure is forgotten.
func (p *Peer) Released() { p.Stop() }

func (p *Peer) become(s lifecycle.State) { p.State, p.Since = s, p.Now() }

func (p *Peer) takeWaiting() []Call {
	all := p.Waiting
	p.Waiting = nil
	return all
}

// trying says that news of a run is news to its keeper.
func (p *Peer) trying(r Run) bool {
	return r == p.Run && (p.State == lifecycle.Connecting || p.State == lifecycle.Connected)
}
