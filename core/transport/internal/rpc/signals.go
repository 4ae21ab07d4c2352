package rpc

import "sync"

// notificationListChanged is how a peer says that its tool list has changed.
const notificationListChanged = "notifications/tools/list_changed"

// Signals is what a session tells its host besides the answers to calls. It implements two
// methods of [transport.Reporter]; sessions embed it.
type Signals struct {
	once    sync.Once
	heard   chan struct{}
	changed chan struct{}
}

// NewSignals returns signals that have told nothing yet.
func NewSignals() *Signals {
	return &Signals{heard: make(chan struct{}), changed: make(chan struct{}, 1)}
}

// Heard implements [transport.Reporter].
func (s *Signals) Heard() <-chan struct{} { return s.heard }

// Changed implements [transport.Reporter].
func (s *Signals) Changed() <-chan struct{} { return s.changed }

// Hear says that the peer has sent a valid message.
func (s *Signals) Hear() { s.once.Do(func() { close(s.heard) }) }

// Change says that the tool list may have changed. It never blocks: a peer that says so a
// million times costs one place in a channel (SPEC CA-10).
func (s *Signals) Change() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}
