package adapt_test

import (
	"cmp"
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/sim/adapt"
)

// keeper is somebody's lifecycle of a server: whoever calls first starts it, unused for T it is
// stopped, and when it has failed it is left alone for as long. A careless one has a bug.
type keeper struct {
	*adapt.Peer
	idle, retry time.Duration
	careless    bool
}

func newKeeper(p *adapt.Peer, cfg lifecycle.Config) *keeper {
	return &keeper{Peer: p, idle: cfg.IdleTimeout, retry: cmp.Or(cfg.FailedRetry, cfg.IdleTimeout)}
}

func (k *keeper) Call(c adapt.Call) {
	switch k.State {
	case lifecycle.Failed:
		k.Refuse(c)
	case lifecycle.Connected:
		k.Admit(c)
	default:
		k.Wait(c)
		if !k.Running {
			k.Start()
		}
	}
}

func (k *keeper) Ended(lost bool) {
	if lost && k.State == lifecycle.Connected {
		k.Failed()
	}
}

// Next looks at calls in flight, unless it is careless.
func (k *keeper) Next() time.Duration {
	switch {
	case k.State == lifecycle.Failed:
		return k.Since + k.retry
	case k.State == lifecycle.Connected && k.idle > 0 && (k.InFlight == 0 || k.careless):
		return k.Used + k.idle
	}
	return adapt.Never
}

// Tick ends what is unused, and what was a failure.
func (k *keeper) Tick() { k.Stop() }
