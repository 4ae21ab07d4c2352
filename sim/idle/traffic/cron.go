package traffic

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// The periods that a cron may have.
const (
	minPeriod = time.Second
	maxPeriod = 366 * 24 * time.Hour
)

// CronConfig says when a cron fires.
type CronConfig struct {
	// Every lists periods; stream i has period i modulo their number.
	Every []time.Duration
	// Jitter delays every firing by a uniform part of it. It is below the shortest period.
	Jitter time.Duration
	// Spread gives every stream a phase of its own. Otherwise all fire at whole periods, as the
	// real ones do, which is the one case where nothing averages over a reaper's ticks.
	Spread bool
}

// Cron is an open population that calls at fixed times, whatever becomes of the calls.
func Cron(c CronConfig, p Population) (Traffic, error) {
	if len(c.Every) == 0 {
		return nil, fmt.Errorf("cron: every is missing: it lists the periods")
	}
	for _, d := range c.Every {
		if d < minPeriod || d > maxPeriod {
			return nil, fmt.Errorf("cron: every is %v: it must be from %v to %v", d, minPeriod, maxPeriod)
		}
		if c.Jitter < 0 || c.Jitter >= d {
			return nil, fmt.Errorf("cron: jitter is %v: it must be from 0 to below the period of %v", c.Jitter, d)
		}
	}
	p.Open = true
	p, err := p.fill(fmt.Sprintf("cron(every %v, jitter %v)", c.Every, c.Jitter))
	if err != nil {
		return nil, err
	}
	return &crons{p, c}, nil
}

type crons struct {
	Population
	cfg CronConfig
}

func (c *crons) Name() string { return c.Population.Name }
func (c *crons) Open() bool   { return true }
func (c *crons) tenants() int { return c.Tenants }

func (c *crons) Streams(seed uint64) ([]Stream, error) {
	streams := make([]cron, c.Tenants*c.Peers)
	out := make([]Stream, len(streams))
	for i := range streams {
		s := &streams[i]
		*s = cron{of: c, g: generator(seed, uint64(i)), tenant: uint32(i / c.Peers), peer: uint32(i % c.Peers)}
		s.every = c.cfg.Every[i%len(c.cfg.Every)]
		s.due = s.every
		if c.cfg.Spread {
			s.due = part(&s.g, s.every)
		}
		out[i] = s
	}
	return out, nil
}

// part draws from [0, d).
func part(g *rand.PCG, d time.Duration) time.Duration {
	return min(span(float64(d.Seconds()*unit(g))), d-1)
}

type cron struct {
	of           *crons
	g            rand.PCG
	every, due   time.Duration
	tenant, peer uint32
}

func (s *cron) Next(time.Duration) (Call, bool, error) {
	at := s.due
	s.due = later(s.due, s.every)
	if j := s.of.cfg.Jitter; j > 0 {
		at = later(at, part(&s.g, j))
	}
	return Call{At: at, Takes: span(s.of.Takes.Draw(&s.g)), Tenant: s.tenant, Peer: s.peer}, true, nil
}
