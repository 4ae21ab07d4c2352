package guided

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"

	"github.com/mayfly-mcp/mayfly/sim"
)

// How points are numbered: first the situations of the catalogue, each at several counts, then the
// cells of coverage, then the companies of owners, and then the fine standings of peers.
const (
	nSituations = len(sim.Reached{})
	nStandings  = len(sim.Coverage{}.Cells)
	nInputs     = len(sim.Coverage{}.Cells[0])

	firstCell    = nSituations * levels
	firstCompany = firstCell + nStandings*nInputs*nStandings
	firstFine    = firstCompany + nInputs*nCompanies
	nPoints      = firstFine + nInputs*nFine
)

// levels are the counts of a situation that are points of their own: 1, 4, 16 and 64 in one run.
const levels = 4

// levelOf returns how many levels a count reaches.
func levelOf(n uint64) int {
	l := 0
	for ; l < levels && n > 0; l++ {
		n /= 4
	}
	return l
}

// situationPoint returns the point of a situation at a level from 0.
func situationPoint(situation, level int) uint32 { return uint32(situation*levels + level) }

func cellPoint(from, in, to int) uint32 {
	return uint32(firstCell + (from*nInputs+in)*nStandings + to)
}

// catalogue is a number for what points mean in this build.
func catalogue() string {
	h := fnv.New64a()
	for _, s := range sim.Situations() {
		fmt.Fprintln(h, s.ID)
	}
	fmt.Fprintln(h, levels, nStandings, nInputs, nCompanies, nFine)
	return fmt.Sprintf("%016x", h.Sum64())
}

// Points is a set of points, ascending. As text it is the distances between them, which takes
// about a byte and a half a point.
type Points []uint32

// has says whether a point is in the set.
func (p Points) has(x uint32) bool {
	_, found := slices.BinarySearch(p, x)
	return found
}

// Situations returns the situations of the catalogue that are in the set.
func (p Points) Situations() []sim.Situation {
	var out []sim.Situation
	for i, s := range sim.Situations() {
		if p.has(situationPoint(i, 0)) {
			out = append(out, s)
		}
	}
	return out
}

// Cells returns the number of cells of coverage that are in the set.
func (p Points) Cells() int {
	from, _ := slices.BinarySearch(p, uint32(firstCell))
	to, _ := slices.BinarySearch(p, uint32(firstCompany))
	return to - from
}

// check reports what is wrong with a set that came from elsewhere.
func (p Points) check() error {
	for i, x := range p {
		if int(x) >= nPoints {
			return fmt.Errorf("point %d is beyond the %d that there are", x, nPoints)
		}
		if i > 0 && x <= p[i-1] {
			return errors.New("points do not rise")
		}
	}
	return nil
}

// MarshalText implements encoding.TextMarshaler.
func (p Points) MarshalText() ([]byte, error) {
	raw, last := make([]byte, 0, 2*len(p)), uint32(0)
	for _, x := range p {
		raw = binary.AppendUvarint(raw, uint64(x-last))
		last = x
	}
	return base64.StdEncoding.AppendEncode(nil, raw), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *Points) UnmarshalText(text []byte) error {
	raw, err := base64.StdEncoding.Strict().DecodeString(string(text))
	if err != nil {
		return fmt.Errorf("points are not base64: %w", err)
	}
	*p = nil
	for last := uint64(0); len(raw) > 0; {
		d, n := binary.Uvarint(raw)
		if n <= 0 || d > math.MaxUint32-last {
			return errors.New("points are cut off or too large")
		}
		raw, last = raw[n:], last+d
		*p = append(*p, uint32(last))
	}
	return p.check()
}
