package report

import (
	"bytes"
	_ "embed"
	"html/template"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

// picture is a plot in the page.
type picture struct {
	Plot
	SVG template.HTML
}

// HTML is the page: one file that needs nothing else. The plots are those of the report.
func (r *Report) HTML(plots []Plot) ([]byte, error) {
	data := struct {
		*Report
		Line, Fleet string
		Tables      []table
		Pictures    []picture
	}{Report: r, Line: r.Setup.line(), Fleet: r.Setup.fleet(), Tables: r.tables()}
	for i := range plots {
		svg, err := plots[i].inline()
		if err != nil {
			return nil, err
		}
		// Made by the plotting library from numbers and names, which it and inline escape.
		data.Pictures = append(data.Pictures, picture{plots[i], template.HTML(svg)})
	}
	var b bytes.Buffer
	if err := page.Execute(&b, data); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
