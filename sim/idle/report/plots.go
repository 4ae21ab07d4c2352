package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/mayfly-mcp/mayfly/sim/idle"
)

// frontierPlot has cold calls over process-seconds, one point for each timeout.
func frontierPlot(r *Report) (*Plot, error) {
	if r.Frontier == nil {
		return nil, nil
	}
	p := canvas("process-seconds per hour", "cold calls")
	for i, rows := range [][]Row{r.Frontier.Rows, r.Frontier.Exact} {
		if err := addFrontier(p, i, rows); err != nil {
			return nil, err
		}
	}
	if len(r.Frontier.Rows) > 0 && !(p.X.Min < math.Inf(1)) {
		return nil, nil // nothing to be shown on logarithmic axes
	}
	widen(&p.X)
	widen(&p.Y)
	logarithmic(&p.X, number)
	logarithmic(&p.Y, percentage)
	return &Plot{Name: "frontier", Title: "What an idle timeout costs and saves", Table: "callers", plot: p,
		About: fmt.Sprintf("Share of cold calls over process-seconds per hour for %d idle timeouts from %s to %s, both axes logarithmic: the longer the timeout, the more process-seconds and the fewer cold calls.",
			len(r.Frontier.Rows), brief(r.Frontier.Rows[0].Timeout), brief(r.Frontier.Rows[len(r.Frontier.Rows)-1].Timeout))}, nil
}

func addFrontier(p *plot.Plot, i int, rows []Row) error {
	var points plotter.XYs
	var labels []string
	for _, row := range rows {
		if row.ProcessSeconds.Mean > 0 && row.Cold.Mean > 0 {
			points = append(points, plotter.XY{X: row.ProcessSeconds.Mean, Y: row.Cold.Mean})
			labels = append(labels, brief(row.Timeout))
		}
	}
	if len(points) == 0 {
		return nil
	}
	l, s, err := plotter.NewLinePoints(points)
	if err != nil {
		return err
	}
	l.LineStyle = line(i)
	s.Color, s.Radius = colours[i], vg.Points(3)
	s.Shape = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.RingGlyph{}}[i]
	p.Add(l, s)
	p.Legend.Add([]string{"ticks of T/4", "exact timer"}[i], l, s)
	if i > 0 {
		return nil
	}
	return addLabels(p, points, labels, vg.Point{X: vg.Points(5), Y: vg.Points(4)})
}

func addLabels(p *plot.Plot, at plotter.XYs, labels []string, offset vg.Point) error {
	text, err := plotter.NewLabels(plotter.XYLabels{XYs: at, Labels: labels})
	if err != nil {
		return err
	}
	for j := range text.TextStyle {
		text.TextStyle[j].Font = sans(9)
	}
	text.Offset = offset
	p.Add(text)
	return nil
}

// widen gives the range of a logarithmic axis some room, and some width if it has none.
func widen(a *plot.Axis) {
	const room = 1.15
	a.Min /= room
	a.Max *= room
}

func callsPlot(r *Report) (*Plot, error) {
	if r.Curves == nil {
		return nil, nil
	}
	return tailPlot("latency-calls", "Latency that waiting for starts adds to calls", "calls", r.Curves.Calls)
}

func talksPlot(r *Report) (*Plot, error) {
	if r.Curves == nil {
		return nil, nil
	}
	return tailPlot("latency-conversations", "Latency that waiting for starts adds to conversations", "conversations", r.Curves.Talks)
}

// leastWait is where tails begin, in seconds.
const leastWait = 1e-3

func tailPlot(name, title, what string, curves []Curve) (*Plot, error) {
	p := canvas("added seconds", "share of "+what+" with more")
	n := 0
	for i, c := range curves {
		points := positive(c.Points)
		if len(points) < 2 {
			continue
		}
		n++
		if err := addLine(p, i, brief(c.Timeout), points); err != nil {
			return nil, err
		}
	}
	if n == 0 {
		return nil, nil
	}
	widen(&p.X)
	widen(&p.Y)
	logarithmic(&p.X, number)
	logarithmic(&p.Y, percentage)
	return &Plot{Name: name, Title: title, Table: "callers", plot: p,
		About: fmt.Sprintf("Share of %s to which more than so many seconds were added, for %d idle timeouts, both axes logarithmic. Longer timeouts lie lower.", what, n)}, nil
}

// positive is the part of a tail that logarithmic axes can show.
func positive(tail []idle.Point) (out plotter.XYs) {
	for _, p := range tail {
		if p.X >= leastWait && p.Y > 0 {
			out = append(out, plotter.XY{X: p.X, Y: p.Y})
		}
	}
	return out
}

func addLine(p *plot.Plot, i int, name string, points plotter.XYs) error {
	l, err := plotter.NewLine(points)
	if err != nil {
		return err
	}
	l.LineStyle = line(i)
	p.Add(l)
	p.Legend.Add(name, l)
	return nil
}

// dayPlot has the number of processes over a day.
func dayPlot(r *Report) (*Plot, error) {
	if r.Curves == nil || len(r.Curves.Day) == 0 {
		return nil, nil
	}
	p := canvas("hours after the warm-up", "processes")
	for i, c := range r.Curves.Day {
		var points plotter.XYs
		for _, x := range c.Points {
			points = append(points, plotter.XY{X: x.X, Y: x.Y})
		}
		if err := addLine(p, i, brief(c.Timeout), points); err != nil {
			return nil, err
		}
	}
	p.Y.Min = 0
	p.Y.Max *= 1.25 // the legend lies above the lines
	linear(&p.X)
	linear(&p.Y)
	return &Plot{Name: "day", Title: "Processes over a simulated day", Table: "processes", plot: p,
		About: fmt.Sprintf("Number of processes over the first day after the warm-up for %d idle timeouts, of the first seed. Longer timeouts lie higher.", len(r.Curves.Day))}, nil
}

// policyPlot has a bar for the cost of each policy.
func policyPlot(r *Report) (*Plot, error) {
	rows := r.Policies
	rows = slices.DeleteFunc(slices.Clone(rows), func(x PolicyRow) bool { return !x.OverClairvoyant.exists() })
	if len(rows) == 0 {
		return nil, nil
	}
	slices.SortStableFunc(rows, func(a, b PolicyRow) int { return cmp.Compare(b.OverClairvoyant.Mean, a.OverClairvoyant.Mean) })
	var values plotter.Values
	var ends plotter.XYs
	var names, costs []string
	for i, row := range rows {
		values = append(values, row.OverClairvoyant.Mean)
		ends = append(ends, plotter.XY{X: row.OverClairvoyant.Mean, Y: float64(i)})
		names, costs = append(names, row.Name), append(costs, digits(row.OverClairvoyant.Mean))
	}
	p := canvas("cost of the gaps between calls over the clairvoyant's", "")
	bars, err := plotter.NewBarChart(values, vg.Points(12))
	if err != nil {
		return nil, err
	}
	bars.Horizontal, bars.Color, bars.LineStyle.Width = true, colours[0], 0
	p.Add(bars)
	if err := addLabels(p, ends, costs, vg.Point{X: vg.Points(4), Y: vg.Points(-3)}); err != nil {
		return nil, err
	}
	p.NominalY(names...)
	p.X.Min = 0
	p.X.Max *= 1.05 // the highest number stands behind its bar
	linear(&p.X)
	best, worst := rows[len(rows)-1], rows[0]
	return &Plot{Name: "policies", Title: "What policies cost", Table: "policies", plot: p, high: vg.Points(60 + 22*float64(len(rows))),
		About: fmt.Sprintf("One bar for the cost of each of %d policies over that of a clairvoyant, from %s (%s) to %s (%s).",
			len(rows), best.Name, number(best.OverClairvoyant.Mean), worst.Name, number(worst.OverClairvoyant.Mean))}, nil
}

// oraclePlot has how far each simulated number is off, in standard errors.
func oraclePlot(r *Report) (*Plot, error) {
	if len(r.Oracles) == 0 {
		return nil, nil
	}
	var points plotter.XYs
	most := float64(Limit)
	for i, o := range r.Oracles {
		off := float64(o.Off)
		if float64(o.Got) < o.Want {
			off = -off
		}
		if math.IsNaN(off) || math.IsInf(off, 0) {
			continue
		}
		most = max(most, math.Abs(off))
		points = append(points, plotter.XY{X: float64(i + 1), Y: off})
	}
	if len(points) == 0 {
		return nil, nil
	}
	p := canvas("number of the check, in the order of the table", "standard errors off")
	s, err := plotter.NewScatter(points)
	if err != nil {
		return nil, err
	}
	s.Color, s.Shape, s.Radius = colours[0], draw.CircleGlyph{}, vg.Points(2.5)
	p.Add(s)
	for _, y := range []float64{-Limit, 0, Limit} {
		l, err := plotter.NewLine(plotter.XYs{{X: 0, Y: y}, {X: float64(len(r.Oracles) + 1), Y: y}})
		if err != nil {
			return nil, err
		}
		l.LineStyle = line(1)
		p.Add(l)
	}
	p.Y.Min, p.Y.Max = -most-1, most+1
	linear(&p.X)
	linear(&p.Y)
	return &Plot{Name: "oracles", Title: "How far the simulator is from what is known", Table: "oracles", plot: p,
		About: fmt.Sprintf("%d simulated numbers, each so many standard errors above or below its closed form, with lines at %d.", len(points), Limit)}, nil
}
