package wait

import (
	"context"
	"testing"
	"time"
)

// Bound is how long a test waits for what must happen. Only a failing one ever does.
const Bound = 30 * time.Second

// poll is the pause between two looks.
const poll = 2 * time.Millisecond

// Context ends with the test or after Bound, whichever is first.
func Context(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Bound)
	t.Cleanup(cancel)
	return ctx
}

// Closed waits until c is closed or gives a value.
func Closed(t testing.TB, what string, c <-chan struct{}) {
	t.Helper()
	closed(t, Bound, what, c)
}

// Until looks until ok is true.
func Until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	if !until(Bound, ok) {
		t.Fatalf("%s did not happen within %v", what, Bound)
	}
}

// closed is Closed with a bound.
func closed(t testing.TB, bound time.Duration, what string, c <-chan struct{}) {
	t.Helper()
	timer := time.NewTimer(bound)
	defer timer.Stop()
	select {
	case <-c:
	case <-timer.C:
		t.Fatalf("%s did not happen within %v", what, bound)
	}
}

// until looks until ok is true or the time is up, and says which.
func until(bound time.Duration, ok func() bool) bool {
	tick := time.NewTicker(poll)
	defer tick.Stop()
	timer := time.NewTimer(bound)
	defer timer.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-timer.C:
			return ok() // once more: on a busy machine both may be long due
		}
	}
	return true
}
