package stdio

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// stubborn is a grace short enough for peers that ignore SIGTERM in any case.
var stubborn = ReapOptions{Grace: 10 * time.Millisecond}

// files lists a directory.
func files(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// TestPeersOfAKilledDaemon is A04 and A05: what a daemon leaves behind when it is killed ends
// by itself at the end of its input, or with the next start.
func TestPeersOfAKilledDaemon(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "peers")
	modes := []string{"", "ignore-eof", "ignore-eof,ignore-term", "launcher", "launcher"}
	cmd, trees := startDaemon(t, dir, modes...)
	if got := len(files(t, dir)); got != len(modes) {
		t.Fatalf("%d records of %d peers", got, len(modes))
	}
	if rep, err := Reap(bounded(t), dir, stubborn); err != nil || rep.Owned != len(modes) || rep.Terminated != 0 {
		t.Fatalf("while the daemon lives: %+v, %v; want its %d peers left alone", rep, err, len(modes))
	}
	last := trees[len(trees)-1]
	if err := syscall.Kill(last.Leader, syscall.SIGKILL); err != nil { // stubborn descendants without a leader
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	eventually(t, "the end of the peer that obeys", func() bool { return !alive(trees[0].Server) })
	for i, tr := range trees[1:] {
		if !alive(tr.Server) || !alive(tr.Escapee) || !alive(tr.Orphan) {
			t.Errorf("of peer %d with %q something ended by itself: %+v", i+1, modes[i+1], tr)
		}
	}
	rep, err := Reap(bounded(t), dir, stubborn)
	if err != nil {
		t.Fatal(err)
	}
	if rep.Ended != len(modes) || rep.Owned+rep.Gone != 0 || rep.Killed == 0 || rep.Killed > rep.Terminated || len(rep.Unreadable) > 0 {
		t.Errorf("report %+v", rep)
	}
	for i, tr := range trees {
		for _, pid := range []int{tr.Leader, tr.Server, tr.Escapee, tr.Orphan} {
			if alive(pid) {
				st, _ := readStat(pid)
				t.Errorf("peer %d: process %d outlived Reap: %+v of %+v", i, pid, st, tr)
			}
		}
	}
	if left := files(t, dir); len(left) > 0 {
		t.Errorf("records left: %q", left)
	}
	if rep, err := Reap(bounded(t), dir, stubborn); err != nil || !cmp.Equal(rep, Report{}) {
		t.Errorf("a second time: %+v, %v", rep, err)
	}
}

// aDeadDaemon is the identity of a process that has ended.
func aDeadDaemon(t *testing.T) ident {
	t.Helper()
	cmd := helper(t, "forker-that-does-not-exist,chatter")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	st, err := readStat(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	return ident{cmd.Process.Pid, st.start}
}

// leave writes a record into dir.
func leave(t *testing.T, dir string, rec record) {
	t.Helper()
	rec.Version = recordVersion
	e := &entry{path: filepath.Join(dir, fmt.Sprintf("%d-%d-%s.json", rec.Daemon.PID, rec.Daemon.Start, rec.Tag))}
	if err := e.write(rec, os.O_CREATE); err != nil {
		t.Fatal(err)
	}
}

// TestStrangersAreLeftAlone: records whose pids have been taken over by others (Q02).
func TestStrangersAreLeftAlone(t *testing.T) {
	here, self, err := whereAndWho()
	if err != nil {
		t.Fatal(err)
	}
	stranger := dial(t, Options{}, config(t, "ignore-eof"))
	leader, session, err := stranger.proc.identify()
	if err != nil {
		t.Fatal(err)
	}
	dead := aDeadDaemon(t)
	otherBoot, otherSpace, younger, older := here, here, leader, leader
	otherBoot.Boot, otherSpace.Namespace = "another boot", "pid:[1]"
	younger.Start--
	older.Start++
	for _, tc := range []struct {
		name  string
		rec   record
		owned bool
	}{
		{"a pid that was used again", record{System: here, Daemon: dead, Leader: &younger, Session: session}, false},
		{"a pid of another time", record{System: here, Daemon: dead, Leader: &older, Session: session}, false},
		{"another boot", record{System: otherBoot, Daemon: dead, Leader: &leader, Session: session}, false},
		{"another namespace", record{System: otherSpace, Daemon: dead, Leader: &leader, Session: session}, false},
		{"no leader and a tag of nobody", record{System: here, Daemon: dead}, false},
		{"a daemon that lives", record{System: here, Daemon: self, Leader: &leader, Session: session}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			tc.rec.Tag = "tag-of-nobody"
			leave(t, dir, tc.rec)
			rep, err := Reap(bounded(t), dir, stubborn)
			want := Report{Gone: 1}
			if tc.owned {
				want = Report{Owned: 1}
			}
			if diff := cmp.Diff(want, rep); diff != "" || err != nil {
				t.Errorf("report, %v (-want +got):\n%s", err, diff)
			}
			if !alive(leader.PID) {
				t.Fatal("a stranger was ended")
			}
			if kept := len(files(t, dir)) == 1; kept != tc.owned {
				t.Errorf("record kept: %v, want %v", kept, tc.owned)
			}
		})
	}
}

// TestWhatARecordNames: each way in which a record finds its processes.
func TestWhatARecordNames(t *testing.T) {
	here, self, err := whereAndWho()
	if err != nil {
		t.Fatal(err)
	}
	reused := ident{self.PID, self.Start + 1} // our pid, as if a daemon had had it before
	for _, tc := range []struct {
		name   string
		daemon ident
		rec    func(leader ident, session int) record
	}{
		{"pid and start time", aDeadDaemon(t), func(l ident, s int) record { return record{Tag: "x", Leader: &l, Session: s} }},
		{"the tag alone", aDeadDaemon(t), func(ident, int) record { return record{Tag: "a-tag-of-ours"} }},
		{"a daemon whose pid was used again", reused, func(l ident, s int) record { return record{Tag: "x", Leader: &l, Session: s} }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := config(t, "ignore-eof,ignore-term")
			cfg.Env[TagVar] = "a-tag-of-ours"
			s := dial(t, Options{}, cfg)
			leader, session, err := s.proc.identify()
			if err != nil {
				t.Fatal(err)
			}
			eventually(t, "the start of the program", func() bool { tag, _ := readTag(leader.PID); return tag != "" })
			dir := t.TempDir()
			rec := tc.rec(leader, session)
			rec.System, rec.Daemon = here, tc.daemon
			leave(t, dir, rec)
			rep, err := Reap(bounded(t), dir, stubborn)
			if err != nil || rep.Ended != 1 || alive(leader.PID) || len(files(t, dir)) > 0 {
				t.Errorf("report %+v, %v, alive %v", rep, err, alive(leader.PID))
			}
			await(t, "Done", s.Done())
		})
	}
}

// TestTargets is the choice among processes that no test can arrange, on made-up passes.
func TestTargets(t *testing.T) {
	const leader, session = 100, 50
	procs := map[int]stat{
		1: {state: 'S', threads: 1}, 9: {state: 'S', threads: 1, ppid: 1, start: 1},
		101: {state: 'S', threads: 1, ppid: 1, pgrp: leader, session: session, start: 20},
		102: {state: 'S', threads: 1, ppid: 101, pgrp: 102, session: 102, start: 21}, // its child, elsewhere
		103: {state: 'S', threads: 1, ppid: 1, pgrp: leader, session: session, start: 5},
		104: {state: 'S', threads: 1, ppid: 1, pgrp: leader, session: 51, start: 20},
		105: {state: 'Z', threads: 1, ppid: 1, pgrp: leader, session: session, start: 20},
		106: {state: 'S', threads: 1, ppid: 1, pgrp: leader, session: session, start: 20}, // another tag
		200: {state: 'S', threads: 1, ppid: 1, pgrp: 200, session: 200, start: 30},        // our tag
		300: {state: 'S', threads: 1, ppid: 200, pgrp: 200, session: 200, start: 31},      // spared
		301: {state: 'S', threads: 1, ppid: 300, pgrp: 200, session: 200, start: 32},
	}
	tags := map[int]string{106: "other", 200: "ours", 300: "ours"}
	for _, tc := range []struct {
		name   string
		leader *stat // the process with the recorded pid now
		want   []int
	}{
		{"the leader is gone", nil, []int{101, 102, 200}},
		{"the leader lives", &stat{state: 'S', threads: 1, pgrp: leader, session: session, start: 10}, []int{leader, 101, 102, 200}},
		{"the leader is a zombie", &stat{state: 'Z', threads: 1, pgrp: leader, session: session, start: 10}, []int{101, 102, 200}},
		{"its number was used again", &stat{state: 'S', threads: 1, pgrp: leader, session: session, start: 11}, []int{200}},
		{"used again by a zombie", &stat{state: 'Z', threads: 1, pgrp: leader, session: session, start: 11}, []int{200}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			sc := &scan{procs: map[int]stat{}, groups: map[int][]int{}, children: map[int][]int{}, tagged: map[string][]int{}, tags: map[ident]string{}}
			known := map[ident]string{{leader, 10}: "", {leader, 11}: ""}
			for pid, st := range procs {
				known[ident{pid, st.start}] = tags[pid]
				sc.add(pid, st, true, known)
			}
			if tc.leader != nil {
				sc.add(leader, *tc.leader, true, known)
			}
			r := &reaper{spared: map[int]bool{1: true, 300: true}}
			var got []int
			for id := range r.targets(&remnant{rec: record{Tag: "ours", Leader: &ident{leader, 10}, Session: session}}, sc) {
				got = append(got, id.PID)
			}
			slices.Sort(got)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("targets (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatIsNoRecord(t *testing.T) {
	dir := t.TempDir()
	_, self, err := whereAndWho()
	if err != nil {
		t.Fatal(err)
	}
	dead := aDeadDaemon(t)
	put := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("garbage.json", "{\n")
	put("big.json", strings.Repeat(" ", maxRecord+1))
	put("pid-one.json", `{"version":1,"tag":"x","system":{"boot":"b"},"daemon":{"pid":5,"start":6},"leader":{"pid":1,"start":0}}`+"\n")
	put("version.json", `{"version":2,"tag":"x","system":{"boot":"b"},"daemon":{"pid":5,"start":6}}`+"\n")
	put("no-tag.json", `{"version":1,"system":{"boot":"b"},"daemon":{"pid":5,"start":6}}`+"\n")
	put("odd.json", "")
	put("odd.json.bad", "of an earlier time")
	put("README", "what this directory is")
	mine, spoilt := fmt.Sprintf("%d-%d-x.json", self.PID, self.Start), fmt.Sprintf("%d-%d-y.json", self.PID, self.Start)
	put(mine, "")
	put(spoilt, "{\n")
	put(fmt.Sprintf("%d-%d-x.json", dead.PID, dead.Start), `{"version":1,"ta`) // killed in its first line
	rep, err := Reap(bounded(t), dir, stubborn)
	want := Report{Owned: 2, Gone: 1, Unreadable: []string{"big.json", "garbage.json", "no-tag.json", "odd.json", "pid-one.json", "version.json"}}
	if diff := cmp.Diff(want, rep); diff != "" || err != nil {
		t.Errorf("report, %v (-want +got):\n%s", err, diff)
	}
	left := []string{"README", mine, spoilt, "big.json.bad", "garbage.json.bad", "no-tag.json.bad", "odd.json.bad", "odd.json.2.bad", "pid-one.json.bad", "version.json.bad"}
	slices.Sort(left)
	got := files(t, dir)
	slices.Sort(got)
	if diff := cmp.Diff(left, got); diff != "" {
		t.Errorf("files left (-want +got):\n%s", diff)
	}
	if again, err := Reap(bounded(t), dir, stubborn); err != nil || !cmp.Equal(again, Report{Owned: 2}) {
		t.Errorf("a second time: %+v, %v", again, err)
	}
	if rep, err := Reap(bounded(t), filepath.Join(dir, "none"), stubborn); err != nil || !cmp.Equal(rep, Report{}) {
		t.Errorf("without a directory: %+v, %v", rep, err)
	}
	if _, err := Reap(bounded(t), filepath.Join(dir, "README"), stubborn); err == nil {
		t.Error("a file in the place of the directory is no error")
	}
}

// TestASpoiltRecordStillEndsItsPeer by what its name tells, and nothing of it is lost but what
// was lost before.
func TestASpoiltRecordStillEndsItsPeer(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		bad        bool
	}{
		{"empty", "", false},
		{"cut in its first line", `{"version":1,"tag":"abc`, false},
		{"no JSON", "{\n", true},
		{"zeros", strings.Repeat("\x00", 300), true},
		{"too long", strings.Repeat("x\n", maxRecord), true},
		{"of a later version", `{"version":2}` + "\n", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "peers")
			daemon, trees := startDaemon(t, dir, "ignore-eof,ignore-term")
			names := files(t, dir)
			if len(names) != 1 {
				t.Fatalf("records %q, want one", names)
			}
			path := filepath.Join(dir, names[0])
			if err := os.WriteFile(path, []byte(tc.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if rep, err := Reap(bounded(t), dir, stubborn); err != nil || !cmp.Equal(rep, Report{Owned: 1}) || !alive(trees[0].Leader) {
				t.Fatalf("while the daemon lives: %+v, %v", rep, err)
			}
			_ = daemon.Process.Kill()
			_ = daemon.Wait()
			rep, err := Reap(bounded(t), dir, stubborn)
			if err != nil || rep.Ended != 1 || rep.Gone+rep.Owned != 0 || len(rep.Unreadable) > 0 != tc.bad {
				t.Errorf("report %+v, %v", rep, err)
			}
			for _, pid := range []int{trees[0].Leader, trees[0].Escapee, trees[0].Orphan} {
				if alive(pid) {
					t.Errorf("process %d of %+v outlived Reap", pid, trees[0])
				}
			}
			var left []string
			if tc.bad {
				left = []string{names[0] + badSuffix}
			}
			if diff := cmp.Diff(left, files(t, dir)); diff != "" {
				t.Errorf("files left (-want +got):\n%s", diff)
			}
			if kept, _ := os.ReadFile(path + badSuffix); tc.bad && string(kept) != tc.text {
				t.Errorf("%d bytes kept of %d", len(kept), len(tc.text))
			}
		})
	}
}

// TestARecordThatCannotBeReadNow is used by its name, and left to the next start.
func TestARecordThatCannotBeReadNow(t *testing.T) {
	dead := aDeadDaemon(t)
	dir := t.TempDir()
	name := fmt.Sprintf("%d-%d-x.json", dead.PID, dead.Start)
	if err := os.Symlink(name, filepath.Join(dir, name)); err != nil { // to itself: ELOOP
		t.Fatal(err)
	}
	rep, err := Reap(bounded(t), dir, stubborn)
	if diff := cmp.Diff(Report{Unreadable: []string{name}}, rep); diff != "" || err != nil {
		t.Errorf("report, %v (-want +got):\n%s", err, diff)
	}
	if diff := cmp.Diff([]string{name}, files(t, dir)); diff != "" {
		t.Errorf("files left (-want +got):\n%s", diff)
	}
}

// TestHalfARecord: its daemon was killed in the second line, and the first still counts.
func TestHalfARecord(t *testing.T) {
	dir := t.TempDir()
	e, err := newEntry(dir)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(e.path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(`{"leader":{"pid":5`); err != nil {
		t.Fatal(err)
	}
	rec, err := readRecord(e.path)
	if diff := cmp.Diff(e.rec, rec); diff != "" || err != nil {
		t.Errorf("record, %v (-want +got):\n%s", err, diff)
	}
}

// TestReapGivesUpWithItsContext and says what is left.
func TestReapGivesUpWithItsContext(t *testing.T) {
	here, _, err := whereAndWho()
	if err != nil {
		t.Fatal(err)
	}
	s := dial(t, Options{}, config(t, "ignore-eof,ignore-term"))
	leader, session, err := s.proc.identify()
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the peer to ignore SIGTERM", func() bool { return ignoresTerm(leader.PID) })
	dir := t.TempDir()
	leave(t, dir, record{System: here, Tag: "x", Daemon: aDeadDaemon(t), Leader: &leader, Session: session})
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err = Reap(ctx, dir, ReapOptions{Grace: time.Hour})
	if want := fmt.Sprintf("1 peers of an earlier daemon may still run, processes %d: context deadline exceeded", leader.PID); err == nil || err.Error() != want {
		t.Errorf("error %v, want %q", err, want)
	}
	if !alive(leader.PID) || len(files(t, dir)) != 1 {
		t.Errorf("alive %v, files %q; want the record kept for the next start", alive(leader.PID), files(t, dir))
	}
}

// ignoresTerm reads whether a process ignores SIGTERM.
func ignoresTerm(pid int) bool {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	var mask uint64
	for line := range strings.Lines(string(data)) {
		if hex, ok := strings.CutPrefix(line, "SigIgn:"); ok {
			_, _ = fmt.Sscanf(strings.TrimSpace(hex), "%x", &mask)
		}
	}
	return mask&(1<<(syscall.SIGTERM-1)) != 0
}
