package conformance

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/mayfly-mcp/mayfly/fakes/observer"
)

// crowd is a number of callers that meet one idle peer, some times over.
type crowd struct{ callers, times int }

// standardCrowds are the sizes that the profile is asked for.
var standardCrowds = []crowd{{8, 8}, {64, 3}, {512, 1}}

// seriesServed is how long a crowd took from the moment that its peer could connect.
const seriesServed = "last answer of %d callers after their peer was let connect"

func (p *probe) singleSpawns(ctx context.Context, crowds []crowd) (string, error) {
	r, err := p.rig(ctx, brisk())
	if err != nil {
		return "", err
	}
	var agents []string
	rounds, callers := 0, 0
	for _, c := range crowds {
		for range c.times {
			server := fmt.Sprintf("s%d", rounds)
			if agents, err = r.sharing(ctx, server, rounds); err != nil {
				return "", err
			}
			if err := p.crowd(ctx, r, server, agents, c.callers); err != nil {
				return "", err
			}
			rounds, callers = rounds+1, callers+c.callers
		}
	}
	return fmt.Sprintf("%d crowds, %d callers in all, that came at one moment while initialize was held: one spawn each, and each caller got its own answer", rounds, callers), nil
}

// sharing makes agents that share one server, which waits in initialize.
func (r *rig) sharing(ctx context.Context, server string, round int) (agents []string, err error) {
	if err := r.server(server, observer.Behaviour{Hold: []observer.Point{observer.Initialize}}); err != nil {
		return nil, err
	}
	for i := range callerAgents {
		agent, err := r.agent(ctx, fmt.Sprintf("a%d-%d", round, i), r.observed(fmt.Sprintf("m%d", i), server, nil))
		if err != nil {
			return nil, err
		}
		agents = append(agents, agent)
	}
	return agents, nil
}

// crowd lets n callers begin at one moment, and the peer connect when all of them wait.
func (p *probe) crowd(ctx context.Context, r *rig, server string, agents []string, n int) error {
	flights := make([]*flight, n)
	err := sides(n, func(i int) (err error) {
		flights[i], err = r.begin(ctx, agents[i%len(agents)], "echo", map[string]string{"text": fmt.Sprintf("%s-%d", server, i)})
		return err
	})
	if err != nil {
		return err
	}
	if _, err := r.ctl.WaitReached(ctx, server, observer.Initialize); err != nil {
		return err
	}
	if err := p.oneSpawn(ctx, r, server, n); err != nil {
		return err
	}
	from, begun := time.Now(), observer.Now()
	r.ctl.Release(server, observer.Initialize)
	var last int64
	for i, f := range flights {
		want := fmt.Sprintf("%s-%d", server, i)
		res, err := f.wait(ctx)
		if err != nil {
			return err
		}
		if res.isError || res.text != want {
			return failf("caller %d of %d wanted %q and got %q", i+1, n, want, r.say(res.text))
		}
		last = max(last, res.at)
	}
	if err := p.sampled(fmt.Sprintf(seriesServed, n), interval{time.Duration(last - begun), time.Duration(last - begun)}, from); err != nil {
		return err
	}
	return p.oneSpawn(ctx, r, server, n)
}

// oneSpawn compares the spawns of a server after a fence.
func (p *probe) oneSpawn(ctx context.Context, r *rig, server string, callers int) error {
	if err := r.fence(ctx); err != nil {
		return err
	}
	got := strconv.Itoa(r.ctl.Spawns(server))
	return p.rec.equal(fmt.Sprintf("spawns under %d callers", callers), "1", got,
		fmt.Sprintf("%d callers of one idle peer caused %s spawns, want 1", callers, got))
}
