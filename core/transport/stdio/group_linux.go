package stdio

import (
	"errors"
	"os"
	"strconv"
	"sync"
)

// scanner tells which process groups have live members, by reading /proc. Nothing else
// can: kill(2) with signal 0 also succeeds for groups of zombies, and a container's first
// process may never reap those. One scan answers everybody who asked before it began, so
// that a thousand groups that end together cost a few scans, not a thousand.
type scanner struct {
	mu      sync.Mutex
	running bool
	waiting []chan scan // bounded by the number of sessions that are ending
}

// scan is the result of one pass over /proc.
type scan struct {
	live map[int]int // live processes per group id
	err  error       // the pass was not complete
}

// live reports whether group pgid had a live member during a pass that began after the
// call.
func (s *scanner) live(pgid int) (bool, error) {
	answer := make(chan scan, 1)
	s.mu.Lock()
	s.waiting = append(s.waiting, answer)
	if !s.running {
		s.running = true
		go s.run()
	}
	s.mu.Unlock()
	got := <-answer
	return got.live[pgid] > 0, got.err
}

// run makes passes until nobody waits.
func (s *scanner) run() {
	for {
		s.mu.Lock()
		batch := s.waiting
		s.waiting = nil
		s.running = len(batch) > 0
		s.mu.Unlock()
		if len(batch) == 0 {
			return
		}
		result := scanProc()
		for _, answer := range batch {
			answer <- result
		}
	}
}

// scanProc counts the live processes of every group.
func scanProc() scan {
	dir, err := os.Open("/proc")
	if err != nil {
		return scan{err: err}
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return scan{err: err}
	}
	live := make(map[int]int)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		st, err := readStat(pid)
		switch {
		case errors.Is(err, os.ErrNotExist):
			continue // it ended meanwhile
		case err != nil:
			return scan{err: err} // out of descriptors, say: the pass proves nothing
		case !st.dead():
			live[st.pgrp]++
		}
	}
	return scan{live: live}
}
