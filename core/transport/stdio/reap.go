package stdio

import (
	"context"
	"fmt"
	"time"
)

// DefaultGrace is the time between SIGTERM and SIGKILL in Reap.
const DefaultGrace = 2 * time.Second

// ReapOptions configures Reap. The zero value is ready to use.
type ReapOptions struct {
	// Grace is the time between SIGTERM and SIGKILL. Zero means 2 s. There is no rung before
	// SIGTERM: the input of these peers ended with their daemon.
	Grace time.Duration
}

// Report says what Reap found and did.
type Report struct {
	Owned      int      // records whose daemon lives: left alone
	Gone       int      // records of dead daemons with nothing left behind them
	Ended      int      // records of dead daemons whose processes were ended
	Terminated int      // processes that got SIGTERM
	Killed     int      // processes that got SIGKILL as well
	Unreadable []string // files that are no records: renamed to end in ".bad"
}

// Reap ends the peers that daemons before this one have left behind in dir, the directory
// that was their Options.Records (SPEC PR-4). It is called at the start of a daemon, before
// the first Dial, and returns when nothing of them is left, or when ctx ends: it has no
// bound of its own against processes that outlive SIGKILL.
//
// A process is ended if its daemon is dead and one of these names it: the tag of the record
// in its environment; pid and start time of the record; membership in the recorded group and
// session, not older than the record, while the number of the group was not taken by another
// process; or a living ancestor that was found so. A pid alone names nobody. Signals are
// bound to the process that was looked at. Records of another boot are removed.
//
// A record without a whole line counts by its name, which has the daemon and the tag. So does
// one whose content is no record; it is renamed when its peer has ended, and a file whose name
// tells nothing either is renamed at once. What cannot be read or renamed stays for the next
// start. None of that is an error.
func Reap(ctx context.Context, dir string, opts ReapOptions) (Report, error) {
	if opts.Grace < 0 {
		panic(fmt.Sprintf("PR-2: Grace must not be negative: %v", opts.Grace))
	}
	if opts.Grace == 0 {
		opts.Grace = DefaultGrace
	}
	return reap(ctx, dir, opts)
}
