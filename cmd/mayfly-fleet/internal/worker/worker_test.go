package worker

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/coord"
	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/embedded"
	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/jobs"
	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/queue"
	"github.com/mayfly-mcp/mayfly/fakes/wait"
)

func TestMain(m *testing.M) { os.Exit(wait.Main(m)) }

// plan is a campaign whose jobs do what the test says.
type plan struct {
	jobs uint64
	run  func(ctx context.Context, n uint64, env jobs.Env) ([]byte, error)
}

func (p *plan) Define(*flag.FlagSet)                    {}
func (p *plan) Settle(*flag.FlagSet, []jobs.File) error { return nil }
func (p *plan) Args(*flag.FlagSet) []string             { return nil }
func (p *plan) Files() []jobs.File                      { return nil }
func (p *plan) Jobs() uint64                            { return p.jobs }
func (p *plan) Weight(uint64) uint64                    { return 10 }

// Run implements jobs.Plan.
func (p *plan) Run(ctx context.Context, n uint64, env jobs.Env) ([]byte, error) {
	return p.run(ctx, n, env)
}

// Assemble implements jobs.Plan: it looks at all results, and writes nothing.
func (p *plan) Assemble(ctx context.Context, a jobs.Assembly) (*jobs.Outcome, error) {
	out := &jobs.Outcome{All: p.jobs}
	a.Progress(jobs.Progress{All: p.jobs})
	err := jobs.InOrder(ctx, p.jobs, a.Ahead, a.Fetch, func(n uint64, text []byte) error {
		if want := fmt.Sprint("result ", n); string(text) != want {
			return fmt.Errorf("job %d came to %q, not %q", n, text, want)
		}
		out.Done++
		a.Progress(jobs.Progress{Jobs: out.Done, Done: out.Done, All: p.jobs})
		return nil
	})
	if ctx.Err() != nil {
		return out, nil
	}
	return out, err
}

// fine is what every job comes to that goes well.
func fine(n uint64) ([]byte, error) { return fmt.Append(nil, "result ", n), nil }

// rig is a server and a campaign of a plan.
type rig struct {
	t    *testing.T
	q    *queue.Queue
	plan *plan
	srv  *embedded.Server
	spec queue.Spec
	st   queue.State
	said *said
}

// said is what workers log.
type said struct {
	mu  sync.Mutex
	all []string
}

func (s *said) log(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, fmt.Sprintf(format, args...))
}

func (s *said) has(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Contains(strings.Join(s.all, "\n"), text)
}

func newRig(t *testing.T, ackWait time.Duration, p *plan) *rig {
	t.Helper()
	s, err := embedded.Start(embedded.Config{Store: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	cfg := s.Queue()
	cfg.AckWait = ackWait
	r := &rig{t: t, srv: s, plan: p, said: &said{}}
	if r.q, err = queue.Open(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.q.Close)
	if r.spec, r.st, err = r.q.Create(t.Context(), queue.Spec{ID: "x", Kind: "planted", Build: "b", Jobs: p.jobs}); err != nil {
		t.Fatal(err)
	}
	return r
}

// worker starts a worker, which ends with the test, and returns what stops it and what it came to.
func (r *rig) worker(cfg Config) (stop func() error) {
	r.t.Helper()
	return r.workerBy(r.q, cfg)
}

// workerBy starts one with a connection of its own.
func (r *rig) workerBy(q *queue.Queue, cfg Config) (stop func() error) {
	r.t.Helper()
	cfg.Queue, cfg.Build, cfg.Log = q, "b", r.said.log
	cfg.Parse = func(string, []string, []jobs.File) (jobs.Plan, error) { return r.plan, nil }
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	var err error
	go func() {
		defer close(ended)
		err = New(cfg).Run(ctx)
	}()
	stop = func() error {
		cancel()
		wait.Closed(r.t, "the end of a worker", ended)
		return err
	}
	r.t.Cleanup(func() { _ = stop() })
	return stop
}

// lead leads the campaign.
func (r *rig) lead(ctx context.Context) (*jobs.Outcome, error) {
	st, err := r.q.State(ctx, "x")
	if err != nil {
		return nil, err
	}
	return coord.Run(ctx, coord.Config{Queue: r.q, Spec: r.spec, State: st, Plan: r.plan, Dir: filepath.Join(r.t.TempDir(), "runs"), Report: 20 * time.Millisecond,
		Late: 50 * time.Millisecond, Log: r.said.log})
}

// done leads the campaign to its end.
func (r *rig) done() {
	r.t.Helper()
	if out, err := r.lead(r.t.Context()); err != nil || out.Done != r.plan.jobs {
		r.t.Errorf("%+v, %v; want all %d jobs", out, err, r.plan.jobs)
	}
}

// TestPoison: a job that panics each time is put into quarantine after so many deliveries, with its log; the
// campaign says so; and when the world is mended and the campaign resumed, it ends well.
func TestPoison(t *testing.T) {
	t.Parallel()
	var mended atomic.Bool
	var runs atomic.Int64
	r := newRig(t, time.Minute, &plan{6, func(_ context.Context, n uint64, env jobs.Env) ([]byte, error) {
		if n == 2 && !mended.Load() {
			runs.Add(1)
			env.Log("about to fall")
			panic("the floor is gone")
		}
		return fine(n)
	}})
	r.worker(Config{Slots: 2, Deliveries: 3, ID: "w"})
	_, err := r.lead(t.Context())
	for _, want := range []string{"job 2 is in quarantine after 3 deliveries: w failed (delivery 1)", "w failed (delivery 3)", "the last log says: panic: the floor is gone", "mayfly-fleet resume x"} {
		if !errors.Is(err, coord.ErrQuarantine) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if runs.Load() != 3 {
		t.Errorf("the job ran %d times, want 3", runs.Load())
	}
	log, err := r.q.Finding(t.Context(), "x", "quarantine/2.log")
	for _, want := range []string{"about to fall", "worker_test.go"} {
		if err != nil || !strings.Contains(string(log), want) {
			t.Errorf("the log of the quarantine lacks %q (%v):\n%s", want, err, log)
		}
	}
	if all, err := r.q.Quarantined(t.Context(), "x"); err != nil || len(all) != 1 || len(all[0].Attempts) < 3 {
		t.Errorf("in quarantine are %+v, %v", all, err)
	}
	if _, err := r.lead(t.Context()); !errors.Is(err, coord.ErrQuarantine) {
		t.Errorf("started again: %v", err)
	}
	mended.Store(true)
	if _, err := r.q.Resume(t.Context(), "x"); err != nil {
		t.Fatal(err)
	}
	r.done()
}

// TestResumedInTime: a job that is let out of quarantine before the directory has come to it is run again, under
// the same coordinator.
func TestResumedInTime(t *testing.T) {
	t.Parallel()
	var mended atomic.Bool
	first := make(chan struct{})
	r := newRig(t, time.Minute, &plan{60, func(ctx context.Context, n uint64, _ jobs.Env) ([]byte, error) {
		if n == 0 {
			select {
			case <-first:
			case <-ctx.Done():
			}
		}
		if n == 50 && !mended.Load() {
			return nil, errors.New("not yet")
		}
		return fine(n)
	}})
	r.worker(Config{Slots: 2, Deliveries: 1})
	led := make(chan struct{})
	go func() {
		defer close(led)
		r.done()
	}()
	wait.Until(t, "the quarantine", func() bool { return r.said.has("job 50 is in quarantine after 1 deliveries") })
	mended.Store(true)
	if _, err := r.q.Resume(t.Context(), "x"); err != nil {
		t.Error(err)
	}
	close(first)
	wait.Closed(t, "the campaign", led)
}

// TestKilledAgainAndAgain: a job whose workers die without a word is put into quarantine, and the other jobs are
// done; a coordinator that had not come to it says so.
func TestKilledAgainAndAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, 200*time.Millisecond, &plan{2, func(_ context.Context, n uint64, _ jobs.Env) ([]byte, error) { return fine(n) }})
	if err := r.q.Offer(t.Context(), "x", 1, r.st.Round()); err != nil {
		t.Fatal(err)
	}
	for want := range 2 {
		if job, err := r.q.Take(t.Context(), "x", wait.Bound); err != nil || job == nil || job.Deliveries != want+1 {
			t.Fatal(job, err)
		}
	}
	r.worker(Config{Deliveries: 2})
	_, err := r.lead(t.Context())
	if want := "job 1 is in quarantine after 2 deliveries: nobody said who had it; no worker left a log of it"; !errors.Is(err, coord.ErrQuarantine) || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
	if text, err := r.q.Result(t.Context(), "x", 0); err != nil || string(text) != "result 0" {
		t.Errorf("the other job came to %q, %v", text, err)
	}
}

// TestInTurns: a worker does the jobs of several campaigns, and leaves alone those that it does not know.
func TestInTurns(t *testing.T) {
	t.Parallel()
	r := newRig(t, time.Minute, &plan{3, func(_ context.Context, n uint64, _ jobs.Env) ([]byte, error) { return fine(n) }})
	for _, id := range []string{"y", "z", "other"} {
		spec := queue.Spec{ID: id, Kind: "planted", Build: "b", Jobs: 3}
		if id == "other" {
			spec.Jobs = 7 // not as many as the plan has
		}
		_, st, err := r.q.Create(t.Context(), spec)
		if err == nil {
			err = r.q.Offer(t.Context(), id, 2, st.Round())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	r.worker(Config{})
	r.done()
	for _, id := range []string{"y", "z"} {
		wait.Until(t, "the job of "+id, func() bool { _, err := r.q.Result(t.Context(), id, 2); return err == nil })
	}
	if n, err := r.q.Queued(t.Context(), "other"); err != nil || n != 1 || !r.said.has("campaign other is left alone: it has 3 jobs here") {
		t.Errorf("%d jobs are queued, %v; %v is said", n, err, r.said.all)
	}
}

// TestErrorOnce: a job that fails once is done when it is handed out again.
func TestErrorOnce(t *testing.T) {
	t.Parallel()
	var failed atomic.Bool
	r := newRig(t, time.Minute, &plan{4, func(_ context.Context, n uint64, _ jobs.Env) ([]byte, error) {
		if n == 1 && failed.CompareAndSwap(false, true) {
			return nil, errors.New("not today")
		}
		return fine(n)
	}})
	r.worker(Config{})
	r.done()
	if !r.said.has("job 1 of x failed (delivery 1): not today") {
		t.Errorf("it is not said: %v", r.said.all)
	}
}

// TestHeartbeat: a job that takes longer than the ack wait runs once.
func TestHeartbeat(t *testing.T) {
	t.Parallel()
	const ackWait = 1500 * time.Millisecond
	var runs atomic.Int64
	r := newRig(t, ackWait, &plan{1, func(ctx context.Context, n uint64, _ jobs.Env) ([]byte, error) {
		runs.Add(1)
		select {
		case <-time.After(3 * ackWait):
		case <-ctx.Done():
		}
		return fine(n)
	}})
	r.worker(Config{Slots: 2})
	r.done()
	if runs.Load() != 1 {
		t.Errorf("the job ran %d times", runs.Load())
	}
}

// TestHang: a job that hangs in one worker is done by another one; the first one says so, and ends when it has no
// slot left.
func TestHang(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	var hung atomic.Bool
	r := newRig(t, 500*time.Millisecond, &plan{3, func(_ context.Context, n uint64, _ jobs.Env) ([]byte, error) {
		if n == 0 && hung.CompareAndSwap(false, true) {
			<-release
		}
		return fine(n)
	}})
	defer close(release)
	first := r.worker(Config{JobBound: 200 * time.Millisecond, ID: "first"})
	if err := r.q.Offer(t.Context(), "x", 0, r.st.Round()); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "a job that hangs", hung.Load)
	r.worker(Config{JobBound: time.Hour, ID: "second"})
	r.done()
	wait.Until(t, "the word of it", func() bool { return r.said.has("it is left behind, and another worker will get it") })
	if err := first(); !errors.Is(err, ErrHung) {
		t.Errorf("the worker came to %v, want %v", err, ErrHung)
	}
	if all, err := r.q.Attempts(t.Context(), "x", 0); err != nil || len(all) == 0 || all[0].What != "hung" {
		t.Errorf("attempts are %+v, %v", all, err)
	}
}

// TestTooSlow: a job that takes too long but obeys is tried again.
func TestTooSlow(t *testing.T) {
	t.Parallel()
	var slow atomic.Bool
	r := newRig(t, time.Minute, &plan{2, func(ctx context.Context, n uint64, _ jobs.Env) ([]byte, error) {
		if n == 0 && slow.CompareAndSwap(false, true) {
			<-ctx.Done()
			return nil, jobs.ErrStopped
		}
		return fine(n)
	}})
	r.worker(Config{JobBound: 500 * time.Millisecond})
	r.done()
	if !r.said.has("it took longer than 500ms") {
		t.Errorf("it is not said: %v", r.said.all)
	}
}

// TestHandedBack: jobs that workers which had to go hand back are not held against them, however often.
func TestHandedBack(t *testing.T) {
	t.Parallel()
	var began, goOn atomic.Int64
	r := newRig(t, time.Minute, &plan{1, func(ctx context.Context, n uint64, _ jobs.Env) ([]byte, error) {
		began.Add(1)
		if goOn.Load() == 0 {
			<-ctx.Done()
			return nil, jobs.ErrStopped
		}
		return fine(n)
	}})
	if err := r.q.Offer(t.Context(), "x", 0, r.st.Round()); err != nil {
		t.Fatal(err)
	}
	for i := range int64(4) {
		stop := r.worker(Config{Deliveries: 2})
		wait.Until(t, "the job", func() bool { return began.Load() > i })
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	}
	goOn.Store(1)
	r.worker(Config{Deliveries: 2})
	r.done()
}

// TestDoneAlready: a job that comes again although its result is there is not run.
func TestDoneAlready(t *testing.T) {
	t.Parallel()
	r := newRig(t, 300*time.Millisecond, &plan{1, func(context.Context, uint64, jobs.Env) ([]byte, error) {
		panic("it is done")
	}})
	if err := r.q.Offer(t.Context(), "x", 0, r.st.Round()); err != nil {
		t.Fatal(err)
	}
	job, err := r.q.Take(t.Context(), "x", wait.Bound) // by a worker that dies between its result and its word
	if err != nil || job == nil {
		t.Fatal(job, err)
	}
	text, _ := fine(0)
	if first, err := r.q.Store(t.Context(), "x", 0, text); err != nil || !first {
		t.Fatal(first, err)
	}
	r.worker(Config{})
	wait.Until(t, "an empty queue", func() bool { n, err := r.q.Queued(t.Context(), "x"); return err == nil && n == 0 })
	r.done()
}

// TestShare: jobs tell each other things.
func TestShare(t *testing.T) {
	t.Parallel()
	var seen atomic.Int64
	r := newRig(t, time.Minute, &plan{5, func(ctx context.Context, n uint64, env jobs.Env) ([]byte, error) {
		if _, err := env.Share.Add(ctx, fmt.Sprint("k.", n), []byte("v")); err != nil {
			return nil, err
		}
		if first, err := env.Share.Add(ctx, fmt.Sprint("k.", n), []byte("other")); err != nil || first {
			return nil, fmt.Errorf("added twice: %v", err)
		}
		keys, err := env.Share.Keys(ctx)
		seen.Store(max(seen.Load(), int64(len(keys))))
		return fmt.Append(nil, "result ", n), err
	}})
	r.worker(Config{})
	r.done()
	if seen.Load() != 5 {
		t.Errorf("the last job saw %d keys", seen.Load())
	}
	if v, err := r.q.Share("x").Get(t.Context(), "k.3"); err != nil || string(v) != "v" {
		t.Errorf("%q, %v", v, err)
	}
	if v, err := r.q.Share("y").Get(t.Context(), "k.3"); err != nil || v != nil {
		t.Errorf("another campaign sees %q, %v", v, err)
	}
}

// TestLostResult: a result that had arrived and is lost before it is fetched is computed again.
func TestLostResult(t *testing.T) {
	t.Parallel()
	var told atomic.Uint64
	r := newRig(t, time.Minute, &plan{60, func(_ context.Context, n uint64, _ jobs.Env) ([]byte, error) { return fine(n) }})
	if _, err := r.q.Store(t.Context(), "x", 40, []byte("result 40")); err != nil {
		t.Fatal(err)
	}
	led := make(chan error, 1)
	go func() {
		out, err := coord.Run(t.Context(), coord.Config{Queue: r.q, Spec: r.spec, State: r.st, Plan: r.plan, Report: 10 * time.Millisecond, Late: 50 * time.Millisecond,
			Log: r.said.log, Progress: func(p queue.Progress) { told.Store(p.Arrived) }})
		if err == nil && out.Done != 60 {
			err = fmt.Errorf("%d jobs are done", out.Done)
		}
		led <- err
	}()
	wait.Until(t, "the first result", func() bool { return told.Load() == 1 })
	r.purge("mayfly_RESULTS", "mayfly.result.x.40")
	r.worker(Config{})
	if err := <-led; err != nil {
		t.Error(err)
	}
	if !r.said.has("the result of job 40 was there and is lost: the job runs again") {
		t.Errorf("it is not said: %v", r.said.all)
	}
}

// purge takes messages off a stream, as a server does that loses its disk.
func (r *rig) purge(stream, subject string) {
	r.t.Helper()
	creds, err := os.ReadFile(r.srv.Creds)
	if err != nil {
		r.t.Fatal(err)
	}
	user, password, _ := strings.Cut(strings.TrimSpace(string(creds)), ":")
	c, err := nats.Connect(r.srv.URL, nats.UserInfo(user, password))
	if err != nil {
		r.t.Fatal(err)
	}
	defer c.Close()
	js, err := jetstream.New(c)
	if err != nil {
		r.t.Fatal(err)
	}
	s, err := js.Stream(r.t.Context(), stream)
	if err == nil {
		err = s.Purge(r.t.Context(), jetstream.WithPurgeSubject(subject))
	}
	if err != nil {
		r.t.Fatal(err)
	}
}
