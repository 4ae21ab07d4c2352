package jobs

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/sim/guided"
)

// told is a Share in memory.
type told struct {
	mu  sync.Mutex
	all map[string][]byte
}

// Put implements Share.
func (s *told) Put(_ context.Context, key string, value []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[key] = value
	return nil
}

// Add implements Share.
func (s *told) Add(_ context.Context, key string, value []byte) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, is := s.all[key]
	if !is {
		s.all[key] = value
	}
	return !is, nil
}

// Keys implements Share.
func (s *told) Keys(context.Context) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.all)), nil
}

// Get implements Share.
func (s *told) Get(_ context.Context, key string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[key], nil
}

// searchedHere is the search that a loop without a fleet comes to, written down.
func searchedHere(t *testing.T, p *guidedPlan) string {
	t.Helper()
	s, err := guided.New(p.Options)
	if err != nil {
		t.Fatal(err)
	}
	for range p.rounds {
		var outcomes []guided.Outcome
		for _, in := range s.Next() {
			o, err := guided.Run(p.fit(in), p.Subject.Make, nil)
			if err != nil {
				t.Fatal(err)
			}
			outcomes = append(outcomes, o)
		}
		if err := s.Take(outcomes); err != nil {
			t.Fatal(err)
		}
	}
	text, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + "\n"
}

// led is a guided campaign of which all that is offered runs here, once each.
type led struct {
	plan  *guidedPlan
	share *told
	most  uint64 // jobs that are run; then the context ends

	ready uint64
	ran   map[uint64]int
}

// lead makes the directory. A job that is asked for before it is ready is run by whoever makes it so, as workers do.
func (l *led) lead(t *testing.T, dir string) *Outcome {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	l.ran = map[uint64]int{}
	results := make([]chan []byte, l.plan.Jobs())
	for i := range results {
		results[i] = make(chan []byte, 1)
	}
	next := uint64(0)
	progress := func(p Progress) {
		if l.ready == 0 {
			next = p.Jobs
		}
		for l.ready = l.plan.Ready(p.Jobs); next < min(l.ready, l.plan.Jobs()) && next < l.most; next++ {
			worker := parsed(t, "guided", l.plan.args...) // each on a machine of its own
			text, err := worker.Run(t.Context(), next, Env{Share: l.share})
			if err != nil {
				t.Fatalf("job %d: %v", next, err)
			}
			l.ran[next]++
			results[next] <- text
		}
		if next == l.most {
			cancel()
		}
	}
	out, err := l.plan.Assemble(ctx, Assembly{Dir: dir, Build: "test", Ahead: 3, Progress: progress, Share: l.share,
		Fetch: func(ctx context.Context, n uint64) ([]byte, error) {
			select {
			case text := <-results[n]:
				return text, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

const allJobs = 1 << 62

// TestGuidedIsTheLocalSearch: rounds whose inputs ran elsewhere, in pieces of any size, come to what one loop comes to; of
// what was shared two rounds stay.
func TestGuidedIsTheLocalSearch(t *testing.T) {
	for _, blind := range []string{"-blind=false", "-blind=true"} {
		var want, report string
		for _, inputs := range []string{"-inputs=1", "-inputs=5", "-inputs=12"} {
			p := parsed(t, "guided", "-rounds=4", "-batch=12", "-seed=7", blind, inputs).(*guidedPlan)
			if want == "" {
				want = searchedHere(t, p)
			}
			dir := t.TempDir()
			l := &led{plan: p, share: &told{all: map[string][]byte{}}, most: allJobs}
			out := l.lead(t, dir)
			got, err := os.ReadFile(filepath.Join(dir, stateFile))
			if err != nil || string(got) != want || out.Done != 48 || out.All != 48 || out.Failed {
				t.Errorf("%s %s: another search, or %+v, %v", blind, inputs, out, err)
			}
			summary, err := os.ReadFile(filepath.Join(dir, "summary.json"))
			if report == "" {
				report = string(summary)
			}
			if err != nil || string(summary) != report {
				t.Errorf("%s %s: the report is %s, %v", blind, inputs, summary, err)
			}
			if r := out.Report.(*guidedReport); (r.Corpus == 0) != (blind == "-blind=true") || r.Situations < 20 {
				t.Errorf("%s %s: %+v", blind, inputs, r)
			}
			var held []string
			for k, v := range l.share.all {
				if len(v) > 0 {
					held = append(held, k)
				}
			}
			if slices.Sort(held); !slices.Equal(held, []string{"round.3", "round.4"}) {
				t.Errorf("%v are held", held)
			}
		}
	}
}

// TestGuidedGoesOn: who leads next begins with the round that was shared last, and the end is the same, with all that
// was found, shrunk; so it is when a directory is made of the results alone.
func TestGuidedGoesOn(t *testing.T) {
	args := []string{"-rounds=3", "-batch=4", "-inputs=2", "-subject=published"}
	plan := func() *guidedPlan { return parsed(t, "guided", args...).(*guidedPlan) }
	whole, parts := t.TempDir(), t.TempDir()
	if out := (&led{plan: plan(), share: &told{all: map[string][]byte{}}, most: allJobs}).lead(t, whole); !out.Failed {
		t.Fatal("nothing was found")
	}
	share := &told{all: map[string][]byte{}}
	if out := (&led{plan: plan(), share: share, most: 5}).lead(t, t.TempDir()); out.Done != 8 || out.All != 12 {
		t.Fatalf("%+v", out)
	}
	second := &led{plan: plan(), share: share, most: allJobs}
	second.lead(t, parts)
	for n := range second.ran {
		if n < 4 {
			t.Errorf("job %d of a round that was over ran again", n)
		}
	}
	if len(second.ran) != 2 {
		t.Errorf("%v ran", second.ran)
	}
	same := func(dir string) {
		t.Helper()
		sameFiles(t, dir, whole)
		sameFiles(t, filepath.Join(dir, FindsDir), filepath.Join(whole, FindsDir))
	}
	same(parts)
	again, p := t.TempDir(), plan()
	if _, err := p.Assemble(t.Context(), Assembly{Dir: again, Build: "test", Ahead: 1, Progress: func(Progress) {},
		Fetch: func(_ context.Context, n uint64) ([]byte, error) { return resultHere(t, p, n), nil }}); err != nil {
		t.Fatal(err)
	}
	same(again)
	tapes, err := filepath.Glob(filepath.Join(whole, FindsDir, "failures", "*", "small.tape"))
	if err != nil || len(tapes) < 2 {
		t.Errorf("small tapes are %v, %v", tapes, err)
	}
}

// resultHere is the result of a job, for which all rounds before it are played.
func resultHere(t *testing.T, p *guidedPlan, n uint64) []byte {
	t.Helper()
	s, err := guided.New(p.Options)
	for range n / p.perRound() {
		var outcomes []guided.Outcome
		for _, in := range s.Next() {
			o, err := guided.Run(p.fit(in), p.Subject.Make, nil)
			if err != nil {
				t.Fatal(err)
			}
			outcomes = append(outcomes, o)
		}
		err = errors.Join(err, s.Take(outcomes))
	}
	share := &told{all: map[string][]byte{}}
	err = errors.Join(err, save(t.Context(), share, n/p.perRound(), s))
	text, bad := p.Run(t.Context(), n, Env{Share: share})
	if err = errors.Join(err, bad); err != nil {
		t.Fatal(err)
	}
	return text
}

// TestGuidedRefuses: what describes no search, results of other jobs, and rounds that are over or of which nothing is known.
func TestGuidedRefuses(t *testing.T) {
	for _, args := range [][]string{{"-rounds=0"}, {"-rounds=10001"}, {"-batch=0"}, {"-batch=4", "-inputs=5"}, {"-inputs=0"}, {"-corpus=1000"}, {"-fresh=-1"}, {"-subject=other"}} {
		if _, err := Parse("guided", args, nil); !errors.Is(err, ErrUsage) {
			t.Errorf("%v: %v", args, err)
		}
	}
	p := parsed(t, "guided", "-rounds=2", "-batch=4", "-inputs=4").(*guidedPlan)
	text, err := p.Run(t.Context(), 0, Env{})
	if err != nil {
		t.Fatal(err)
	}
	for n, bad := range map[uint64][]byte{0: []byte("nonsense"), 1: text} {
		if _, err := p.take(n, bad); err == nil {
			t.Errorf("%s is taken for job %d", bad, n)
		}
	}
	s, err := guided.New(p.Options)
	if err != nil {
		t.Fatal(err)
	}
	good, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for want, value := range map[string][]byte{"is over": {}, "cannot be unpacked": []byte("nonsense"), "is refused": packed([]byte("{}")), "is round 0": packed(good)} {
		share := &told{all: map[string][]byte{"round.1": value}}
		if _, err := p.Run(t.Context(), 1, Env{Share: share}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want one with %q", err, want)
		}
	}
	if _, err := p.Run(t.Context(), 1, Env{}); err == nil || !strings.Contains(err.Error(), "nobody to ask") {
		t.Errorf("%v", err)
	}
	if out, err := unpacked(packed(good)); err != nil {
		t.Error(err)
	} else if again, _ := out.Encode(); !bytes.Equal(again, good) {
		t.Error("a search is another one when it comes back")
	}
}

// TestGuidedReady: a round is ready when all before it is in the directory, and the last round ends the jobs.
func TestGuidedReady(t *testing.T) {
	p := parsed(t, "guided", "-rounds=3", "-batch=10", "-inputs=4").(*guidedPlan)
	var got []uint64
	for _, done := range []uint64{0, 2, 3, 6, 9} {
		got = append(got, p.Ready(done))
	}
	if d := cmp.Diff([]uint64{3, 3, 6, 9, 9}, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	sum := uint64(0)
	for n := range p.Jobs() {
		sum += p.Weight(n)
	}
	if sum != 30 {
		t.Errorf("jobs count %d inputs", sum)
	}
}
