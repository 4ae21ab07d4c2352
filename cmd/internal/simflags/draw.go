package simflags

import (
	"flag"
	"fmt"

	"github.com/mayfly-mcp/mayfly/sim"
)

// Draw are the flags that say what a run is made of.
type Draw struct {
	swarm       bool
	traffic     string
	reconfigure bool
	serve       bool
}

// Define defines the flags.
func (d *Draw) Define(fs *flag.FlagSet) {
	fs.BoolVar(&d.swarm, "swarm", true, "draw from the seed which features and faults there are and how strong; false takes the default mix")
	fs.StringVar(&d.traffic, "traffic", "", "`KIND` of traffic alone: human, cron or poisson (default all, by weights)")
	fs.BoolVar(&d.reconfigure, "reconfigure", false, "change idle-timeout and max-live under way, whatever is drawn")
	fs.BoolVar(&d.serve, "serve", false, "have owners serve entries of the registry beside their claims, whatever is drawn")
}

// Settle settles what the run is made of, so that it can be printed.
func (d *Draw) Settle(o *sim.Options) error {
	o.Swarm = d.swarm
	*o = o.WithDefaults()
	m := o.Mix
	if d.reconfigure && m.Configure == 0 {
		m.Configure = 5 // of a thousand turns
	}
	if d.serve && m.Serve == 0 {
		m.Serve = 500 // of a thousand, the most
	}
	switch d.traffic {
	case "":
	case "human":
		m.Human, m.Cron, m.Poisson = 1000, 0, 0
	case "cron":
		m.Human, m.Cron, m.Poisson = 0, 1000, 0
	case "poisson":
		m.Human, m.Cron, m.Poisson = 0, 0, 1000
	default:
		return fmt.Errorf("traffic %q is unknown; use human, cron or poisson", d.traffic)
	}
	return nil
}
