package main

import (
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/node"
	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/queue"
	"github.com/mayfly-mcp/mayfly/fakes/wait"
)

// cluster is some servers that are processes.
type cluster struct {
	t       *testing.T
	configs []node.Config
	nodes   []*process // nil of one that is down
	url     string
	creds   string
}

// free are so many ports of loopback that nobody uses.
func free(t *testing.T, n int) (ports []int) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close() // all at once, so that they differ
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

// newCluster starts a cluster of so many servers.
func newCluster(t *testing.T, n int) *cluster {
	t.Helper()
	const login = "rack:" + secretWord
	c := &cluster{t: t, nodes: make([]*process, n), creds: file(t, "creds", login)}
	ports := free(t, 2*n)
	var urls, routes []string
	for i := range n {
		urls = append(urls, fmt.Sprintf("nats://127.0.0.1:%d", ports[i]))
		routes = append(routes, fmt.Sprintf("127.0.0.1:%d", ports[n+i]))
	}
	c.url = strings.Join(urls, ",")
	for i := range n {
		c.configs = append(c.configs, node.Config{Name: fmt.Sprint("n", i), Port: ports[i], Cluster: "test", Route: ports[n+i], Routes: routes,
			Store: filepath.Join(t.TempDir(), fmt.Sprint("n", i)), Login: login})
		c.up(i)
	}
	return c
}

// up starts a server, with what it had stored.
func (c *cluster) up(i int) { c.nodes[i] = spawn(c.t, c.configs[i].Args()...) }

// down kills a server.
func (c *cluster) down(i int) {
	c.nodes[i].kill(c.t)
	c.nodes[i] = nil
}

// open connects, as soon as the cluster has a leader.
func (c *cluster) open() *queue.Queue {
	c.t.Helper()
	var q *queue.Queue
	var err error
	wait.Until(c.t, "the cluster", func() bool {
		q, err = queue.Open(c.t.Context(), queue.Config{URL: c.url, Creds: c.creds})
		return err == nil
	})
	c.t.Cleanup(q.Close)
	return q
}

// at are the flags that reach it.
func (c *cluster) at(args ...string) []string {
	return append([]string{"-nats", c.url, "-creds", c.creds}, args...)
}

// leader is the server that leads the results, once all replicas are as they should be.
func (c *cluster) leader(q *queue.Queue) (i int) {
	c.t.Helper()
	wait.Until(c.t, "replicas that are as they should be", func() bool {
		all, err := q.Replicas(c.t.Context())
		if err != nil {
			c.t.Fatal(err)
		}
		i = slices.IndexFunc(c.configs, func(x node.Config) bool { return x.Name == all[1].Leader })
		return i >= 0 && !slices.ContainsFunc(all, func(r queue.Replica) bool { return len(r.Behind) > 0 })
	})
	return i
}

// TestTheLeaderIsKilled: the server of a cluster that leads the results is killed while a campaign runs, and comes
// back; nothing is lost and nothing counted twice.
func TestTheLeaderIsKilled(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	q := c.open()
	args := quick("400")
	dir := filepath.Join(t.TempDir(), "runs")
	lead := start(t, append(append([]string{"run"}, c.at("-dir", dir, "-ack-wait", "3s", "-window", "30")...), args...)...)
	for range 2 {
		start(t, append([]string{"worker"}, c.at("-slots", "1")...)...)
	}
	id := only(t, q)
	farther := func(n uint64) {
		wait.Until(t, fmt.Sprintf("%d jobs", n), func() bool {
			p, err := q.Progress(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			return p.Arrived >= n
		})
	}
	farther(5)
	i := c.leader(q)
	c.down(i)
	c.up(i)
	lead.ended(t, q, id)
	if lead.code != exitFailed {
		t.Fatalf("exit code %d:\n%s", lead.code, lead.out.String())
	}
	same(t, "a leader that was killed", dir, local(t, args...))
	fleet(t.Context(), append([]string{"status"}, c.at(id)...)...).wants(t, exitOK, ": done, kind sim", "50 summed up, 50 results there, 0 queued or under way")
}
