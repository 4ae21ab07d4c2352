package adapt

import (
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// keepers is a lifecycle that decides about each server by itself.
type keepers struct {
	host Host
	keep func(*Peer) Keeper
	all  []kept // by Server; empty at 0
}

type kept struct {
	*Peer
	by Keeper
}

// Claim implements Lifecycle.
func (k *keepers) Claim(s Server, _ Claim) {
	for int(s) >= len(k.all) {
		p := &Peer{State: lifecycle.Disconnected, id: Server(len(k.all)), host: k.host}
		k.all = append(k.all, kept{p, k.keep(p)})
	}
	k.all[s].Claims++
}

// Release implements Lifecycle.
func (k *keepers) Release(s Server, _ Claim) {
	if x := k.all[s]; x.Claims > 1 {
		x.Claims--
	} else {
		x.Claims, x.Waiting = 0, nil // the host has answered them
		x.by.Released()
	}
}

// Call implements Lifecycle.
func (k *keepers) Call(s Server, c Call) { k.all[s].by.Call(c) }

// Ended implements Lifecycle.
func (k *keepers) Ended(s Server, _ Call, lost bool) {
	x := k.all[s]
	x.InFlight--
	x.Used = x.Now()
	x.by.Ended(lost)
}

// Connected implements Lifecycle. It may be late, or a copy.
func (k *keepers) Connected(s Server, r Run) {
	if x := k.all[s]; x.trying(r) && x.State == lifecycle.Connecting {
		x.by.Connected()
	}
}

// Failed implements Lifecycle. So may it.
func (k *keepers) Failed(s Server, r Run) {
	if x := k.all[s]; x.trying(r) {
		x.by.Failed()
	}
}

// Exited implements Lifecycle.
func (k *keepers) Exited(s Server, r Run) {
	x := k.all[s]
	x.Running = false
	k.Failed(s, r)
	x.by.Exited()
}

// Reconnect implements Reconnecter, for keepers that know it.
func (k *keepers) Reconnect(s Server) { k.all[s].by.(interface{ Reconnect() }).Reconnect() }

// State implements Lifecycle.
func (k *keepers) State(s Server) lifecycle.State { return k.all[s].State }

// Next implements Lifecycle.
func (k *keepers) Next() time.Duration {
	at := Never
	for _, x := range k.all[1:] {
		at = min(at, x.by.Next())
	}
	return at
}

// Tick implements Lifecycle.
func (k *keepers) Tick() {
	for _, x := range k.all[1:] {
		if x.by.Next() <= k.host.Now() {
			x.by.Tick()
		}
	}
}
