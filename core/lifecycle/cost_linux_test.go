package lifecycle

import (
	"os"
	"runtime/debug"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// guard moves a slab to memory of which only the first entries, up to the end of their page, may
// be read or written once the fence is up. Whoever visits another one is caught in the act.
func guard[T any](t *testing.T, slab *[]T, open int) (fence func(up bool)) {
	t.Helper()
	page, size := os.Getpagesize(), int(unsafe.Sizeof((*slab)[0]))
	pages := func(entries int) int { return (entries*size + page - 1) / page * page }
	mem, err := syscall.Mmap(-1, 0, pages(len(*slab)), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	moved := unsafe.Slice((*T)(unsafe.Pointer(&mem[0])), len(*slab))
	copy(moved, *slab)
	*slab = moved
	shut := mem[pages(open):]
	fence = func(up bool) {
		mode := syscall.PROT_READ | syscall.PROT_WRITE
		if up {
			mode = syscall.PROT_NONE
		}
		if err := syscall.Mprotect(shut, mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = syscall.Munmap(mem) })
	return fence
}

// trespasses reports whether f visited what is behind a fence.
func trespasses(f func()) (yes bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			if _, fault := r.(interface{ Addr() uintptr }); !fault {
				panic(r)
			}
			yes = true
		}
	}()
	f()
	return false
}

// TestATickVisitsWhatExpired: a tick that finds nothing visits the first of each class, and one
// that finds some visits those and the first that has not expired; of the peers, their claims
// and their places in lists it touches no other, however many there are (RE-9).
func TestATickVisitsWhatExpired(t *testing.T) {
	const peers, expired = 5_000, 62
	T := Instant(DefaultConfig().IdleTimeout)
	for _, class := range []string{"unused", "failed"} {
		t.Run(class, func(t *testing.T) {
			m := fleet(t, peers)
			var tickets Tickets
			use := func(now Instant, from, to int, end DoneKind) {
				for i := from; i <= to; i++ {
					id := tickets.New()
					m.Step(now, Dispatch(id, OwnerID(i), 1))
					m.Step(now, CallDone(id, end))
					tickets.Release(id)
				}
			}
			end := DoneAnswered
			if class == "failed" {
				end = DoneTransport
			}
			use(1, 1, expired, end)
			use(T/2, expired+1, peers, end)
			due := m.Deadline()
			m.Step(due-1, TimeReached())
			m.timers.heap = append(make([]timer, 0, peers), m.timers.heap...) // room for the rungs
			open := expired + 2                                               // slot 0, those that expired, and the first that has not
			fences := []func(bool){guard(t, &m.peers, open), guard(t, &m.seats, open*seatsPerPeer),
				guard(t, &m.claims, open), guard(t, &m.inPeer, open)}
			fenced := func(f func()) bool {
				for _, fence := range fences {
					fence(true)
				}
				defer func() {
					for _, fence := range fences {
						fence(false)
					}
				}()
				return trespasses(f)
			}
			var stops int
			tick := func(now Instant) func() {
				return func() {
					stops = len(m.Step(now, TimeReached()).Effects)
					m.Deadline()
				}
			}
			if fenced(tick(due-1)) || stops != 0 {
				t.Errorf("a tick that stopped %d visited peers that have not expired", stops)
			}
			if fenced(tick(due)) || stops != expired {
				t.Errorf("a tick that stopped %d of %d visited peers that have not expired", stops, expired)
			}
			if !fenced(func() { m.Audit() }) {
				t.Error("an audit visits every peer and was not seen to")
			}
			if v := m.Audit(); v != nil {
				t.Error(v)
			}
		})
	}
}

// TestAnIdleTickVisitsNobody: nor does it where every peer has a policy, and so a timer of its own.
func TestAnIdleTickVisitsNobody(t *testing.T) {
	const peers = 5_000
	m := New(DefaultConfig())
	var tickets Tickets
	for i := 1; i <= peers; i++ {
		m.Step(0, OwnerBorn(OwnerID(i)))
		in := Declare(0, OwnerID(i), 1, fpOf(i))
		in.Policy = &Policy{IdleTimeout: time.Duration(i) * time.Hour}
		m.Step(0, in)
		id := tickets.New()
		d := m.Step(0, Ensure(id, OwnerID(i), 1)).Effects[0]
		m.Step(0, InputConnected(d.Peer, d.Gen, 1))
		tickets.Release(id)
	}
	due := m.Deadline()
	fences := []func(bool){guard(t, &m.peers, 0), guard(t, &m.timers.heap, 1)}
	for _, fence := range fences {
		fence(true)
	}
	if trespasses(func() { m.Step(due-1, TimeReached()); m.Deadline() }) {
		t.Error("a tick that finds nothing visited a peer")
	}
	if !trespasses(func() { m.Step(due, TimeReached()) }) {
		t.Error("a tick that finds something was not seen to visit it")
	}
}
