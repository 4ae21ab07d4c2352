package coord

import (
	"context"

	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/jobs"
	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/queue"
)

// Collect makes a directory of the results of a campaign that are there. Where one is missing that comes
// next in order the error is queue.ErrMissing, and the directory holds what comes before.
func Collect(ctx context.Context, q *queue.Queue, spec queue.Spec, plan jobs.Plan, dir string) (*jobs.Outcome, error) {
	return plan.Assemble(ctx, jobs.Assembly{Dir: dir, Build: spec.Build, Ahead: ahead, Progress: func(jobs.Progress) {},
		Fetch: func(ctx context.Context, n uint64) ([]byte, error) { return q.Result(ctx, spec.ID, n) }})
}
