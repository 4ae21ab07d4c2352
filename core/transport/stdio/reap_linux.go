package stdio

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// remnant is one record of a dead daemon.
type remnant struct {
	path  string
	rec   record
	bad   error // why the file could not be read, nil for a record that says all or was cut
	empty int   // passes in a row that found nothing
	doubt int   // passes that found nothing, beside processes that did not tell
	hit   bool  // some pass found something
	// seen is what passes have found, as far as it lives: a process that is ending loses what
	// it was known by before it is gone.
	seen map[ident]bool
}

// reaper is one run of Reap.
type reaper struct {
	report   Report
	remnants []*remnant
	sent     map[ident]syscall.Signal
	killing  bool
	spared   map[int]bool // ourselves and whoever started us
}

// reap implements Reap.
func reap(ctx context.Context, dir string, opts ReapOptions) (Report, error) {
	r := &reaper{sent: map[ident]syscall.Signal{}}
	if err := r.read(dir); err != nil || len(r.remnants) == 0 {
		return r.report, err
	}
	grace := time.NewTimer(opts.Grace)
	defer grace.Stop()
	poll := time.NewTimer(0)
	defer poll.Stop()
	for wait := groupPollFloor; ; wait = min(2*wait, groupPollCeiling) {
		select {
		case <-ctx.Done():
			return r.report, fmt.Errorf("%d peers of an earlier daemon may still run%s: %w", len(r.remnants), r.survivors(), context.Cause(ctx))
		case <-grace.C:
			r.killing, wait = true, groupPollFloor
		case <-poll.C:
		}
		if r.pass(scanProc(true, nil)) {
			return r.report, nil
		}
		poll.Reset(wait)
	}
}

// read sorts the files of the directory.
func (r *reaper) read(dir string) error {
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	here, _, err := whereAndWho()
	if err != nil {
		return err
	}
	for _, f := range files {
		if strings.HasSuffix(f.Name(), recordSuffix) {
			r.sort(filepath.Join(dir, f.Name()), here)
		}
	}
	return nil
}

// sort decides about one file. A record that was cut or spoilt still has its name, and that
// is enough to end its peer: to take it for one that was never started would let the peer
// live for ever.
func (r *reaper) sort(path string, here system) {
	rec, err := readRecord(path)
	m := &remnant{path: path, rec: rec}
	switch {
	case errors.Is(err, fs.ErrNotExist): // its daemon lives and was faster
		return
	case err != nil && rec.Daemon.PID > 0 && rec.Daemon.alive():
		r.report.Owned++
		return
	case err != nil && (rec.Tag == "" || !errors.Is(err, errCut)):
		m.bad = err
		r.report.Unreadable = append(r.report.Unreadable, filepath.Base(path))
	}
	switch {
	case rec.Tag == "": // it names nobody
		r.close(m)
	case err == nil && rec.System != here:
		r.close(m)
	case rec.Daemon.alive():
		r.report.Owned++
	default:
		r.remnants = append(r.remnants, m)
	}
}

// close is done with a file, behind which nothing is left. What is no record is kept under
// another name; what cannot even be read now is left to the next start.
func (r *reaper) close(m *remnant) {
	switch {
	case m.hit:
		r.report.Ended++
	case m.bad == nil:
		r.report.Gone++
	}
	switch {
	case m.bad == nil:
		_ = os.Remove(m.path)
	case errors.Is(m.bad, errCut), errors.Is(m.bad, errGarbage):
		_ = setAside(m.path) // it is named in the report, and will be again if it stays
	}
}

// alive reports whether a process runs. A zombie does not.
func (id ident) alive() bool {
	st, err := readStat(id.PID)
	return err == nil && st.start == id.Start && !st.dead()
}

// pass brings the processes of the remnants to the current rung, after one look at all
// processes. It reports whether nothing is left.
func (r *reaper) pass(sc *scan) bool {
	if sc.err != nil {
		return false // a pass that is not complete proves nothing; the next one may be
	}
	r.spared = ancestors(sc)
	r.remnants = slices.DeleteFunc(r.remnants, func(m *remnant) bool {
		targets := r.targets(m, sc)
		m.seen = targets
		if len(targets) > 0 {
			m.empty, m.hit = 0, true
			r.signal(targets)
			return false
		}
		if m.doubt < maxDoubts && m.rec.mayBe(sc) {
			m.empty, m.doubt = 0, m.doubt+1
			return false
		}
		if m.empty++; m.empty < emptyScans {
			return false
		}
		r.close(m)
		return true
	})
	return len(r.remnants) == 0
}

// targets finds what lives of one peer.
func (r *reaper) targets(m *remnant, sc *scan) map[ident]bool {
	rec, found := m.rec, map[ident]bool{}
	add := func(pid int) {
		if !r.spared[pid] {
			found[sc.ident(pid)] = true
		}
	}
	for id := range m.seen {
		if sc.live(id) {
			found[id] = true
		}
	}
	for _, pid := range sc.tagged[rec.Tag] {
		add(pid)
	}
	if rec.Leader != nil {
		if sc.live(*rec.Leader) {
			add(rec.Leader.PID)
		}
		for _, pid := range sc.groups[rec.Leader.PID] {
			if ofGroup(rec, sc, pid) {
				add(pid)
			}
		}
	}
	sc.descend(found, r.spared)
	return found
}

// mayBe reports whether a process that did not tell its tag may be one of the peer. Without a
// leader on record that may also be the leader itself, whose daemon was killed between the
// fork and the start of its program.
func (rec record) mayBe(sc *scan) bool {
	younger := func(id ident) bool { return id.Start >= rec.Daemon.Start }
	return slices.ContainsFunc(sc.untold, younger) || rec.Leader == nil && slices.ContainsFunc(sc.unborn, younger)
}

// ofGroup reports whether a member of the group with the recorded number is one of ours.
// While a member lives the kernel gives its group's number to nobody else, but a group that
// died out may have a successor of the same number, which has a leader of another age.
func ofGroup(rec record, sc *scan, pid int) bool {
	if st, ok := sc.procs[rec.Leader.PID]; ok && st.start != rec.Leader.Start {
		return false
	}
	st := sc.procs[pid]
	tag := sc.tags[sc.ident(pid)]
	return st.session == rec.Session && st.start >= rec.Leader.Start && (tag == "" || tag == rec.Tag)
}

// signal sends each target what it has not got yet.
func (r *reaper) signal(targets map[ident]bool) {
	for id := range targets {
		got, asked := r.sent[id]
		if !asked {
			r.report.Terminated++
			r.sent[id] = syscall.SIGTERM
			signalProcess(id, syscall.SIGTERM)
		}
		if r.killing && got != syscall.SIGKILL {
			r.report.Killed++
			r.sent[id] = syscall.SIGKILL
			signalProcess(id, syscall.SIGKILL)
		}
	}
}

// survivors names what lives on, for an error.
func (r *reaper) survivors() string {
	var pids []string
	for id := range r.sent {
		if id.alive() {
			pids = append(pids, strconv.Itoa(id.PID))
		}
	}
	if len(pids) == 0 {
		return ""
	}
	slices.Sort(pids)
	return ", processes " + strings.Join(pids, " ")
}

// ancestors are this process and those above it: a daemon that was started from inside a
// peer carries the tag of that peer, and must not end itself.
func ancestors(sc *scan) map[int]bool {
	out := map[int]bool{1: true}
	for pid := os.Getpid(); pid > 1 && !out[pid]; pid = sc.procs[pid].ppid {
		out[pid] = true
	}
	return out
}

// whereAndWho returns the system that pids of ours belong to, and this process.
func whereAndWho() (system, ident, error) {
	boot, err1 := os.ReadFile("/proc/sys/kernel/random/boot_id")
	space, err2 := os.Readlink("/proc/self/ns/pid")
	st, err3 := readStat(os.Getpid())
	return system{Boot: strings.TrimSpace(string(boot)), Namespace: space},
		ident{PID: os.Getpid(), Start: st.start}, errors.Join(err1, err2, err3)
}
