package lifecycle

import "testing"

// TestWrittenOffBlocksNobody: once an operator has said so the successor of what outlived SIGKILL
// begins, for whoever waits; the process counts until its exit is observed, whatever its peer is
// by then, and that exit is no news of anything else (ST-9, ST-2).
func TestWrittenOffBlocksNobody(t *testing.T) {
	l := newLab(t, labConfig())
	stuck(l)
	l.want(l.dispatch("waits", alice), "")
	l.want(WriteOff(l.ticket("early"), bob, git), "early refused (no-claim)")
	l.want(WriteOff(0, alice, git), "dial p1.3; alice/1: connecting")
	l.want(WriteOff(l.ticket("again"), alice, git), "again refused (not-stuck)")
	if load := l.m.Load(); load != (Load{Live: 2, Dialing: 1, Spawning: 1, WrittenOff: 1}) {
		t.Errorf("%+v, want the one that dials and the one that was written off", load)
	}
	if v := l.m.View(1); v.WrittenOff != 1 || v.Stage != NoStage {
		t.Errorf("the listing shows %+v", v)
	}
	l.want(InputConnected(1, 3, 2), "alice/1: connected 2 tools; waits ready on p1.3")
	l.want(SessionBroken(1, 2), "")
	l.want(Exited(1, 2), "")
	if load, stats := l.m.Load(), l.m.Stats(); load != (Load{Live: 1, InFlight: 1}) || stats.WrittenOff != 1 || l.m.View(1).WrittenOff != 0 {
		t.Errorf("%+v with %+v, want what serves alone", load, stats)
	}
	stale := l.m.Stats().Stale
	l.want(Exited(1, 2), "")
	if l.m.Stats().Stale != stale+1 {
		t.Error("a second exit was believed")
	}
}

// TestWrittenOffTakesRoom: its process exists, so that it counts against the bound; an attempt
// for which that leaves no room queues (ST-9, PR-6).
func TestWrittenOffTakesRoom(t *testing.T) {
	l := newLab(t, labConfig())
	stuck(l)
	l.do(Configure(crowded()))
	l.want(l.dispatch("waits", alice), "")
	l.want(WriteOff(0, alice, git), "")
	if v := l.m.View(1); !v.Queued {
		t.Errorf("%+v, want an attempt that queues", v)
	}
	l.want(Exited(1, 2), "dial p1.3; alice/1: connecting")
}

// TestWrittenOffOutlivesItsPeer: the slot is forgotten and another's by the time of the exit.
func TestWrittenOffOutlivesItsPeer(t *testing.T) {
	l := newLab(t, labConfig())
	stuck(l)
	l.do(WriteOff(0, alice, git))
	l.want(Release(0, alice, git), "forget p1.2")
	l.do(l.declare(bob, git, fpB))
	l.want(l.dispatch("b", bob), "dial p1.3; bob/1: connecting")
	if v := l.m.View(1); v.WrittenOff != 0 {
		t.Errorf("another's listing shows %+v", v)
	}
	l.do(l.declare(alice, git, fpA))
	if v := l.m.View(2); v.WrittenOff != 1 {
		t.Errorf("the listing of what was declared again shows %+v", v)
	}
	l.want(Exited(1, 2), "")
	if load := l.m.Load(); load.Live != 1 || load.WrittenOff != 0 {
		t.Errorf("%+v", load)
	}
}

// TestDrainWaitsForWhatWasWrittenOff: it is a process that has not ended.
func TestDrainWaitsForWhatWasWrittenOff(t *testing.T) {
	l := newLab(t, labConfig())
	stuck(l)
	l.do(WriteOff(0, alice, git), Drain())
	if l.m.Live() != 1 {
		t.Errorf("%d live, want the one that was written off", l.m.Live())
	}
	l.want(WriteOff(l.ticket("late"), alice, git), "late refused (draining)")
	l.do(Exited(1, 2))
	if l.m.Live() != 0 {
		t.Errorf("%d live", l.m.Live())
	}
}
