// Package traffic says who calls what, and when: the callers that the idle bench puts before
// the lifecycle machine.
//
// Smallest use:
//
//	t, err := traffic.Parse("agent:tenants=100", traffic.Options{})
//	streams, err := t.Streams(1)
//	call, ok, err := streams[0].Next(0)
//	next, ok, err := streams[0].Next(call.At + call.Takes + coldStart)
//
// A Traffic is a population of callers; it starts Streams, which give one Call after another.
// Several streams may share a tenant: one for each of its peers where gaps belong to peers, one
// for each lane where a tenant has several conversations at a time.
//
// # Open and closed
//
// In an open population calls happen when they happen: gaps run from the start of a call to the
// start of the next, whatever becomes of it, and calls may overlap. Poisson arrivals, timers and
// traces are open. In a closed one every stream has one call in flight at most, and its next gap
// runs from the end of the call, which is also when the idle clock starts: the renewal gaps of
// the closed forms. A cold start delays the end and so shifts all that follows. Agents, sessions
// and the other laws of gaps are closed unless told otherwise.
//
// # Starts
//
// A stream of gaps that have a mean starts as somebody finds it who comes at any moment: the
// first call comes after what is left of a gap. Agents begin between two sessions, since nobody
// published how far theirs were: give them some days to warm up before counting.
//
// # Traces
//
// A trace is CSV or JSONL, gzipped or not; its first bytes tell which. A line of CSV has as many
// fields as the header, which names the columns time, tenant, peer and duration in any order;
// all four and no others. A quoted field ends on its line. A line of JSONL is an object with the
// fields of these names and no others. Empty lines are skipped, as is a byte order mark.
//
//	time      seconds since the start, as a decimal number, at most ten years; or a date of RFC 3339,
//	          of the years 1970 to 2200: then the earliest call is at 0. All lines use one form.
//	tenant    a name, 1 to 256 bytes of UTF-8 without line breaks
//	peer      likewise; peers are numbered over the whole trace, and are each tenant's own
//	duration  of the call, once the server is there: seconds as a decimal number, or a duration of
//	          Go like 250ms; from 0 to 31 days
//
// In CSV blanks around a field are dropped. In JSONL times and durations may be numbers or
// strings, and names may be numbers, which count as they are written.
//
// Lines may be out of order by a window, a minute if not told otherwise: they are sorted within
// it, by time and then by line. A line further back is refused, with its number and both times;
// so is one that would need more lines held back than the bound allows. A replay holds the lines
// of a window and one copy of every distinct name, and nothing else of a trace however long:
// MaxLine, MaxName, MaxNames and TraceConfig.Held are its bounds.
//
// # Promises
//
//   - The generator of a stream is derived from the seed and the stream's number. The same seed
//     makes the same draws for every timeout and policy, in whichever order streams are read, on
//     every machine: logarithm and exponential are the package's own.
//   - A call costs some ten to a hundred nanoseconds and no allocation; a stream holds at most 200 bytes.
//   - Errors name the parameter, or the line, and say what it must be.
//
// It does not promise that an agent's calls within a round overlap: a stream has one call at a
// time, so calls that a model asks for at once follow each other at once.
package traffic
