package coord

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/jobs"
	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/queue"
)

// The bounds of a coordinator.
const (
	DefaultWindow = 2048
	MaxWindow     = queue.MaxPending / 2
	// ahead is how many results are fetched at a time.
	ahead = 16
	// DefaultLate is how long a result that was seen may be unknown to the servers before it counts as lost.
	DefaultLate = 15 * time.Second
	// reoffer is how often jobs that are not done are offered again, in case the queue lost them. It is longer
	// than the engine remembers message ids.
	reoffer = 150 * time.Second
)

// ErrQuarantine is that a job of the campaign was given up.
var ErrQuarantine = errors.New("a job was given up")

// ErrCancelled is that somebody cancelled the campaign.
var ErrCancelled = errors.New("the campaign was cancelled")

// Config says what to lead, and where to.
type Config struct {
	Queue  *queue.Queue
	Spec   queue.Spec
	State  queue.State
	Plan   jobs.Plan
	Dir    string
	Window int    // jobs that are queued ahead; 0 means DefaultWindow
	Name   string // of this coordinator, for people

	// Report is how often progress is kept; 0 means a second.
	Report time.Duration
	Late   time.Duration                    // 0 means DefaultLate
	Log    func(format string, args ...any) // nil means nobody
	// Progress is told now and then, by one goroutine at a time; nil means nobody.
	Progress func(queue.Progress)
}

// coordinator is one at work.
type coordinator struct {
	cfg Config

	mu       sync.Mutex
	arrived  bits
	count    uint64                   // that arrived
	waiters  map[uint64]chan struct{} // closed when the job arrived or was isolated
	isolated map[uint64]queue.Quarantine
	lost     map[uint64]int // how often a result that had arrived was not there
	missing  bool           // one was found lost that the feeder does not know of
	base     uint64         // jobs that are in the directory
	epoch    uint64
	state    string
	ready    bool // all results that were there at the beginning are known
	began    bool // base is known
	wake     chan struct{}
	now      jobs.Progress
	rate     rate
}

// Run leads a campaign to its end. When the context ends before, the outcome has less done than there is; when
// somebody cancels the campaign, the error is ErrCancelled too.
func Run(ctx context.Context, cfg Config) (*jobs.Outcome, error) {
	if cfg.Window == 0 {
		cfg.Window = DefaultWindow
	}
	if cfg.Report == 0 {
		cfg.Report = time.Second
	}
	if cfg.Late == 0 {
		cfg.Late = DefaultLate
	}
	if cfg.Log == nil {
		cfg.Log = func(string, ...any) {}
	}
	if cfg.Progress == nil {
		cfg.Progress = func(queue.Progress) {}
	}
	c := &coordinator{cfg: cfg, arrived: newBits(cfg.Spec.Jobs), waiters: map[uint64]chan struct{}{}, isolated: map[uint64]queue.Quarantine{}, lost: map[uint64]int{},
		epoch: cfg.State.Epoch, state: cfg.State.State, wake: make(chan struct{}, 1)}
	return c.run(ctx)
}

func (c *coordinator) run(ctx context.Context) (*jobs.Outcome, error) {
	work, cancel := context.WithCancelCause(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel(nil)
	helper := func(f func(context.Context) error) {
		all.Go(func() {
			if err := f(work); err != nil && work.Err() == nil {
				cancel(err)
			}
		})
	}
	q, id := c.cfg.Queue, c.cfg.Spec.ID
	helper(func(ctx context.Context) error { return q.Arrivals(ctx, id, c.arrive, c.caughtUp) })
	helper(func(ctx context.Context) error {
		return q.Follow(ctx, id, func(s queue.State) { c.told(s, cancel) }, c.isolate)
	})
	helper(c.feed)
	reported := make(chan struct{})
	all.Go(func() { defer close(reported); c.report(work) })
	out, err := c.cfg.Plan.Assemble(work, jobs.Assembly{Dir: c.cfg.Dir, Build: c.cfg.Spec.Build, Fetch: c.fetch, Ahead: ahead, Progress: c.progress, Share: q.Share(id)})
	cause := context.Cause(work)
	cancel(nil)
	<-reported
	if cause != nil && ctx.Err() == nil { // one of the helpers failed
		return out, cause
	}
	if err != nil {
		return out, err
	}
	return out, c.last(ctx, out)
}

// last leaves behind in the queue what the campaign came to, also when its time is over, but then not for long.
func (c *coordinator) last(ctx context.Context, out *jobs.Outcome) error {
	const bound = 30 * time.Second
	end, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(bound, cancel) })
	defer stop()
	err := c.tell(end)
	if err == nil {
		err = c.keepFindings(end)
	}
	if err == nil && out.Done >= out.All {
		err = c.cfg.Queue.Finish(end, c.cfg.Spec.ID)
	}
	if end.Err() != nil {
		err = fmt.Errorf("the servers did not take within %v after the end what the campaign came to; what is in %s stays, and the same command again goes on there: %w", bound, c.cfg.Dir, end.Err())
	}
	return err
}

// arrive takes up that a result is there.
func (c *coordinator) arrive(n uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n >= c.cfg.Spec.Jobs || !c.arrived.set(n) {
		return
	}
	c.count++
	c.release(n)
}

// release lets go who waits for a job.
func (c *coordinator) release(n uint64) {
	if w := c.waiters[n]; w != nil {
		close(w)
		delete(c.waiters, n)
	}
}

func (c *coordinator) caughtUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ready = true
	c.nudge()
}

// nudge wakes the feeder.
func (c *coordinator) nudge() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// told takes up what somebody tells the campaign to do.
func (c *coordinator) told(s queue.State, cancel context.CancelCauseFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.Epoch < c.epoch {
		return // of before this coordinator came
	}
	c.state = s.State
	if s.Epoch > c.epoch {
		c.epoch = s.Epoch
		clear(c.isolated)
		c.nudge()
	}
	if s.State == queue.Cancelled {
		cancel(fmt.Errorf("%w: what it came to until then stays; \"mayfly-fleet run\" with the same flags starts it again", ErrCancelled))
	}
}

func (c *coordinator) isolate(x queue.Quarantine) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cfg.Log("%v", x.String())
	c.isolated[x.Index] = x
	c.release(x.Index)
}

// progress takes up how far the directory is.
func (c *coordinator) progress(p jobs.Progress) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now, c.base, c.began = p, p.Jobs, true
	c.nudge()
}

// fetch waits for a result.
func (c *coordinator) fetch(ctx context.Context, n uint64) ([]byte, error) {
	for {
		c.mu.Lock()
		there := c.arrived.has(n)
		x, gone := c.isolated[n]
		w := c.waiters[n]
		if w == nil && !there && !gone {
			w = make(chan struct{})
			c.waiters[n] = w
		}
		c.mu.Unlock()
		switch {
		case there:
			text, err := c.result(ctx, n)
			if errors.Is(err, queue.ErrMissing) {
				c.lose(n)
				continue
			}
			return text, err
		case gone:
			return nil, fmt.Errorf("%w: %s; its whole log is the finding quarantine/%d.log; results of the jobs before it are in %s: mend it, or see what the machine lacked, then \"mayfly-fleet resume %s\" and start again",
				ErrQuarantine, x.String(), n, c.cfg.Dir, c.cfg.Spec.ID)
		}
		select {
		case <-w:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// result gets a result that has arrived. A server that has just become the leader may not know it yet.
func (c *coordinator) result(ctx context.Context, n uint64) ([]byte, error) {
	wait := 10 * time.Millisecond
	for began := time.Now(); ; wait *= 2 {
		text, err := c.cfg.Queue.Result(ctx, c.cfg.Spec.ID, n)
		if !errors.Is(err, queue.ErrMissing) || time.Since(began) > c.cfg.Late {
			return text, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// lose takes back that a result has arrived, and lets the job be queued again: the servers lost it.
func (c *coordinator) lose(n uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cfg.Log("the result of job %d was there and is lost: the job runs again", n)
	c.arrived.clear(n)
	c.count--
	c.lost[n]++
	c.missing = true
	c.nudge()
}
