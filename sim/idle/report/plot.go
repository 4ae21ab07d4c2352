package report

import (
	"bytes"
	"fmt"
	"html"
	"image/color"
	"math"
	"regexp"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Plot is one picture.
type Plot struct {
	Name  string // of its files, without their ends
	Title string
	About string // for those who cannot see it
	Table string // ID of the table that has its numbers, if there is one
	plot  *plot.Plot
	high  vg.Length
}

const (
	plotWidth  = 7.2 * vg.Inch
	plotHeight = 4.4 * vg.Inch
	margin     = 0.1 * vg.Inch
)

// Plots are all pictures that a report has numbers for.
func (r *Report) Plots() ([]Plot, error) {
	var all []Plot
	for _, make := range []func(*Report) (*Plot, error){frontierPlot, callsPlot, talksPlot, dayPlot, policyPlot, oraclePlot} {
		p, err := make(r)
		if err != nil {
			return nil, fmt.Errorf("a plot cannot be drawn: %w", err)
		}
		if p != nil {
			all = append(all, *p)
		}
	}
	return all, nil
}

// colours are those of Okabe and Ito, which people of all kinds of sight can tell apart.
var colours = []color.Color{
	color.RGBA{0, 114, 178, 255}, color.RGBA{213, 94, 0, 255}, color.RGBA{0, 158, 115, 255},
	color.RGBA{204, 121, 167, 255}, color.RGBA{86, 180, 233, 255}, color.RGBA{230, 159, 0, 255},
}

// dashes tell lines apart without colours.
var dashes = [][]vg.Length{nil, {vg.Points(6), vg.Points(2)}, {vg.Points(2), vg.Points(2)}, {vg.Points(6), vg.Points(2), vg.Points(2), vg.Points(2)}, {vg.Points(1), vg.Points(3)}}

func sans(size float64) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Points(size)}
}

// canvas is an empty plot in the style of all.
func canvas(x, y string) *plot.Plot {
	p := plot.New()
	p.Legend.TextStyle.Font = sans(9)
	p.Legend.Top = true
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Font = sans(10)
		a.Tick.Label.Font = sans(9)
	}
	p.X.Label.Text, p.Y.Label.Text = x, y
	return p
}

func line(i int) draw.LineStyle {
	return draw.LineStyle{Color: colours[i%len(colours)], Width: vg.Points(1.5), Dashes: dashes[i%len(dashes)]}
}

// logarithmic makes an axis logarithmic, over a range that is positive.
func logarithmic(a *plot.Axis, show func(float64) string) {
	a.Scale = plot.LogScale{}
	a.Tick.Marker = plot.TickerFunc(func(least, most float64) []plot.Tick { return logTicks(least, most, show) })
}

// logTicks labels 1, 2 and 5 of each power of ten where there are few powers, and 1 where there are many.
func logTicks(least, most float64, show func(float64) string) (ticks []plot.Tick) {
	if !(least > 0) || !(most >= least) {
		return nil
	}
	few := math.Log10(most/least) < 3
	for e := int(math.Floor(math.Log10(least))); e <= int(math.Ceil(math.Log10(most))); e++ {
		for m := 1; m < 10; m++ {
			v := float64(m) * math.Pow10(e)
			if v < least*(1-tiny) || v > most*(1+tiny) {
				continue
			}
			t := plot.Tick{Value: v}
			if m == 1 || few && (m == 2 || m == 5) {
				t.Label = show(v)
			}
			ticks = append(ticks, t)
		}
	}
	return ticks
}

// tiny is what a tick may lie outside of its axis because of rounding.
const tiny = 1e-9

// linear labels an axis with numbers as everywhere else.
func linear(a *plot.Axis) {
	a.Tick.Marker = plot.TickerFunc(func(least, most float64) []plot.Tick {
		ticks := plot.DefaultTicks{}.Ticks(least, most)
		for i := range ticks {
			if ticks[i].Label != "" {
				ticks[i].Label = number(ticks[i].Value)
			}
		}
		return ticks
	})
}

// percentage shows a share on an axis.
func percentage(x float64) string { return number(100*x) + " %" }

// SVG is the picture as a document of its own: the same bytes for the same report.
func (p *Plot) SVG() ([]byte, error) {
	out, err := p.inline()
	return []byte(`<?xml version="1.0" encoding="UTF-8"?>` + "\n" + out), err
}

var (
	svgHead = regexp.MustCompile(`(?s)^.*?<svg width="[^"]*" height="[^"]*" viewBox="([^"]*)"[^>]*>`)
	svgFont = regexp.MustCompile(`font-family:[^;"]*;`)
)

// inline is the picture as an element with a title and a text for those who cannot see it.
func (p *Plot) inline() (string, error) {
	raw, err := p.render("svg")
	if err != nil {
		return "", err
	}
	head := svgHead.FindSubmatch(raw)
	if head == nil {
		return "", fmt.Errorf("plot %s: the plotting library wrote no SVG", p.Name)
	}
	body := svgFont.ReplaceAllString(string(raw[len(head[0]):]), "font-family:'Liberation Sans',Arial,Helvetica,sans-serif;")
	open := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="%s" role="img" aria-labelledby="%[2]s-title %[2]s-desc">`, head[1], p.Name)
	return fmt.Sprintf("%s\n<title id=\"%s-title\">%s</title>\n<desc id=\"%s-desc\">%s</desc>%s", open,
		p.Name, html.EscapeString(p.Title), p.Name, html.EscapeString(p.About), strings.TrimRight(body, "\n")+"\n"), nil
}

// PNG is the picture in pixels.
func (p *Plot) PNG() ([]byte, error) { return p.render("png") }

func (p *Plot) render(format string) ([]byte, error) {
	high := p.high
	if high == 0 {
		high = plotHeight
	}
	w, err := draw.NewFormattedCanvas(plotWidth, high, format)
	if err != nil {
		return nil, fmt.Errorf("plot %s: %w", p.Name, err)
	}
	p.plot.Draw(draw.Crop(draw.New(w), margin, -margin, margin, -margin))
	var b bytes.Buffer
	if _, err := w.WriteTo(&b); err != nil {
		return nil, fmt.Errorf("plot %s: %w", p.Name, err)
	}
	return b.Bytes(), nil
}
