package stdio

import (
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// reader is a program that ends with its input.
func reader(t *testing.T, env []string, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = env
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	return cmd
}

// TestATagIsThereOrNotToldYet: a child that was just started still sets up its program, and for
// a moment has no environment. That was taken for one without a tag, and remembered.
func TestATagIsThereOrNotToldYet(t *testing.T) {
	for range 300 {
		cmd := reader(t, append(os.Environ(), TagVar+"=ours"), "cat")
		for told, looks := false, 0; !told; looks++ {
			var tag string
			if tag, told = readTag(cmd.Process.Pid); told && tag != "ours" {
				t.Fatalf("look %d: tag %q of a process that has one", looks, tag)
			}
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

// TestAnEmptyEnvironmentIsTold: there are programs that have one for good.
func TestAnEmptyEnvironmentIsTold(t *testing.T) {
	path, err := exec.LookPath("cat")
	if err != nil {
		t.Fatal(err)
	}
	cmd := reader(t, []string{}, path)
	eventually(t, "the start of the program", func() bool { _, told := readTag(cmd.Process.Pid); return told })
	if tag, told := readTag(cmd.Process.Pid); tag != "" || !told {
		t.Errorf("tag %q, told %v", tag, told)
	}
	if tag, told := readTag(1 << 22); tag != "" || !told {
		t.Errorf("of nobody: tag %q, told %v", tag, told)
	}
}

// TestAProcessWithoutItsFirstThread lives, and so has a tag.
func TestAProcessWithoutItsFirstThread(t *testing.T) {
	cmd := helper(t, "headless", TagVar+"=ours")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	eventually(t, "the end of the first thread", func() bool { st, err := readStat(pid); return err == nil && st.state == 'Z' })
	if tag, told := readTag(pid); tag != "ours" || !told || !alive(pid) {
		t.Errorf("tag %q, told %v, alive %v", tag, told, alive(pid))
	}
	_ = cmd.Process.Kill()
	for told := false; alive(pid); { // of an ending process nobody says that it has no tag
		var tag string
		if tag, told = readTag(pid); told && tag != "ours" && alive(pid) {
			t.Fatalf("tag %q of a process that is ending", tag)
		}
	}
}

// TestAProcessInTheProgramOfItsParent may still get a tag, so that it has none is not kept.
func TestAProcessInTheProgramOfItsParent(t *testing.T) {
	for _, tag := range []string{"", "ours"} {
		env := os.Environ()
		if tag != "" {
			env = append(env, TagVar+"="+tag)
		}
		shell := reader(t, env, "sh", "-c", "(read line; exit 0) | cat")
		forked := func() ident {
			sc := scanProc(true, nil)
			for _, pid := range sc.children[shell.Process.Pid] {
				if sc.procs[pid].flags&pfForked != 0 && len(sc.children[shell.Process.Pid]) == 2 {
					return sc.ident(pid)
				}
			}
			return ident{}
		}
		both := func() bool { // the other one has started its program
			id := forked()
			return id.PID != 0 && forked() == id && len(childrenOf(shell.Process.Pid)) == 2
		}
		eventually(t, "two children of the shell", both)
		id, sc := forked(), scanProc(true, nil)
		_, kept := sc.tags[id]
		if unborn := slices.Contains(sc.unborn, id); unborn != (tag == "") || kept == unborn || tag != "" && !slices.Contains(sc.tagged[tag], id.PID) {
			t.Errorf("with tag %q: unborn %v, kept %v, tagged %v", tag, unborn, kept, sc.tagged)
		}
	}
	sc := passOf(nil, nil, nil)
	sc.add(1<<22, stat{state: 'S', threads: 1, flags: pfForked | pfKernel}, true, nil)
	if len(sc.unborn) > 0 {
		t.Error("a kernel thread is taken for a process whose program is to come")
	}
}

// passOf makes a pass of what a test made up.
func passOf(procs map[ident]string, untold, unborn []ident) *scan {
	sc := &scan{procs: map[int]stat{}, groups: map[int][]int{}, children: map[int][]int{}, tagged: map[string][]int{},
		tags: map[ident]string{}, untold: untold, unborn: unborn}
	for id := range procs {
		sc.add(id.PID, stat{state: 'S', threads: 1, ppid: 1, pgrp: id.PID, session: id.PID, start: id.Start}, true, procs)
	}
	return sc
}

// TestNothingIsProvedBesideWhoDidNotTell: not the end of a peer, within a bound.
func TestNothingIsProvedBesideWhoDidNotTell(t *testing.T) {
	other := []ident{{1<<22 + 1, 50}}
	old := []ident{{1<<22 + 1, 5}}
	leader := &ident{1<<22 + 2, 20}
	for _, tc := range []struct {
		name   string
		sc     *scan
		leader *ident
		doubts int
	}{
		{"all told", passOf(nil, nil, nil), nil, 0},
		{"one between two programs", passOf(nil, other, nil), leader, maxDoubts},
		{"one older than the daemon", passOf(nil, old, old), nil, 0},
		{"one in the program of its parent, and no leader on record", passOf(nil, nil, other), nil, maxDoubts},
		{"one in the program of its parent, beside a leader on record", passOf(nil, nil, other), leader, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := &remnant{path: t.TempDir() + "/none", rec: record{Tag: "ours", Daemon: ident{1<<22 + 3, 10}, Leader: tc.leader}}
			r := &reaper{remnants: []*remnant{m}}
			passes := 1
			for !r.pass(tc.sc) {
				passes++
			}
			if want := tc.doubts + emptyScans; passes != want || r.report.Gone != 1 {
				t.Errorf("gone after %d passes, want %d: %+v", passes, want, r.report)
			}
		})
	}
	for tag, want := range map[string]int{"ours": maxDoubts, "": 0} { // without records there are no tags to wait for
		p := &process{pid: 1<<22 + 4, tag: tag}
		passes := 0
		for p.remains(passOf(nil, other, nil)) {
			passes++
		}
		if passes != want {
			t.Errorf("a session with tag %q is told of its end after %d doubts, want %d", tag, passes, want)
		}
	}
}

// TestWhatWasSeenIsWaitedFor: a process that is ending has neither a tag nor a parent that tells
// whose it is, and still has files and ports.
func TestWhatWasSeenIsWaitedFor(t *testing.T) {
	id := ident{1<<22 + 1, 50}
	r := &reaper{sent: map[ident]syscall.Signal{}, remnants: []*remnant{{path: t.TempDir() + "/none", rec: record{Tag: "ours", Daemon: ident{1<<22 + 3, 10}}}}}
	ending := passOf(map[ident]string{id: ""}, nil, nil)
	for i, sc := range []*scan{passOf(map[ident]string{id: "ours"}, nil, nil), ending, ending, ending} {
		if r.pass(sc) {
			t.Fatalf("forgotten in pass %d", i)
		}
	}
	another := passOf(map[ident]string{{id.PID, id.Start + 1}: ""}, nil, nil) // its number was used again
	if first, second := r.pass(another), r.pass(another); first || !second || r.report.Terminated != 1 {
		t.Errorf("after its end: %v, %v, %+v", first, second, r.report)
	}
}

// TestWhoTellsLaterIsEnded: the doubt was right.
func TestWhoTellsLaterIsEnded(t *testing.T) {
	id := ident{1<<22 + 1, 50} // of no process, so nobody is hit
	m := &remnant{path: t.TempDir() + "/none", rec: record{Tag: "ours", Daemon: ident{1<<22 + 3, 10}}}
	r := &reaper{remnants: []*remnant{m}, sent: map[ident]syscall.Signal{}}
	for _, sc := range []*scan{passOf(nil, nil, nil), passOf(nil, []ident{id}, nil), passOf(nil, nil, nil),
		passOf(map[ident]string{id: "ours"}, nil, nil), passOf(nil, nil, nil)} {
		if r.pass(sc) {
			t.Fatal("forgotten too early")
		}
	}
	if !r.pass(passOf(nil, nil, nil)) {
		t.Error("not forgotten")
	}
	if diff := cmp.Diff(Report{Ended: 1, Terminated: 1}, r.report); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}
