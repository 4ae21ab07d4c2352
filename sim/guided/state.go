package guided

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

const (
	version = 1
	// MaxState bounds an encoded search, so that a store with messages of a mebibyte can keep it.
	MaxState = 1 << 20
	maxGain  = 1 << 50 // of an entry, which no sum of points comes near to
)

// state is a search as it is written.
type state struct {
	Version   int      `json:"version"`
	Catalogue string   `json:"catalogue"` // what points mean
	Options   Options  `json:"options"`
	Round     uint64   `json:"round"`
	Runs      uint64   `json:"runs"`
	Steps     uint64   `json:"steps"`
	Seen      Points   `json:"seen"`
	Hits      []uint32 `json:"hits"` // of those that were seen
	Corpus    []entry  `json:"corpus"`
	Finds     []Find   `json:"finds"`
}

// Encode writes the search down, as JSON. Equal searches are written equally.
func (s *Search) Encode() ([]byte, error) {
	x := state{Version: version, Catalogue: catalogue(), Options: s.opt, Round: s.round, Runs: s.runs, Steps: s.steps,
		Seen: s.seen(), Corpus: s.corpus, Finds: s.finds}
	for _, p := range x.Seen {
		x.Hits = append(x.Hits, s.hits[p])
	}
	text, err := json.Marshal(x)
	if err != nil {
		return nil, fmt.Errorf("the search cannot be written: %w", err)
	}
	if len(text) > MaxState {
		return nil, fmt.Errorf("the search takes %d bytes, more than %d (MaxState); use a smaller corpus", len(text), MaxState)
	}
	return text, nil
}

// Decode reads what Encode wrote. It refuses what is not whole, what a build with other points
// wrote, and what no search could have come to.
func Decode(text []byte) (*Search, error) {
	s, err := decode(text)
	if err != nil {
		return nil, fmt.Errorf("the state of the search is refused: %w", err)
	}
	return s, nil
}

func decode(text []byte) (*Search, error) {
	if len(text) > MaxState {
		return nil, fmt.Errorf("it has %d bytes, more than %d (MaxState)", len(text), MaxState)
	}
	var head struct { // which also finds what stands behind the end
		Version   int    `json:"version"`
		Catalogue string `json:"catalogue"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, err
	}
	if head.Version != version {
		return nil, fmt.Errorf("it is of version %d; this program reads version %d", head.Version, version)
	}
	if head.Catalogue != catalogue() {
		return nil, errors.New("it was written by a build in which points mean something else; begin a new search")
	}
	var x state
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&x); err != nil {
		return nil, err
	}
	s, err := New(x.Options)
	if err != nil {
		return nil, err
	}
	return s, s.fill(&x)
}

// fill takes over what was read, if it fits together.
func (s *Search) fill(x *state) error {
	if s.opt != x.Options {
		return errors.New("its options are not complete")
	}
	if len(x.Hits) != len(x.Seen) {
		return fmt.Errorf("it has %d counts for %d points", len(x.Hits), len(x.Seen))
	}
	if want := x.Round * uint64(s.opt.Batch); x.Runs != want {
		return fmt.Errorf("it has %d runs in %d rounds of %d", x.Runs, x.Round, s.opt.Batch)
	}
	for i, p := range x.Seen {
		if n := x.Hits[i]; n == 0 || uint64(n) > x.Runs {
			return fmt.Errorf("point %d was reached by %d of %d runs", p, n, x.Runs)
		}
		s.hits[p] = x.Hits[i]
	}
	s.round, s.runs, s.steps = x.Round, x.Runs, x.Steps
	if err := s.fillFinds(x.Finds); err != nil {
		return err
	}
	return s.fillCorpus(x.Corpus)
}

func (s *Search) fillFinds(finds []Find) error {
	if len(finds) > MaxFinds {
		return fmt.Errorf("it has %d finds, more than %d (MaxFinds)", len(finds), MaxFinds)
	}
	for i := range finds {
		f := &finds[i]
		if err := f.Input.Validate(); err != nil {
			return fmt.Errorf("find %d: %w", i, err)
		}
		if f.Rule == "" || len(f.Rule) > maxRule {
			return fmt.Errorf("find %d names no rule", i)
		}
	}
	s.finds = finds
	return nil
}

func (s *Search) fillCorpus(corpus []entry) error {
	if len(corpus) > s.opt.Corpus || s.opt.Blind && len(corpus) > 0 {
		return fmt.Errorf("its corpus has %d inputs, more than its options allow", len(corpus))
	}
	for i := range corpus {
		e := &corpus[i]
		if err := e.Input.Validate(); err != nil {
			return fmt.Errorf("input %d of the corpus: %w", i, err)
		}
		if e.Cost == 0 || e.Gain > maxGain || e.Born == 0 || e.Born > s.runs {
			return fmt.Errorf("input %d of the corpus has books that no run leaves", i)
		}
		if len(e.Holds) == 0 {
			return fmt.Errorf("input %d of the corpus holds nothing", i)
		}
		if slices.ContainsFunc(e.Reach, func(p uint32) bool { return s.hits[p] == 0 }) {
			return fmt.Errorf("input %d of the corpus reaches what nothing has reached", i)
		}
		for _, p := range e.Holds {
			if s.owner[p] > 0 || !e.Reach.has(p) {
				return fmt.Errorf("input %d of the corpus holds point %d, which is not its own", i, p)
			}
			s.owner[p] = int32(i + 1)
		}
	}
	s.corpus = corpus
	return nil
}
