package profile

// Summary is what the starts say together, the first one left out.
type Summary struct {
	N      int   `json:"n"`
	Failed int   `json:"failed"`
	Rows   []Row `json:"rows"`
}

// Row is one measured quantity.
type Row struct {
	Name        string     `json:"name"`
	Unit        string     `json:"unit"` // ms or MiB
	N           int        `json:"n"`
	Quantiles   []Estimate `json:"quantiles"`
	Independent bool       `json:"independent"` // false: no intervals, since one start gave several samples
}

// Summary computes quantiles of everything that was measured.
func (p *Profile) Summary() Summary {
	_, bad := p.connects()
	s := Summary{N: len(p.Starts), Failed: len(bad), Rows: []Row{}}
	s.add("connect", "ms", p.known(func(s Start) float64 { return s.ConnectMS }))
	s.add("spawn", "ms", p.known(func(s Start) float64 { return s.SpawnMS }))
	s.add("first message", "ms", p.known(func(s Start) float64 { return s.HeardMS }))
	s.pool("warm "+p.Settings.WarmCall, p.warm())
	s.add("RSS of the tree", "MiB", p.known(func(s Start) float64 { return s.RSSMiB }))
	s.add("PSS of the tree", "MiB", p.known(func(s Start) float64 { return s.PSSMiB }))
	s.add("stop", "ms", p.known(func(s Start) float64 { return s.StopMS }))
	return s
}

// add appends a row of one sample per start, if there is any.
func (s *Summary) add(name, unit string, sorted []float64) {
	if len(sorted) == 0 {
		return
	}
	r := Row{Name: name, Unit: unit, N: len(sorted), Independent: true}
	for _, q := range quantiles {
		r.Quantiles = append(r.Quantiles, estimate(sorted, q))
	}
	s.Rows = append(s.Rows, r)
}

// pool appends a row of samples of which a start gave several.
func (s *Summary) pool(name string, sorted []float64) {
	if len(sorted) == 0 {
		return
	}
	r := Row{Name: name, Unit: "ms", N: len(sorted)}
	for _, q := range quantiles {
		r.Quantiles = append(r.Quantiles, Estimate{Q: q, Value: pick(sorted, q)})
	}
	s.Rows = append(s.Rows, r)
}
