package conformance

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/mayfly-mcp/mayfly/core/wire/pb"
	"github.com/mayfly-mcp/mayfly/fakes/llm"
	"github.com/mayfly-mcp/mayfly/fakes/observer"
)

const (
	// coldStartID is the check that measures what a conversation pays for an eviction.
	coldStartID = "timing-cold-start"
	// coldSeries is what its observations begin with.
	coldSeries = "cold-start/"
)

// What is known of one call: the first one of a peer's life, which finds programs that nothing
// has read yet and is not counted; one that comes back after an eviction; one whose server runs.
const (
	firstCall = "first"
	coldCall  = "cold"
	warmCall  = "warm"
)

// Other things that are taken down about a class.
const (
	coldTitle   = "class"
	coldLeftOut = "left-out"
)

// coldPlan says how much is measured.
type coldPlan struct {
	idle     time.Duration // T: short, so that many evictions fit in a run
	rounds   int           // in each of which every peer comes back once
	warm     int           // calls after each cold one
	reporter int           // starts with and without the reporter in front
	budget   time.Duration // after which no sample is begun
}

// fullColdPlan takes less than four minutes, with all classes.
var fullColdPlan = coldPlan{idle: 2 * time.Second, rounds: 10, warm: 2, reporter: 25, budget: 200 * time.Second}

// coldStartChecks are the checks of the cold-start profile.
func coldStartChecks() []Check { return []Check{coldStartCheck(ColdStart{})} }

func coldStartCheck(o ColdStart) Check {
	return Check{ID: coldStartID, Title: "A conversation that comes back after an eviction waits for a start, and gets its answer.",
		Clauses: []string{"RE-8", "DI-1", "RE-1"}, cost: 4 * time.Minute, quiet: true, only: Timing,
		run: func(ctx context.Context, p *probe) (string, error) {
			return p.coldStart(ctx, fullColdPlan, o.classes(p.target.Peer), o.unsaid())
		}}
}

// WithColdStart lets the cold-start check, if it is among the checks, measure what o says.
func WithColdStart(checks []Check, o ColdStart) ([]Check, error) {
	if len(o.Servers) > maxServers {
		return nil, fmt.Errorf("%d servers of yours are too many for one run; name at most %d", len(o.Servers), maxServers)
	}
	checks = slices.Clone(checks)
	i := slices.IndexFunc(checks, func(c Check) bool { return c.ID == coldStartID })
	if i < 0 {
		return nil, fmt.Errorf("servers of yours are measured by %s, which is not among the checks of this run", coldStartID)
	}
	checks[i] = coldStartCheck(o)
	return checks, nil
}

// unsaid is what no report may show: where things are on this machine, and the words of the
// caller's commands, among which may be secrets.
func (o ColdStart) unsaid() (words []string) {
	const short = 5 // such words are in every text
	for _, s := range o.Servers {
		words = append(words, s.Command...)
	}
	return slices.DeleteFunc(append(words, o.Prefix), func(w string) bool { return len(w) <= short })
}

// coldRun is one run of the check.
type coldRun struct {
	p       *probe
	rig     *rig
	plan    coldPlan
	classes []*coldClass
	cold    int // calls that started a server after an eviction
	warm    int
	late    int // calls that were to be warm, and came after an eviction
	began   time.Time
}

// coldClass is a class while it is measured.
type coldClass struct {
	serverClass
	out string // why it is measured no longer; "" while it is
}

// coldPeer is one peer of a class, with an agent of its own.
type coldPeer struct {
	class        *coldClass
	nth          int
	server       string
	conversation string // the agent
}

// coldStart lets peers of all classes be evicted and come back, in another order each round, one
// call at a time: what disturbs the machine for a while disturbs all classes.
func (p *probe) coldStart(ctx context.Context, plan coldPlan, classes []serverClass, unsaid []string) (string, error) {
	s := brisk()
	s.IdleTimeout = plan.idle
	r, err := p.rig(ctx, s)
	if err != nil {
		return "", err
	}
	r.conceal(unsaid)
	c := &coldRun{p: p, rig: r, plan: plan, began: time.Now()}
	if err := c.take(observation{What: "idle", Min: plan.idle, Max: plan.idle}); err != nil {
		return "", err
	}
	if err := c.reporter(ctx); err != nil {
		return "", err
	}
	peers, err := c.declare(ctx, classes)
	if err != nil {
		return "", err
	}
	order := rand.New(rand.NewPCG(1, 0))
	for round := range plan.rounds + 1 {
		order.Shuffle(len(peers), func(i, j int) { peers[i], peers[j] = peers[j], peers[i] })
		for _, x := range peers {
			if time.Since(c.began) > plan.budget {
				return c.evidence(round), nil
			}
			if err := c.visit(ctx, x, round); err != nil {
				return "", err
			}
		}
	}
	return c.evidence(plan.rounds), nil
}

// conceal adds words that the rig may not say.
func (r *rig) conceal(words []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.canaries = append(r.canaries, words...)
}

// take records something under the name of the series.
func (c *coldRun) take(o observation) error {
	o.Kind, o.What = seenSample, coldSeries+o.What
	return c.p.rec.take(o)
}

// leave ends the measuring of a class and says why, for the report.
func (c *coldRun) leave(x *coldClass, v Verdict, why string) error {
	x.out = fmt.Sprintf("%s: %s", v, why)
	return c.take(observation{What: x.id + "/" + coldLeftOut, Says: x.out})
}

// reporter measures what it costs that a real server is started through a process that reports
// its start and then becomes the server: the same command with and without it, in turns.
func (c *coldRun) reporter(ctx context.Context) error {
	peer := c.rig.target.Peer
	with := append([]string{peer}, c.rig.ctl.ExecArgs("@reporter", []string{peer, "peer", "-h"})...)
	without := []string{peer, "peer", "-h"}
	for i := range c.plan.reporter {
		for _, x := range []struct {
			word string
			argv []string
		}{{"without", without}, {"with", with}} {
			began := time.Now()
			if err := exec.CommandContext(ctx, x.argv[0], x.argv[1:]...).Run(); err != nil {
				return fmt.Errorf("starting the reporter: %w", err)
			}
			took := time.Since(began)
			what := fmt.Sprintf("reporter/%s/%d", x.word, i)
			if err := c.take(observation{What: what, Min: took, Max: took, Overshoot: c.p.control.overshoot(began, began.Add(took))}); err != nil {
				return err
			}
		}
	}
	return nil
}

// declare introduces the servers of all classes that there are, with an agent for each.
func (c *coldRun) declare(ctx context.Context, classes []serverClass) (peers []*coldPeer, err error) {
	for _, s := range classes {
		x := &coldClass{serverClass: s}
		c.classes = append(c.classes, x)
		if err := c.take(observation{What: x.id + "/" + coldTitle, Says: x.title}); err != nil {
			return nil, err
		}
		if x.absent != "" {
			if err := c.leave(x, NotApplicable, x.absent); err != nil {
				return nil, err
			}
			continue
		}
		for n := range x.peers {
			peer := &coldPeer{class: x, nth: n, server: fmt.Sprintf("%s-%d", x.id, n)}
			if peer.conversation, err = c.declareOne(ctx, peer); err != nil {
				return nil, err
			}
			peers = append(peers, peer)
		}
	}
	return peers, nil
}

func (c *coldRun) declareOne(ctx context.Context, x *coldPeer) (agent string, err error) {
	var b observer.Behaviour
	if x.class.start > 0 {
		b.Rules = []observer.Rule{{At: observer.Spawn, Do: observer.Delay, For: x.class.start}}
	}
	if err := c.rig.server(x.server, b); err != nil {
		return "", err
	}
	m := c.rig.observed("m1", x.server, map[string]string{"N": x.server}) // nobody shares it
	if x.class.command != nil {
		m.Args = c.rig.ctl.ExecArgs(x.server, x.class.command)
	}
	return c.rig.agent(ctx, strings.ReplaceAll(x.server, ".", "-"), m)
}

// visit comes back to a peer that has been evicted, and then calls it while it runs. In the first
// round nothing has been evicted yet.
func (c *coldRun) visit(ctx context.Context, x *coldPeer, round int) error {
	if x.class.out != "" {
		return nil
	}
	phase := firstCall
	if round > 0 {
		phase = coldCall
		if gone, err := c.awaitEviction(ctx, x); !gone {
			return err
		}
	}
	for n := range c.plan.warm + 1 {
		if n > 0 {
			phase = warmCall
		}
		if again, err := c.call(ctx, x, phase, fmt.Sprintf("%d.%d", x.nth, round), n); !again {
			return err
		}
	}
	return nil
}

// evictionBound is what an eviction may take beyond the time that its settings ask for.
const evictionBound = 20 * time.Second

// awaitEviction waits until no process of the peer is left, and until the daemon lists it so.
func (c *coldRun) awaitEviction(ctx context.Context, x *coldPeer) (gone bool, err error) {
	bound := 2*c.plan.idle + c.rig.ladder() + evictionBound
	soon, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	err = c.rig.ctl.WaitGone(soon, x.server)
	for err == nil {
		var row *pb.McpInfo
		if row, err = c.rig.row(soon, x.conversation, "m1"); err == nil && row.GetStatus() != pb.McpStatus_MCP_STATUS_CONNECTED {
			return true, nil
		}
		if err == nil {
			err = pause(soon, settleStep)
		}
	}
	if ctx.Err() == nil && soon.Err() != nil {
		return false, c.leave(x.class, NotObserved, fmt.Sprintf("one was not evicted within %v of T=%v", bound, c.plan.idle))
	}
	return false, err
}

// call measures one call, from the client's message to the answer in its hands, both on its own
// clock. Whether it was cold or warm is not supposed but seen: a cold one starts a server. Not
// again means that the peer has nothing more to say in this round.
func (c *coldRun) call(ctx context.Context, x *coldPeer, phase, key string, n int) (again bool, err error) {
	before := c.rig.ctl.Spawns(x.server)
	from, sent := time.Now(), observer.Now()
	results, err := c.rig.run(ctx, x.conversation, c.rig.handle(), llm.Round{x.class.call}, nil)
	if err != nil {
		return false, err
	}
	if len(results) == 0 {
		return false, failf("a call of %s ended without a result", x.class.id)
	}
	took := time.Duration(results[0].at - sent)
	overshoot := c.p.control.overshoot(from, from.Add(took))
	if bad := c.refused(x, results[0]); bad != "" {
		if x.class.command == nil || x.class.id == "go-sdk" {
			return false, failf("%s", bad)
		}
		return false, c.leave(x.class, NotObserved, bad)
	}
	switch started := c.rig.ctl.Spawns(x.server) - before; {
	case phase == warmCall && started > 0:
		c.late++
		return false, nil // the machine was so slow that it had been evicted in between
	case phase != warmCall && started != 1:
		return false, failf("a call of a peer that had no process started %d servers, want 1", started)
	case phase == warmCall:
		c.warm++
	case phase == coldCall:
		c.cold++
	}
	what := fmt.Sprintf("%s/%s/%s", x.class.id, phase, key)
	if phase == warmCall {
		what = fmt.Sprintf("%s.%d", what, n)
	}
	return true, c.take(observation{What: what, Min: took, Max: took, Overshoot: overshoot})
}

// refused says what is wrong with an answer; "" if nothing is. That a server of the caller's does
// not like the call is an answer of the server.
func (c *coldRun) refused(x *coldPeer, res toolResult) string {
	if x.class.command == nil && !res.isError && res.text != helloText {
		return fmt.Sprintf("a call of %s was answered %q, want %q", x.class.id, oneLine(c.rig.say(res.text)), helloText)
	}
	if !res.isError || strings.HasPrefix(x.class.id, "yours-") && strings.HasPrefix(res.text, "mcp tool error: ") {
		return ""
	}
	return fmt.Sprintf("a call of %s was answered %q", x.class.id, oneLine(c.rig.say(res.text)))
}

// evidence says what was seen.
func (c *coldRun) evidence(rounds int) string {
	var measured, out []string
	for _, x := range c.classes {
		if x.out == "" {
			measured = append(measured, x.id)
		} else {
			out = append(out, x.id+": "+x.out)
		}
	}
	text := fmt.Sprintf("T=%v, %d rounds in %.0fs: %d calls after an eviction started one server each, %d calls while it ran none; measured %s",
		c.plan.idle, rounds, time.Since(c.began).Seconds(), c.cold, c.warm, strings.Join(measured, ", "))
	if c.late > 0 {
		text += fmt.Sprintf("; %d calls came too late to find it running", c.late)
	}
	if len(out) > 0 {
		text += "; left out " + strings.Join(out, "; ")
	}
	return text
}
