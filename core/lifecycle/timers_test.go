package lifecycle

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// armedTimer is a deadline in the list that the heap is compared with.
type armedTimer struct {
	at  Instant
	seq int
	ref int32
}

// TestTimersAgreeWithSortedList arms, disarms and fires at random, beside a list that is sorted
// whenever its head is wanted.
func TestTimersAgreeWithSortedList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const slots = 40
		m := New(DefaultConfig())
		m.tickets = make([]ticket, slots+1)
		var want []armedTimer
		seq := 0
		t.Repeat(map[string]func(*rapid.T){
			"arm": func(t *rapid.T) {
				ref := int32(rapid.IntRange(1, slots).Draw(t, "slot"))
				if m.tickets[ref].timer != 0 {
					return
				}
				seq++
				at := Instant(rapid.IntRange(0, 20).Draw(t, "at"))
				m.arm(timerCall, ref, at)
				want = append(want, armedTimer{at, seq, ref})
			},
			"disarm": func(t *rapid.T) {
				ref := int32(rapid.IntRange(1, slots).Draw(t, "slot"))
				m.disarm(&m.tickets[ref].timer)
				want = slices.DeleteFunc(want, func(a armedTimer) bool { return a.ref == ref })
			},
			"fire": func(*rapid.T) {
				if len(want) > 0 {
					m.disarm(&m.tickets[m.timers.heap[0].ref].timer)
					want = want[1:]
				}
			},
			"": func(t *rapid.T) {
				slices.SortFunc(want, func(a, b armedTimer) int {
					return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.seq, b.seq))
				})
				checkHeap(t, m, want)
			},
		})
	})
}

func checkHeap(t *rapid.T, m *Machine, want []armedTimer) {
	if len(m.timers.heap) != len(want) {
		t.Fatalf("%d timers armed, want %d", len(m.timers.heap), len(want))
	}
	if len(want) > 0 {
		if got := m.timers.heap[0]; got.ref != want[0].ref || got.at != want[0].at {
			t.Fatalf("next is %d at %d, want %d at %d", got.ref, got.at, want[0].ref, want[0].at)
		}
	}
	for i := range m.timers.heap {
		if got := *m.posOf(&m.timers.heap[i]); got != armed(i+1) {
			t.Fatalf("the entry at %d believes to be at %d", i+1, got)
		}
	}
}

// TestTicketsNeverRepeat hands numbers out and takes them back at random.
func TestTicketsNeverRepeat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p Tickets
		seen, open, most := map[Ticket]bool{}, []Ticket(nil), 0
		t.Repeat(map[string]func(*rapid.T){
			"new": func(t *rapid.T) {
				id := p.New()
				if seen[id] || id.slot() < 1 {
					t.Fatalf("ticket %d was handed out before, or has no slot", id)
				}
				if slices.ContainsFunc(open, func(o Ticket) bool { return o.slot() == id.slot() }) {
					t.Fatalf("the slot of ticket %d is in use", id)
				}
				seen[id], open = true, append(open, id)
				most = max(most, len(open))
				if int(id.slot()) > most {
					t.Fatalf("slot %d although never more than %d were open", id.slot(), most)
				}
			},
			"release": func(t *rapid.T) {
				if len(open) == 0 {
					return
				}
				i := rapid.IntRange(0, len(open)-1).Draw(t, "which")
				p.Release(open[i])
				open = slices.Delete(open, i, i+1)
			},
		})
	})
}
