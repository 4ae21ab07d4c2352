// Package wait is how tests wait for what happens in goroutines and processes, and how they
// prove that nothing of it is left.
//
// The smallest use:
//
//	func TestMain(m *testing.M) { os.Exit(wait.Main(m)) }
//
//	wait.Closed(t, "the end of the peer", s.Done())
//	wait.Until(t, "the end of the process", func() bool { return !alive(pid) })
//
// A test waits for a channel where there is one. Where there is none, as for the state of
// another process, it looks again and again. Either way it waits for [Bound] at the most,
// which only a failing test uses up: a slow machine is no reason to fail. Tests that wait for
// processes most of the time run side by side in larger numbers than there are processors, with
// [Parallel].
//
// # Promises
//
// Every wait has a bound and says what it waited for. [Goroutines] and [Main] tell the
// goroutines of before from new ones, whatever ended in between, and print the stacks of
// those that are left. No helper starts a goroutine.
//
// # What is not promised
//
// What starts while another test runs is taken for a leak of both. [Files] counts, so that
// one that was closed hides one that was not; it needs /proc.
//
// The package is a leaf: standard library only. It imports testing, so nothing but tests
// imports it.
package wait
