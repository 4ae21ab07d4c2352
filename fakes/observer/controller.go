package observer

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Config is the one argument of Listen.
type Config struct {
	// Dir is where the socket is made. It must exist, and be short: the path of a unix
	// socket has at most 107 bytes.
	Dir string
	// TokenVar names the environment variable a peer reports as its credential. Empty means TOKEN.
	TokenVar string
}

// Bounds of a controller.
const (
	maxSocketPath = 107     // sun_path has 108 bytes with its NUL
	maxJournal    = 1 << 18 // reports kept; later ones are counted by Dropped
	maxPeers      = 1 << 13 // processes connected at one time; later ones are refused
)

// Controller steers peers and records what they report.
type Controller struct {
	tokenVar string
	tag      string
	path     string
	ln       net.Listener
	serving  sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	journal []Report
	dropped int
	changed chan struct{} // closed and replaced when anything is recorded
	names   map[string]*script
	procs   []*proc // every process that ever reported, in order
	conns   map[net.Conn]bool
}

// script is what the controller keeps about one server name.
type script struct {
	behaviour Behaviour
	spawns    int
	reached   map[Point]int    // since the last hold
	last      map[Point]Report // the first arrival since the last hold
}

// Listen makes the socket and accepts peers until Close.
func Listen(cfg Config) (*Controller, error) {
	if cfg.TokenVar == "" {
		cfg.TokenVar = "TOKEN"
	}
	tag := strings.ToLower(rand.Text())
	path := filepath.Join(cfg.Dir, "o-"+tag[:8])
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("observer: socket path %q has %d bytes and a unix socket allows %d: use a shorter Config.Dir", path, len(path), maxSocketPath)
	}
	ln, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("observer: cannot listen in %q: %w", cfg.Dir, err)
	}
	c := &Controller{
		tokenVar: cfg.TokenVar, tag: tag, path: path, ln: ln,
		changed: make(chan struct{}), names: map[string]*script{}, conns: map[net.Conn]bool{},
	}
	c.serving.Go(c.accept)
	return c, nil
}

// Args are the arguments with which the mayfly binary becomes a peer of this controller:
// "peer", "-side", socket and so on, then extra flags.
func (c *Controller) Args(name string, extra ...string) []string {
	return append([]string{"peer", "-side", c.path, "-tag", c.tag, "-token-env", c.tokenVar, "-name", name}, extra...)
}

// ExecArgs are the arguments with which the mayfly binary reports a spawn and then becomes a
// real server: the command, looked up in PATH, and its arguments. Nothing steers it.
func (c *Controller) ExecArgs(name string, command []string) []string {
	return append(c.Args(name, "-exec"), command...)
}

// Tag is the random word that every process of this run carries in its command line.
func (c *Controller) Tag() string { return c.tag }

// Set replaces the behaviour of the next incarnations of a name, and restarts the count of
// every point that it holds. It panics on a behaviour that Validate refuses, since that is
// a bug of the test.
func (c *Controller) Set(name string, b Behaviour) { c.set(name, b, false) }

// Apply replaces the behaviour of the next incarnations and of the live ones. In a live one
// it is in force for every message that arrives afterwards.
func (c *Controller) Apply(name string, b Behaviour) { c.set(name, b, true) }

func (c *Controller) set(name string, b Behaviour, live bool) {
	if err := b.Validate(); err != nil {
		panic(err.Error())
	}
	b.Tools, b.Hold, b.Rules = slices.Clone(b.Tools), slices.Clone(b.Hold), slices.Clone(b.Rules)
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.script(name)
	s.behaviour = b
	for _, p := range b.Hold {
		s.reached[p] = 0
	}
	if live {
		c.command(name, order{Behaviour: &b})
	}
}

// SetTools swaps the tool list of the next incarnations and of the live ones, which send
// notifications/tools/list_changed. Nil means the default tools, an empty list none.
func (c *Controller) SetTools(name string, tools []Tool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.script(name).behaviour.Tools = slices.Clone(tools)
	c.command(name, order{SetTools: true, Tools: tools})
}

// Hold makes every later arrival at the point wait, in live and next incarnations, and
// restarts the count of WaitReached.
func (c *Controller) Hold(name string, p Point) {
	if err := (Behaviour{Hold: []Point{p}}).Validate(); err != nil {
		panic(err.Error())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.script(name)
	s.reached[p] = 0
	if !slices.Contains(s.behaviour.Hold, p) {
		s.behaviour.Hold = append(slices.Clone(s.behaviour.Hold), p)
	}
	c.command(name, order{Hold: p})
}

// Release lets go what is held at the point, and ends the hold for later incarnations.
func (c *Controller) Release(name string, p Point) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.script(name)
	s.behaviour.Hold = slices.DeleteFunc(slices.Clone(s.behaviour.Hold), func(h Point) bool { return h == p })
	c.command(name, order{Release: p})
}

// WaitReached waits for the first arrival at a point since its last Hold (or Set that
// holds it) and returns the report.
func (c *Controller) WaitReached(ctx context.Context, name string, p Point) (Report, error) {
	return c.wait(ctx, fmt.Sprintf("%s to reach %s", name, p), func() (Report, bool) {
		s := c.script(name)
		return s.last[p], s.reached[p] > 0
	})
}

// WaitCount waits for n arrivals at a point since its last Hold.
func (c *Controller) WaitCount(ctx context.Context, name string, p Point, n int) error {
	_, err := c.wait(ctx, fmt.Sprintf("%s to reach %s %d times", name, p, n), func() (Report, bool) {
		return Report{}, c.script(name).reached[p] >= n
	})
	return err
}

// Reached counts the arrivals at a point since its last Hold.
func (c *Controller) Reached(name string, p Point) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.script(name).reached[p]
}

// Spawns counts the incarnations of a name.
func (c *Controller) Spawns(name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.script(name).spawns
}

// Close kills what Orphans finds, by identity and with groups that a peer leads, stops
// listening, and returns what had to be killed. A second Close returns nil.
func (c *Controller) Close() []Process {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil
	}
	c.closed = true // from here on a new peer is refused, and ends by itself
	c.mu.Unlock()
	killed := c.killAll()
	_ = c.ln.Close()
	_ = os.Remove(c.path) // the listener has usually done it
	c.mu.Lock()
	for conn := range c.conns { // in any order: all of them go
		_ = conn.Close()
	}
	c.mu.Unlock()
	c.serving.Wait()
	return killed
}

// script returns what is kept about a name; c.mu is held.
func (c *Controller) script(name string) *script {
	s := c.names[name]
	if s == nil {
		s = &script{reached: map[Point]int{}, last: map[Point]Report{}}
		c.names[name] = s
	}
	return s
}

// command sends an order to the connected peers of a name; c.mu is held, so that orders and
// acknowledgements have one order for every peer.
func (c *Controller) command(name string, o order) {
	for _, p := range c.procs {
		if p.Name == name && !p.Grandchild && p.conn != nil {
			c.tell(p.conn, o)
		}
	}
}
