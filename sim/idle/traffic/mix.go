package traffic

import (
	"fmt"
	"strings"
	"time"
)

// maxParts bounds a mix.
const maxParts = 16

// sized is a population that knows how many tenants it has.
type sized interface{ tenants() int }

// Mix puts populations beside each other; tenants are numbered through. It is open if all its
// parts are. Otherwise the streams of its open parts are read like closed ones: a call that
// falls into the one before it starts when that has ended.
func Mix(name string, parts ...Traffic) (Traffic, error) {
	if len(parts) == 0 || len(parts) > maxParts {
		return nil, fmt.Errorf("mix: %d parts: there must be from 1 to %d", len(parts), maxParts)
	}
	m := &mix{name: name, parts: parts, open: true}
	var names []string
	for _, p := range parts {
		if _, ok := p.(sized); !ok {
			return nil, fmt.Errorf("mix: %s cannot be mixed: its tenants are not known beforehand", p.Name())
		}
		m.total += p.(sized).tenants()
		m.open = m.open && p.Open()
		names = append(names, p.Name())
	}
	if m.total > MaxTenants {
		return nil, fmt.Errorf("mix: %d tenants: at most %d", m.total, MaxTenants)
	}
	if name == "" {
		m.name = strings.Join(names, "+")
	}
	return m, nil
}

type mix struct {
	name  string
	parts []Traffic
	open  bool
	total int
}

func (m *mix) Name() string { return m.name }
func (m *mix) Open() bool   { return m.open }
func (m *mix) tenants() int { return m.total }

func (m *mix) Streams(seed uint64) ([]Stream, error) {
	var out []Stream
	from := uint32(0)
	for i, p := range m.parts {
		streams, err := p.Streams(scramble(seed + uint64(i)))
		if err != nil {
			return nil, err
		}
		for _, s := range streams {
			out = append(out, &shifted{Stream: s, from: from, serial: p.Open() && !m.open})
		}
		from += uint32(p.(sized).tenants())
	}
	return out, nil
}

type shifted struct {
	Stream
	from   uint32
	serial bool
}

func (s *shifted) Next(after time.Duration) (Call, bool, error) {
	c, ok, err := s.Stream.Next(after)
	c.Tenant += s.from
	if s.serial {
		c.At = max(c.At, after)
	}
	return c, ok, err
}
