package stdio

import (
	"errors"
	"os"
	"time"

	"github.com/mayfly-mcp/mayfly/core/transport"
)

// clockTick is the unit of processor time in /proc: USER_HZ is 100 wherever Go runs.
const clockTick = time.Second / 100

// errNothingLeft is the answer about a tree that has ended.
var errNothingLeft = errors.New("no process of the peer is left")

// usage adds up what the live processes of the tree take, after a pass that begins now.
func (s *scanner) usage(p *process) (transport.Usage, error) {
	sc := s.look()
	if sc.err != nil {
		return transport.Usage{}, sc.err
	}
	return p.usage(sc)
}

// usage adds up what the live processes of the tree took at the time of one pass. A session
// that is over has lost its group's number, which may be that of another one.
func (p *process) usage(sc *scan) (sum transport.Usage, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reaped {
		return sum, errNothingLeft
	}
	page := int64(os.Getpagesize())
	for id := range p.members(sc) {
		st := sc.procs[id.PID]
		sum.CPU += time.Duration(st.user+st.system) * clockTick
		sum.RSS += int64(st.pages) * page
		sum.Processes++
	}
	if sum.Processes == 0 {
		return sum, errNothingLeft
	}
	return sum, nil
}
