package sim

import "github.com/mayfly-mcp/mayfly/core/lifecycle"

// The shrink of a drawn tape is done for each failure that a property library meets while it
// shrinks by itself, so that it must be quick until the tape is small.
const (
	fewDrawn     = 24 // entries
	drawnReplays = 500
	hastyReplays = 60
)

// Property returns a property of a lifecycle for libraries that draw and shrink by themselves:
// whatever is drawn, no rule of [Rules] breaks. With rapid it is
//
//	holds := sim.Property(subject, sim.Options{})
//	rapid.Check(t, func(t *rapid.T) {
//		holds(t, func(what string, n int) int { return rapid.IntRange(0, n-1).Draw(t, what) })
//	})
//
// so that its flags and fail files work as ever. Of a failure the tape is shrunk further for the
// report. [NewDraft] says which options are read.
func Property(subject func(lifecycle.Config) Subject, opt Options) func(TB, Draw) {
	opt.Subject = subject
	return func(t TB, draw Draw) {
		t.Helper()
		d := NewDraft(opt)
		for n := draw("entries", MaxDraft/4); n > 0; n-- {
			d.Any(draw)
		}
		d.Hold(t, subject)
	}
}

// Hold replays a draft and fails the test if it breaks a rule. Properties that draw one action
// after the other call it between them, or once at the end.
func (d *Draft) Hold(t TB, subject func(lifecycle.Config) Subject) {
	t.Helper()
	tape := d.tape
	res, err := Replay(&tape, Options{Subject: subject, Record: true})
	switch {
	case err != nil:
		t.Fatalf("%v", err)
	case res.Violation != nil:
		replays := drawnReplays
		if len(tape.Entries) > fewDrawn {
			replays = hastyReplays
		}
		t.Fatalf("%s", boil(res, "drawn", subject, replays))
	}
}

// MakeFuzz returns a fuzz target for a lifecycle. It reads every string of bytes as a tape of at
// most MaxDraft entries, longer strings as far as they count.
//
//	func FuzzLifecycle(f *testing.F) {
//		target := sim.MakeFuzz(subject, sim.Options{})
//		f.Fuzz(func(t *testing.T, data []byte) { target(t, data) })
//	}
func MakeFuzz(subject func(lifecycle.Config) Subject, opt Options) func(TB, []byte) {
	return func(t TB, data []byte) {
		t.Helper()
		d := NewDraft(opt)
		draw := func(_ string, n int) int {
			if len(data) == 0 {
				return 0
			}
			b := data[0]
			data = data[1:]
			return int(b) % n
		}
		for len(data) > 0 && !d.Full() {
			d.Any(draw)
		}
		d.Hold(t, subject)
	}
}
