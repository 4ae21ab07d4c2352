package conformance

import (
	_ "embed" // the page
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"
	"time"
)

//go:embed report.html.tmpl
var pageSource string

var page = template.Must(template.New("page").Parse(pageSource))

// Bounds of a card.
const (
	maxLanes     = 14  // of a timeline: the runner, daemons, then peers by their first moment
	maxCardSeen  = 60  // observations, the wrong ones first
	maxCardLines = 400 // moments in words
)

// card is what the page shows of a check that did not pass.
type card struct {
	Result
	Again    string
	Attempts int
	Seen     []cardSeen
	Moments  []string
	Picture  *picture
	More     int // what found no room
}

// cardSeen is one observation.
type cardSeen struct {
	At, What, Expected, Observed string
	Bad                          bool
}

// picture is a timeline: lanes from top to bottom, time from left to right.
type picture struct {
	Width, Height int
	Lanes         []pictureLane
	Ticks         []pictureTick
}

type pictureLane struct {
	Name  string
	Y     int
	Marks []pictureMark
}

type pictureMark struct {
	X, Y, W float64
	Text    string
	Bad     bool
}

type pictureTick struct {
	X    float64
	Text string
}

// HTML writes one page that needs nothing else: the verdicts with a filter, and a card for
// each check that did not pass.
func (r *Report) HTML(w io.Writer) error {
	var cards []card
	for _, c := range r.Checks {
		if c.Verdict != Pass {
			cards = append(cards, r.card(c))
		}
	}
	return page.Execute(w, map[string]any{"Report": r, "Summary": r.Summary(), "Outcome": r.Outcome(), "Cards": cards,
		"Verdicts": []Verdict{Pass, Fail, Inconclusive, NotObserved, NotApplicable, HarnessError}})
}

// card fills in what the capture knows of a check.
func (r *Report) card(c Result) card {
	k := card{Result: c, Again: r.again(c.ID)}
	if r.capture == nil {
		return k
	}
	i := slices.IndexFunc(r.capture.run.Checks, func(info checkInfo) bool { return info.ID == c.ID })
	if i < 0 {
		return k // the audit, which has no attempts of its own
	}
	a, _ := r.capture.counted(granted, r.capture.run.Checks[i])
	k.Attempts = a.Try
	k.seen(a)
	for _, m := range a.Life[:min(len(a.Life), maxCardLines)] {
		k.Moments = append(k.Moments, m.words(a.From))
	}
	k.More = a.Dropped + len(a.Life) - len(k.Moments)
	k.Picture = draw(a)
	return k
}

// seen lists the observations, the wrong ones first.
func (k *card) seen(a *attemptRecord) {
	for _, o := range a.Seen {
		s := cardSeen{At: clock(o.At - a.From), What: o.What, Expected: o.Expected, Observed: o.Observed, Bad: granted.look(o) != nil}
		switch o.Kind {
		case seenEqual:
		case seenSample:
			s.Observed = o.took().String()
		default:
			s.Expected, s.Observed = granted.allowed(o).String(), o.took().String()
			s.Bad = s.Bad || o.Kind == seenPace && o.Min > o.Limit || (o.Kind == seenEviction || o.Kind == seenAgeing) && (o.Max < o.Limit || o.Min > granted.allowed(o).max+o.Overshoot)
		}
		k.Seen = append(k.Seen, s)
	}
	slices.SortStableFunc(k.Seen, func(x, y cardSeen) int {
		switch {
		case x.Bad == y.Bad:
			return 0
		case x.Bad:
			return -1
		}
		return 1
	})
	k.Seen = k.Seen[:min(len(k.Seen), maxCardSeen)]
}

func (m moment) words(from int64) string {
	s := clock(m.At-from) + "  " + m.Lane + "  " + m.What
	if m.To != 0 {
		s += fmt.Sprintf(" (%s long)", clock(m.To-m.At))
	}
	return s
}

func clock(ns int64) string { return fmt.Sprintf("%.3fs", time.Duration(ns).Seconds()) }

// Measures of a picture, in pixels.
const (
	laneLabel  = 150
	laneWidth  = 800
	laneHeight = 22
	laneTicks  = 5
)

// draw makes the picture of an attempt; nil when nothing is known but that it was.
func draw(a *attemptRecord) *picture {
	lanes := lanesOf(a.Life)
	if len(lanes) == 0 || a.To <= a.From {
		return nil
	}
	x := func(t int64) float64 {
		t = min(max(t, a.From), a.To)
		return math.Round(laneLabel + float64(t-a.From)/float64(a.To-a.From)*laneWidth)
	}
	p := &picture{Width: laneLabel + laneWidth + 50, Height: laneHeight * (len(lanes) + 1)}
	for i, name := range lanes {
		p.Lanes = append(p.Lanes, pictureLane{Name: name, Y: laneHeight*i + laneHeight/2})
	}
	for _, m := range a.Life {
		if i := slices.Index(lanes, m.Lane); i >= 0 {
			mark := pictureMark{X: x(m.At), Y: float64(p.Lanes[i].Y), Text: m.words(a.From)}
			if m.To != 0 || m.What == "alive" {
				mark.W = max(x(m.end(a.To))-mark.X, 1)
			}
			p.Lanes[i].Marks = append(p.Lanes[i].Marks, mark)
		}
	}
	for _, o := range a.Seen {
		if bad := granted.look(o); bad != nil {
			p.Lanes[0].Marks = append(p.Lanes[0].Marks, pictureMark{X: x(o.At), Y: float64(p.Lanes[0].Y), Text: bad.evidence, Bad: true})
		}
	}
	for i := range laneTicks + 1 {
		t := a.From + (a.To-a.From)*int64(i)/laneTicks
		p.Ticks = append(p.Ticks, pictureTick{x(t), clock(t - a.From)})
	}
	return p
}

// end is when a moment ended; what has no end was there until the last.
func (m moment) end(last int64) int64 {
	if m.To == 0 {
		return last
	}
	return m.To
}

// lanesOf are the lanes in order: the runner, the daemons, the peers by their first moment.
func lanesOf(life []moment) (lanes []string) {
	rank := func(name string) int {
		switch {
		case name == laneRunner:
			return 0
		case name == laneDaemon || strings.HasPrefix(name, laneDaemon+" "):
			return 1
		}
		return 2
	}
	for _, m := range life {
		if !slices.Contains(lanes, m.Lane) {
			lanes = append(lanes, m.Lane)
		}
	}
	if len(lanes) > 0 && !slices.Contains(lanes, laneRunner) {
		lanes = append(lanes, laneRunner)
	}
	slices.SortStableFunc(lanes, func(a, b string) int { return rank(a) - rank(b) })
	return lanes[:min(len(lanes), maxLanes)]
}
