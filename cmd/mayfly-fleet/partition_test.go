package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/node"
	"github.com/mayfly-mcp/mayfly/fakes/wait"
)

// relay is one that ends with the test.
func relay(t *testing.T, to string, drop func(string) bool) *node.Relay {
	t.Helper()
	r, err := node.NewRelay(to, drop)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// relays lays one between each two servers of a cluster that is not up yet, in each direction, and returns those
// of the server of each number.
func (c *cluster) relays() (of [][]*node.Relay) {
	of = make([][]*node.Relay, len(c.configs))
	routes := slices.Clone(c.configs[0].Routes)
	for i := range c.configs {
		c.configs[i].Advertise = "127.0.0.1:1" // nobody answers there
		c.configs[i].Routes = nil
		for j, to := range routes {
			if i == j {
				continue
			}
			r := relay(c.t, to, nil)
			c.configs[i].Routes = append(c.configs[i].Routes, r.Addr())
			of[i], of[j] = append(of[i], r), append(of[j], r)
		}
	}
	return of
}

// TestAServerIsCutOff: the server that leads the results is cut off from the other ones while a campaign runs, with a
// worker that knows no other server; the others go on without it, and both take part again when it is not any more. Then
// all that there is, servers, workers and the coordinator, is killed, and started again.
func TestAServerIsCutOff(t *testing.T) {
	t.Parallel()
	c := layCluster(t, 3)
	relays := c.relays()
	for i := range c.configs {
		c.up(i)
	}
	v := c.leader(c.open())
	q := c.openAt(c.around(v))
	want := local(t, quick(faultSeeds)...)

	n := c.night(q, "cut-off")
	n.lead(c.around(v))
	there := n.work(strings.Split(c.url, ",")[v])
	here := n.work(c.around(v))
	n.farther(5)
	for _, r := range relays[v] {
		r.Cut()
	}
	before := n.arrived()
	n.farther(before + 3)
	wait.Until(t, "another leader", func() bool {
		all, err := q.Replicas(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return all[1].Leader != "" && all[1].Leader != c.configs[v].Name
	})
	t.Logf("%s was cut off after %d jobs; %d were done when it was not any more", c.configs[v].Name, before, n.arrived())
	for _, r := range relays[v] {
		r.Mend()
	}
	n.over(want)
	c.leader(q)

	n = c.night(q, "all-killed")
	lead := n.lead(c.url)
	n.farther(5)
	for _, p := range []*process{lead, here, there} {
		n.kill(p)
	}
	for i := range c.nodes {
		n.down(i)
	}
	for i := range c.nodes {
		c.up(i)
	}
	c.open()
	n.leadIn(c.url, n.dirs[0])
	n.work(c.url)
	n.work(c.url)
	n.over(want)
}

// smallDisk is a directory on a disk of its own, of so many bytes, "" where there can be none.
func smallDisk(t *testing.T, size int) string {
	t.Helper()
	dir := t.TempDir()
	if err := exec.Command("mount", "-t", "tmpfs", "-o", "size="+strconv.Itoa(size), "mayfly-test", dir).Run(); err != nil {
		return ""
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("the small disk stays: %v\n%s", err, out)
		}
	})
	return dir
}

// fill takes all that is left of a disk, and returns what gives it back.
func fill(t *testing.T, dir string) (free func()) {
	t.Helper()
	name := filepath.Join(dir, "ballast")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := 64 << 10; size > 0; {
		if _, err := f.Write(make([]byte, size)); err != nil {
			size /= 2
		}
	}
	return func() {
		if err := os.Remove(name); err != nil {
			t.Error(err)
		}
	}
}

// TestADiskIsFull: the disk of the server that leads the results is full while a campaign runs, which goes on without it.
// When there is room again, and the server was started again, it has all of it. Where no disk of its own can be
// had the server is given a bound, which it exceeds. Then the words of a worker that its jobs are done are lost
// for a while.
func TestADiskIsFull(t *testing.T) {
	t.Parallel()
	const room, bound = 48 << 20, 32 << 10
	c := layCluster(t, 3)
	disks := make([]string, len(c.configs))
	for i := range c.configs {
		if disks[i] = smallDisk(t, room); disks[i] != "" {
			c.configs[i].Store = disks[i]
		}
		c.up(i)
	}
	v := c.leader(c.open())
	q := c.openAt(c.around(v))
	want := local(t, quick(faultSeeds)...)
	how := "has a disk of its own, which was filled"
	if disks[v] == "" {
		how = "has a bound of what it stores (MaxDisk), as no disk of its own can be mounted here"
		c.down(v)
		c.configs[v].MaxDisk = bound
		c.up(v)
	}
	t.Logf("%s, which led the results, %s", c.configs[v].Name, how)
	n := c.night(q, "full")
	n.lead(c.around(v))
	hears := n.work(c.around(v))
	n.farther(3)
	free := func() {}
	if disks[v] != "" {
		free = fill(t, disks[v])
	}
	wait.Until(t, "a server that stores no more", func() bool {
		all, err := q.Replicas(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return slices.Contains(all[1].Behind, c.configs[v].Name)
	})
	n.over(want)
	free()
	c.down(v)
	c.configs[v].MaxDisk = 0
	c.up(v)
	c.leader(q)

	var deaf atomic.Bool
	deaf.Store(true)
	r := relay(t, strings.TrimPrefix(strings.Split(c.url, ",")[0], "nats://"), func(subject string) bool { return deaf.Load() && strings.HasPrefix(subject, "$JS.ACK.") })
	hears.kill(t) // else it does all the jobs
	n = c.night(q, "acks-lost")
	n.lead(c.url)
	n.work("nats://" + r.Addr())
	wait.Until(t, "acks that are lost", func() bool { return r.Lost() >= 3 })
	n.work(c.url)
	n.farther(10)
	deaf.Store(false)
	n.over(want)
	t.Logf("%d acks were lost", r.Lost())
}
