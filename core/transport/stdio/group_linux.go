package stdio

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"sync"
	"syscall"
)

// ident names one process for ever: a pid is used again, a pid with its start time is not.
type ident struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // clock ticks after the boot, field 22 of /proc/PID/stat
}

// scanner tells which processes live, by reading /proc. Nothing else can tell whether a
// group is empty: kill(2) with signal 0 also succeeds for groups of zombies, and a
// container's first process may never reap those. One scan answers everybody who asked
// before it began, so that a thousand groups that end together cost a few scans, not a
// thousand.
type scanner struct {
	tags bool // read the tags of processes, which are kept in known

	mu      sync.Mutex
	running bool
	waiting []chan *scan // bounded by the number of sessions that are ending

	known map[ident]string // tags that were read before; used by run alone
}

// newScanner returns a scanner.
func newScanner(tags bool) *scanner { return &scanner{tags: tags} }

// remains reports whether anything of a tree lives, after a pass that begins now.
func (s *scanner) remains(p *process) (bool, error) {
	sc := s.look()
	if sc.err != nil {
		return false, sc.err
	}
	return p.remains(sc), nil
}

// scan is the result of one pass over /proc. It is not changed after the pass.
type scan struct {
	procs    map[int]stat  // by pid, zombies included
	groups   map[int][]int // live processes by group id
	children map[int][]int // live processes by parent
	tagged   map[string][]int
	tags     map[ident]string
	untold   []ident // live processes that are between two programs: their tag is not there yet
	unborn   []ident // without a tag, in the program of their parent: the tag may be to come
	err      error   // the pass was not complete
}

// look returns the result of a pass that began after the call.
func (s *scanner) look() *scan {
	answer := make(chan *scan, 1)
	s.mu.Lock()
	s.waiting = append(s.waiting, answer)
	if !s.running {
		s.running = true
		go s.run()
	}
	s.mu.Unlock()
	return <-answer
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
		result := scanProc(s.tags, s.known)
		if result.err == nil {
			s.known = result.tags
		}
		for _, answer := range batch {
			answer <- result
		}
	}
}

// scanProc reads the status of every process, and the tags of those that known does not have.
func scanProc(tags bool, known map[ident]string) *scan {
	dir, err := os.Open("/proc")
	if err != nil {
		return &scan{err: err}
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return &scan{err: err}
	}
	sc := &scan{procs: map[int]stat{}, groups: map[int][]int{}, children: map[int][]int{}, tagged: map[string][]int{}, tags: map[ident]string{}}
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
			return &scan{err: err} // out of descriptors, say: the pass proves nothing
		}
		sc.add(pid, st, tags, known)
	}
	return sc
}

// add takes one process in.
func (sc *scan) add(pid int, st stat, tags bool, known map[ident]string) {
	sc.procs[pid] = st
	if st.dead() {
		return
	}
	sc.groups[st.pgrp] = append(sc.groups[st.pgrp], pid)
	sc.children[st.ppid] = append(sc.children[st.ppid], pid)
	if !tags {
		return
	}
	id := ident{pid, st.start}
	tag, told := known[id]
	if !told && st.flags&pfKernel == 0 {
		if tag, told = readTag(pid); !told {
			sc.untold = append(sc.untold, id)
			return
		}
		if tag == "" && st.flags&pfForked != 0 {
			sc.unborn = append(sc.unborn, id) // and not kept
			return
		}
	}
	sc.tags[id] = tag
	if tag != "" {
		sc.tagged[tag] = append(sc.tagged[tag], pid)
	}
}

// live reports whether id names a process that runs.
func (sc *scan) live(id ident) bool {
	st, ok := sc.procs[id.PID]
	return ok && st.start == id.Start && !st.dead()
}

// ident returns the name of a process of the pass.
func (sc *scan) ident(pid int) ident { return ident{pid, sc.procs[pid].start} }

// descend adds to found what descends from it. Where it leads to stop, it is left alone.
func (sc *scan) descend(found map[ident]bool, stop map[int]bool) {
	var queue []int
	for id := range found {
		queue = append(queue, id.PID)
	}
	for len(queue) > 0 {
		pid := queue[0]
		queue = queue[1:]
		for _, child := range sc.children[pid] {
			if id := sc.ident(child); !found[id] && !stop[child] {
				found[id] = true
				queue = append(queue, child)
			}
		}
	}
}

// readTag returns the tag in the environment that a process was started with. It is "" for
// processes of other users, whose environment we may not read, and those are not ours.
//
// A process that is being given another program has no environment for a moment, which
// may be long on a busy machine. The one that started it does not wait for the end of that.
// Such a process is not told: to take it for one without a tag would lose it. Nor is one that
// is ending and has given its memory back already, but not yet its files.
func readTag(pid int) (tag string, told bool) {
	for range 2 {
		env, err := readEnviron("/proc/" + strconv.Itoa(pid))
		if err != nil && !errors.Is(err, syscall.ESRCH) { // which is what newer kernels say of no memory
			return "", true
		}
		if len(env) > 0 {
			return tagIn(env), true
		}
		st, err := readStat(pid)
		switch {
		case err != nil || st.dead():
			return "", true
		case st.flags&pfExiting != 0:
			return tagOfThreads(pid)
		case st.code == 0:
			return "", false
		}
		// It has one by now, or an empty one for good: the kernel says where the program begins
		// after it has laid out the environment, whose end it first sets to its beginning.
	}
	return "", true
}

// tagOfThreads reads the tag of a process whose first thread is ending or has ended.
func tagOfThreads(pid int) (tag string, told bool) {
	dir := "/proc/" + strconv.Itoa(pid) + "/task/"
	threads, err := os.ReadDir(dir)
	if err != nil {
		return "", true
	}
	for _, thread := range threads {
		if env, err := readEnviron(dir + thread.Name()); err == nil && len(env) > 0 {
			return tagIn(env), true
		}
	}
	return "", false
}

// readEnviron reads an environment. The file ends early when its process gives the memory back
// meanwhile, and so one without a tag counts if it is as long a second time.
func readEnviron(dir string) ([]byte, error) {
	env, err := os.ReadFile(dir + "/environ")
	if err != nil || len(env) == 0 || tagIn(env) != "" {
		return env, err
	}
	again, err := os.ReadFile(dir + "/environ")
	if err == nil && len(again) != len(env) && tagIn(again) == "" {
		return nil, nil
	}
	return again, err
}

// tagIn finds the tag in an environment.
func tagIn(env []byte) string {
	for entry := range bytes.SplitSeq(env, []byte{0}) {
		if tag, ok := bytes.CutPrefix(entry, []byte(TagVar+"=")); ok {
			return string(tag)
		}
	}
	return ""
}
