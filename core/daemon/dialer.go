package daemon

import (
	"context"
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/mayfly-mcp/mayfly/core/transport/stdio"
	"github.com/mayfly-mcp/mayfly/core/transport/streamable"
)

// realDialer runs stdio peers as processes of this machine, each with a record for the next
// daemon, and reaches the others over HTTP.
func realDialer(version, records string) (transport.Dialer, *stdio.Dialer) {
	processes := stdio.New(stdio.Options{ClientVersion: version, Records: records})
	return transport.Mux{Stdio: processes, HTTP: streamable.New(streamable.Options{ClientVersion: version})}, processes
}

// settle prepares the process for peers: orphans are adopted, and what a daemon that was
// killed has left behind is ended, before anything is started (SPEC PR-4, PR-8). It takes
// no longer than the rungs of the ladder that are left to such peers.
func (d *Daemon) settle(ctx context.Context, rules *settings) {
	if d.cfg.OwnProcess {
		d.adopt()
	}
	if !d.real {
		return
	}
	grace := time.Duration(rules.MCP.TerminateGrace)
	ctx, cancel := context.WithTimeout(ctx, grace+time.Duration(rules.MCP.KillGrace)+reapSlack)
	defer cancel()
	r, err := stdio.Reap(ctx, d.home.peers, stdio.ReapOptions{Grace: grace})
	if err != nil {
		d.log.Error("peers of an earlier daemon may be left", "records", d.home.peers, "reason", err.Error())
	}
	if r.Ended > 0 {
		d.log.Warn("an earlier daemon was killed; its peers were ended", "peers", r.Ended, "terminated", r.Terminated,
			"killed", r.Killed)
	}
	if n := len(r.Unreadable); n > 0 {
		d.log.Warn("files in the directory of records are no records; what could be was set aside, with .bad behind its name",
			"records", d.home.peers, "files", n, "first", r.Unreadable[0])
	}
}

// reapSlack is added to the graces for the work itself.
const reapSlack = 5 * time.Second

func (d *Daemon) adopt() {
	note, stop, err := stdio.Subreaper()
	switch {
	case err != nil:
		d.log.Warn("orphans of peers go to the init of the system; run the daemon below one that waits for them", "reason", err.Error())
		return
	case note != "":
		d.log.Info(note)
	}
	d.unadopt = stop
}

// times are the times and bounds of peers, with a cap on live peers that the limit of open
// files can hold (SPEC PR-9). What is lowered is said.
func (d *Daemon) times(rules *settings) lifecycle.Config {
	l := rules.lifecycle()
	if !d.real {
		return l
	}
	allowed, warning := stdio.DescriptorBudget(l.MaxLive)
	if warning != "" {
		d.log.Warn(warning, "max_live", allowed)
	}
	l.MaxLive = allowed
	return l
}

// zombies counts children of the process that ended and were not waited for (SPEC PR-8).
func zombies() int { return stdio.Zombies() }
