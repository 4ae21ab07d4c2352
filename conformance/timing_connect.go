package conformance

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/mayfly-mcp/mayfly/core/wire/pb"
	"github.com/mayfly-mcp/mayfly/fakes/observer"
)

// connectPlan says how the connect timeout is measured: in a daemon of its own for each.
type connectPlan struct {
	timeouts []time.Duration
	peers    int
}

var standardConnects = connectPlan{timeouts: []time.Duration{2 * time.Second, 6 * time.Second}, peers: 12}

func (p *probe) connectTimeouts(ctx context.Context, plan connectPlan) (string, error) {
	err := sides(len(plan.timeouts), func(i int) error { return p.connectTimeoutAt(ctx, plan.timeouts[i], plan.peers) })
	return fmt.Sprintf("%d peers at each of %v that never answered initialize: each call ended at the timeout, each peer is Failed with a reason, and no process is left",
		plan.peers, plan.timeouts), err
}

func (p *probe) connectTimeoutAt(ctx context.Context, timeout time.Duration, n int) error {
	s := brisk()
	s.ConnectTimeout = timeout
	r, err := p.rig(ctx, s)
	if err != nil {
		return err
	}
	all, err := r.parties(ctx, "h", n, observer.Behaviour{Hold: []observer.Point{observer.Initialize}})
	if err != nil {
		return err
	}
	return sides(n, func(i int) error { return p.hungConnect(ctx, r, all[i]) })
}

func (p *probe) hungConnect(ctx context.Context, r *rig, x party) error {
	from, begun := time.Now(), observer.Now()
	f, err := r.begin(ctx, x.agent, "echo", map[string]string{"text": "x"})
	if err != nil {
		return err
	}
	reached, err := r.ctl.WaitReached(ctx, x.server, observer.Initialize)
	if err != nil {
		return err
	}
	res, err := f.wait(ctx)
	if err != nil {
		return err
	}
	took, err := sinceCall(begun, reached, res)
	if err != nil {
		return err
	}
	if err := p.bounded("the connect of "+x.server, r.settings.ConnectTimeout, took, from); err != nil {
		return err
	}
	row, err := r.row(ctx, x.agent, "m1")
	switch {
	case err != nil:
		return err
	case row.GetStatus() != pb.McpStatus_MCP_STATUS_FAILED || row.GetError() == "":
		return failf("after the timeout the peer is listed as %s with error %q", row.GetStatus(), r.say(row.GetError()))
	}
	return r.ctl.WaitGone(ctx, x.server)
}

// reconnectPlan says how reconnects of hung peers are measured.
type reconnectPlan struct {
	each           int // peers that end when told to, and that do not
	grace, connect time.Duration
}

var standardReconnects = reconnectPlan{each: 8, grace: time.Second, connect: 3 * time.Second}

// Series of reconnects.
const (
	seriesMeek     = "reconnect of a peer that hangs in a call"
	seriesStubborn = "reconnect of a peer that hangs in a call and ignores EOF and SIGTERM"
)

func (p *probe) hungReconnects(ctx context.Context, plan reconnectPlan) (string, error) {
	s := brisk()
	s.Grace, s.ConnectTimeout = plan.grace, plan.connect
	r, err := p.rig(ctx, s)
	if err != nil {
		return "", err
	}
	for _, kind := range []struct {
		prefix, series string
		stubborn       bool
	}{{"meek", seriesMeek, false}, {"stubborn", seriesStubborn, true}} {
		all, err := r.parties(ctx, kind.prefix, plan.each, observer.Behaviour{Hold: []observer.Point{observer.Call}, IgnoreEOF: kind.stubborn, IgnoreTerm: kind.stubborn})
		if err != nil {
			return "", err
		}
		if err := sides(len(all), func(i int) error { return p.hungReconnect(ctx, r, all[i], kind.series) }); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%d peers that hung in a call, and %d that ignored EOF and SIGTERM besides: each reconnect was answered Connected, with one new process and none of the old", plan.each, plan.each), nil
}

// hungReconnect reconnects a peer while a call hangs in it.
func (p *probe) hungReconnect(ctx context.Context, r *rig, x party, series string) error {
	f, err := r.begin(ctx, x.agent, "echo", map[string]string{"text": "x"})
	if err != nil {
		return err
	}
	if _, err := r.ctl.WaitReached(ctx, x.server, observer.Call); err != nil {
		return err
	}
	r.ctl.Set(x.server, healthy()) // of the next incarnation
	from, begun := time.Now(), observer.Now()
	info, err := r.client().ReconnectMcp(ctx, x.agent, "m1")
	end := observer.Now()
	if err != nil {
		return err
	}
	if err := p.withinLadder(r, series, time.Duration(end-begun), from); err != nil {
		return err
	}
	if err := r.rec.equal("answer to a "+series, pb.McpStatus_MCP_STATUS_CONNECTED.String(), info.GetStatus().String(),
		fmt.Sprintf("a %s was answered %s (%s)", series, info.GetStatus(), oneLine(r.say(info.GetError())))); err != nil {
		return err
	}
	if err := r.rec.equal("spawns of "+x.server, "2", strconv.Itoa(r.ctl.Spawns(x.server)), ""); err != nil {
		return err
	}
	if err := r.rec.equal("processes of "+x.server, "1", strconv.Itoa(len(r.ctl.Processes(x.server))), ""); err != nil {
		return err
	}
	switch res, err := f.wait(ctx); {
	case err != nil:
		return err
	case !res.isError:
		return failf("the call that hung in the old process was answered %q", r.say(res.text))
	}
	return r.echo(ctx, x.agent, "after")
}

// withinLadder records how long a reconnect took, and holds it to the bound of the clause where
// the target can be told both parts of it.
func (p *probe) withinLadder(r *rig, series string, took time.Duration, from time.Time) error {
	if err := p.sampled(series, interval{took, took}, from); err != nil {
		return err
	}
	can := p.target.Capabilities()
	if !slices.Contains(can, Grace) || !slices.Contains(can, ConnectTimeout) {
		return nil
	}
	return p.rec.take(observation{Kind: seenWithin, What: "the " + series, Limit: r.ladder() + r.settings.ConnectTimeout,
		Min: took, Max: took, Overshoot: p.control.overshoot(from, time.Now())})
}
