package lifecycle

import (
	"testing"
	"time"
)

// What a stop gives to each rung (SPEC PR-2, RE-10).

const flush = 9 * time.Second // a wish that is longer than the lab's 2 s for close and 3 s for terminate

// wantLadder follows a stop of p1.1 that began at the present instant from rung to rung.
func wantLadder(l *lab, toClose, toTerminate time.Duration) {
	l.tb.Helper()
	for _, r := range []struct {
		after time.Duration
		want  string
	}{{toClose, "stop p1.1 terminate"}, {toTerminate, "stop p1.1 kill"}} {
		l.now += Instant(r.after) - 1
		l.want(TimeReached(), "")
		l.now++
		l.want(TimeReached(), r.want)
	}
}

const (
	closes    = 2 * time.Second
	terminate = 3 * time.Second
)

// TestGraceOfPolicy: longer, shorter, and of one rung alone (N04, N05).
func TestGraceOfPolicy(t *testing.T) {
	for _, c := range []struct {
		wish                 Policy
		toClose, toTerminate time.Duration
	}{
		{Policy{}, closes, terminate},
		{Policy{CloseGrace: flush}, flush, terminate},
		{Policy{TerminateGrace: flush}, closes, flush},
		{Policy{CloseGrace: time.Millisecond, TerminateGrace: time.Millisecond}, time.Millisecond, time.Millisecond},
	} {
		for _, stop := range []Input{TimeReached(), Release(0, alice, git), OwnerDied(alice), Drain(), Declare(0, alice, git, fpB)} {
			l := newLab(t, labConfig())
			up(l, c.wish)
			if got := l.m.View(1).Policy; got != c.wish {
				t.Errorf("the listing shows %+v, want %+v", got, c.wish)
			}
			if stop.Kind == InTimeReached {
				l.at(40)
			}
			l.do(stop)
			wantLadder(l, c.toClose, c.toTerminate)
		}
	}
}

// TestGraceIsTheLongestWish among those that claim the peer when its stop begins, the
// configuration's among them for a claim without one.
func TestGraceIsTheLongestWish(t *testing.T) {
	for _, c := range []struct {
		name    string
		do      func(*lab)
		toClose time.Duration
	}{
		{"a shorter wish beside none", func(l *lab) { l.do(l.declare(bob, git, fpA)) }, closes},
		{"a longer wish beside it", func(l *lab) { l.do(l.asking(bob, git, fpA, Policy{CloseGrace: flush})) }, flush},
		{"one that left", func(l *lab) {
			l.do(l.asking(bob, git, fpA, Policy{CloseGrace: flush}), Release(0, bob, git))
		}, time.Second},
		{"one that died", func(l *lab) {
			l.do(l.asking(bob, git, fpA, Policy{CloseGrace: flush}), OwnerDied(bob))
		}, time.Second},
		{"one that changed its mind", func(l *lab) { l.do(l.asking(alice, git, fpA, Policy{CloseGrace: flush})) }, flush},
	} {
		l := newLab(t, labConfig())
		up(l, Policy{CloseGrace: time.Second, TerminateGrace: terminate})
		c.do(l)
		l.at(40).do(TimeReached())
		t.Log(c.name)
		wantLadder(l, c.toClose, terminate)
	}
}

// TestGraceOfThoseThatDieTogether: of all claims of one owner the longest, whichever goes first.
func TestGraceOfThoseThatDieTogether(t *testing.T) {
	for _, wishes := range [][]Policy{{{CloseGrace: flush}, {}}, {{}, {CloseGrace: flush}}} {
		l := newLab(t, labConfig())
		up(l, wishes[0])
		l.do(l.asking(alice, web, fpA, wishes[1]), OwnerDied(alice))
		wantLadder(l, flush, terminate)
	}
}

// TestGraceIsThatOfItsStop: who joins, leaves or asks for something else meanwhile changes
// nothing, and the next incarnation is stopped as its own claims say.
func TestGraceIsThatOfItsStop(t *testing.T) {
	l := newLab(t, labConfig())
	up(l, Policy{CloseGrace: flush, TerminateGrace: flush})
	l.do(Release(0, alice, git), l.asking(bob, git, fpA, Policy{CloseGrace: time.Second, TerminateGrace: time.Second}))
	wantLadder(l, flush, flush)
	l.do(Exited(1, 1), Dispatch(l.ticket("b"), bob, git), InputConnected(1, 2, 1), Release(0, bob, git))
	l.now += second
	l.want(TimeReached(), "stop p1.2 terminate")
	l.do(l.declare(bob, git, fpA))
	l.now += second
	l.want(TimeReached(), "stop p1.2 kill")
	l.do(Exited(1, 2), Dispatch(l.ticket("c"), bob, git), InputConnected(1, 3, 1), Release(0, bob, git))
	l.now += 2 * second
	l.want(TimeReached(), "stop p1.3 terminate")
	l.now += 3 * second
	l.want(TimeReached(), "stop p1.3 kill")
}
