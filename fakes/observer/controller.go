package observer

import (
	"context"
)

// Config is the one argument of Listen.
type Config struct {
	// Dir is where the socket is made. It must exist, and be short: the path of a unix
	// socket has at most 107 bytes.
	Dir string
	// TokenVar names the environment variable a peer reports as its credential. Empty means TOKEN.
	TokenVar string
}

// Controller steers peers and records what they report.
type Controller struct {
	cfg Config
}

// Listen makes the socket and accepts peers until Close.
func Listen(cfg Config) (*Controller, error) { panic("skeleton") }

// Args are the arguments with which the mayfly binary becomes a peer of this controller:
// "peer", "-side", socket and so on, then extra flags.
func (c *Controller) Args(name string, extra ...string) []string { panic("skeleton") }

// Tag is the random word that every process of this run carries in its command line.
func (c *Controller) Tag() string { panic("skeleton") }

// Set replaces the behaviour of the next incarnations of a name. It panics on a behaviour
// that Validate refuses, since that is a bug of the test.
func (c *Controller) Set(name string, b Behaviour) { panic("skeleton") }

// Apply replaces the behaviour of the next incarnations and of the live ones.
func (c *Controller) Apply(name string, b Behaviour) { panic("skeleton") }

// SetTools swaps the tool list of the next incarnations and of the live ones, which send
// notifications/tools/list_changed.
func (c *Controller) SetTools(name string, tools []Tool) { panic("skeleton") }

// Hold makes every later arrival at the point wait, in live and next incarnations, and
// restarts the count of WaitReached.
func (c *Controller) Hold(name string, p Point) { panic("skeleton") }

// Release lets go what is held at the point, and ends the hold for later incarnations.
func (c *Controller) Release(name string, p Point) { panic("skeleton") }

// WaitReached waits for the first arrival at a point since its last Hold (or Set that
// holds it) and returns the report.
func (c *Controller) WaitReached(ctx context.Context, name string, p Point) (Report, error) {
	panic("skeleton")
}

// Reached counts the arrivals at a point since its last Hold.
func (c *Controller) Reached(name string, p Point) int { panic("skeleton") }

// Wait returns the first journal entry after position from that matches, waiting for it
// if need be.
func (c *Controller) Wait(ctx context.Context, from int, match func(Report) bool) (Report, error) {
	panic("skeleton")
}

// Journal returns everything recorded so far, in order.
func (c *Controller) Journal() []Report { panic("skeleton") }

// Dropped counts the reports that a full journal could not keep.
func (c *Controller) Dropped() int { panic("skeleton") }

// Spawns counts the incarnations of a name.
func (c *Controller) Spawns(name string) int { panic("skeleton") }

// Calls returns the tools/call requests that peers of a name received; every name if empty.
func (c *Controller) Calls(name string) []ToolCall { panic("skeleton") }

// Live counts the incarnations of a name whose process is alive now, by /proc.
func (c *Controller) Live(name string) int { panic("skeleton") }

// Processes returns the processes of a name that are alive now, grandchildren included;
// of every name if empty.
func (c *Controller) Processes(name string) []Process { panic("skeleton") }

// WaitGone waits until no process of a name is alive, grandchildren included.
func (c *Controller) WaitGone(ctx context.Context, name string) error { panic("skeleton") }

// Kill sends SIGKILL to the live incarnations of a name, not to grandchildren or groups,
// and returns how many there were.
func (c *Controller) Kill(name string) int { panic("skeleton") }

// Orphans lists the processes that are alive now and either reported or carry the run tag
// in their command line, which finds launchers too.
func (c *Controller) Orphans() []Process { panic("skeleton") }

// Close kills what Orphans finds, by identity and with groups that a peer leads, stops
// listening, and returns what had to be killed. A second Close returns nil.
func (c *Controller) Close() []Process { panic("skeleton") }
