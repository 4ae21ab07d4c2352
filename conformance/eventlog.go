package conformance

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/mayfly-mcp/mayfly/core/wire"
	"github.com/mayfly-mcp/mayfly/core/wire/pb"
	"github.com/mayfly-mcp/mayfly/fakes/observer"
)

// maxEvents bounds the events of one daemon, far more than any check provokes. One that sends
// more is not listened to any longer.
const maxEvents = 1 << 15

// eventLog follows the daemon's MCP events.
type eventLog struct {
	stream *wire.Stream[*pb.McpEventMsg]
	cancel context.CancelFunc
	done   chan struct{}
	proven bool // an event was seen, so the daemon has taken the subscription; of the rig alone

	mu   sync.Mutex
	seen []*pb.McpEventMsg
	when []int64 // observer.Now, of each
	err  error
	news chan struct{} // closed and replaced when an event came
}

// follow subscribes. What happens before the daemon has taken the request is missed; see
// rig.prepareFence.
func follow(ctx context.Context, c *wire.Client) (*eventLog, error) {
	l := &eventLog{done: make(chan struct{}), news: make(chan struct{})}
	ctx, l.cancel = context.WithCancel(context.WithoutCancel(ctx))
	s, err := c.SubscribeMcpEvents(ctx)
	if err != nil {
		l.cancel()
		return nil, err
	}
	l.stream = s
	go l.loop()
	return l, nil
}

func (l *eventLog) loop() {
	defer close(l.done)
	for {
		e, err := l.stream.Recv()
		l.mu.Lock()
		if err == nil && len(l.seen) == maxEvents {
			err = failf("the daemon sent more than %d events", maxEvents)
			l.cancel()
		}
		if err == nil {
			l.seen, l.when = append(l.seen, e), append(l.when, observer.Now())
		} else {
			l.err = err
		}
		close(l.news)
		l.news = make(chan struct{})
		l.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// all returns the events so far, and a channel that is closed when there are more.
func (l *eventLog) all() ([]*pb.McpEventMsg, <-chan struct{}, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seen[:len(l.seen):len(l.seen)], l.news, l.err
}

// moments are the events of all agents but one, at times since zero.
func (l *eventLog) moments(zero int64, lane, except string) (out []moment) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, e := range l.seen[:min(len(l.seen), maxMoments)] {
		if e.GetAgent() != except {
			out = append(out, moment{At: l.when[i] - zero, Lane: lane, What: "event: " + e.GetName() + " " + eventWord(e.GetKind())})
		}
	}
	return out
}

// wait returns when an event after position from matches.
func (l *eventLog) wait(ctx context.Context, from int, match func(*pb.McpEventMsg) bool) error {
	for {
		seen, news, err := l.all()
		for _, e := range seen[min(from, len(seen)):] {
			if match(e) {
				return nil
			}
		}
		from = max(from, len(seen))
		if err != nil {
			return fmt.Errorf("the event stream ended: %w", err)
		}
		select {
		case <-news:
		case <-ctx.Done():
			return fmt.Errorf("waiting for an event, %d so far: %w", len(seen), context.Cause(ctx))
		}
	}
}

func (l *eventLog) close() {
	l.cancel()
	_ = l.stream.Close() // it ends the connection whatever it returns
	<-l.done
}

// eventWord is an event's kind as scenarios write it.
func eventWord(k pb.McpEventKind) string {
	word := strings.ToLower(k.String())
	return word[strings.LastIndexByte(word, '_')+1:]
}
