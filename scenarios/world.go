package scenarios

import "context"

// World is what a scenario runs in. Run calls its methods from one goroutine, Setup
// first and Close last; a World serves one Run. Every method returns an error only when
// the world itself is broken or was misused: a refused request or a failed connect is an
// answer to a query, not an error.
//
// A world in virtual time is quiet when a method returns: all that follows at the present
// instant has happened, and no time has passed, except in Advance and while it waits in
// Await or AwaitPoint. A world in real time returns when the request was answered.
type World interface {
	// Setup prepares the world. Time 0 of the reaper's ticks is here.
	Setup(ctx context.Context, s Settings) error
	// Do carries out a command that ends at once; Command says which there are.
	Do(ctx context.Context, c Command) error
	// Start begins an operation under a name that is unique in the run, and returns when
	// the daemon has it in hand, as far as the world can see.
	Start(ctx context.Context, call string, op Operation) error
	// Await waits, letting time pass, until a started operation has ended. It returns an
	// error when that takes longer than Settings.AwaitBound.
	Await(ctx context.Context, call string) error
	// Cancel gives up a started operation as its caller would. On one that has ended it
	// does nothing.
	Cancel(ctx context.Context, call string) error
	// Query answers a question about the present. For Events it returns all events of the
	// agent since the agent was introduced, under whatever name, as words MCP:EVENT in the
	// order of their arrival; Run cuts off those which an earlier expectation has seen.
	// Asking twice changes nothing.
	Query(ctx context.Context, q Query) (string, error)
	// Close ends the world and leaves nothing behind.
	Close() error
}

// Settler is a World that cannot know when it is quiet, since its daemon runs in real
// time. After an answer that differs from the expected one Run calls Settle, and asks
// again as long as it returns true.
type Settler interface {
	// Settle waits a little. try is 1 after the first answer to an expectation. It
	// returns false when waiting longer would prove nothing, or when ctx has ended.
	Settle(ctx context.Context, try int) bool
}

// Paced is a World that keeps account of the time which lines take.
type Paced interface {
	// At tells which line of the file comes next, from 1.
	At(line int)
}
