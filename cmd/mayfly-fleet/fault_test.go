package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/queue"
	"github.com/mayfly-mcp/mayfly/fakes/wait"
)

// faultSeeds and faultJobs are the size of the campaigns that meet faults.
const (
	faultSeeds = "400"
	faultJobs  = 50
)

// night is a campaign on a cluster that meets a fault, and has its name.
type night struct {
	t     *testing.T
	c     *cluster
	q     *queue.Queue
	name  string
	dirs  []string
	leads []*process
	kills int
	base  uint64 // results of campaigns before
}

// night begins a campaign, with nobody at work.
func (c *cluster) night(q *queue.Queue, name string) *night {
	n := &night{t: c.t, c: c, q: q, name: name}
	n.base = n.arrived()
	return n
}

// lead starts a coordinator that reaches the cluster by way of some servers, with a directory of its own.
func (n *night) lead(url string) *process {
	n.t.Helper()
	dir := filepath.Join(n.t.TempDir(), fmt.Sprint("runs", len(n.dirs)))
	n.dirs = append(n.dirs, dir)
	return n.leadIn(url, dir)
}

// leadIn starts one that goes on in a directory.
func (n *night) leadIn(url, dir string) *process {
	n.t.Helper()
	p := start(n.t, append(append([]string{"run"}, n.c.by(url, "-name", n.name, "-dir", dir, "-ack-wait", "2s", "-window", "30")...), quick(faultSeeds)...)...)
	n.leads = append(n.leads, p)
	return p
}

// work starts a worker for this campaign.
func (n *night) work(url string) *process {
	n.t.Helper()
	return start(n.t, append([]string{"worker"}, n.c.by(url, "-slots", "1")...)...)
}

// kill ends a process with SIGKILL, and counts it.
func (n *night) kill(p *process) {
	p.kill(n.t)
	n.kills++
}

// down kills a server, and counts it.
func (n *night) down(i int) {
	n.c.down(i)
	n.kills++
}

// arrived is how many jobs have results.
func (n *night) arrived() uint64 {
	n.t.Helper()
	all, err := n.q.Replicas(n.t.Context())
	if err != nil {
		n.t.Fatal(err)
	}
	return all[1].Msgs - n.base
}

// farther waits until so many jobs have results.
func (n *night) farther(jobs uint64) {
	n.t.Helper()
	wait.Until(n.t, fmt.Sprintf("%d jobs of %s", jobs, n.name), func() bool { return n.arrived() >= jobs })
}

// over waits for the end of the campaign, and holds what each coordinator left against what a quiet campaign
// leaves on one machine: nothing is lost, and nothing is counted twice.
func (n *night) over(want string) {
	n.t.Helper()
	ended := n.leads[len(n.leads)-len(n.dirs):]
	for _, lead := range ended {
		lead.ended(n.t, n.q, n.name)
		if lead.code != exitFailed {
			n.t.Fatalf("%s: exit code %d:\n%s", n.name, lead.code, lead.out.String())
		}
	}
	for _, dir := range n.dirs {
		same(n.t, n.name, dir, want)
	}
	fleet(n.t.Context(), append([]string{"status"}, n.c.at(n.name)...)...).wants(n.t, exitOK, ": done, kind sim",
		fmt.Sprintf("%d summed up, %d results there, 0 queued or under way", faultJobs, faultJobs))
	n.count()
}

// count says what the campaign went through, once the workers that live have said so.
func (n *night) count() {
	n.t.Helper()
	now := time.Now().UTC()
	var twice, known uint64
	wait.Until(n.t, "the word of the workers", func() bool {
		ws, err := n.q.Workers(n.t.Context())
		if err != nil {
			n.t.Fatal(err)
		}
		twice, known = 0, 0
		for _, w := range ws {
			twice, known = twice+w.Twice, known+w.Known
		}
		return slices.ContainsFunc(ws, func(w queue.Worker) bool { return w.At.After(now) })
	})
	handed, err := n.q.Deliveries(n.t.Context(), n.name)
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Logf("%s: %d jobs, %d killed, %d handed out again; of all campaigns so far %d came again with their result there, %d results were refused as second ones",
		n.name, faultJobs, n.kills, handed-min(handed, faultJobs), known, twice)
}

// TestServersAreKilled: servers of a cluster are killed while campaigns run, one after the other, first one that does not
// lead the results, of a campaign with two coordinators, then the one that does; each comes back.
func TestServersAreKilled(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	q := c.open()
	want := local(t, quick(faultSeeds)...)

	leader := c.leader(q)
	n := c.night(q, "another-killed")
	n.lead(c.url)
	n.lead(c.url)
	n.work(c.url)
	n.work(c.url)
	n.farther(3)
	n.down((leader + 1) % len(c.nodes))
	c.up((leader + 1) % len(c.nodes))
	n.over(want)

	leader = c.leader(q)
	n = c.night(q, "leader-killed")
	n.lead(c.url)
	n.farther(3)
	n.down(leader)
	c.up(leader)
	n.over(want)
}
