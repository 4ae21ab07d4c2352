package trace

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/mayfly-mcp/mayfly/sim"
)

// DefaultEvents is how many bars a page shows unless it is told otherwise.
const DefaultEvents = 20_000

// Page collects a run for a page.
type Page struct {
	most  int
	lanes *lanes
}

// NewPage returns a page that will show the last most bars; 0 means DefaultEvents.
func NewPage(most int) *Page {
	if most <= 0 {
		most = DefaultEvents
	}
	return &Page{most, newLanes()}
}

// Step takes one step in.
func (g *Page) Step(s *sim.Step) {
	g.lanes.step(s)
	if g.lanes.kept >= 2*g.most {
		g.lanes.keep(g.most)
	}
}

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// Write writes the page. res is the result of the run; its violation is marked.
func (g *Page) Write(w io.Writer, title string, res *sim.Result) error {
	return pageTemplate.Execute(w, g.view(title, res))
}

// viewed is what the template is given.
type viewed struct {
	Title     string
	Violation *sim.Violation
	Steps     uint64
	LeftOut   int
	From, To  string
	Mark      *spot
	Lanes     []viewedLane
	Arrows    []viewedArrow
	Tenants   []uint32
}

type viewedLane struct {
	ID, Name, Kind, For string // For lists tenants between spaces
	Bars                []viewedBar
}

// spot is a place in percent of both axes.
type spot struct{ T, N float64 }

type viewedBar struct {
	From, Len    spot
	Class, Title string
}

type viewedArrow struct {
	Tenant, Peer string // ids of lanes
	At           spot
}

// scale maps places to percents.
type scale struct{ from, to place }

func (c scale) of(p place) spot {
	part := func(x, from, to float64) float64 {
		return 100 * max(0, x-from) / max(1, to-from)
	}
	return spot{part(float64(p.at), float64(c.from.at), float64(c.to.at)),
		part(float64(p.step), float64(c.from.step), float64(c.to.step+1))}
}

// bar places a bar; on the axis of steps it covers the step that ended it.
func (c scale) bar(b *bar) viewedBar {
	end := b.to
	end.step++
	f, t := c.of(b.from), c.of(end)
	return viewedBar{f, spot{t.T - f.T, t.N - f.N}, b.class,
		fmt.Sprintf("%s: %s to %s", b.title, clock(b.from.at), clock(b.to.at))}
}

func (g *Page) view(title string, res *sim.Result) *viewed {
	x := g.lanes
	x.closeAll()
	x.keep(g.most)
	c := scale{x.began, x.last}
	v := &viewed{Title: title, Steps: x.last.step, LeftOut: x.dropped, From: clock(c.from.at), To: clock(c.to.at), Tenants: slices.Sorted(slices.Values(x.people))}
	if res != nil && res.Violation != nil {
		v.Violation = res.Violation
		at := c.of(place{res.Violation.At, res.Violation.Step})
		v.Mark = &at
	}
	for _, t := range x.order {
		v.add(c.lane("p-"+t, "peer", x.peers[t]))
	}
	for _, t := range v.Tenants {
		v.add(c.lane(fmt.Sprintf("t-%d", t), "tenant", x.tenants[t]))
	}
	for _, a := range x.arrows {
		v.Arrows = append(v.Arrows, viewedArrow{fmt.Sprintf("t-%d", a.tenant), "p-" + a.peer, c.of(a.at)})
	}
	return v
}

// add leaves out lanes in which nothing is to be seen.
func (v *viewed) add(l viewedLane) {
	if len(l.Bars) > 0 {
		v.Lanes = append(v.Lanes, l)
	}
}

func (c scale) lane(id, kind string, l *lane) viewedLane {
	out := viewedLane{ID: id, Name: l.name, Kind: kind}
	var who strings.Builder
	for _, t := range slices.Sorted(maps.Keys(l.tenants)) {
		fmt.Fprintf(&who, " %d", t)
	}
	out.For = who.String() + " "
	for i := range l.bars {
		out.Bars = append(out.Bars, c.bar(&l.bars[i]))
	}
	return out
}

// closeAll ends what lasts at the end of the run.
func (x *lanes) closeAll() {
	for _, t := range x.order {
		x.peers[t].leave(x.last)
	}
	for _, t := range x.people {
		x.tenants[t].leave(x.last)
	}
	for _, t := range slices.Sorted(maps.Keys(x.calls)) {
		x.ends(x.last, t, "call-open", "still open")
	}
}

// keep drops the oldest bars, in order of their ends, beyond the last most ones. What began
// before the page does is cut to it.
func (x *lanes) keep(most int) {
	var ends []uint64
	for _, l := range x.all() {
		for i := range l.bars {
			ends = append(ends, l.bars[i].to.step)
		}
	}
	x.kept = len(ends)
	if len(ends) <= most {
		return
	}
	slices.Sort(ends)
	x.cut(ends[len(ends)-most])
}

// cut lets the page begin at a step.
func (x *lanes) cut(step uint64) {
	begin := x.last
	for _, l := range x.all() {
		n := len(l.bars)
		l.bars = slices.DeleteFunc(l.bars, func(b bar) bool { return b.to.step < step })
		x.dropped += n - len(l.bars)
		x.kept -= n - len(l.bars)
		for i := range l.bars {
			if b := &l.bars[i]; b.to.step >= step && b.to.at < begin.at {
				begin = b.to
			}
		}
	}
	x.began = place{begin.at, step}
	x.arrows = slices.DeleteFunc(x.arrows, func(a arrow) bool { return a.at.step < step })
	for _, l := range x.all() {
		for i := range l.bars {
			l.bars[i].from = later(l.bars[i].from, x.began)
		}
	}
}

func later(a, b place) place { return place{max(a.at, b.at), max(a.step, b.step)} }

// all lists the lanes in a fixed order.
func (x *lanes) all() (all []*lane) {
	for _, t := range x.order {
		all = append(all, x.peers[t])
	}
	for _, t := range x.people {
		all = append(all, x.tenants[t])
	}
	return all
}
