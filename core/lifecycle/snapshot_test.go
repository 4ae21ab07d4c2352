package lifecycle

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// How the snapshot treats a field. A new field must be given a place here, and in snapshot.go
// or snapshotstate.go.
const (
	encoded = "encoded"  // as such, or relative to now
	derived = "derived"  // follows from what is encoded
	named   = "a name"   // a number that the naming stands for
	counts  = "counts"   // only counts or shows
	scratch = "scratch"  // of no meaning between steps
	ordered = "an order" // encoded where order matters
)

var snapshotFields = map[reflect.Type]map[string]string{
	reflect.TypeFor[Machine](): {
		"cfg": encoded, "now": encoded, "peers": encoded, "policies": encoded, "graces": encoded, "retained": encoded, "written": encoded, "seats": derived, "freePeer": encoded,
		"byFP": derived, "claims": encoded, "wishes": encoded, "freeClaim": scratch, "byKey": derived, "inPeer": ordered,
		"inOwner": ordered, "owners": encoded, "holdings": encoded, "freeOwner": scratch, "lastOwner": named,
		"tickets": encoded, "inTicket": ordered, "inCalls": ordered, "timers": encoded, "drainTimer": encoded,
		"draining": encoded, "expiry": encoded, "unused": ordered, "shelterEnd": encoded, "queue": ordered, "seq": counts,
		"live": derived, "dialing": derived, "spawning": derived, "stopping": derived, "stuck": derived,
		"inFlight": derived, "stats": counts, "out": scratch,
	},
	reflect.TypeFor[peer](): {
		"state": encoded, "phase": encoded, "stage": encoded, "reason": encoded, "class": encoded, "used": encoded,
		"tuned": encoded, "spare": derived, "timed": encoded, "kept": encoded, "overdue": encoded, "again": encoded, "queued": encoded,
		"byReconnect": encoded, "spawned": encoded, "heard": encoded, "budgeted": encoded, "gen": named,
		"tools": encoded, "timer": encoded, "expires": encoded, "calls": encoded, "waiters": encoded, "claims": encoded,
		"stamp": encoded, "since": encoded, "upSince": encoded, "fp": named,
	},
	reflect.TypeFor[merged]():     {"Policy": encoded, "openIdle": encoded, "openStart": encoded, "openConnect": encoded, "openCall": encoded, "openClose": encoded, "openTerminate": encoded},
	reflect.TypeFor[Policy]():     {"IdleTimeout": encoded, "MinUptime": encoded, "StartTimeout": encoded, "ConnectTimeout": encoded, "CallTimeout": encoded, "CloseGrace": encoded, "TerminateGrace": encoded, "Pinned": encoded},
	reflect.TypeFor[writtenOff](): {"peer": encoded, "gen": named, "fp": named},
	reflect.TypeFor[claim]():      {"claimKey": encoded, "peer": encoded, "home": derived},
	reflect.TypeFor[claimIndex](): {"places": derived, "n": derived},
	reflect.TypeFor[ticket](): {
		"id": named, "owner": derived, "name": encoded, "home": encoded, "peer": encoded, "gen": derived, "phase": encoded,
		"mode": encoded, "timer": encoded,
	},
	reflect.TypeFor[holdings]():    {"claims": encoded, "calls": ordered},
	reflect.TypeFor[timers]():      {"heap": encoded, "seq": ordered},
	reflect.TypeFor[timer]():       {"at": encoded, "seq": ordered, "ref": encoded, "kind": encoded},
	reflect.TypeFor[expiryClass](): {"list": ordered, "period": derived, "origin": encoded},
	reflect.TypeFor[list]():        {"head": encoded, "tail": derived, "n": encoded},
	reflect.TypeFor[links]():       {"prev": derived, "next": encoded},
	reflect.TypeFor[Config](): {
		"IdleTimeout": encoded, "FailedRetry": encoded, "ConnectTimeout": encoded, "StartTimeout": encoded, "CallTimeout": encoded,
		"CloseGrace": encoded, "TerminateGrace": encoded, "KillGrace": encoded, "DrainGrace": encoded, "MaxWaiters": encoded,
		"MaxLive": encoded, "MaxDialing": encoded, "MaxSpawning": encoded, "MaxQueued": encoded, "QueueTimeout": encoded,
	},
}

// TestSnapshotKnowsEveryField fails when a field was added that nobody gave a place.
func TestSnapshotKnowsEveryField(t *testing.T) {
	for typ, fields := range snapshotFields {
		for i := range typ.NumField() {
			if name := typ.Field(i).Name; fields[name] == "" {
				t.Errorf("%s.%s is new: copy it in CopyInto, say in AppendState what of it matters, and list it here", typ.Name(), name)
			}
		}
		if len(fields) > typ.NumField() {
			t.Errorf("%d fields of %s are listed, it has %d", len(fields), typ.Name(), typ.NumField())
		}
	}
}

// TestConfigAndPolicyAreEncoded changes each of their fields in turn.
func TestConfigAndPolicyAreEncoded(t *testing.T) {
	m := New(labConfig())
	base := string(m.appendConfig(nil))
	for i := range reflect.TypeFor[Config]().NumField() {
		x := m.Clone()
		bump(reflect.ValueOf(&x.cfg).Elem().Field(i))
		if string(x.appendConfig(nil)) == base {
			t.Errorf("Config.%s is not encoded", reflect.TypeFor[Config]().Field(i).Name)
		}
	}
	p := Policy{IdleTimeout: 1}
	base = string(appendPolicy(nil, &p))
	for i := range reflect.TypeFor[Policy]().NumField() {
		x := p
		bump(reflect.ValueOf(&x).Elem().Field(i))
		if string(appendPolicy(nil, &x)) == base {
			t.Errorf("Policy.%s is not encoded", reflect.TypeFor[Policy]().Field(i).Name)
		}
	}
}

func bump(v reflect.Value) {
	if v.Kind() == reflect.Bool {
		v.SetBool(!v.Bool())
		return
	}
	v.SetInt(v.Int() + 1)
}

// walkConfig draws a configuration whose times are few.
func walkConfig(t *rapid.T) Config {
	cfg := labConfig()
	cfg.IdleTimeout = rapid.SampledFrom([]time.Duration{0, 4, 40 * time.Second}).Draw(t, "T")
	cfg.MaxLive = rapid.IntRange(0, 2).Draw(t, "live")
	cfg.MaxDialing = rapid.IntRange(0, 1).Draw(t, "dialing")
	return cfg
}

// TestCloneBehavesAlike: a clone gives the outputs of the original for whatever comes, also
// when it was made in the storage of another machine.
func TestCloneBehavesAlike(t *testing.T) {
	dirty := New(labConfig())
	rapid.Check(t, func(t *rapid.T) {
		m := New(walkConfig(t))
		m.Step(0, OwnerBorn(alice))
		var tickets Tickets
		var open []Ticket
		clone := m.Clone()
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			now, in := m.Now(), randomInput(t, m, &tickets, &open)
			if in.Kind == InTimeReached || rapid.IntRange(0, 3).Draw(t, "wake") == 0 {
				in, now = TimeReached(), min(max(now, m.Deadline()), Never-1)
			}
			if now > Instant(1000*time.Hour) {
				now = m.Now()
			}
			a, b := m.Step(now, in), clone.Step(now, in)
			if diff := cmp.Diff(a, b, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("%s gave (- original, + clone):\n%s", in.Kind, diff)
			}
			if diff := cmp.Diff(pictureOf(m), pictureOf(clone)); diff != "" {
				t.Fatalf("after %s (- original, + clone):\n%s", in.Kind, diff)
			}
			if rapid.Bool().Draw(t, "again") {
				m.CopyInto(dirty)
				dirty, clone = clone, dirty
			}
		}
	})
}

// TestCloneSharesNothing: what is done to a clone does not show in the original, to the last
// field.
func TestCloneSharesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := New(walkConfig(t))
		m.Step(0, OwnerBorn(alice))
		var tickets Tickets
		var open []Ticket
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			m.Step(m.Now(), randomInput(t, m, &tickets, &open))
		}
		clone, witness := m.Clone(), m.Clone()
		for range rapid.IntRange(1, 25).Draw(t, "more") {
			clone.Step(clone.Now(), randomInput(t, clone, &tickets, &open))
		}
		clone.Step(min(clone.Deadline(), clone.Now()+1000*second), TimeReached())
		m.out, witness.out = Output{}, Output{}
		if was, is := fmt.Sprintf("%+v", witness), fmt.Sprintf("%+v", m); was != is {
			t.Fatalf("steps of a clone changed the original:\n%s\n%s", was, is)
		}
	})
}

// TestCloneIsComplete compares field by field, a clone in used storage with the original.
func TestCloneIsComplete(t *testing.T) {
	l := newLab(t, labConfig())
	inTheWay(l)
	small := New(labConfig())
	for _, from := range []*Machine{l.m, small, l.m} {
		to := l.m.Clone()
		from.CopyInto(to)
		a, b := reflect.ValueOf(from).Elem(), reflect.ValueOf(to).Elem()
		for i := range a.NumField() {
			name := a.Type().Field(i).Name
			if name != "out" && fmt.Sprint(a.Field(i)) != fmt.Sprint(b.Field(i)) {
				t.Errorf("%s is %v, its clone %v", name, a.Field(i), b.Field(i))
			}
		}
		if grown := to.peers[:cap(to.peers)]; slices.ContainsFunc(grown[len(to.peers):], func(p peer) bool { return p != peer{} }) {
			t.Error("what is behind the end of a reused slab was not wiped")
		}
	}
}

// TestCopyIntoAllocatesNothing once storage has grown.
func TestCopyIntoAllocatesNothing(t *testing.T) {
	l := newLab(t, labConfig())
	busy(l)
	to, n, buf := l.m.Clone(), l.m.literal(), []byte(nil)
	buf = l.m.AppendStateAs(buf, n)
	if got := testing.AllocsPerRun(100, func() {
		l.m.CopyInto(to)
		buf = to.AppendStateAs(buf[:0], n)
	}); got != 0 {
		t.Errorf("%v allocations for a copy and its encoding, want 0", got)
	}
}

func BenchmarkCopyInto(b *testing.B) {
	l := newLab(b, labConfig())
	busy(l)
	to := l.m.Clone()
	for b.Loop() {
		l.m.CopyInto(to)
	}
}

func BenchmarkAppendStateAs(b *testing.B) {
	l := newLab(b, labConfig())
	busy(l)
	n := l.m.literal()
	n.Coarse = true
	buf := make([]byte, 0, 1024)
	for b.Loop() {
		buf = l.m.AppendStateAs(buf[:0], n)
	}
}
