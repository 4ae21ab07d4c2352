package worker

import (
	"context"
	"time"

	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/queue"
)

// aheadBound is how long a job is held that was taken while another one runs. Where jobs take half as long the way to
// the queue and back counts, and where they take longer somebody else may have time for it.
const aheadBound = time.Second

// taken is what came of looking for a job: none, if job is nil.
type taken struct {
	p   *planned
	job *queue.Job
	err error
}

// take waits some time for a job of the campaign whose turn it is.
func (w *Worker) take(ctx context.Context) taken {
	p, of, changed := w.next()
	if p == nil {
		select {
		case <-changed:
		case <-ctx.Done():
		}
		return taken{}
	}
	job, err := w.cfg.Queue.Take(ctx, p.id, takeWait/time.Duration(of))
	return taken{p, job, err}
}

// ahead looks for the job after the one that runs. Whoever calls it has to take what comes.
func (w *Worker) ahead(ctx context.Context) <-chan taken {
	out := make(chan taken)
	go func() { w.hold(ctx, w.take(ctx), out) }()
	return out
}

// hold says that a job is under way until its turn comes, or gives it back.
func (w *Worker) hold(ctx context.Context, t taken, out chan<- taken) {
	if t.job == nil {
		out <- t
		return
	}
	beat := time.NewTicker(max(t.job.AckWait/3, time.Millisecond))
	defer beat.Stop()
	bound := time.NewTimer(w.cfg.ahead)
	defer bound.Stop()
	for {
		select {
		case out <- t:
			return
		case <-beat.C:
			_ = t.job.Beat() // if the server does not hear it the job runs twice, which is no harm
		case <-bound.C:
			out <- taken{err: w.handBack(ctx, t.job)}
			return
		}
	}
}
