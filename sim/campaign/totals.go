package campaign

import (
	"encoding/hex"
	"fmt"

	"github.com/mayfly-mcp/mayfly/sim"
)

// Totals are sums over seeds.
type Totals struct {
	Seeds, Steps, Events uint64
	Guarded              uint64
	Schedules            [4]uint64 // seeds, by sim.ScheduleKind
	Reached              sim.Reached
	ReachedIn            sim.Reached // seeds
	Faults               []FaultTotal
	Coverage             sim.Coverage
}

// FaultTotal is the sum of one fault, in the order of sim.FaultKinds.
type FaultTotal struct {
	Drawn   uint64 // seeds whose options have it
	FiredIn uint64 // seeds
	Fired   uint64
}

func newTotals() *Totals { return &Totals{Faults: make([]FaultTotal, len(sim.FaultKinds()))} }

// run sums one run up. The options have their defaults.
func (t *Totals) run(o *sim.Options, r *sim.Result) {
	t.Seeds++
	t.Steps += r.Steps
	t.Events += r.Events
	t.Schedules[o.Schedule.Kind]++
	for i, n := range r.Reached {
		if n > 0 {
			t.ReachedIn[i]++
		}
	}
	t.Reached.Add(&r.Reached)
	for i, c := range r.Faults() {
		f := &t.Faults[i]
		f.Fired += c.Fired
		f.FiredIn += one(c.Fired > 0)
		f.Drawn += one(o.Faults.Draws(c.Fault))
	}
	t.cover(&r.Coverage)
}

func one(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// add sums another sum up.
func (t *Totals) add(u *Totals) {
	t.Seeds += u.Seeds
	t.Steps += u.Steps
	t.Events += u.Events
	t.Guarded += u.Guarded
	for i, n := range u.Schedules {
		t.Schedules[i] += n
	}
	t.Reached.Add(&u.Reached)
	t.ReachedIn.Add(&u.ReachedIn)
	for i, f := range u.Faults {
		t.Faults[i].Drawn += f.Drawn
		t.Faults[i].FiredIn += f.FiredIn
		t.Faults[i].Fired += f.Fired
	}
	t.cover(&u.Coverage)
}

func (t *Totals) cover(c *sim.Coverage) {
	for from := range c.Cells {
		for in := range c.Cells[from] {
			for to, n := range c.Cells[from][in] {
				t.Coverage.Cells[from][in][to] += n
			}
		}
	}
	for from := range c.Transitions {
		for to, n := range c.Transitions[from] {
			t.Coverage.Transitions[from][to] += n
		}
	}
}

// situations returns how many situations were come to.
func (t *Totals) situations() int { return len(t.Reached) - len(t.Reached.Missing()) }

// bits is the set of situations of one run, a hexadecimal digit for four.
func bits(r *sim.Reached) string {
	set := make([]byte, (len(r)+7)/8)
	for i, n := range r {
		if n > 0 {
			set[i/8] |= 1 << (i % 8)
		}
	}
	return hex.EncodeToString(set)
}

// sums is the form of Totals in a block. Coverage is sparse: places and counts in turns.
type sums struct {
	Seeds     uint64      `json:"seeds"`
	Steps     uint64      `json:"steps"`
	Events    uint64      `json:"events"`
	Guarded   uint64      `json:"guarded"`
	Schedules [4]uint64   `json:"schedules"`
	Reached   sim.Reached `json:"reached"`
	ReachedIn sim.Reached `json:"reachedIn"`
	Faults    [][3]uint64 `json:"faults"`
	Cells     []uint64    `json:"cells"`
	Changes   []uint64    `json:"changes"`
}

// sums packs totals.
func (t *Totals) sums() sums {
	s := sums{Seeds: t.Seeds, Steps: t.Steps, Events: t.Events, Guarded: t.Guarded, Schedules: t.Schedules,
		Reached: t.Reached, ReachedIn: t.ReachedIn}
	for _, f := range t.Faults {
		s.Faults = append(s.Faults, [3]uint64{f.Drawn, f.FiredIn, f.Fired})
	}
	t.places(func(cell bool, i uint64, n *uint64) {
		switch {
		case *n == 0:
		case cell:
			s.Cells = append(s.Cells, i, *n)
		default:
			s.Changes = append(s.Changes, i, *n)
		}
	})
	return s
}

// places visits all places of the coverage in a fixed order, cells first.
func (t *Totals) places(visit func(cell bool, i uint64, n *uint64)) {
	c, i := &t.Coverage, uint64(0)
	for from := range c.Cells {
		for in := range c.Cells[from] {
			for to := range c.Cells[from][in] {
				visit(true, i, &c.Cells[from][in][to])
				i++
			}
		}
	}
	i = 0
	for from := range c.Transitions {
		for to := range c.Transitions[from] {
			visit(false, i, &c.Transitions[from][to])
			i++
		}
	}
}

// totals unpacks sums.
func (s *sums) totals() (*Totals, error) {
	t := newTotals()
	if len(s.Faults) != len(t.Faults) || len(s.Cells)%2+len(s.Changes)%2 > 0 {
		return nil, fmt.Errorf("the sums are of another build")
	}
	t.Seeds, t.Steps, t.Events, t.Guarded, t.Schedules = s.Seeds, s.Steps, s.Events, s.Guarded, s.Schedules
	t.Reached, t.ReachedIn = s.Reached, s.ReachedIn
	for i, f := range s.Faults {
		t.Faults[i] = FaultTotal{f[0], f[1], f[2]}
	}
	cells, changes := s.Cells, s.Changes
	t.places(func(cell bool, i uint64, n *uint64) {
		list := &changes
		if cell {
			list = &cells
		}
		if len(*list) > 0 && (*list)[0] == i {
			*n, *list = (*list)[1], (*list)[2:]
		}
	})
	if len(cells)+len(changes) > 0 {
		return nil, fmt.Errorf("the sums are of another build")
	}
	return t, nil
}
