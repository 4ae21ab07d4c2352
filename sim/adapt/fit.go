package adapt

import (
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/sim"
)

// defaultRetry is how long failures last where there is no T to go by.
const defaultRetry = 20 * time.Second

// maxWaiters is so many that no run comes to it.
const maxWaiters = 1 << 16

// Fit takes out of a run what the lifecycle does not know and what the interface has no words for: eager connects and what makes
// them, wishes of a claim, write-offs, changes of the configuration, bounds of what
// runs, dials, queues and waits, start budgets, and exits that say that all was well. Tokens do not
// end by themselves, since what follows is an eager connect.
func (x Subject) Fit(o *sim.Options) {
	m, f := sim.DefaultMix(), sim.DefaultFaults()
	if o.Mix != nil {
		m = *o.Mix
	}
	if o.Faults != nil {
		f = *o.Faults
	}
	m.Rotate, m.Upsert, m.Storm, m.Ensure = 0, 0, 0, 0
	if !x.Reconnects {
		m.Reconnect = 0
	}
	m.Policy, m.WriteOff, m.Configure = 0, 0, 0
	f.Clean, f.Expire = 0, 0
	o.Mix, o.Faults = &m, &f
	c := &o.Config
	if *c == (lifecycle.Config{}) {
		*c = lifecycle.DefaultConfig()
	}
	c.MaxLive, c.MaxDialing, c.MaxSpawning, c.MaxQueued, c.StartTimeout = 0, 0, 0, 0, 0
	c.MaxWaiters = maxWaiters
	if !x.Evicts {
		c.IdleTimeout = 0
	}
	if c.IdleTimeout == 0 && c.FailedRetry == 0 {
		c.FailedRetry = defaultRetry
	}
}

// gap is a reason for which rules are not checked.
type gap struct {
	why   string
	rules []string
}

// gaps are about what the interface has no words for, and about what the host does itself: those
// rules hold whatever the lifecycle does.
var gaps = []gap{
	{"the host stops, times, tells and lists", []string{"PROC-GEN", "LADDER", "STUCK", "CONNECT-BOUND", "LISTED", "TOOLS", "RELIST",
		"CALL-ABANDON", "CALL-STRANDED", "EVENT-MISSING", "EVENT-OWNER", "EVENT-REPLAY", "EVENT-SEQ", "FAREWELL",
		"REASON", "RETRY-AT", "FORGET", "RELOAD", "RESTART"}},
	{"the host answers who gives up, is dead or claims nothing", []string{"REPLY-ONCE", "OWNER-TICKET", "CANCEL"}},
	{"the host shuts down", []string{"DRAIN", "LEAK"}},
	{"there are no bounds", []string{"CAP-LIVE", "CAP-DIALING", "CAP-SPAWNING", "QUEUE-FIFO", "QUEUE-BOUND", "QUEUE-WAIT",
		"RECLAIM", "WAITERS"}},
	{"there are no eager connects, and the host tells how reconnects went", []string{"SETTLED"}},
	{"there are no write-offs", []string{"WRITE-OFF"}},
	{"exits that say that all was well are like others", []string{"CLEAN-EXIT"}},
}

var noEviction = gap{"nothing is evicted", []string{"EVICT-EARLY", "EVICT-LATE", "EVICT-BUSY", "NEVER-EVICTED"}}

// Unchecked says which rules say nothing about the lifecycle, and why.
func (x Subject) Unchecked() (out []string) {
	all := gaps
	if !x.Evicts {
		all = append(all[:len(all):len(all)], noEviction)
	}
	for _, g := range all {
		for i, id := range g.rules {
			if i == 0 {
				out = append(out, g.why+":")
			}
			out[len(out)-1] += " " + id
		}
	}
	return out
}
