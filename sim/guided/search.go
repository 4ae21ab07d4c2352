package guided

import (
	"errors"
	"fmt"
)

// The bounds of a search, and what it is unless something else is asked for.
const (
	MaxBatch  = 4096
	MaxCorpus = 256
	MaxFinds  = 64 // runs that broke a rule, which are kept with their inputs
	// MaxSame is how many of them broke the same rule.
	MaxSame = 8

	defaultBatch  = 16
	defaultFresh  = 100
	defaultCorpus = 24
)

// Options says how to search. Zero values are replaced by the defaults named here.
type Options struct {
	Seed  uint64 `json:"seed"`
	Batch int    `json:"batch"` // inputs of a round; 0 means 16
	// Fresh is how many of a thousand inputs are drawn blindly; 0 means 100.
	Fresh int `json:"fresh"`
	// Hunts is how many of a thousand blind draws are of sim.Hunt; the others are swarms.
	Hunts  int `json:"hunts"`
	Corpus int `json:"corpus"` // inputs that are kept at most; 0 means 24
	// Blind draws everything blindly, with the same books, to compare.
	Blind bool `json:"blind"`
}

func (o Options) withDefaults() Options {
	if o.Batch == 0 {
		o.Batch = defaultBatch
	}
	if o.Fresh == 0 {
		o.Fresh = defaultFresh
	}
	if o.Corpus == 0 {
		o.Corpus = defaultCorpus
	}
	return o
}

// Validate reports every problem of options; zero values are none.
func (o Options) Validate() error {
	o = o.withDefaults()
	var errs []error
	within := func(name string, n, least, most int) {
		if n < least || n > most {
			errs = append(errs, fmt.Errorf("%s is %d; use %d to %d", name, n, least, most))
		}
	}
	within("batch", o.Batch, 1, MaxBatch)
	within("fresh", o.Fresh, 1, 1000)
	within("hunts", o.Hunts, 0, 1000)
	within("corpus", o.Corpus, 1, MaxCorpus)
	return errors.Join(errs...)
}

// Find is a run that broke a rule.
type Find struct {
	Rule  string `json:"rule"`
	Input Input  `json:"input"`
	Steps uint64 `json:"steps"` // of the whole search, this run's included
}

// Search is a search under way. It is a state machine in rounds: what Next gives depends on the
// options and on what Take was given in the rounds before, and on nothing else.
type Search struct {
	opt    Options
	round  uint64
	runs   uint64
	steps  uint64
	hits   []uint32 // by point, the runs that reached it
	corpus []entry
	owner  []int32 // by point, the place in the corpus of who holds it, from 1
	finds  []Find
}

// New begins a search.
func New(o Options) (*Search, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("the options of the search are wrong: %w", err)
	}
	return &Search{opt: o.withDefaults(), hits: make([]uint32, nPoints), owner: make([]int32, nPoints)}, nil
}

// Next returns the inputs of the round. It changes nothing: until Take it returns the same.
func (s *Search) Next() []Input {
	batch, _ := s.draw()
	return batch
}

// draw draws the inputs of the round, and says by its number whose child each is, 0 for none.
func (s *Search) draw() (batch []Input, parents []uint64) {
	batch, parents = make([]Input, s.opt.Batch), make([]uint64, s.opt.Batch)
	odds := s.odds()
	for i := range batch {
		r := newRand(s.opt.Seed, s.round, uint64(i))
		if s.isFresh(i) {
			batch[i] = fresh(r, s.opt.Hunts)
			continue
		}
		parent, other := &s.corpus[r.pick(odds)], &s.corpus[r.pick(odds)]
		batch[i], parents[i] = child(r, &parent.Input, &other.Input), parent.Born
	}
	return batch, parents
}

// isFresh says whether an input of the round is drawn blindly, as all are when there is no corpus; a
// blind search never has one. The blind ones are spread evenly.
func (s *Search) isFresh(i int) bool {
	return len(s.corpus) == 0 || (i+1)*s.opt.Fresh/1000 > i*s.opt.Fresh/1000
}

// Take ends the round with the outcomes of its inputs, in their order.
func (s *Search) Take(outcomes []Outcome) error {
	if len(outcomes) != s.opt.Batch {
		return fmt.Errorf("%d outcomes were given for the %d inputs of round %d; give one for each, in their order", len(outcomes), s.opt.Batch, s.round)
	}
	for i := range outcomes {
		if err := outcomes[i].check(); err != nil {
			return fmt.Errorf("outcome %d of round %d is wrong: %w", i, s.round, err)
		}
	}
	batch, parents := s.draw()
	for i := range outcomes {
		s.take(&batch[i], &outcomes[i], parents[i])
	}
	s.bound()
	s.round++
	return nil
}

func (s *Search) take(in *Input, o *Outcome, parent uint64) {
	s.runs++
	s.steps += o.Steps
	for _, p := range o.Points {
		s.hits[p] = max(s.hits[p]+1, s.hits[p]) // which stays at the most there can be
	}
	s.credit(parent, o)
	if o.Violation != "" {
		s.found(Find{o.Violation, *in, s.steps})
		return // its children would find the same again
	}
	if !s.opt.Blind {
		s.keep(in, o)
	}
}

// found keeps a run that broke a rule, unless there are enough of them.
func (s *Search) found(f Find) {
	same := 0
	for i := range s.finds {
		if s.finds[i].Rule == f.Rule {
			same++
		}
	}
	if same < MaxSame && len(s.finds) < MaxFinds {
		s.finds = append(s.finds, f)
	}
}

// Finds returns the first runs that broke a rule, in their order, MaxSame of one rule at most.
func (s *Search) Finds() []Find { return append([]Find(nil), s.finds...) }

// Progress is how far a search has come.
type Progress struct {
	Rounds, Runs, Steps uint64
	Points              Points // that were reached
	Corpus              int    // inputs that are kept
	Finds               int
}

// Progress returns how far the search has come.
func (s *Search) Progress() Progress {
	return Progress{Rounds: s.round, Runs: s.runs, Steps: s.steps, Points: s.seen(), Corpus: len(s.corpus), Finds: len(s.finds)}
}

// seen lists the points that were reached.
func (s *Search) seen() Points {
	var out Points
	for p, n := range s.hits {
		if n > 0 {
			out = append(out, uint32(p))
		}
	}
	return out
}
