package worker

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/jobs"
	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/queue"
)

// suffix tells workers of one process apart.
func suffix() string {
	var b [3]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}

// slot does one job after the other. What goes wrong with the engine for good ends the worker. A result is stored
// while the next job begins; there is one at a time of which that is not certain yet. Of short jobs the next one is
// taken while one runs, unless that one was handed out before: if it kills its workers it is to be alone.
func (w *Worker) slot(ctx context.Context, cancel context.CancelCauseFunc) {
	stored := make(chan error, 1)
	stored <- nil
	later := func(f func() error) error {
		err := <-stored
		go func() { stored <- f() }()
		return err
	}
	var next <-chan taken
	short := false
	for ctx.Err() == nil {
		t := w.following(ctx, next)
		next = nil
		if t.err == nil && t.job != nil {
			if short && t.job.Deliveries == 1 {
				next = w.ahead(ctx)
			}
			began := time.Now()
			t.err = w.do(ctx, t.p, t.job, later)
			short = time.Since(began) < w.cfg.ahead/2
		}
		if t.err != nil && ctx.Err() == nil {
			cancel(t.err)
		}
	}
	if next != nil {
		if t := <-next; t.job != nil {
			_ = w.handBack(ctx, t.job) // else it comes back by itself, later
		}
	}
	if err := <-stored; err != nil {
		cancel(err)
	}
}

// following is the job that was taken ahead, or one that is taken now.
func (w *Worker) following(ctx context.Context, next <-chan taken) taken {
	if next != nil {
		return <-next
	}
	return w.take(ctx)
}

// do does a job, or sees to it that somebody will.
func (w *Worker) do(ctx context.Context, p *planned, job *queue.Job, later func(func() error) error) error {
	if !w.wanted(p) { // paused or cancelled meanwhile, or the worker is to end
		return w.handBack(ctx, job)
	}
	if job.Deliveries > 1 {
		if settled, err := w.again(ctx, job); settled || err != nil {
			return err
		}
	}
	name := fmt.Sprintf("%s/%d", p.id, job.Index)
	w.begin(name)
	r := w.watch(p, job)
	w.end(name)
	if r.hung {
		return w.giveUp(ctx, job, r)
	}
	switch {
	case r.err == nil:
		return later(func() error { return w.keep(ctx, p, job, r.text) })
	case p.ctx.Err() != nil:
		return w.handBack(ctx, job)
	}
	w.cfg.Log("job %d of %s failed (delivery %d): %v", job.Index, job.Campaign, job.Deliveries, r.err)
	err := w.attempt(ctx, job, "failed", r.err.Error()+"\n"+r.log)
	_ = job.Again(nakDelay) // else it comes back by itself, later
	return err
}

// again looks at a job that was handed out before: it may be done, or poison.
func (w *Worker) again(ctx context.Context, job *queue.Job) (settled bool, err error) {
	if _, err := w.cfg.Queue.Result(ctx, job.Campaign, job.Index); err == nil {
		w.mu.Lock()
		w.known++
		w.mu.Unlock()
		return true, job.Done(ctx)
	} else if !errors.Is(err, queue.ErrMissing) {
		return false, err
	}
	all, err := w.cfg.Queue.Attempts(ctx, job.Campaign, job.Index)
	if err != nil {
		return false, err
	}
	innocent := 0
	for _, a := range all {
		if a.What == queue.HandedBack {
			innocent++
		}
	}
	if job.Deliveries-innocent <= w.cfg.Deliveries {
		return false, w.attempt(ctx, job, "began", "") // if this is the last that is heard of it, it is known who had it
	}
	if err := w.cfg.Queue.Isolate(ctx, job.Campaign, job.Index, job.Deliveries-innocent-1); err != nil {
		return false, err
	}
	w.cfg.Log("job %d of %s was handed out %d times and never done: it is put into quarantine", job.Index, job.Campaign, job.Deliveries-1)
	return true, job.Done(ctx)
}

func (w *Worker) attempt(ctx context.Context, job *queue.Job, what, log string) error {
	return w.cfg.Queue.Attempt(ctx, job.Campaign, job.Index, queue.Attempt{Worker: w.cfg.ID, Delivery: job.Deliveries, What: what, Log: log})
}

// keep stores the result of a job, and only then says that it is done.
func (w *Worker) keep(ctx context.Context, p *planned, job *queue.Job, text []byte) error {
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), queue.Patience) // what was worked for is not thrown away
	defer cancel()
	first, err := w.cfg.Queue.Store(end, job.Campaign, job.Index, text)
	if err == nil && !first {
		w.mu.Lock()
		w.twice++
		w.mu.Unlock()
	}
	if err == nil {
		err = job.Done(end)
	}
	if err == nil && first {
		w.mu.Lock()
		w.done++
		w.seeds += p.plan.Weight(job.Index)
		w.mu.Unlock()
	}
	return err
}

// handBack gives a job back that a worker which has to go did not do.
func (w *Worker) handBack(ctx context.Context, job *queue.Job) error {
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), endPatience)
	defer cancel()
	err := w.attempt(end, job, queue.HandedBack, "")
	_ = job.Again(0) // else it comes back by itself, later
	return err
}

// giveUp leaves a job behind that does not end. Nobody says any more that it is under way, so it comes to
// another worker.
func (w *Worker) giveUp(ctx context.Context, job *queue.Job, r ran) error {
	w.cfg.Log("job %d of %s has not ended after %v, and does not stop: it is left behind, and another worker will get it", job.Index, job.Campaign, w.cfg.JobBound)
	err := w.attempt(ctx, job, "hung", fmt.Sprintf("it did not end within %v\n%s", w.cfg.JobBound, r.log))
	w.mu.Lock()
	w.lost++
	lost := w.lost
	w.mu.Unlock()
	if err == nil && lost >= w.cfg.Slots {
		err = fmt.Errorf("%w: %d of them are left behind in this worker, as many as it has slots, so it ends; the last is job %d of %s", ErrHung, lost, job.Index, job.Campaign)
	}
	_ = job.Again(nakDelay) // else it comes back by itself, later
	return err
}

func (w *Worker) begin(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = append(w.now, name)
}

func (w *Worker) end(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if i := slices.Index(w.now, name); i >= 0 {
		w.now = slices.Delete(w.now, i, i+1)
	}
}

// ran is how a job ended.
type ran struct {
	text []byte
	log  string
	err  error
	hung bool
}

// watch runs a job, says that it is under way, and gives up when it takes too long.
func (w *Worker) watch(p *planned, job *queue.Job) ran {
	ctx, stop := context.WithCancel(p.ctx)
	defer stop()
	log := &logBook{}
	ended := make(chan ran, 1)
	go func() { ended <- w.run(ctx, p, job, log) }()
	beat := time.NewTicker(max(job.AckWait/3, time.Millisecond))
	defer beat.Stop()
	bound := time.NewTimer(w.cfg.JobBound)
	defer bound.Stop()
	for {
		select {
		case r := <-ended:
			return r
		case <-beat.C:
			_ = job.Beat() // if the server does not hear it the job runs twice, which is no harm
		case <-bound.C:
			stop()
			return w.lastChance(ended, log)
		}
	}
}

// lastChance waits a little for a job that was told to stop.
func (w *Worker) lastChance(ended <-chan ran, log *logBook) ran {
	t := time.NewTimer(min(w.cfg.JobBound, endPatience))
	defer t.Stop()
	select {
	case r := <-ended:
		if errors.Is(r.err, jobs.ErrStopped) {
			r.err = fmt.Errorf("it took longer than %v", w.cfg.JobBound)
		}
		return r
	case <-t.C:
		return ran{hung: true, log: log.String()}
	}
}

// run runs a job, and turns its panic into an error with the stack.
func (w *Worker) run(ctx context.Context, p *planned, job *queue.Job, log *logBook) (r ran) {
	defer func() {
		if x := recover(); x != nil {
			r = ran{err: fmt.Errorf("panic: %v", x), log: log.String() + string(debug.Stack())}
		}
	}()
	text, err := p.plan.Run(ctx, job.Index, jobs.Env{Log: log.add, Share: w.cfg.Queue.Share(p.id)})
	return ran{text: text, err: err, log: log.String()}
}

// logBook holds the end of what a job says.
type logBook struct {
	mu    sync.Mutex
	lines []string
	size  int
}

func (l *logBook) add(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := fmt.Sprintf(format, args...) + "\n"
	l.lines = append(l.lines, line[:min(len(line), queue.MaxLog)])
	for l.size += len(l.lines[len(l.lines)-1]); l.size > queue.MaxLog; l.lines = l.lines[1:] {
		l.size -= len(l.lines[0])
	}
}

// String is all of it.
func (l *logBook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "")
}
