package lifecycle

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// picture is all that can be seen of a machine.
type picture struct {
	Load     Load
	Stats    Stats
	Deadline Instant
	Live     int
	Views    []View
}

func pictureOf(m *Machine) picture {
	p := picture{Load: m.Load(), Stats: m.Stats(), Deadline: m.Deadline(), Live: m.Live()}
	for id := PeerID(1); int(id) < m.Slots(); id++ {
		v := m.View(id)
		if m.peers[id].overdue { // it ages when its last call ends, which is told as a time from now
			v.RetryAt -= m.Now()
		}
		p.Views = append(p.Views, v)
	}
	return p
}

// randomInput draws one that is legal, for three names of one owner on three peers.
func randomInput(t *rapid.T, m *Machine, tickets *Tickets, open *[]Ticket) Input {
	name := NameID(rapid.IntRange(1, 3).Draw(t, "name"))
	id := PeerID(rapid.IntRange(1, 3).Draw(t, "peer"))
	v := m.View(id)
	switch k := InputKind(rapid.IntRange(int(InDeclare), inputKinds-1).Draw(t, "kind")); k {
	case InDeclare:
		in := Declare(0, alice, name, Fingerprint{byte(id)})
		in.Policy = rapid.SampledFrom([]*Policy{nil, {IdleTimeout: 9 * time.Second}, {MinUptime: time.Minute}, {Pinned: true},
			{StartTimeout: 7 * time.Second}}).Draw(t, "policy")
		return in
	case InRelease:
		return Release(0, alice, name)
	case InWriteOff:
		return WriteOff(0, alice, name)
	case InDispatch, InEnsure, InReconnect:
		*open = append(*open, tickets.New())
		return Input{Kind: k, Ticket: (*open)[len(*open)-1], Owner: alice, Name: name}
	case InConnected, InConnectFailed, InBroken, InExited, InSpawned, InStarted, InRelisted:
		if v.State != NoState && v.Gen > 0 {
			return Input{Kind: k, Peer: id, Gen: v.Gen, Tools: 2}
		}
	case InRetain:
		if v.State != NoState && v.Gen > 0 {
			until := m.Now() + Instant(rapid.IntRange(-5, 60).Draw(t, "until"))*second
			return Retain(id, v.Gen, rapid.SampledFrom([]Instant{until, Never}).Draw(t, "or never"))
		}
	case InCancel, InCallDone:
		if n := len(*open); n > 0 {
			return Cancel((*open)[rapid.IntRange(0, n-1).Draw(t, "ticket")])
		}
	case InOwnerBorn, InOwnerDied, InTimeReached, InConfigure, InDrain:
	}
	return Declare(0, alice, name, Fingerprint{byte(id)})
}

// TestDeadlineIsWhenSomethingHappens: time told too early changes nothing, time told at the
// deadline changes something. A host that sleeps until the deadline is therefore never late
// and never woken in vain.
func TestDeadlineIsWhenSomethingHappens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := labConfig()
		cfg.IdleTimeout = rapid.SampledFrom([]time.Duration{0, 1, 7, 40 * time.Second, 25 * time.Second}).Draw(t, "T")
		cfg.MaxLive = rapid.IntRange(0, 2).Draw(t, "live")
		cfg.MaxDialing = rapid.IntRange(0, 1).Draw(t, "dialing")
		cfg.MaxSpawning = rapid.IntRange(0, 1).Draw(t, "spawning")
		cfg.QueueTimeout = 15 * time.Second
		m := New(cfg)
		m.Step(0, OwnerBorn(alice))
		var tickets Tickets
		var open []Ticket
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			m.Step(m.Now(), randomInput(t, m, &tickets, &open))
			if rapid.IntRange(0, 19).Draw(t, "drain") == 19 {
				m.Step(m.Now(), Drain())
			}
			checkEarly(t, m)
			if rapid.Bool().Draw(t, "wake") {
				checkWake(t, m)
			}
		}
	})
}

func checkEarly(t *rapid.T, m *Machine) {
	before := pictureOf(m)
	early := min(before.Deadline-1, m.Now()+Instant(rapid.IntRange(0, int(50*second)).Draw(t, "early")))
	if early < m.Now() {
		return
	}
	out := m.Step(early, TimeReached())
	if n := len(out.Effects) + len(out.Events) + len(out.Replies); n > 0 {
		t.Fatalf("%d outputs at %d, before the deadline at %d", n, early, before.Deadline)
	}
	if diff := cmp.Diff(before, pictureOf(m)); diff != "" {
		t.Fatalf("time told at %d, before the deadline at %d, changed:\n%s", early, before.Deadline, diff)
	}
}

func checkWake(t *rapid.T, m *Machine) {
	before := pictureOf(m)
	if before.Deadline == Never {
		return
	}
	m.Step(max(m.Now(), before.Deadline), TimeReached())
	if cmp.Equal(before, pictureOf(m)) {
		t.Fatalf("nothing happened at the deadline at %d", before.Deadline)
	}
}
