package worker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/jobs"
	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/node"
	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/queue"
	"github.com/mayfly-mcp/mayfly/fakes/wait"
)

// TestTakenAhead: after a short job a worker has two, the one that runs and the next; when the first one takes longer than
// it is worth to wait for, the next one is given back, which is not held against it, and another worker does it.
func TestTakenAhead(t *testing.T) {
	t.Parallel()
	goOn := make(chan struct{})
	began := make(chan uint64, 8)
	r := newRig(t, time.Minute, &plan{3, func(_ context.Context, n uint64, _ jobs.Env) ([]byte, error) {
		began <- n
		if n == 1 {
			<-goOn
		}
		return fine(n)
	}})
	for n := range uint64(3) {
		if err := r.q.Offer(t.Context(), "x", n, r.st.Round()); err != nil {
			t.Fatal(err)
		}
	}
	r.worker(Config{ID: "first", ahead: 4 * time.Second})
	for want := range uint64(2) {
		if n := <-began; n != want {
			t.Fatalf("job %d began, want %d", n, want)
		}
	}
	wait.Until(t, "three deliveries", func() bool { n, err := r.q.Deliveries(t.Context(), "x"); return err == nil && n == 3 })
	wait.Until(t, "the job that is given back", func() bool {
		all, err := r.q.Attempts(t.Context(), "x", 2)
		return err == nil && len(all) == 1 && all[0].What == queue.HandedBack && all[0].Worker == "first"
	})
	r.worker(Config{ID: "second", Deliveries: 1})
	if n := <-began; n != 2 {
		t.Errorf("job %d began, want the one that was given back", n)
	}
	close(goOn)
	r.done()
}

// TestAlone: beside a job that was handed out before none is taken ahead.
func TestAlone(t *testing.T) {
	t.Parallel()
	goOn := make(chan struct{})
	var failed atomic.Bool
	began := make(chan uint64, 8)
	r := newRig(t, time.Minute, &plan{3, func(_ context.Context, n uint64, _ jobs.Env) ([]byte, error) {
		if n == 0 && failed.CompareAndSwap(false, true) {
			return nil, errors.New("not today")
		}
		began <- n
		if n == 0 {
			<-goOn
		}
		return fine(n)
	}})
	if err := r.q.Offer(t.Context(), "x", 0, r.st.Round()); err != nil {
		t.Fatal(err)
	}
	r.worker(Config{ahead: time.Minute})
	<-began
	if err := r.q.Offer(t.Context(), "x", 1, r.st.Round()); err != nil {
		t.Fatal(err)
	}
	job, err := r.q.Take(t.Context(), "x", wait.Bound)
	if err != nil || job == nil || job.Index != 1 || job.Deliveries != 1 {
		t.Fatalf("job %+v, %v; want the one that nobody took", job, err)
	}
	if err := job.Again(0); err != nil {
		t.Fatal(err)
	}
	close(goOn)
	r.done()
}

// TestDeaf: of a worker whose words on its jobs are lost a job comes to another one while it runs. Both have a result;
// the first one counts, the second one is refused, and neither worker ends for it.
func TestDeaf(t *testing.T) {
	t.Parallel()
	var deaf, twice atomic.Bool
	deaf.Store(true)
	var r *rig
	r = newRig(t, 300*time.Millisecond, &plan{4, func(ctx context.Context, n uint64, _ jobs.Env) ([]byte, error) {
		if n == 0 && twice.CompareAndSwap(false, true) {
			for { // until the other one is done with it
				_, err := r.q.Result(ctx, "x", 0)
				if !errors.Is(err, queue.ErrMissing) {
					deaf.Store(false)
					break
				}
			}
		}
		return fine(n)
	}})
	relay, err := node.NewRelay(strings.TrimPrefix(r.srv.URL, "nats://"), func(subject string) bool { return deaf.Load() && strings.HasPrefix(subject, "$JS.ACK.") })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(relay.Close)
	q, err := queue.Open(t.Context(), queue.Config{URL: "nats://" + relay.Addr(), Creds: r.srv.Creds})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	if err := r.q.Offer(t.Context(), "x", 0, r.st.Round()); err != nil {
		t.Fatal(err)
	}
	r.workerBy(q, Config{ID: "deaf"})
	wait.Until(t, "a job that runs", twice.Load)
	r.worker(Config{ID: "other"})
	r.done()
	var all [2]queue.Worker
	wait.Until(t, "the word of both", func() bool {
		ws, err := r.q.Workers(t.Context())
		if err != nil || len(ws) != len(all) {
			return false
		}
		copy(all[:], ws)
		return all[0].Jobs+all[1].Jobs == 4 && all[0].Twice == 1
	})
	if got := fmt.Sprint(all[0].ID, all[0].Twice, all[1].ID, all[1].Twice); got != "deaf1other0" || relay.Lost() == 0 {
		t.Errorf("%s, with %d words lost", got, relay.Lost())
	}
}
