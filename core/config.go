package core

import (
	"errors"
	"log/slog"
	"runtime"

	"github.com/jonboulle/clockwork"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/core/transport"
)

// Config is what a Host is opened with. Dialer is required; the zero value of every other
// field has the documented meaning.
type Config struct {
	// Dialer starts peers.
	Dialer transport.Dialer
	// Clock is the only clock of the host. nil means real time.
	Clock clockwork.Clock
	// Lifecycle holds the times and bounds. nil means lifecycle.DefaultConfig.
	Lifecycle *lifecycle.Config
	// Key keys the fingerprints, so that nothing derived from a secret leaves the process
	// in a form that can be guessed (SPEC ID-4, ID-5). Empty means a fresh random key.
	Key []byte
	// MaxSpawns is Lifecycle.MaxSpawning where that is 0: it bounds the processes being
	// created at one moment. 0 means four for each processor.
	MaxSpawns int
	// EventQueue bounds what one subscriber may lag behind before it gets a gap marker and a
	// fresh snapshot (SPEC EV-3). Four transitions of a peer that all claims of the host share
	// are always held. 0 means 1024.
	EventQueue int
	// Logger gets one record for each transition of a peer. nil means none.
	Logger *slog.Logger
	// Observer, if set, is told how long connects and calls took.
	Observer Observer
	// Recorder, if set, keeps every input and output of the machine for a replay.
	Recorder *Recorder
}

// complete fills the defaults in and reports every problem at once.
func (c Config) complete() (Config, error) {
	var errs []error
	if c.Dialer == nil {
		errs = append(errs, errors.New("core: Config.Dialer is nil; give a transport.Dialer"))
	}
	if c.Clock == nil {
		c.Clock = clockwork.NewRealClock()
	}
	if c.Lifecycle == nil {
		d := lifecycle.DefaultConfig()
		c.Lifecycle = &d
	}
	if err := c.Lifecycle.Validate(); err != nil {
		errs = append(errs, err)
	}
	if c.MaxSpawns < 0 || c.EventQueue < 0 {
		errs = append(errs, errors.New("core: MaxSpawns and EventQueue are 0 for the default or more"))
	}
	if c.MaxSpawns == 0 {
		c.MaxSpawns = 4 * runtime.GOMAXPROCS(0)
	}
	c.Lifecycle = c.bounded(*c.Lifecycle)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Observer == nil {
		c.Observer = nobody{}
	}
	if c.EventQueue == 0 {
		c.EventQueue = 1024
	}
	return c, errors.Join(errs...)
}

// bounded puts the bound on spawns into a lifecycle configuration that has none.
func (c Config) bounded(l lifecycle.Config) *lifecycle.Config {
	if l.MaxSpawning == 0 {
		l.MaxSpawning = c.MaxSpawns
	}
	return &l
}
