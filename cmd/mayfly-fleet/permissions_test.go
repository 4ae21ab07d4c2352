package main

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/queue"
	"github.com/mayfly-mcp/mayfly/fakes/wait"
)

// rack are servers of the configuration that comes with the command, and files of credentials for its users.
type rack struct {
	url   string
	flags []string // to reach it, but for credentials
	creds map[string]string
	pass  map[string]string
	ca    string
}

// newRack starts three servers of rack/server.conf on loopback.
func newRack(t *testing.T) *rack {
	t.Helper()
	c := authority(t)
	ports := free(t, 6)
	for k, v := range map[string]string{"MAYFLY_CA": c.ca, "MAYFLY_CERT": c.cert, "MAYFLY_KEY": c.key, "MAYFLY_STORE": t.TempDir(),
		"MAYFLY_A": route(ports[3]), "MAYFLY_B": route(ports[4]), "MAYFLY_C": route(ports[5])} {
		t.Setenv(k, v)
	}
	r := &rack{creds: map[string]string{}, pass: map[string]string{}, ca: c.ca}
	for _, user := range []string{"worker", "lead", "view"} {
		r.pass[user] = secretWord + user
		t.Setenv("MAYFLY_"+strings.ToUpper(user), r.pass[user])
		r.creds[user] = file(t, user+".creds", user+":"+r.pass[user]+"\n")
	}
	var urls []string
	var all []*natsserver.Server
	for i := range 3 {
		o, err := natsserver.ProcessConfigFile(filepath.Join("rack", "server.conf"))
		if err != nil {
			t.Fatal(err)
		}
		if o.Port != 4222 || o.Cluster.Port != 6222 {
			t.Errorf("the configuration listens on %d and %d", o.Port, o.Cluster.Port)
		}
		o.ServerName, o.Host, o.Port, o.Cluster.Host, o.Cluster.Port = "n"+strconv.Itoa(i), "127.0.0.1", ports[i], "127.0.0.1", ports[3+i]
		o.StoreDir, o.NoLog, o.NoSigs, o.TLSTimeout, o.Cluster.TLSTimeout = t.TempDir(), true, true, wait.Bound.Seconds(), wait.Bound.Seconds()
		s, err := natsserver.NewServer(o)
		if err != nil {
			t.Fatal(err)
		}
		s.Start()
		t.Cleanup(func() {
			s.Shutdown()
			s.WaitForShutdown()
		})
		all = append(all, s)
		urls = append(urls, "tls://"+net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[i])))
	}
	wait.Until(t, "a leader that knows all servers", func() bool {
		return slices.ContainsFunc(all, func(s *natsserver.Server) bool {
			return s.JetStreamIsLeader() && len(s.JetStreamClusterPeers()) == len(all)
		})
	})
	r.url = strings.Join(urls, ",")
	r.flags = []string{"-nats", r.url, "-tls-ca", c.ca}
	return r
}

func route(port int) string { return "nats://127.0.0.1:" + strconv.Itoa(port) }

// as is a command of a user.
func (r *rack) as(user, command string, more ...string) []string {
	return append(append([]string{command, "-creds", r.creds[user]}, r.flags...), more...)
}

// open connects as a user, as soon as the cluster has a leader.
func (r *rack) open(t *testing.T, user string) (q *queue.Queue) {
	t.Helper()
	var err error
	wait.Until(t, "the cluster", func() bool {
		q, err = queue.Open(t.Context(), queue.Config{URL: r.url, CA: r.ca, Creds: r.creds[user]})
		if err != nil && !errors.Is(err, queue.ErrNoJetStream) && !errors.Is(err, queue.ErrUnreachable) {
			t.Fatal(err)
		}
		return err == nil
	})
	t.Cleanup(q.Close)
	return q
}

// TestLeastPermissions: on the servers of the configuration that comes with the command each user can do what it is
// for, a whole campaign with quarantine among it, and nothing that the configuration keeps from it.
func TestLeastPermissions(t *testing.T) {
	r := newRack(t)
	q := r.open(t, "lead") // it makes what is not there
	worker := start(t, r.as("worker", "worker", "-slots", "2")...)
	dir := filepath.Join(t.TempDir(), "runs")
	fleet(t.Context(), r.as("lead", "run", append(quick("80"), "-dir", dir, "-name", "mine")...)...).wants(t, exitFailed)
	same(t, "least permissions", dir, local(t, quick("80")...))
	fleet(t.Context(), r.as("view", "status", "mine")...).wants(t, exitOK, ": done, kind sim", "finding failures/", "1 workers")
	fleet(t.Context(), r.as("lead", "results", "-out", filepath.Join(t.TempDir(), "again"), "mine")...).wants(t, exitFailed)
	worker.kill(t)

	r.isolates(t, q)
	r.refuses(t)
	fleet(t.Context(), r.as("lead", "cancel", "-remove", "mine")...).wants(t, exitOK, "campaign mine: removed")
}

// isolates: a worker may do all that becomes of a job that goes wrong, twice.
func (r *rack) isolates(t *testing.T, lead *queue.Queue) {
	t.Helper()
	ctx := t.Context()
	spec, st, err := lead.Create(ctx, queue.Spec{ID: "poison", Kind: "sim", Build: "b", Args: []string{"-seeds=8"}, Jobs: 1})
	if err == nil {
		err = lead.Offer(ctx, spec.ID, 0, fmt.Sprint(st.Epoch))
	}
	if err != nil {
		t.Fatal(err)
	}
	q := r.open(t, "worker")
	for n := range 2 {
		if err := errors.Join(q.Attempt(ctx, spec.ID, 0, queue.Attempt{Worker: "w", Delivery: n, What: "failed", Log: "panic"}), q.Isolate(ctx, spec.ID, 0, n)); err != nil {
			t.Fatal(err)
		}
	}
	share := q.Share(spec.ID)
	if _, err := share.Add(ctx, "a", []byte("b")); err != nil {
		t.Fatal(err)
	}
	if keys, err := share.Keys(ctx); err != nil || len(keys) != 1 {
		t.Fatal(keys, err)
	}
	job, err := q.Take(ctx, spec.ID, wait.Bound)
	if err != nil || job == nil {
		t.Fatal(job, err)
	}
	if err := errors.Join(job.Beat(), job.Again(0)); err != nil {
		t.Fatal(err)
	}
	fleet(ctx, r.as("view", "status", spec.ID)...).wants(t, exitOK, "job 0 is in quarantine")
	fleet(ctx, r.as("lead", "resume", spec.ID)...).wants(t, exitOK, "running")
	fleet(ctx, r.as("lead", "cancel", "-remove", spec.ID)...).wants(t, exitOK, "removed")
}

// refuses: what a user is not for is refused, at once and in one paragraph; so are others, and no TLS.
func (r *rack) refuses(t *testing.T) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "none")
	for _, c := range [][]string{
		r.as("worker", "run", append(quick("8"), "-dir", dir)...), r.as("worker", "cancel", "mine"),
		r.as("view", "run", append(quick("8"), "-dir", dir)...), r.as("view", "cancel", "-remove", "mine"), r.as("view", "results", "-out", dir, "mine"),
		r.as("lead", "status", "-prefix", "other"),
	} {
		fleet(t.Context(), c...).wants(t, exitHarness, "the connection is refused: our user may not use the subject ")
	}
	fleet(t.Context(), r.as("lead", "status", "mine")...).wants(t, exitOK, ": done, kind sim")
	fleet(t.Context(), append([]string{"status"}, r.flags...)...).wants(t, exitHarness, "refuse the credentials")
	r.silent(t, "worker", "mayfly.job.mine.0", "$KV.mayfly_campaigns.mine.state", "$KV.mayfly_campaigns.mine.spec", "$JS.API.STREAM.PURGE.mayfly_RESULTS",
		"$JS.API.STREAM.DELETE.mayfly_RESULTS", "$JS.API.STREAM.MSG.DELETE.mayfly_RESULTS", "$JS.API.STREAM.UPDATE.mayfly_RESULTS", "$JS.API.CONSUMER.DELETE.mayfly_JOBS.mine",
		"$JS.API.STREAM.CREATE.other", "other")
	r.silent(t, "view", "mayfly.job.mine.0", "mayfly.result.mine.0", "$KV.mayfly_campaigns.mine.state", "$JS.API.CONSUMER.MSG.NEXT.mayfly_JOBS.mine", "$O.mayfly_findings.M.x")
	r.silent(t, "lead", "$JS.API.STREAM.CREATE.other", "$JS.API.STREAM.INFO.other", "$KV.other.x", "other")
}

// silent: a user may publish on none of the subjects.
func (r *rack) silent(t *testing.T, user string, subjects ...string) {
	t.Helper()
	violations := make(chan error, len(subjects))
	nc, err := nats.Connect(r.url, nats.UserInfo(user, r.pass[user]), nats.RootCAs(r.ca), nats.Timeout(wait.Bound),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { violations <- err }))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	for _, s := range subjects {
		if err := nc.Publish(s, nil); err != nil {
			t.Fatal(err)
		}
		if err := nc.FlushTimeout(wait.Bound); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-violations:
			if !errors.Is(err, nats.ErrPermissionViolation) || !strings.Contains(err.Error(), s) {
				t.Errorf("%s on %s: %v", user, s, err)
			}
		case <-time.After(time.Second): // the answer to the flush comes after it, and the handler runs beside
			t.Errorf("%s may publish on %s", user, s)
		}
	}
}
