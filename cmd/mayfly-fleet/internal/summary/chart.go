package summary

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/queue"
)

// The places in a chart, in units of its view box.
const (
	chartWide, chartHigh   = 480, 240
	plotLeft, plotRight    = 70, 460
	plotTop, plotBottom    = 16, 200
	mostTicks              = 5
	mostRows               = 24 // of the table of points
	tickLength, labelBelow = 4, 16
)

// point is one of a curve.
type point struct{ x, y float64 }

// chart is a curve, as the page draws it.
type chart struct {
	ID, Title, Desc, XName, YName string
	Line                          string // points of a polyline
	LastX, LastY                  string
	XTicks, YTicks                []tick
}

// tick is a mark on an axis.
type tick struct{ At, Text string }

// newChart draws a curve whose values are not negative. xs and ys make words of numbers.
func newChart(id, title, xname, yname string, points []point, times bool) chart {
	last := points[len(points)-1]
	right, top := last.x, 0.0
	for _, p := range points {
		right, top = max(right, p.x), max(top, p.y)
	}
	right, top = max(right, 1), max(top, 1)
	word := number
	steps := decimal
	if times {
		word, steps = seconds, temporal
	}
	c := chart{ID: id, Title: title, XName: xname, YName: yname,
		Desc: fmt.Sprintf("A rising line from %s at %s to %s at %s.", number(points[0].y), word(points[0].x), number(last.y), word(last.x))}
	x := func(v float64) float64 { return plotLeft + v/right*(plotRight-plotLeft) }
	y := func(v float64) float64 { return plotBottom - v/top*(plotBottom-plotTop) }
	var line strings.Builder
	for i, p := range points {
		if i > 0 {
			line.WriteByte(' ')
		}
		line.WriteString(place(x(p.x)) + "," + place(y(p.y)))
	}
	c.Line, c.LastX, c.LastY = line.String(), place(x(last.x)), place(y(last.y))
	for _, v := range ticks(right, steps(right)) {
		c.XTicks = append(c.XTicks, tick{place(x(v)), word(v)})
	}
	for _, v := range ticks(top, decimal(top)) {
		c.YTicks = append(c.YTicks, tick{place(y(v)), number(v)})
	}
	return c
}

func place(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }

// ticks are the multiples of a step up to a number.
func ticks(most, step float64) (all []float64) {
	for n := 0; n <= mostTicks && float64(n)*step <= most; n++ {
		all = append(all, float64(n)*step)
	}
	return all
}

// decimal is a round step of which few fit into a number.
func decimal(most float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(most/mostTicks)))
	for _, m := range []float64{1, 2, 5} {
		if m*power*mostTicks >= most {
			return max(m*power, 1)
		}
	}
	return max(10*power, 1)
}

// temporal is a step of seconds that people find round.
func temporal(most float64) float64 {
	for _, s := range []float64{1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200} {
		if s*mostTicks >= most {
			return s
		}
	}
	const day = 86400
	return day * math.Ceil(most/day/mostTicks)
}

// number is a whole number, with commas.
func number(v float64) string { return group(uint64(max(v, 0))) }

func group(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func seconds(v float64) string {
	s := (time.Duration(v) * time.Second).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// charts are the curves of a campaign's course.
func charts(all []queue.Sample, unit string) []chart {
	if len(all) == 0 || all[len(all)-1].Cells == 0 {
		return nil // or its kind covers nothing
	}
	course := func(x func(queue.Sample) float64, y func(queue.Sample) int) (ps []point) {
		for _, s := range all {
			ps = append(ps, point{x(s), float64(y(s))})
		}
		return ps
	}
	cells := func(s queue.Sample) int { return s.Cells }
	reached := func(s queue.Sample) int { return s.Reached }
	bySeed := func(s queue.Sample) float64 { return float64(s.Seeds) }
	byTime := func(s queue.Sample) float64 { return s.At.Sub(all[0].At).Seconds() }
	origin := []point{{}}
	return []chart{
		newChart("cells-seeds", "Cells covered, by "+unit, unit, "cells", append(origin, course(bySeed, cells)...), false),
		newChart("cells-time", "Cells covered, by time", "time since the first sample", "cells", course(byTime, cells), true),
		newChart("situations-seeds", "Situations reached, by "+unit, unit, "situations", append(origin, course(bySeed, reached)...), false),
		newChart("situations-time", "Situations reached, by time", "time since the first sample", "situations", course(byTime, reached), true),
	}
}

// rows are some of the samples, evenly, with the first and the last.
func rows(all []queue.Sample) (some []queue.Sample) {
	if len(all) <= mostRows {
		return all
	}
	for i := range mostRows {
		some = append(some, all[i*(len(all)-1)/(mostRows-1)])
	}
	return some
}
