package daemon

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
)

// watched is a real disk that looks at the store before and after every step, as somebody
// would find it whom the step was cut off for, and lets one of the steps fail.
type watched struct {
	disk
	look   func(step string)
	steps  []string
	failAt int // the number of a step; -1 is none
	links  error
}

func watch(failAt int, links error, look func(step string)) *watched {
	w := &watched{disk: realDisk(), look: look, failAt: failAt, links: links}
	commit, f := w.commit, w.files
	w.commit = func(tx *bolt.Tx) error { return w.step("commit", func() error { return commit(tx) }) }
	w.files.write = func(o *os.File, data []byte) error { return w.step("write", func() error { return f.write(o, data) }) }
	w.files.sync = func(o *os.File) error { return w.step("sync", func() error { return f.sync(o) }) }
	w.files.rename = func(from, to string) error { return w.step("rename", func() error { return f.rename(from, to) }) }
	w.files.syncDir = func(dir string) error { return w.step("sync of the directory", func() error { return f.syncDir(dir) }) }
	w.files.link = func(from, to string) error {
		return w.step("link", func() error { return errors.Join(w.links, f.link(from, to)) })
	}
	if links != nil {
		w.files.link = func(string, string) error { return w.step("link", func() error { return links }) }
	}
	return w
}

func (w *watched) step(name string, do func() error) error {
	n := len(w.steps)
	w.steps = append(w.steps, name)
	w.look("before " + name)
	if n == w.failAt {
		return errDisk
	}
	err := do()
	w.look("after " + name)
	return err
}

// TestARestoreHasNoGap cuts a restore off at every step and lets every step fail, with links
// and on a file system that has none: whoever comes then finds the old store or the new one.
func TestARestoreHasNoGap(t *testing.T) {
	for name, links := range map[string]error{"links": nil, "no links": syscall.EPERM} {
		t.Run(name, func(t *testing.T) {
			for failAt := -1; restoreFails(t, failAt, links) || failAt < 0; failAt++ {
				if failAt > 100 {
					t.Fatal("the steps do not end")
				}
			}
		})
	}
}

// restoreFails restores one store over another and reports whether the step was reached.
func restoreFails(t *testing.T, failAt int, links error) bool {
	t.Helper()
	h, other := filled(t, 3), filled(t, 5)
	old, fresh := storeSummary(t, h.store), storeSummary(t, other.store)
	look := func(step string) {
		if got := storeSummary(t, h.store); got != old && got != fresh {
			t.Errorf("failing at %d, %s: the store holds %q", failAt, step, got)
		}
	}
	w := watch(failAt, links, look)
	done, err := restore(w.disk, h.dir, other.store, time.Unix(0, 0))
	look("at the end")
	reached := failAt >= 0 && failAt < len(w.steps)
	switch said := err != nil && strings.Contains(err.Error(), "nothing was changed"); {
	case failAt < 0 && err != nil, reached && err == nil && w.steps[failAt] != "link": // which has a substitute
		t.Errorf("failing at %d of %q: %v", failAt, w.steps, err)
	case said && (storeSummary(t, h.store) != old || done.Kept != ""):
		t.Errorf("failing at %d of %q, nothing was said to be changed", failAt, w.steps)
	case err == nil && (storeSummary(t, h.store) != fresh || storeSummary(t, done.Kept) != old || done.Agents != 5):
		t.Errorf("failing at %d of %q: %+v", failAt, w.steps, done)
	}
	if left, _ := filepath.Glob(filepath.Join(h.dir, "*.replaced-*")); err != nil && done.Kept == "" && len(left) > 0 {
		t.Errorf("failing at %d of %q: %q is left", failAt, w.steps, left)
	}
	return reached
}

// storeSummary is what a start would read.
func storeSummary(t *testing.T, path string) string {
	t.Helper()
	records, _, err := readStore(path)
	if err != nil {
		return err.Error()
	}
	return summary(records)
}

// TestARestoreKeepsWhatWasKept: the store that is put aside takes no other one's place.
func TestARestoreKeepsWhatWasKept(t *testing.T) {
	h, other := filled(t, 3), filled(t, 5)
	first, err := Restore(h.dir, other.store, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	old := storeSummary(t, first.Kept)
	if _, err := Restore(h.dir, other.store, time.Unix(0, 0)); err == nil || !strings.Contains(err.Error(), "put the present store aside") {
		t.Errorf("a second restore of the same instant: %v", err)
	}
	if got := storeSummary(t, first.Kept); got != old {
		t.Errorf("what was kept is %q now", got)
	}
}
