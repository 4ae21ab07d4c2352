package measure

import (
	"context"
	"fmt"
	"time"

	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/mayfly-mcp/mayfly/sim/idle/profile"
)

// ladder are the rungs of a stop and how long each is waited for.
type ladder []struct {
	stage transport.Stage
	grace time.Duration
}

// stop ends a session, and writes down how long that took and which rung did it. When ctx has
// ended, somebody is waiting: SIGTERM follows the end of the input at once.
func (l ladder) stop(ctx context.Context, session transport.Session, s *profile.Start) error {
	begin := time.Now()
	select {
	case <-session.Done():
		s.StopRung = profile.RungSelf
		return nil
	default:
	}
	for _, rung := range l {
		session.Stop(rung.stage)
		if ended(ctx, session, rung.stage, rung.grace) {
			s.StopRung, s.StopMS = rung.stage.String(), profile.Millis(time.Since(begin))
			return nil
		}
	}
	return fmt.Errorf("a process of the server is still there %v after SIGKILL, and was left; it is probably in the kernel, "+
		"waiting for a device or a file system", l[len(l)-1].grace)
}

// ended waits for the end of a session; for that of ctx, too, while the next rung is due then.
func ended(ctx context.Context, session transport.Session, stage transport.Stage, grace time.Duration) bool {
	timer := time.NewTimer(grace)
	defer timer.Stop()
	hurry := ctx.Done()
	if stage != transport.StageClose {
		hurry = nil
	}
	select {
	case <-session.Done():
		return true
	case <-timer.C:
	case <-hurry:
	}
	return false
}
