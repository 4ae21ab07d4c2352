package owner

import (
	"context"
	"testing"
)

// The collector may have queued the report of an owner that died since: it says nothing.
func TestReportOfOneWhoDiedMeanwhile(t *testing.T) {
	o := New(context.Background(), "agent")
	told := 0
	l := &lost{token: o.Token, tell: func(*Token) { told++ }}
	if l.report(); told != 1 || !o.Alive() {
		t.Errorf("told %d times of a live owner, alive %v", told, o.Alive())
	}
	o.Close()
	if l.report(); told != 1 {
		t.Error("told of a dead owner")
	}
}
