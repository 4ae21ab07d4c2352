package conformance

import (
	"context"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mayfly-mcp/mayfly/core/wire"
)

// owners asks whether consumers can serve tools through the daemon, to clients of an endpoint: by
// attaching one and by opening a session. What is lacking is no fault: the checks about owners are
// not applicable then.
func (p *probing) owners(ctx context.Context) error {
	why := p.whyNoOwners(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if why != "" {
		p.d.lacks, p.d.noOwners = append(p.d.lacks, OwnerLiveness), why
		p.d.Because = append(p.d.Because, "no consumers: "+why)
		return nil
	}
	p.d.find("consumers", "it lets a consumer attach, and serves MCP at the port that it names")
	return nil
}

func (p *probing) whyNoOwners(ctx context.Context) string {
	url, err := p.r.target.endpoint(p.r)
	if err != nil {
		return err.Error()
	}
	ctx, cancel := context.WithTimeout(ctx, registerBound)
	defer cancel()
	c, err := wire.Attach(ctx, p.r.daemon.network, p.r.daemon.address, "probe")
	if err != nil {
		return fmt.Sprintf("a consumer cannot attach: %s", oneLine(p.r.say(err.Error())))
	}
	defer c.Close()
	s := &stage{rig: p.r, url: url, sessions: map[string]*sdk.ClientSession{}}
	defer s.leave()
	x, err := s.connect(ctx, "", nil)
	if err != nil {
		return oneLine(p.r.say(err.Error()))
	}
	s.sessions[""] = x
	return ""
}
