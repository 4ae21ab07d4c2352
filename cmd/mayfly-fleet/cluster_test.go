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
func free(t testing.TB, n int) (ports []int) {
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
	c := layCluster(t, n)
	for i := range n {
		c.up(i)
	}
	return c
}

// layCluster is one whose servers are not started yet.
func layCluster(t *testing.T, n int) *cluster {
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

// around is the address of all servers but one.
func (c *cluster) around(i int) string {
	return strings.Join(slices.Delete(strings.Split(c.url, ","), i, i+1), ",")
}

// open connects, as soon as the cluster has a leader.
func (c *cluster) open() *queue.Queue { return c.openAt(c.url) }

// openAt is open by way of some servers.
func (c *cluster) openAt(url string) *queue.Queue {
	c.t.Helper()
	var q *queue.Queue
	var err error
	wait.Until(c.t, "the cluster", func() bool {
		q, err = queue.Open(c.t.Context(), queue.Config{URL: url, Creds: c.creds})
		return err == nil
	})
	c.t.Cleanup(q.Close)
	return q
}

// at are the flags that reach it.
func (c *cluster) at(args ...string) []string { return c.by(c.url, args...) }

// by are the flags that reach it by way of some servers.
func (c *cluster) by(url string, args ...string) []string {
	return append([]string{"-nats", url, "-creds", c.creds}, args...)
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
