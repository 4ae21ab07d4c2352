package idle

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Cell is one configuration of a sweep; its Seed is replaced by each of the sweep's seeds.
type Cell struct {
	Name   string
	Config Config
}

// maxRuns bounds a sweep, whose results are all kept.
const maxRuns = 1 << 20

// Sweep plays every cell under every seed on so many workers, and returns the cells in their order, whatever
// the number of workers. progress, if set, is called with the number of runs that have ended, by one goroutine
// at a time. The first failure, or the end of the context, ends the runs under way.
func Sweep(ctx context.Context, cells []Cell, seeds []uint64, workers int, progress func(done, of int)) ([]Summary, error) {
	switch n := len(cells) * len(seeds); {
	case n == 0:
		return nil, errors.New("a sweep needs a cell and a seed")
	case n > maxRuns:
		return nil, fmt.Errorf("a sweep of %d runs: use at most %d", n, maxRuns)
	case workers < 1:
		return nil, fmt.Errorf("a sweep on %d workers: use 1 or more", workers)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s := &sweep{cells: cells, seeds: seeds, progress: progress, results: make([]Result, len(cells)*len(seeds))}
	var all sync.WaitGroup
	for range min(workers, len(s.results)) {
		all.Go(func() { s.work(ctx, cancel) })
	}
	all.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return s.summaries(), nil
}

// sweep is one under way. Runs are taken seed by seed, so that cells which share a seed end close together.
type sweep struct {
	cells    []Cell
	seeds    []uint64
	results  []Result // by cell, then seed
	progress func(done, of int)

	mu   sync.Mutex
	next int
	done int
}

func (s *sweep) work(ctx context.Context, cancel context.CancelCauseFunc) {
	for {
		i, ok := s.take()
		if !ok {
			return
		}
		cell, seed := i%len(s.cells), i/len(s.cells)
		c := s.cells[cell].Config
		c.Seed = s.seeds[seed]
		r, err := run(ctx, c)
		if err != nil {
			cancel(fmt.Errorf("%s, seed %d: %w", s.cells[cell].Name, c.Seed, err))
			return
		}
		s.results[cell*len(s.seeds)+seed] = r
		s.ended()
	}
}

func (s *sweep) take() (int, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == len(s.results) {
		return 0, false
	}
	s.next++
	return s.next - 1, true
}

func (s *sweep) ended() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done++; s.progress != nil {
		s.progress(s.done, len(s.results))
	}
}

func (s *sweep) summaries() []Summary {
	var all []Summary
	for i, c := range s.cells {
		runs := s.results[i*len(s.seeds) : (i+1)*len(s.seeds)]
		all = append(all, Summary{Name: c.Name, Runs: runs, Estimates: estimates(runs)})
	}
	return all
}
