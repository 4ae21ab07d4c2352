package traffic

import "time"

// Call is one tool call: who asks whom, when, and for how long the server works on it.
type Call struct {
	// At is when the caller asks, since the start of the run.
	At time.Duration
	// Takes is the time the server needs once the call is admitted. It is known beforehand, so
	// that every timeout and policy meets the same work.
	Takes time.Duration
	// Tenant and Peer are dense numbers from 0. A peer is the tenant's own: (tenant, peer) names
	// one server process. In a trace peers are numbered over the whole trace.
	Tenant, Peer uint32
	// Conversation is numbered from 1 within the tenant; 0 is none.
	Conversation uint32
}

// Stream is a source of calls in the order of At: one tenant, one peer of a tenant, or a whole
// trace. It is read by one goroutine at a time.
type Stream interface {
	// Next returns the next call, and false when there is none any more.
	//
	// A closed stream has one call in flight at most: after is when its previous call ended,
	// waiting for a cold start included, and the next call is at or after it. Give 0 for the
	// first call. An open stream ignores after; its calls may overlap.
	Next(after time.Duration) (Call, bool, error)
}

// Traffic is a population of callers.
type Traffic interface {
	// Name is the spec that makes it again, for reports.
	Name() string
	// Open says whether its streams ignore when calls end. It holds for all of them.
	Open() bool
	// Streams starts every stream from its beginning. The generator of a stream is derived from
	// the seed and the stream's number alone, so runs that share a seed meet the same callers,
	// in whichever order their streams are read.
	Streams(seed uint64) ([]Stream, error)
}

// Forever is the latest time of a call: gaps that would pass it are cut there. A run ends long
// before.
const Forever = time.Duration(1 << 62)
