package campaign

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/sim"
)

// broken is a machine with planted bugs: it panics with an invariant upon some inputs.
type broken struct {
	sim.Subject
	bugs map[lifecycle.InputKind]string
}

func (b broken) Step(now lifecycle.Instant, in lifecycle.Input) lifecycle.Output {
	if id := b.bugs[in.Kind]; id != "" {
		panic(&lifecycle.Violation{ID: id, Detail: "planted"})
	}
	return b.Subject.Step(now, in)
}

// planted makes options of a campaign of small seeds on a machine with bugs.
func planted(dir string, bugs map[lifecycle.InputKind]string) Options {
	return Options{Dir: dir, Seeds: 24, Block: 4, Workers: 1, Build: "test", Guard: 100, Shrinks: 1, Settings: []string{"planted"},
		Draw: func(seed uint64) sim.Options {
			o := Draw(seed)
			o.Tenants, o.For = 3, 3*time.Minute
			o.Subject = func(c lifecycle.Config) sim.Subject { return broken{lifecycle.New(c), bugs} }
			return o
		}}
}

// buggy has two bugs, which many seeds find.
func buggy(dir string) Options {
	return planted(dir, map[lifecycle.InputKind]string{lifecycle.InRelease: "BUG-RELEASE", lifecycle.InReconnect: "BUG-RECONNECT"})
}

func run(t *testing.T, o Options) *Result {
	t.Helper()
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// tree reads all that a campaign left.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(p)
		name, relErr := filepath.Rel(dir, p)
		all[filepath.ToSlash(name)] = string(b)
		return errors.Join(err, relErr)
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func same(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("%s left another directory:\n%s", what, d)
	}
}

// whole is what one worker leaves that nobody disturbs.
func whole(t *testing.T) map[string]string {
	t.Helper()
	dir := t.TempDir()
	r := run(t, buggy(dir))
	all := tree(t, dir)
	if r.Done != r.Seeds || len(r.Failures) != 4 || all[summaryName] == "" {
		t.Fatalf("%d of %d seeds, %d failures; want all and 4, two of them not shrunk:\n%s", r.Done, r.Seeds, len(r.Failures), all[summaryName])
	}
	return all
}

func TestWorkersChangeNothing(t *testing.T) {
	want := whole(t)
	for _, workers := range []int{2, 5} {
		o := buggy(t.TempDir())
		o.Workers = workers
		run(t, o)
		same(t, "another number of workers", tree(t, o.Dir), want)
	}
}

// TestStopped ends a campaign in the midst of a seed, again and again, so that what was found before
// is read again.
func TestStopped(t *testing.T) {
	want, dir := whole(t), t.TempDir()
	for n := range 4 {
		before, in := uint64(4*(n+1)), uint64(5*(n+1)) // seeds of the blocks before, and a seed in the next
		ctx, cancel := context.WithCancel(t.Context())
		written := make(chan struct{})
		o := buggy(dir)
		o.Workers = 1 + n%3
		o.Progress = func(p Progress) {
			if p.Done == before {
				close(written)
			}
		}
		draw := o.Draw
		o.Draw = func(seed uint64) sim.Options {
			if seed == in {
				<-written
				cancel()
			}
			return draw(seed)
		}
		r, err := Run(ctx, o)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		if r.Done != before {
			t.Errorf("%d seeds are done when it is stopped in seed %d", r.Done, in)
		}
		if _, err := os.Stat(filepath.Join(dir, summaryName)); err == nil {
			t.Fatal("there is a summary before the end")
		}
	}
	run(t, buggy(dir))
	same(t, "being stopped", tree(t, dir), want)
	run(t, buggy(dir))
	same(t, "a start when all was done", tree(t, dir), want)
}

func TestKilled(t *testing.T) {
	want, dir := whole(t), t.TempDir()
	kills := 0
	for _, lines := range []int{0, 1, 2, 3, 1, 4} {
		if !killed(t, dir, lines) {
			kills++
		}
	}
	if kills == 0 {
		t.Error("the campaign was over before any kill")
	}
	run(t, buggy(dir))
	same(t, "being killed", tree(t, dir), want)
}

// TestTorn cuts the results off anywhere, and damages them anywhere.
func TestTorn(t *testing.T) {
	want := whole(t)
	dir := t.TempDir()
	if err := os.CopyFS(dir, mapFS(want)); err != nil {
		t.Fatal(err)
	}
	full := []byte(want[resultsName])
	at := func(what string, text []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, resultsName), text, 0o666); err != nil {
			t.Fatal(err)
		}
		r := run(t, buggy(dir))
		last := text[bytes.LastIndexByte(bytes.TrimSuffix(text, []byte("\n")), '\n')+1:]
		ends := len(text) == 0 || bytes.HasPrefix(full, text) && bytes.Contains(last, []byte(crcKey)) && bytes.HasSuffix(text, []byte("\n"))
		if ends != (r.Cut == "") {
			t.Errorf("%s: told as %q", what, r.Cut)
		}
		same(t, what, tree(t, dir), want)
	}
	for n := 0; n < len(full); n += 1 + len(full)/9 {
		at("a torn end", full[:n])
		damaged := bytes.Clone(full)
		damaged[n] ^= 4
		at("damage", damaged)
	}
	end := bytes.LastIndex(full[:len(full)-1], []byte("\n"))
	at("a lost last line", full[:end+1])
	at("a lost newline", full[:len(full)-1])
	at("more than there was", append(bytes.Clone(full), full...))
	at("zeros, as after a loss of power", append(bytes.Clone(full[:end]), make([]byte, 5000)...))
	first := bytes.Index(full, []byte(crcKey))
	first += bytes.IndexByte(full[first:], '\n') + 1
	at("a block in the place of another", append(bytes.Clone(full[first:]), full[:first]...))
}

// mapFS makes files of a tree.
func mapFS(tree map[string]string) fs.FS {
	out := fstest.MapFS{}
	for name, text := range tree {
		out[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

// TestLostFailure: a failure whose files are not there, as the power went, is found again.
func TestLostFailure(t *testing.T) {
	want, o := whole(t), buggy(t.TempDir())
	run(t, o)
	for _, name := range []string{failuresDir, summaryName} {
		if err := os.RemoveAll(filepath.Join(o.Dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	run(t, o)
	same(t, "a loss of the failures", tree(t, o.Dir), want)
}

// TestExtended: a campaign of more seeds goes on where one of fewer ended, wherever that was in a
// block, and leaves what a fresh one leaves.
func TestExtended(t *testing.T) {
	want := whole(t)
	for _, first := range [][]uint64{{20}, {23}, {1}, {6, 7, 14}} {
		o := buggy(t.TempDir())
		for _, o.Seeds = range first {
			if r := run(t, o); r.Done != o.Seeds || r.Cut != "" {
				t.Errorf("%v: %d of %d seeds are done, %q", first, r.Done, o.Seeds, r.Cut)
			}
		}
		var ran atomic.Int32
		o.Seeds = 24
		draw := o.Draw
		o.Draw = func(seed uint64) sim.Options {
			if seed <= first[0]/4*4 && seed > 1 { // the first one is asked for its settings
				ran.Add(1)
			}
			return draw(seed)
		}
		if r := run(t, o); r.Cut != "" {
			t.Errorf("%v: an extension is no damage: %s", first, r.Cut)
		}
		if ran.Load() > 0 {
			t.Errorf("%v: seeds of full blocks were run again", first)
		}
		same(t, "an extension", tree(t, o.Dir), want)
	}
}

// TestExtensionStopped: until it ends there is no summary, and the same call again ends it.
func TestExtensionStopped(t *testing.T) {
	want := whole(t)
	o := buggy(t.TempDir())
	o.Seeds = 10
	run(t, o)
	o.Seeds = 24
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := Run(ctx, o); err != nil || r.Done != 8 {
		t.Fatalf("%v, %v", r, err)
	}
	if all := tree(t, o.Dir); all[summaryName] != "" || all[reportName] != "" {
		t.Error("there is a summary of fewer seeds")
	}
	run(t, o)
	same(t, "an extension that was stopped", tree(t, o.Dir), want)
}

func TestRefused(t *testing.T) {
	o := buggy(t.TempDir())
	run(t, o)
	before := tree(t, o.Dir)
	for _, c := range []struct {
		change func(*Options)
		want   string
	}{
		{func(o *Options) { o.Build = "another" }, "build is test, not another"},
		{func(o *Options) { o.Seeds-- }, "seeds is 24, not 23"},
		{func(o *Options) { o.Seeds, o.Guard = 25, 5 }, "guard is 100, not 5"},
		{func(o *Options) { o.First = 2 }, "first is 1, not 2"},
		{func(o *Options) { o.Block = 5 }, "block is 4, not 5"},
		{func(o *Options) { o.Guard = 5 }, "guard is 100, not 5"},
		{func(o *Options) { o.Shrinks = 5 }, "shrinks is 1, not 5"},
		{func(o *Options) { o.Settings = []string{"other"} }, `it has "planted"; it lacks "other"`},
	} {
		x := o
		c.change(&x)
		if _, err := Run(t.Context(), x); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
	same(t, "a refusal", tree(t, o.Dir), before)

	foreign := t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, "thesis.txt"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), buggy(foreign)); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "thesis.txt") {
		t.Errorf("a directory of something else: %v", err)
	}
	if left := tree(t, foreign); len(left) != 1 {
		t.Errorf("it was written to: %v", left)
	}
}

func TestLocked(t *testing.T) {
	o := buggy(t.TempDir())
	var second error
	o.Progress = func(p Progress) {
		if p.Done == 4 {
			_, second = Run(t.Context(), buggy(o.Dir))
		}
	}
	run(t, o)
	if second == nil || !strings.Contains(second.Error(), "in use by another campaign") {
		t.Errorf("a second campaign in the directory got %v", second)
	}
}

var errFull = errors.New("no space left on device")

// full is a disk with room for so many bytes.
func full(room int) disk {
	return disk{write: func(f *os.File, b []byte) (int, error) {
		n := min(len(b), room)
		room -= n
		if n < len(b) {
			_, _ = f.Write(b[:n])
			return n, errFull
		}
		return f.Write(b)
	}}
}

// busy is a disk that is full for one write only.
func busy(write int) disk {
	n := -1
	return disk{write: func(f *os.File, b []byte) (int, error) {
		if n++; n != write {
			return f.Write(b)
		}
		_, _ = f.Write(b[:len(b)/2])
		return len(b) / 2, errFull
	}}
}

// TestFullDisk fills the disk at many points: what was acknowledged stays, and the campaign goes
// on when there is room.
func TestFullDisk(t *testing.T) {
	want := whole(t)
	for room := 100; room < 40_000; room += 9_000 {
		if !onFull(t, full(room), want) {
			t.Errorf("there was enough room in %d bytes", room)
		}
	}
	for write := 0; onFull(t, busy(write), want); write++ {
		if write > 100 {
			t.Fatal("a campaign that writes without end")
		}
	}
}

// onFull runs a campaign on a disk that is full at some point and then on one that is not. It says
// whether the disk was full.
func onFull(t *testing.T, d disk, want map[string]string) bool {
	t.Helper()
	o := buggy(t.TempDir())
	acknowledged := uint64(0)
	o.Progress = func(p Progress) { acknowledged = p.Done }
	o.disk = d
	_, err := Run(t.Context(), o)
	if err == nil {
		same(t, "a disk with room", tree(t, o.Dir), want)
		return false
	}
	if !errors.Is(err, errFull) || !strings.Contains(err.Error(), "cannot be written") {
		t.Fatal(err)
	}
	o.disk = disk{}
	first := true
	o.Progress = func(p Progress) {
		if first && p.Done != acknowledged {
			t.Errorf("%d seeds were acknowledged and %d kept", acknowledged, p.Done)
		}
		first = false
	}
	if r := run(t, o); r.Cut != "" {
		t.Errorf("what was written in part stayed: %s", r.Cut)
	}
	same(t, "a full disk", tree(t, o.Dir), want)
	return true
}

// TestDistinct: seeds of one bug are one failure, of two bugs two.
func TestDistinct(t *testing.T) {
	o := planted(t.TempDir(), map[lifecycle.InputKind]string{lifecycle.InRelease: "BUG-RELEASE"})
	o.Shrinks = 50
	one := run(t, o)
	if len(one.Failures) != 1 || one.Failures[0].Count < 2 || !one.Failed() {
		t.Fatalf("%d failures, want one of several seeds", len(one.Failures))
	}
	f := one.Failures[0]
	if f.Form != "t1 born\nt1 release m1\n" || f.Entries != 2 || !f.Minimal {
		t.Errorf("the shape is %q of %d entries", f.Form, f.Entries)
	}
	o = buggy(t.TempDir())
	o.Shrinks = 50
	two := run(t, o)
	if len(two.Failures) != 2 || two.Failures[0].ID == two.Failures[1].ID {
		t.Errorf("%d failures, want two", len(two.Failures))
	}
}

// TestShrinksAreBounded: further seeds of a rule count without being shrunk, and few are listed.
func TestShrinksAreBounded(t *testing.T) {
	o := planted(t.TempDir(), map[lifecycle.InputKind]string{lifecycle.InDispatch: "BUG-DISPATCH"})
	o.Seeds = FirstSeeds + 5
	r := run(t, o)
	if len(r.Failures) != 2 {
		t.Fatalf("%d failures, want the shrunk and the others", len(r.Failures))
	}
	shrunk, others := r.Failures[0], r.Failures[1]
	if shrunk.Count != 1 || shrunk.Dir == "" || others.Dir != "" || others.Shape != "" {
		t.Errorf("%d seeds in %q and others in %q", shrunk.Count, shrunk.Dir, others.Dir)
	}
	if len(others.Seeds) != FirstSeeds || others.Count <= FirstSeeds {
		t.Errorf("%d of %d seeds are listed, want %d", len(others.Seeds), others.Count, FirstSeeds)
	}
}

// restless is a machine that asks to be woken for nothing, in every other one that is made. No
// rule forbids that, but a run of it depends on how many there were before.
type restless struct {
	sim.Subject
	last *lifecycle.Instant
}

func (r restless) Step(now lifecycle.Instant, in lifecycle.Input) lifecycle.Output {
	*r.last = now
	return r.Subject.Step(now, in)
}

func (r restless) Deadline() lifecycle.Instant {
	d := r.Subject.Deadline()
	if d == lifecycle.Never {
		return d
	}
	return min(d, *r.last+lifecycle.Instant(7*time.Second))
}

func TestGuard(t *testing.T) {
	o := planted(t.TempDir(), nil)
	o.Guard = 1000
	var made atomic.Uint64
	draw := o.Draw
	o.Draw = func(seed uint64) sim.Options {
		x := draw(seed)
		x.Subject = func(c lifecycle.Config) sim.Subject {
			if made.Add(1)%2 == 0 {
				return lifecycle.New(c)
			}
			return restless{lifecycle.New(c), new(lifecycle.Instant)}
		}
		return x
	}
	r := run(t, o)
	if r.Totals.Guarded != r.Seeds {
		t.Errorf("%d of %d seeds were guarded", r.Totals.Guarded, r.Seeds)
	}
	for _, f := range r.Failures {
		text := tree(t, o.Dir)[f.Dir+"/divergence.txt"]
		if f.ID != determinism || f.Dir == "" || text == "" {
			t.Errorf("seeds %v fail otherwise: %s, in %q", f.Seeds, f.ID, f.Dir)
		}
	}
	if len(r.Failures) == 0 {
		t.Error("a subject that depends on chance passed")
	}
}

func TestNothingWrong(t *testing.T) {
	o := planted(t.TempDir(), nil)
	r := run(t, o)
	if r.Failed() || r.Totals.Seeds != o.Seeds || r.Totals.Guarded == 0 || r.Totals.Guarded == o.Seeds {
		t.Errorf("failed %t, %d seeds, %d guarded", r.Failed(), r.Totals.Seeds, r.Totals.Guarded)
	}
	o = planted(t.TempDir(), nil)
	o.MinReach = o.Seeds
	if r = run(t, o); !r.Failed() || len(r.Unreached) == 0 {
		t.Error("three tenants come to every situation in few seeds")
	}
	var text bytes.Buffer
	if r.Write(&text); !strings.Contains(text.String(), "NEVER REACHED "+r.Unreached[0].ID) {
		t.Errorf("the summary does not say so:\n%s", text.String())
	}
	o = planted(t.TempDir(), nil)
	o.MinReach = o.Seeds + 1
	if run(t, o).Failed() {
		t.Error("too few seeds failed for what they did not come to")
	}
}

// TestReachedIn holds the sums against the lines of all seeds.
func TestReachedIn(t *testing.T) {
	o := planted(t.TempDir(), nil)
	r := run(t, o)
	var runs sim.Reached
	for text := range strings.Lines(tree(t, o.Dir)[resultsName]) {
		var l line
		if strings.HasPrefix(text, `{"block"`) {
			continue
		}
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatal(err)
		}
		set, err := hex.DecodeString(l.Reached)
		if err != nil {
			t.Fatal(err)
		}
		for i := range runs {
			runs[i] += uint64(set[i/8] >> (i % 8) & 1)
		}
	}
	if d := cmp.Diff(runs, r.Totals.ReachedIn); d != "" || runs[0] == 0 {
		t.Error(d)
	}
}

// TestGrown: the seeds before the one that is named cover all that is covered, and fewer do not.
func TestGrown(t *testing.T) {
	covered := func(seeds uint64) (int, uint64) {
		o := planted(t.TempDir(), nil)
		o.Seeds, o.Block = seeds, 1
		r := run(t, o)
		return r.Totals.Coverage.Covered(), r.Grown
	}
	all, grown := covered(20)
	if n, _ := covered(grown - 1); n != all {
		t.Errorf("%d cells of %d before seed %d", n, all, grown)
	}
	if n, _ := covered(grown - 2); n == all {
		t.Errorf("already before seed %d there were %d cells", grown-1, n)
	}
}

// TestBytesPerSeed holds what the documentation states.
func TestBytesPerSeed(t *testing.T) {
	o := Options{Dir: t.TempDir(), Seeds: 64, Build: "test"}
	run(t, o)
	info, err := os.Stat(filepath.Join(o.Dir, resultsName))
	if err != nil {
		t.Fatal(err)
	}
	if n := info.Size() / int64(o.Seeds); n > 250 {
		t.Errorf("%d bytes per seed", n)
	}
}

func TestOptions(t *testing.T) {
	o := Options{Seeds: MaxSeeds + 1, Workers: -1, Block: -1, Guard: 1001, Shrinks: -1, Draw: func(seed uint64) sim.Options { return sim.Options{Tenants: -1} }}
	_, err := Run(t.Context(), o)
	if !errors.Is(err, ErrOptions) {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{"directory", "MaxSeeds", "MaxWorkers", "MaxBlock", "guard is 1001", "MaxShrinks", "MaxTenants"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %s", err, want)
		}
	}
}

// TestBadSeed: options that a later seed alone has wrong end the campaign, which keeps the seeds
// before it.
func TestBadSeed(t *testing.T) {
	o := planted(t.TempDir(), nil)
	draw := o.Draw
	o.Draw = func(seed uint64) sim.Options {
		x := draw(seed)
		if seed == 10 {
			x.Tenants = -1
		}
		return x
	}
	if _, err := Run(t.Context(), o); !errors.Is(err, ErrOptions) || !strings.Contains(err.Error(), "seed 10: ") {
		t.Errorf("got %v", err)
	}
	if n := strings.Count(tree(t, o.Dir)[resultsName], `{"seed":`); n != 8 {
		t.Errorf("%d seeds are kept, want 8", n)
	}
}
