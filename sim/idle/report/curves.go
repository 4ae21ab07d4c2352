package report

import (
	"cmp"
	"slices"
	"time"

	"github.com/mayfly-mcp/mayfly/sim/idle"
)

// Curves are what the plots show beside the rows.
type Curves struct {
	// Calls and Talks are, for some timeouts, the share of calls and of conversations to which more than X
	// seconds were added.
	Calls []Curve `json:"calls"`
	Talks []Curve `json:"conversations"`
	// Day is the number of processes over the first day after the warm-up, X in hours, of the first seed.
	Day []Curve `json:"day,omitempty"`
}

// Curve is one line of a plot.
type Curve struct {
	Timeout time.Duration `json:"idle_timeout_ns"`
	Points  []idle.Point  `json:"points"`
}

// maxCurves bounds the lines of a plot: more cannot be told apart.
const maxCurves = 5

// NewCurves draws the curves of a frontier's cells.
func (f *Frontier) NewCurves(warmUp time.Duration) *Curves {
	c := &Curves{}
	for _, cell := range f.chosen() {
		t := timeout(cell)
		c.Calls = append(c.Calls, Curve{t, tail(cell.Runs, func(r *idle.Result) []idle.Point { return r.AddedTail })})
		c.Talks = append(c.Talks, Curve{t, tail(cell.Runs, func(r *idle.Result) []idle.Point { return r.ConversationTail })})
		if day := firstDay(cell.Runs[0].Over, warmUp); len(day) > 1 {
			c.Day = append(c.Day, Curve{t, day})
		}
	}
	return c
}

// chosen spreads the lines over the timeouts, and has the RFC's among them.
func (f *Frontier) chosen() []idle.Summary {
	n := len(f.cells)
	if n <= maxCurves {
		return f.cells
	}
	picks := map[int]bool{}
	for k := range maxCurves {
		picks[k*(n-1)/(maxCurves-1)] = true
	}
	if at := f.find(RFCTimeout); at > 0 && !picks[at] {
		near := -1
		for i := 1; i < n-1; i++ { // the ends stay
			if picks[i] && (near < 0 || abs(i-at) < abs(near-at)) {
				near = i
			}
		}
		delete(picks, near)
		picks[at] = true
	}
	var out []idle.Summary
	for i := range f.cells {
		if picks[i] {
			out = append(out, f.cells[i])
		}
	}
	return out
}

func abs(i int) int { return max(i, -i) }

// tail averages the tails of all seeds, whose points lie at different times: each is a step down at its time.
func tail(runs []idle.Result, of func(*idle.Result) []idle.Point) []idle.Point {
	var xs []float64
	for i := range runs {
		for _, p := range of(&runs[i]) {
			xs = append(xs, p.X)
		}
	}
	slices.Sort(xs)
	xs = slices.Compact(xs)
	out := make([]idle.Point, len(xs))
	for i, x := range xs {
		out[i].X = x
	}
	for i := range runs {
		points := of(&runs[i])
		at, y := 0, 0.0
		for j, x := range xs {
			for at < len(points) && points[at].X <= x {
				y = points[at].Y
				at++
			}
			out[j].Y += y / float64(len(runs))
		}
	}
	return out
}

const dayHours = 24

// firstDay cuts the first day after the warm-up out of a course.
func firstDay(course []idle.Point, warmUp time.Duration) []idle.Point {
	from, _ := slices.BinarySearchFunc(course, warmUp.Seconds(), func(p idle.Point, x float64) int { return cmp.Compare(p.X, x) })
	var day []idle.Point
	for _, p := range course[from:] {
		hours := (p.X - warmUp.Seconds()) / 3600
		if hours >= dayHours {
			break
		}
		day = append(day, idle.Point{X: hours, Y: p.Y})
	}
	return day
}
