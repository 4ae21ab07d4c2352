package queue_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/embedded"
	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/queue"
	"github.com/mayfly-mcp/mayfly/fakes/wait"
)

func TestMain(m *testing.M) { os.Exit(wait.Main(m)) }

// start starts a server.
func start(t *testing.T, store string) *embedded.Server {
	t.Helper()
	s, err := embedded.Start(embedded.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func open(t *testing.T, cfg queue.Config) *queue.Queue {
	t.Helper()
	q, err := queue.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	return q
}

// create makes a campaign of some jobs.
func create(t *testing.T, q *queue.Queue, id string) queue.State {
	t.Helper()
	_, st, err := q.Create(t.Context(), queue.Spec{ID: id, Kind: "k", Build: "b", Jobs: 100})
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// queued holds how many jobs are queued against what there should be.
func queued(t *testing.T, q *queue.Queue, id string, want int) {
	t.Helper()
	if n, err := q.Queued(t.Context(), id); err != nil || n != want {
		t.Errorf("%d jobs are queued, %v; want %d", n, err, want)
	}
}

// take takes a job that is there.
func take(t *testing.T, q *queue.Queue, id string) *queue.Job {
	t.Helper()
	job, err := q.Take(t.Context(), id, wait.Bound)
	if err != nil || job == nil {
		t.Fatalf("job %v, %v", job, err)
	}
	return job
}

// TestOffers: a job that is offered again and again, by several, is queued once, and not again after it was done,
// until an epoch begins.
func TestOffers(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	a, b := open(t, s.Queue()), open(t, s.Queue())
	st := create(t, a, "x")
	if again := create(t, b, "x"); again != st {
		t.Errorf("joined as %+v, made as %+v", again, st)
	}
	var all sync.WaitGroup
	for _, q := range []*queue.Queue{a, b, a, b} {
		all.Go(func() {
			for n := range uint64(20) {
				if err := q.Offer(t.Context(), "x", n, st.Round()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	queued(t, a, "x", 20)
	var seen []uint64
	for range 20 {
		job := take(t, b, "x")
		seen = append(seen, job.Index)
		if err := job.Done(t.Context()); err != nil || job.Deliveries != 1 {
			t.Errorf("delivery %d, %v", job.Deliveries, err)
		}
	}
	slices.Sort(seen)
	if len(slices.Compact(seen)) != 20 {
		t.Errorf("jobs are %v", seen)
	}
	if err := a.Offer(t.Context(), "x", 3, st.Round()); err != nil {
		t.Fatal(err)
	}
	queued(t, a, "x", 0)
	next, err := a.Resume(t.Context(), "x")
	if err != nil || next.Epoch <= st.Epoch {
		t.Fatal(next, err)
	}
	for _, round := range []string{next.Round(), "later"} { // it still waits when the later one begins
		if err := a.Offer(t.Context(), "x", 3, round); err != nil {
			t.Fatal(err)
		}
		queued(t, a, "x", 1)
	}
}

// TestFirstResultStays: of several results of a job the first one stays, whoever stores which; and all that arrive
// are told once each at least, old and new.
func TestFirstResultStays(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	q, other := open(t, s.Queue()), open(t, s.Queue())
	create(t, q, "x")
	store := func(q *queue.Queue, id string, n uint64, text string, want bool) {
		t.Helper()
		if first, err := q.Store(t.Context(), id, n, []byte(text)); err != nil || first != want {
			t.Errorf("result %d of %s: first %t, %v; want %t", n, id, first, err, want)
		}
	}
	store(q, "x", 7, "first", true)
	store(other, "x", 7, "second", false)
	store(other, "x", 8, "eight", true)
	store(other, "y", 9, "nine", true)
	if text, err := other.Result(t.Context(), "x", 7); err != nil || string(text) != "first" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := q.Result(t.Context(), "x", 9); !errors.Is(err, queue.ErrMissing) {
		t.Errorf("a result that is none: %v", err)
	}
	events := make(chan string, 100)
	ctx := wait.Context(t)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := q.Arrivals(ctx, "x", func(n uint64) { events <- fmt.Sprint(n) }, func() { events <- "ready" }); err != nil && ctx.Err() == nil {
			t.Error(err)
		}
	}()
	next := func(want string) {
		t.Helper()
		select {
		case got := <-events:
			if got != want {
				t.Errorf("told %s, want %s", got, want)
			}
		case <-time.After(wait.Bound):
			t.Fatalf("not told %s", want)
		}
	}
	next("7")
	next("8")
	next("ready")
	store(other, "x", 10, "ten", true)
	next("10")
	store(other, "x", 10, "ten again", false)
	store(other, "x", 11, "eleven", true)
	next("11")
}

// TestSilence: a job of a worker that falls silent comes to another one, with its number of deliveries; one that is
// handed back comes at once.
func TestSilence(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	cfg := s.Queue()
	cfg.AckWait = 300 * time.Millisecond
	q := open(t, cfg)
	st := create(t, q, "x")
	if err := q.Offer(t.Context(), "x", 0, st.Round()); err != nil {
		t.Fatal(err)
	}
	if job := take(t, q, "x"); job.AckWait != cfg.AckWait {
		t.Errorf("its ack wait is %v", job.AckWait)
	}
	job := take(t, q, "x")
	if job.Deliveries != 2 {
		t.Errorf("delivery %d", job.Deliveries)
	}
	if err := job.Again(0); err != nil {
		t.Fatal(err)
	}
	if job = take(t, q, "x"); job.Deliveries != 3 {
		t.Errorf("delivery %d", job.Deliveries)
	}
	if err := job.Done(t.Context()); err != nil {
		t.Fatal(err)
	}
	queued(t, q, "x", 0)
	if job, err := q.Take(t.Context(), "x", time.Millisecond*50); job != nil || err != nil {
		t.Errorf("a job that was done comes again: %+v, %v", job, err)
	}
}

// TestRestart: all that a campaign is outlives its server, jobs that were taken too.
func TestRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, dir)
	cfg := s.Queue()
	cfg.AckWait = time.Second
	q := open(t, cfg)
	st := create(t, q, "x")
	for n := range uint64(3) {
		if err := q.Offer(t.Context(), "x", n, st.Round()); err != nil {
			t.Fatal(err)
		}
	}
	take(t, q, "x")
	if _, err := q.Store(t.Context(), "x", 50, []byte("fifty")); err != nil {
		t.Fatal(err)
	}
	if err := q.Keep(t.Context(), "x", "failures/a/small.tape", []byte(strings.Repeat("tape\n", 100_000))); err != nil {
		t.Fatal(err)
	}
	q.Close()
	s.Close()
	q = open(t, start(t, dir).Queue())
	if again := create(t, q, "x"); again != st {
		t.Errorf("the state is %+v, was %+v", again, st)
	}
	queued(t, q, "x", 3)
	for range 3 {
		if err := take(t, q, "x").Done(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	queued(t, q, "x", 0)
	if text, err := q.Result(t.Context(), "x", 50); err != nil || string(text) != "fifty" {
		t.Errorf("%q, %v", text, err)
	}
	if text, err := q.Finding(t.Context(), "x", "failures/a/small.tape"); err != nil || len(text) != 500_000 {
		t.Errorf("a finding of %d bytes, %v", len(text), err)
	}
}

// TestRemove: of a campaign that is removed nothing is left, and of another one all is.
func TestRemove(t *testing.T) {
	t.Parallel()
	q := open(t, start(t, t.TempDir()).Queue())
	fill := func(id string) {
		st := create(t, q, id)
		_, err := q.Store(t.Context(), id, 1, []byte("one"))
		err = errors.Join(err, q.Offer(t.Context(), id, 2, st.Round()), q.Keep(t.Context(), id, "a", []byte("a")), q.Keep(t.Context(), id, "a", []byte("b")), q.Share(id).Put(t.Context(), "k", []byte("v")),
			q.AddSamples(t.Context(), id, []queue.Sample{{Seeds: 2}, {Seeds: 1}, {Seeds: 3}}), q.Report(t.Context(), id, queue.Progress{JobsDone: 1}),
			q.Attempt(t.Context(), id, 2, queue.Attempt{What: "failed", Log: strings.Repeat("x", 2*queue.MaxLog)}), q.Isolate(t.Context(), id, 2, 5))
		if err != nil {
			t.Fatal(err)
		}
	}
	fill("x")
	fill("x2")
	if err := q.Remove(t.Context(), "x"); err != nil {
		t.Fatal(err)
	}
	left := func(id string) string {
		n, err := q.Queued(t.Context(), id)
		f, err2 := q.Findings(t.Context(), id)
		s, err3 := q.Samples(t.Context(), id)
		x, err4 := q.Quarantined(t.Context(), id)
		k, err5 := q.Share(id).Keys(t.Context())
		_, err6 := q.Result(t.Context(), id, 1)
		if errors.Is(err6, queue.ErrMissing) {
			err6 = errors.New("no result")
		}
		log := 0
		if len(x) > 0 {
			log = len(x[0].Attempts[0].Log)
		}
		return fmt.Sprint(n, f, len(s), len(x), log, k, errors.Join(err, err2, err3, err4, err5, err6))
	}
	if d := cmp.Diff("0 [] 0 0 0 [] no result", left("x")); d != "" {
		t.Errorf("of what was removed (-want +got)\n%s", d)
	}
	if d := cmp.Diff(fmt.Sprint("1 [a quarantine/2.log] 2 1 ", queue.MaxLog, " [k] <nil>"), left("x2")); d != "" {
		t.Errorf("of the other one (-want +got)\n%s", d)
	}
	if ids, err := q.Campaigns(t.Context()); err != nil || !slices.Equal(ids, []string{"x2"}) {
		t.Errorf("campaigns are %v, %v", ids, err)
	}
	if text, err := q.Finding(t.Context(), "x2", "a"); err != nil || string(text) != "b" {
		t.Errorf("a finding that was replaced is %q, %v", text, err)
	}
}

// TestAnotherSpec: a name means one campaign.
func TestAnotherSpec(t *testing.T) {
	t.Parallel()
	q := open(t, start(t, t.TempDir()).Queue())
	create(t, q, "x")
	_, _, err := q.Create(t.Context(), queue.Spec{ID: "x", Kind: "k", Build: "b2", Args: []string{"-a"}, Jobs: 100})
	if !errors.Is(err, queue.ErrOther) || !strings.Contains(err.Error(), `its build is "b", not "b2", its command line is "", not "-a"`) {
		t.Errorf("%v", err)
	}
	one, _, err := q.Create(t.Context(), queue.Spec{Kind: "k", Build: "b", Jobs: 1})
	two, _, err2 := q.Create(t.Context(), queue.Spec{Kind: "k", Build: "b", Jobs: 1})
	three, _, err3 := q.Create(t.Context(), queue.Spec{Kind: "k", Build: "b2", Jobs: 1})
	if err := errors.Join(err, err2, err3); err != nil || one.ID != two.ID || one.ID == three.ID {
		t.Errorf("%s, %s and %s, %v", one.ID, two.ID, three.ID, err)
	}
	if _, _, err := q.Create(t.Context(), queue.Spec{ID: "a.b", Kind: "k"}); !errors.Is(err, queue.ErrUsage) {
		t.Errorf("a bad name: %v", err)
	}
	if _, _, err := q.Create(t.Context(), queue.Spec{Kind: "k", Files: []queue.File{{Text: strings.Repeat("x", queue.MaxSpec)}}}); !errors.Is(err, queue.ErrUsage) {
		t.Errorf("a large one: %v", err)
	}
}

// TestNoPatience: what no server answers is given up after some time, with one paragraph.
func TestNoPatience(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	cfg := s.Queue()
	cfg.Patience = time.Millisecond
	q := open(t, cfg)
	create(t, q, "x")
	s.Close()
	if err := q.Offer(t.Context(), "x", 1, "1"); !errors.Is(err, queue.ErrUnreachable) || !strings.Contains(err.Error(), "what was stored stays") {
		t.Errorf("%v", err)
	}
}
