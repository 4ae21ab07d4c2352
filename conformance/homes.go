package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/mayfly-mcp/mayfly/core/wire"
	"github.com/mayfly-mcp/mayfly/core/wire/pb"
	"github.com/mayfly-mcp/mayfly/fakes/observer"
)

// Sizes of the check about a client that does not read.
const (
	unreadAnswers = 48               // below what a connection may have outstanding
	unreadSize    = 1e6              // bytes of each, below what an AgentConfig may have
	promptly      = 15 * time.Second // far more than it takes, and less than a client may take to read
)

// homeChecks are about the daemon as a process: how it starts, ends and comes back.
func homeChecks() []Check {
	return []Check{
		{ID: "sigterm-ends-everything", Title: "SIGTERM ends calls, servers, grandchildren and the daemon, with exit code 0 and no socket left.",
			Clauses: []string{"SH-1", "PR-2"}, cost: 6 * time.Second, run: sigterm},
		{ID: "kill-9-keeps-the-acknowledged", Title: "After SIGKILL and a restart, every acknowledged agent and declaration is there.",
			Clauses: []string{"CF-5"}, cost: time.Second, run: killKeeps},
		{ID: "kill-9-leaves-no-server", Title: "A server that heeds the end of its input does not outlive a daemon that was killed.",
			Clauses: []string{"PR-4"}, run: killLeavesNone},
		{ID: "second-daemon-refused", Title: "A second daemon in the same home says why it cannot start; the first one lives on.",
			Clauses: []string{"CF-7"}, run: secondDaemon},
		{ID: "unusable-home", Title: "A daemon whose home cannot be used exits with an error that names it.",
			Clauses: []string{"CF-7"}, run: unusableHome},
		{ID: "silent-client-delays-nobody", Title: "A client that stops reading delays neither calls nor events of others.",
			Clauses: []string{"DI-10", "EV-3"}, cost: time.Second, run: silentClient},
	}
}

func sigterm(ctx context.Context, p *probe) (string, error) {
	r, agent, err := p.one(ctx, brisk(), stubborn())
	if err != nil {
		return "", err
	}
	other, err := r.sibling(ctx)
	if err != nil {
		return "", err
	}
	if err := errors.Join(r.echo(ctx, agent, "one"), r.family(ctx, "s")); err != nil {
		return "", err
	}
	r.ctl.Hold("t", observer.Call)
	f, err := r.begin(ctx, other, "echo", map[string]string{"text": "two"})
	if err != nil {
		return "", err
	}
	if _, err := r.ctl.WaitReached(ctx, "t", observer.Call); err != nil {
		return "", err
	}
	began := time.Now()
	r.daemon.terminate(syscall.SIGTERM) // the clause names it, whatever the target is asked by
	if err := r.daemon.await(ctx); err != nil {
		return "", err
	}
	took := time.Since(began)
	left := r.ctl.Processes("")
	switch _, err := os.Lstat(r.daemon.socket); {
	case r.daemon.exitCode() != 0:
		return "", failf("the daemon ended with %s", r.daemon.cmd.ProcessState)
	case len(left) > 0:
		return "", failf("%d processes outlived the daemon, one of server %q", len(left), left[0].Name)
	case !errors.Is(err, os.ErrNotExist):
		return "", failf("the socket file is still there")
	}
	if _, err := f.wait(ctx); err == nil && !f.result.isError {
		return "", failf("a call that was held in its server was answered %q", r.say(f.result.text))
	}
	return fmt.Sprintf("exit 0 after %.1fs with a call in flight and a stubborn tree; no process, no socket left; each rung is %v",
		took.Seconds(), r.settings.Grace), nil
}

func killKeeps(ctx context.Context, p *probe) (string, error) {
	r, agent, err := p.one(ctx, brisk(), healthy())
	if err != nil {
		return "", err
	}
	if err := r.edit(ctx, agent); err != nil {
		return "", err
	}
	before, err := r.stored(ctx)
	if err != nil {
		return "", err
	}
	r.daemon.kill()
	if err := r.boot(ctx); err != nil {
		return "", failf("the daemon did not come back: %v", err)
	}
	after, err := r.stored(ctx)
	if err != nil {
		return "", err
	}
	if before != after {
		return "", failf("after the restart the daemon knows %s; acknowledged was %s", r.say(after), r.say(before))
	}
	return fmt.Sprintf("killed right after 7 acknowledged edits; after the restart: %s", r.say(before)), r.echo(ctx, agent, "hello")
}

// edit makes every kind of change, the last one right before it returns.
func (r *rig) edit(ctx context.Context, agent string) error {
	c := r.client()
	b, err := r.agent(ctx, "b", r.observed("m1", "s", nil))
	if err != nil {
		return err
	}
	gone, err := r.agent(ctx, "gone", r.observed("m1", "s", nil))
	if err != nil {
		return err
	}
	_, err1 := c.UpdateAgent(ctx, agent, agentConfig(r.observed("m1", "s", nil), r.observed("m2", "s", map[string]string{"X": "1"})))
	_, err2 := c.RenameAgent(ctx, b, "renamed")
	err3 := c.DeleteMcp(ctx, agent, "m2")
	err4 := c.DeleteAgent(ctx, gone)
	_, err5 := c.UpsertMcp(ctx, b, r.observed("m3", "s", map[string]string{"X": "2"}).json())
	return errors.Join(err1, err2, err3, err4, err5)
}

// stored is what the daemon remembers, in one line.
func (r *rig) stored(ctx context.Context) (string, error) {
	agents, err := r.client().ListAgents(ctx)
	if err != nil {
		return "", err
	}
	var words []string
	for _, a := range agents {
		full, err := r.client().GetAgent(ctx, a.GetName())
		if err != nil {
			return "", err
		}
		words = append(words, fmt.Sprintf("%s(%s; %d bytes)", full.GetName(), strings.Join(full.GetMcps(), " "), len(full.GetConfig())))
	}
	return strings.Join(words, ", "), nil
}

func killLeavesNone(ctx context.Context, p *probe) (string, error) {
	r, agent, err := p.one(ctx, brisk(), healthy())
	if err != nil {
		return "", err
	}
	if err := r.echo(ctx, agent, "hello"); err != nil {
		return "", err
	}
	began := time.Now()
	r.daemon.kill()
	if err := r.ctl.WaitGone(ctx, ""); err != nil {
		return "", err
	}
	return fmt.Sprintf("the server was gone %.1fs after the daemon was killed", time.Since(began).Seconds()), nil
}

func secondDaemon(ctx context.Context, p *probe) (string, error) {
	r, agent, err := p.one(ctx, brisk(), healthy())
	if err != nil {
		return "", err
	}
	var words string
	err = r.harmless(ctx, agent, func() (err error) {
		words, err = r.refusesToStart(ctx, r.home())
		return err
	})
	return "it exited and said: " + words, err
}

// refusesToStart runs a second daemon that has to give up by itself, and returns why it did.
func (r *rig) refusesToStart(ctx context.Context, home string) (string, error) {
	v := values{home: home, socket: filepath.Join(home, r.target.Socket), model: r.llm.URL, settings: r.settings}
	d, err := r.target.launch(v, nil)
	if err != nil {
		return "", err
	}
	defer d.kill()
	if err := d.await(ctx); err != nil {
		return "", failf("a daemon whose home cannot be its own keeps running")
	}
	words := d.log.last(2)
	switch {
	case d.exitCode() == 0:
		return "", failf("a daemon that cannot serve ended with exit code 0")
	case d.exitCode() < 0:
		return "", failf("a daemon that cannot serve crashed: %s", d.cmd.ProcessState)
	case !strings.Contains(d.log.last(maxLines), home): // a backtrace may come behind it
		return "", failf("a daemon that cannot serve does not name its home: %q", r.say(words))
	}
	return oneLine(r.say(words)), nil
}

func unusableHome(ctx context.Context, p *probe) (string, error) {
	r, err := p.rig(ctx, brisk())
	if err != nil {
		return "", err
	}
	home := filepath.Join(r.dir, "other")
	run := filepath.Dir(filepath.Join(home, r.target.Socket))
	if err := os.MkdirAll(filepath.Dir(run), 0o700); err != nil {
		return "", err
	}
	if err := os.WriteFile(run, nil, 0o600); err != nil { // where a directory must be
		return "", err
	}
	words, err := r.refusesToStart(ctx, home)
	return "it exited and said: " + words, err
}

func silentClient(ctx context.Context, p *probe) (string, error) {
	r, agent, err := p.one(ctx, brisk(), healthy())
	if err != nil {
		return "", err
	}
	bulky := mustJSON(map[string]any{"description": strings.Repeat("x", unreadSize)})
	if _, err := r.client().CreateAgent(ctx, "bulky", bulky); err != nil {
		return "", err
	}
	costs, conn, err := r.bulk(ctx, true)
	if err != nil {
		return "", err
	}
	_ = conn.Close() // it has been read
	if _, conn, err = r.bulk(ctx, false); err != nil {
		return "", err
	}
	defer conn.Close()
	began := time.Now()
	// What the answers cost by themselves has to be paid beside: a slow daemon is not a stuck one.
	bound := promptly + 2*costs
	prompt, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	err = errors.Join(r.client().Ping(prompt), r.echo(prompt, agent, "hello"), r.fence(prompt))
	if err != nil {
		return "", failf("with %d answers of 1 MB unread on another connection, within %v: %v", unreadAnswers, bound.Round(time.Second), err)
	}
	return fmt.Sprintf("with %d answers of 1 MB unread elsewhere, a ping, a first call and an event took %.1fs", unreadAnswers, time.Since(began).Seconds()), nil
}

// bulk asks for large answers on a connection, and reads them or not.
func (r *rig) bulk(ctx context.Context, read bool) (took time.Duration, conn *wire.Conn, err error) {
	if conn, err = wire.Dial(ctx, r.daemon.network, r.daemon.address); err != nil {
		return 0, nil, err
	}
	began := time.Now()
	for range unreadAnswers {
		err = errors.Join(err, conn.WriteRequest(ctx, wire.Request(&pb.GetAgentMsg{Name: "bulky"})))
	}
	for i := 0; read && err == nil && i < unreadAnswers; i++ {
		_, err = conn.ReadAnswer(ctx)
	}
	if err != nil {
		return 0, nil, errors.Join(err, conn.Close())
	}
	return time.Since(began), conn, nil
}
