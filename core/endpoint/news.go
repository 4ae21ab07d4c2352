package endpoint

import (
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
)

// notice is what has changed.
type notice uint8

const (
	toolsChanged notice = 1 << iota
	resourcesChanged
)

// news gathers changes for a while and tells them once (SPEC OL-54). The first change begins
// the while, so that a stream of changes is told again and again, and not at its end.
type news struct {
	clock clockwork.Clock
	pause time.Duration
	send  func(notice)

	mu    sync.Mutex
	what  notice
	timer clockwork.Timer
	over  bool
}

func (n *news) tell(what notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.over {
		return
	}
	if n.what == 0 {
		n.timer = n.clock.AfterFunc(n.pause, n.flush)
	}
	n.what |= what
}

func (n *news) flush() {
	n.mu.Lock()
	what, over := n.what, n.over
	n.what = 0
	n.mu.Unlock()
	if what != 0 && !over {
		n.send(what)
	}
}

func (n *news) stop() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.over = true
	if n.timer != nil {
		n.timer.Stop()
	}
}
