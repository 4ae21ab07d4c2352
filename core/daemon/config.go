package daemon

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/mayfly-mcp/mayfly/core/transport"
)

const (
	// DefaultTCPAddr is where the protocol's clients look for a daemon on TCP.
	DefaultTCPAddr = "127.0.0.1:6688"

	// TCPOff as Config.TCPAddr opens the unix socket alone.
	TCPOff = "off"

	// DefaultMCPAddr is where clients of MCP look for a daemon.
	DefaultMCPAddr = "127.0.0.1:6689"

	// MCPOff as Config.MCPAddr serves no clients of MCP.
	MCPOff = "off"
)

// Config is what a Daemon is opened with. Home is required; the zero value of every other
// field has the documented meaning.
type Config struct {
	// Home is the directory of everything that belongs to this daemon. It is made when it
	// does not exist. One daemon at a time may use it.
	Home string
	// Logger gets what an operator should know. It is never given a secret. nil discards.
	Logger *slog.Logger
	// Dialer starts peers. nil means real processes and real HTTP.
	Dialer transport.Dialer
	// OwnProcess says that the process is the daemon's: it becomes the parent of the orphans
	// of its peers and waits for every child, so that nobody else in it may use os/exec.
	OwnProcess bool
	// Clock is the clock of peers, retries and durations. nil means real time.
	Clock clockwork.Clock
	// TCPAddr is a loopback address, or TCPOff. Empty means DefaultTCPAddr and, when that
	// is taken, a port that the system chooses.
	TCPAddr string
	// MCPAddr is a loopback address at which clients of MCP are served, or MCPOff. Empty means
	// DefaultMCPAddr and, when that is taken, a port that the system chooses.
	MCPAddr string
	// Version is what Stats report. Empty means "devel".
	Version string
	// FrameTimeout bounds the transfer of one frame: a client that stops reading for that
	// long loses its connection. 0 means wire.DefaultFrameTimeout.
	FrameTimeout time.Duration

	// body is how long a request of MCP may take to come, with its body; complete sets it.
	body time.Duration
	// dropped counts what the real dialer did not keep of stderr; complete sets it.
	dropped func() int64
}

// Validate reports every problem at once. It looks at the Config alone, not at the disk.
func (c Config) Validate() error {
	var errs []error
	if c.Home == "" {
		errs = append(errs, errors.New("no home directory is given; choose one that this daemon alone uses"))
	}
	if err := checkTCPAddr("TCP", c.TCPAddr); err != nil {
		errs = append(errs, err)
	}
	if err := checkTCPAddr("MCP", c.MCPAddr); err != nil {
		errs = append(errs, err)
	}
	if c.FrameTimeout < 0 {
		errs = append(errs, fmt.Errorf("FrameTimeout is %v; use 0 for the default or more", c.FrameTimeout))
	}
	return errors.Join(errs...)
}

// complete fills the defaults in.
func (c Config) complete() (Config, error) {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Clock == nil {
		c.Clock = clockwork.NewRealClock()
	}
	c.dropped = func() int64 { return 0 }
	if c.Dialer == nil {
		real, processes := realDialer(c.Version, layout(c.Home).peers)
		c.Dialer, c.dropped = real, processes.StderrDropped
	}
	if c.Version == "" {
		c.Version = "devel"
	}
	c.body = cmp.Or(c.body, gatewayBody)
	return c, c.Validate()
}

// checkTCPAddr refuses what strangers could reach: the protocol has no authentication, and
// tokens would cross the network in the clear.
func checkTCPAddr(what, addr string) error {
	if addr == "" || addr == TCPOff {
		return nil
	}
	if err := checkLoopback(addr); err != nil {
		return fmt.Errorf("%s %w, or %q", what, err, TCPOff)
	}
	return nil
}

// checkLoopback refuses addresses that other machines could reach.
func checkLoopback(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("address %q: %w; give host:port, such as %s", addr, err, DefaultTCPAddr)
	}
	if host == "localhost" {
		return nil
	}
	ip, err := netip.ParseAddr(host)
	if err != nil || !ip.IsLoopback() {
		return fmt.Errorf("address %q is not a loopback address, and nothing here asks who is there; "+
			"use 127.0.0.1:PORT", addr)
	}
	return nil
}
