package adapt_test

import (
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/sim/adapt"
)

// keeper is somebody's lifecycle: whoever calls first starts a server, what was unused for T is
// stopped, what failed is left alone for as long. A careless one has a bug.
type keeper struct {
	host     adapt.Host
	idle     time.Duration // T
	retry    time.Duration
	careless bool
	servers  []*entry // by number
}

type entry struct {
	state    lifecycle.State
	run      adapt.Run
	running  bool // until its exit was seen
	claims   int
	busy     int
	waiting  []adapt.Call
	deadline time.Duration // of an idle or a failed server
}

func newKeeper(h adapt.Host, cfg lifecycle.Config) *keeper {
	k := &keeper{host: h, idle: cfg.IdleTimeout, retry: cfg.FailedRetry, servers: []*entry{nil}}
	if k.retry == 0 {
		k.retry = k.idle
	}
	return k
}

func (k *keeper) Claim(s adapt.Server, _ adapt.Claim) {
	for int(s) >= len(k.servers) {
		k.servers = append(k.servers, &entry{state: lifecycle.Disconnected, deadline: adapt.Never})
	}
	k.servers[s].claims++
}

func (k *keeper) Release(s adapt.Server, _ adapt.Claim) {
	e := k.servers[s]
	if e.claims--; e.claims == 0 {
		k.stop(e)
	}
}

func (k *keeper) Call(s adapt.Server, c adapt.Call) {
	switch e := k.servers[s]; e.state {
	case lifecycle.Failed:
		k.host.Refuse(c)
	case lifecycle.Connected:
		k.admit(e, c)
	default:
		e.waiting = append(e.waiting, c)
		k.start(s, e)
	}
}

func (k *keeper) Ended(s adapt.Server, _ adapt.Call, lost bool) {
	e := k.servers[s]
	if e.busy--; e.state == lifecycle.Connected {
		k.unused(e)
		if lost {
			k.fail(e)
		}
	}
}

func (k *keeper) Connected(s adapt.Server, r adapt.Run) {
	e := k.servers[s]
	if r != e.run || e.state != lifecycle.Connecting {
		return
	}
	e.state = lifecycle.Connected
	k.unused(e)
	for _, c := range e.waiting {
		k.admit(e, c)
	}
	e.waiting = nil
}

func (k *keeper) Failed(s adapt.Server, r adapt.Run) {
	if e := k.servers[s]; r == e.run && (e.state == lifecycle.Connecting || e.state == lifecycle.Connected) {
		k.fail(e)
	}
}

func (k *keeper) Exited(s adapt.Server, r adapt.Run) {
	k.Failed(s, r)
	e := k.servers[s]
	if e.running = false; len(e.waiting) > 0 {
		k.start(s, e)
	}
}

func (k *keeper) Tick() {
	for _, e := range k.servers[1:] {
		if e.deadline <= k.host.Now() {
			k.stop(e)
		}
	}
}

func (k *keeper) Next() time.Duration {
	at := adapt.Never
	for _, e := range k.servers[1:] {
		at = min(at, e.deadline)
	}
	return at
}

func (k *keeper) State(s adapt.Server) lifecycle.State { return k.servers[s].state }

func (k *keeper) start(s adapt.Server, e *entry) {
	if !e.running {
		e.run, e.running, e.state = k.host.Start(s), true, lifecycle.Connecting
	}
}

func (k *keeper) admit(e *entry, c adapt.Call) {
	if k.host.Admit(c, e.run) {
		e.busy++
		if !k.careless {
			e.deadline = adapt.Never
		}
	}
}

// unused starts the idle clock, if nothing is in flight.
func (k *keeper) unused(e *entry) {
	if e.busy == 0 && k.idle > 0 {
		e.deadline = k.host.Now() + k.idle
	}
}

func (k *keeper) fail(e *entry) {
	e.state, e.deadline = lifecycle.Failed, k.host.Now()+k.retry
	k.host.Stop(e.run)
	for _, c := range e.waiting {
		k.host.Refuse(c)
	}
	e.waiting = nil
}

func (k *keeper) stop(e *entry) {
	e.state, e.deadline = lifecycle.Disconnected, adapt.Never
	if e.waiting = nil; e.running {
		k.host.Stop(e.run)
	}
}
