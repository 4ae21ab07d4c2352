package conformance

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mayfly-mcp/mayfly/core/wire/pb"
	"github.com/mayfly-mcp/mayfly/fakes/observer"
)

// Sizes of the checks about what servers say.
const (
	inTurn    = 3        // calls one after the other
	atOnce    = 4        // and then at the same time
	largeText = 20 << 20 // of one answer: more than the protocol's frame
	floodSize = 16 << 20 // of stderr: far more than any pipe holds
	bigArgs   = 1 << 20  // of a call to a peer that does not read
)

// replyChecks let servers misbehave in what they say.
func replyChecks() []Check {
	odd := func(id, title string, rules ...observer.Rule) Check {
		return Check{ID: id, Title: title, Clauses: []string{"CA-5"}, cost: time.Second, run: func(ctx context.Context, p *probe) (string, error) {
			return p.oddReplies(ctx, rules)
		}}
	}
	at := func(do observer.Action, points ...observer.Point) (out []observer.Rule) {
		for _, point := range points {
			out = append(out, observer.Rule{At: point, Do: do, N: 8})
		}
		return out
	}
	return []Check{
		odd("stray-stdout", "Lines on stdout that are no JSON-RPC disturb nothing.", at(observer.Noise, observer.Spawn, observer.Initialize, observer.List, observer.Call)...),
		odd("notification-first", "A notification before a reply is not taken for the reply.", at(observer.Notify, observer.List, observer.Call)...),
		odd("double-reply", "The second of two replies to one request is nobody's answer.", at(observer.Double, observer.Call)...),
		odd("unknown-id-reply", "A reply to a request that nobody made is nobody's answer.", at(observer.UnknownID, observer.Call)...),
		{ID: "server-ping", Title: "A server that pings in the middle of a call gets its answer.", Clauses: []string{"CA-5"}, run: serverPing},
		{ID: "late-reply", Title: "The answer that comes after its caller gave up is handed to nobody else.", Clauses: []string{"CA-4", "CA-5"}, run: lateReply},
		{ID: "error-texts", Title: "A rejection reads \"mcp tool error: …\", a lost call \"mcp call failed: …\".", Clauses: []string{"CA-3"}, run: errorTexts},
		{ID: "rejections-leave-state", Title: "An answer with isError does not move the peer, however often it comes.", Clauses: []string{"CA-1"}, run: rejections},
		{ID: "error-replies-leave-state", Title: "A JSON-RPC error of any code is a rejection, too: it does not move the peer.", Clauses: []string{"CA-14"}, run: errorReplies},
		{ID: "cut-answer", Title: "An answer that breaks off in the middle fails the peer; the call is not repeated.", Clauses: []string{"CA-2", "CA-7"}, run: cutAnswer},
		{ID: "stderr-flood", Title: "A server that writes megabytes to stderr is served like any other.", Clauses: []string{"CA-8"}, cost: time.Second, run: stderrFlood},
		{ID: "huge-answer", Title: "An answer of 20 MiB ends the call in one outcome and delays nobody.", Clauses: []string{"CA-8"}, cost: 2 * time.Second, run: hugeAnswer},
		{ID: "peer-stops-reading", Title: "A call to a server that stopped reading ends at the call timeout and delays nobody.", Clauses: []string{"CA-8", "DI-10"}, cost: 6 * time.Second, timed: true, run: stopsReading},
	}
}

// oddReplies calls a server in turn and at once; every call must get its own answer.
func (p *probe) oddReplies(ctx context.Context, rules []observer.Rule) (string, error) {
	r, agent, err := p.one(ctx, brisk(), observer.Behaviour{Rules: rules})
	if err != nil {
		return "", err
	}
	for i := range inTurn {
		if err := r.echo(ctx, agent, fmt.Sprintf("turn-%d", i)); err != nil {
			return "", err
		}
	}
	var flights []*flight
	for i := range atOnce {
		f, err := r.begin(ctx, agent, "echo", map[string]string{"text": fmt.Sprintf("once-%d", i)})
		if err != nil {
			return "", err
		}
		flights = append(flights, f)
	}
	for i, f := range flights {
		if res, err := f.wait(ctx); err != nil || res.text != fmt.Sprintf("once-%d", i) {
			return "", failf("call once-%d was answered %q (%v)", i, r.say(res.text), err)
		}
	}
	if err := r.expectStatus(ctx, agent, "m1", pb.McpStatus_MCP_STATUS_CONNECTED); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d calls in turn and %d at once, each with its own answer, from 1 process", inTurn, atOnce), r.expectSpawns(ctx, "s", 1)
}

func serverPing(ctx context.Context, p *probe) (string, error) {
	r, agent, err := p.one(ctx, brisk(), observer.Behaviour{Rules: []observer.Rule{{At: observer.Call, Do: observer.Ping}}})
	if err != nil {
		return "", err
	}
	if err := r.echo(ctx, agent, "hello"); err != nil {
		return "", err
	}
	_, err = r.ctl.Wait(ctx, 0, func(rep observer.Report) bool {
		return rep.Kind == observer.Received && rep.Method == "" && bytes.Equal(rep.ID, []byte(`"server-ping-1"`))
	})
	return "the ping was answered, and the call as well", err
}

func lateReply(ctx context.Context, p *probe) (string, error) {
	r, agent, err := p.one(ctx, brisk(), observer.Behaviour{Rules: []observer.Rule{{At: observer.Call, Do: observer.Late, Times: 1}}})
	if err != nil {
		return "", err
	}
	first, err := r.begin(ctx, agent, "echo", map[string]string{"text": "first"})
	if err != nil {
		return "", err
	}
	if _, err := r.ctl.WaitReached(ctx, "s", observer.Call); err != nil {
		return "", err
	}
	if err := r.client().CancelStream(ctx, first.handle); err != nil {
		return "", err
	}
	cancelled, err := r.ctl.Wait(ctx, 0, received("notifications/cancelled"))
	if err != nil {
		return "", failf("the server was not told that the call was cancelled: %v", err)
	}
	if _, err := r.ctl.Wait(ctx, cancelled.Seq, func(rep observer.Report) bool { return rep.Kind == observer.Sent }); err != nil {
		return "", err
	}
	for i := range inTurn {
		if err := r.echo(ctx, agent, fmt.Sprintf("later-%d", i)); err != nil {
			return "", err
		}
	}
	if err := r.expectStatus(ctx, agent, "m1", pb.McpStatus_MCP_STATUS_CONNECTED); err != nil {
		return "", err
	}
	return "the server was told, answered late, and the calls after it got their own answers", r.expectSpawns(ctx, "s", 1)
}

func received(method string) func(observer.Report) bool {
	return func(rep observer.Report) bool { return rep.Kind == observer.Received && rep.Method == method }
}

func errorTexts(ctx context.Context, p *probe) (string, error) {
	r, agent, err := p.one(ctx, brisk(), healthy())
	if err != nil {
		return "", err
	}
	for _, x := range []struct{ tool, prefix, rest string }{
		{"fail", saysRejected, "failed as asked"},
		{"crash", saysLost, ""},
	} {
		res, err := r.call(ctx, agent, x.tool, nil)
		if err != nil {
			return "", err
		}
		if !res.isError || !strings.HasPrefix(res.text, x.prefix) || !strings.Contains(res.text, x.rest) {
			return "", failf("tool %s was answered %q, want an error that begins with %q and holds %q", x.tool, r.say(res.text), x.prefix, x.rest)
		}
	}
	return "isError: \"mcp tool error: …\" with the server's words; death in the call: \"mcp call failed: …\"", nil
}

// rejections lets a tool say no several times in a row: that is no reason to doubt its server.
func rejections(ctx context.Context, p *probe) (string, error) {
	return p.rejected(ctx, slices.Repeat([]observer.Rule{{At: observer.Call, Do: observer.IsError}}, inTurn))
}

// errorReplies lets a server answer with the protocol's own errors. RFC 0204 names the tool's
// rejection alone, so that a daemon may miss this and hold the other.
func errorReplies(ctx context.Context, p *probe) (string, error) {
	var rules []observer.Rule
	for _, code := range []int{-32602, -32601, -32000, -32003, -32005, 1} {
		rules = append(rules, observer.Rule{At: observer.Call, Do: observer.RPCError, Code: code})
	}
	return p.rejected(ctx, rules)
}

// rejected lets a server answer one call by each rule, all of which must be shown as rejections
// and leave the peer Connected.
func (p *probe) rejected(ctx context.Context, rules []observer.Rule) (string, error) {
	r, agent, err := p.one(ctx, brisk(), healthy())
	if err != nil {
		return "", err
	}
	if err := r.echo(ctx, agent, "before"); err != nil {
		return "", err
	}
	for _, rule := range rules {
		r.ctl.Apply("s", observer.Behaviour{Rules: []observer.Rule{rule}})
		res, err := r.call(ctx, agent, "echo", map[string]string{"text": "x"})
		if err != nil {
			return "", err
		}
		if !res.isError || strings.HasPrefix(res.text, saysLost) { // other words are a matter of error-texts
			return "", failf("a server that answered %s %d was shown as %q", rule.Do, rule.Code, r.say(res.text))
		}
		if err := r.expectStatus(ctx, agent, "m1", pb.McpStatus_MCP_STATUS_CONNECTED); err != nil {
			return "", failf("after %s %d: %v", rule.Do, rule.Code, err)
		}
	}
	return fmt.Sprintf("%d answers of no were shown as rejections; the peer stayed Connected", len(rules)), r.expectSpawns(ctx, "s", 1)
}

func cutAnswer(ctx context.Context, p *probe) (string, error) {
	r, agent, err := p.one(ctx, brisk(), observer.Behaviour{Rules: []observer.Rule{{At: observer.Call, Do: observer.Truncate, Code: 3}}})
	if err != nil {
		return "", err
	}
	res, err := r.call(ctx, agent, "echo", map[string]string{"text": "x"})
	if err != nil {
		return "", err
	}
	if !res.isError || strings.HasPrefix(res.text, saysRejected) {
		return "", failf("the call was answered %q", r.say(res.text))
	}
	if err := r.expectStatus(ctx, agent, "m1", pb.McpStatus_MCP_STATUS_FAILED); err != nil {
		return "", err
	}
	if n := len(r.ctl.Calls("s")); n != 1 {
		return "", failf("the call was sent %d times", n)
	}
	return "the call failed, the peer is Failed, nothing was sent twice", r.expectSpawns(ctx, "s", 1)
}

func stderrFlood(ctx context.Context, p *probe) (string, error) {
	r, agent, err := p.one(ctx, brisk(), observer.Behaviour{Rules: []observer.Rule{
		{At: observer.Initialize, Do: observer.Stderr, N: floodSize}, {At: observer.Call, Do: observer.Stderr, N: floodSize}}})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d MiB on stderr at initialize and at the call; it was answered", floodSize>>20), r.echo(ctx, agent, "hello")
}

// sibling is a second agent with a healthy server of its own.
func (r *rig) sibling(ctx context.Context) (string, error) {
	if err := r.server("t", healthy()); err != nil {
		return "", err
	}
	return r.agent(ctx, "b", r.observed("m1", "t", nil))
}

func hugeAnswer(ctx context.Context, p *probe) (string, error) {
	r, agent, err := p.one(ctx, brisk(), observer.Behaviour{Rules: []observer.Rule{{At: observer.Call, Do: observer.Large, N: largeText}}})
	if err != nil {
		return "", err
	}
	other, err := r.sibling(ctx)
	if err != nil {
		return "", err
	}
	f, err := r.begin(ctx, agent, "echo", map[string]string{"text": "x"})
	if err != nil {
		return "", err
	}
	if err := r.echo(ctx, other, "beside"); err != nil {
		return "", err
	}
	res, err := f.wait(ctx)
	if err != nil {
		return "", err
	}
	if err := r.echo(ctx, other, "after"); err != nil {
		return "", err
	}
	return fmt.Sprintf("the call ended (error: %v) with %d bytes for the model; a sibling was served meanwhile and after", res.isError, len(res.text)), nil
}

// stopsReading lets a server take one call and then read nothing any more, so that the next
// one fills its pipe.
func stopsReading(ctx context.Context, p *probe) (string, error) {
	s := brisk()
	s.CallTimeout = 4 * time.Second
	r, agent, err := p.one(ctx, s, observer.Behaviour{Rules: []observer.Rule{
		{At: observer.Call, Do: observer.StopReading}, {At: observer.Call, Do: observer.Hang}}})
	if err != nil {
		return "", err
	}
	other, err := r.sibling(ctx)
	if err != nil {
		return "", err
	}
	first, err := r.begin(ctx, agent, "echo", map[string]string{"text": "x"})
	if err != nil {
		return "", err
	}
	if _, err := r.ctl.WaitReached(ctx, "s", observer.Call); err != nil {
		return "", err
	}
	second, err := r.begin(ctx, agent, "echo", map[string]string{"text": strings.Repeat("x", bigArgs)})
	if err != nil {
		return "", err
	}
	for i := range inTurn {
		if err := r.echo(ctx, other, fmt.Sprintf("beside-%d", i)); err != nil {
			return "", err
		}
	}
	if first.ended() {
		return "", failf("a sibling had to wait until the call to a server that reads nothing ended")
	}
	for _, f := range []*flight{first, second} {
		if res, err := f.wait(ctx); err != nil || !res.isError {
			return "", failf("a call of a server that reads nothing was answered %q (%v)", r.say(res.text), err)
		}
	}
	return fmt.Sprintf("a call that was read and one of 1 MiB that was not ended with %q; a sibling was served meanwhile",
		oneLine(r.say(first.result.text))), nil
}
