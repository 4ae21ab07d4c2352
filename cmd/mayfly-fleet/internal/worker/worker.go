package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/jobs"
	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/queue"
)

// The bounds of a worker.
const (
	MaxSlots = 1024
	// DefaultDeliveries is how often a job is handed out before it is taken for poison.
	DefaultDeliveries = 5
	// DefaultJobBound is how long a job may run.
	DefaultJobBound = 30 * time.Minute

	takeWait    = time.Second // for a job of any campaign, once around
	aliveEvery  = 2 * time.Second
	nakDelay    = 200 * time.Millisecond
	endPatience = 10 * time.Second // for handing back
)

// ErrOtherBuild is that all campaigns that run, or the one that was named, are of another build.
var ErrOtherBuild = errors.New("the campaign is of another build")

// ErrHung is that so many jobs never ended that the worker has no slots left.
var ErrHung = errors.New("jobs never ended")

// Config says what a worker does.
type Config struct {
	Queue      *queue.Queue
	Build      string
	ID         string // "" makes one up
	Slots      int    // jobs at a time; 0 means 1
	Campaign   string // the only one to look at; "" means all
	Deliveries int    // 0 means DefaultDeliveries
	JobBound   time.Duration
	Log        func(format string, args ...any) // nil means nobody

	ahead time.Duration // for tests; 0 means aheadBound

	// Parse makes a plan; nil means jobs.Parse. Tests plant what goes wrong.
	Parse func(kind string, args []string, files []jobs.File) (jobs.Plan, error)
}

// Worker does jobs.
type Worker struct {
	cfg  Config
	host string

	mu      sync.Mutex
	plans   map[string]*planned // of campaigns that run and are ours
	refused map[string]string   // build, by campaign
	ready   bool
	changed chan struct{} // closed and replaced when plans changed
	now     []string      // under way
	done    uint64
	seeds   uint64
	twice   uint64
	known   uint64
	lost    int
	turn    int
}

// planned is a campaign to take jobs of.
type planned struct {
	id   string
	kind string
	plan jobs.Plan
	stop context.CancelFunc // of what is under way
	ctx  context.Context
}

// New makes a worker, which does nothing yet.
func New(cfg Config) *Worker {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	if cfg.ID == "" {
		cfg.ID = fmt.Sprintf("%s-%d-%s", clean(host), os.Getpid(), suffix())
	}
	if cfg.Slots == 0 {
		cfg.Slots = 1
	}
	if cfg.Deliveries == 0 {
		cfg.Deliveries = DefaultDeliveries
	}
	if cfg.JobBound == 0 {
		cfg.JobBound = DefaultJobBound
	}
	if cfg.ahead == 0 {
		cfg.ahead = aheadBound
	}
	if cfg.Log == nil {
		cfg.Log = func(string, ...any) {}
	}
	if cfg.Parse == nil {
		cfg.Parse = jobs.Parse
	}
	return &Worker{cfg: cfg, host: host, plans: map[string]*planned{}, refused: map[string]string{}, changed: make(chan struct{})}
}

// ID is the worker's name.
func (w *Worker) ID() string { return w.cfg.ID }

// Now is what the worker says of itself, but for its rate.
func (w *Worker) Now() queue.Worker {
	w.mu.Lock()
	defer w.mu.Unlock()
	return queue.Worker{ID: w.cfg.ID, Host: w.host, PID: os.Getpid(), Build: w.cfg.Build, Slots: w.cfg.Slots,
		Current: slices.Clone(w.now), Jobs: w.done, Seeds: w.seeds, Lost: w.lost, Twice: w.twice, Known: w.known, Refuses: queue.Sorted(w.refused)}
}

// clean is a word as names in the engine may be.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '-'
	}, s)
}

// Run does jobs until the context ends, which is no error.
func (w *Worker) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel(nil)
	first := make(chan struct{})
	all.Go(func() {
		err := w.cfg.Queue.Watch(ctx, func(c queue.Change) { w.see(ctx, c) }, func() { w.setReady(); close(first) })
		cancel(err)
	})
	select {
	case <-first:
	case <-ctx.Done():
		return ended(ctx)
	}
	if err := w.refusal(ctx); err != nil {
		return err
	}
	all.Go(func() { w.breathe(ctx) })
	for range w.cfg.Slots {
		all.Go(func() { w.slot(ctx, cancel) })
	}
	<-ctx.Done()
	return ended(ctx)
}

// ended is why a context ended that nobody ended from outside.
func ended(ctx context.Context) error {
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

func (w *Worker) setReady() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ready = true
}

// see takes up what became of a campaign.
func (w *Worker) see(ctx context.Context, c queue.Change) {
	id := c.Spec.ID
	if w.cfg.Campaign != "" && id != w.cfg.Campaign {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	defer func() {
		close(w.changed)
		w.changed = make(chan struct{})
	}()
	if c.Removed || c.State.State != queue.Running {
		delete(w.refused, id)
		if p := w.plans[id]; p != nil {
			delete(w.plans, id)
			if c.Removed || c.State.State == queue.Cancelled {
				p.stop() // a pause lets what is under way end
			}
		}
		return
	}
	if w.plans[id] != nil {
		return
	}
	if c.Spec.Build != w.cfg.Build {
		if _, said := w.refused[id]; !said && w.ready {
			w.cfg.Log("%v", w.otherBuild(id, c.Spec.Build))
		}
		w.refused[id] = c.Spec.Build
		return
	}
	var files []jobs.File
	for _, f := range c.Spec.Files {
		files = append(files, jobs.File(f))
	}
	plan, err := w.cfg.Parse(c.Spec.Kind, c.Spec.Args, files)
	if err == nil && plan.Jobs() != c.Spec.Jobs {
		err = fmt.Errorf("it has %d jobs here", plan.Jobs())
	}
	if err != nil {
		w.cfg.Log("campaign %s is left alone: %v", id, err)
		return
	}
	p := &planned{id: id, kind: c.Spec.Kind, plan: plan}
	p.ctx, p.stop = context.WithCancel(ctx)
	w.plans[id] = p
}

func (w *Worker) otherBuild(id, build string) error {
	return fmt.Errorf("%w: campaign %s is of the build %s and this worker is %s, and a seed or tape means what the code means; no job of it was taken: run the same build on all machines, or start the campaign anew with this one", ErrOtherBuild, id, build, w.cfg.Build)
}

// refusal is the error of a worker that can do nothing of what there is.
func (w *Worker) refusal(ctx context.Context) error {
	w.mu.Lock()
	ours, refused := len(w.plans), w.refused
	w.mu.Unlock()
	if w.cfg.Campaign != "" {
		if _, err := w.cfg.Queue.Spec(ctx, w.cfg.Campaign); err != nil {
			return err
		}
	}
	if ours == 0 && len(refused) > 0 {
		id := queue.Sorted(refused)[0]
		return w.otherBuild(id, refused[id])
	}
	return nil
}

// next is the campaign whose turn it is, of how many, and what is closed when there are others.
func (w *Worker) next() (p *planned, of int, changed chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ids := queue.Sorted(w.plans)
	if len(ids) == 0 {
		return nil, 0, w.changed
	}
	w.turn++
	return w.plans[ids[w.turn%len(ids)]], len(ids), w.changed
}

// wanted says whether jobs of a campaign are still to be done.
func (w *Worker) wanted(p *planned) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return p.ctx.Err() == nil && w.plans[p.id] == p
}

// breathe says now and then that the worker lives.
func (w *Worker) breathe(ctx context.Context) {
	t := time.NewTicker(aliveEvery)
	defer t.Stop()
	last, seeds := time.Now(), uint64(0)
	rate := 0.0
	for {
		me := w.Now()
		if d := time.Since(last).Seconds(); d > 0.5 {
			rate, seeds, last = float64(me.Seeds-seeds)/d, me.Seeds, time.Now()
		}
		me.Rate = rate
		if err := w.cfg.Queue.Alive(ctx, me); err != nil && ctx.Err() == nil {
			w.cfg.Log("%v", err)
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			end, cancel := context.WithTimeout(context.WithoutCancel(ctx), endPatience)
			defer cancel()
			_ = w.cfg.Queue.Gone(end, w.cfg.ID) // it goes by itself after some time
			return
		}
	}
}
