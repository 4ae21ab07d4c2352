// Package measure starts a real MCP server again and again and times it, for the bench of
// idle timeouts.
//
//	p, err := measure.Run(ctx, measure.Config{
//		Target: transport.Config{Command: "npx", Args: []string{"-y", "a-server"}},
//		Starts: 20, Warm: 5, Timeout: 30 * time.Second, Settle: time.Second,
//	})
//	data, err := p.Encode()
//
// The transports are those of the daemon: process groups, the stop ladder with the daemon's
// graces, records of what was started. So what is timed is what a dispatch waits for: from
// the spawn to the tool list. A start is: dial, handshake and list, the warm calls, the
// settle time, a look at the memory of the whole tree, the ladder. The next one begins when
// nothing of the last one is left.
//
// There is one start more than was asked for: the first one, which is kept apart, because what it
// puts into caches the others find there. After giveUp failures in a row with no success
// before them the measurement ends, since more of them would only take time.
//
// # Memory
//
// RSS and the number of processes are what the daemon itself shows: all processes of the tree,
// orphans included. PSS is read here, from smaps_rollup, of the processes that carry the tag of
// this start in their environment or descend from one that does, and is kept only when they are
// as many as the daemon sees.
//
// # Promises
//
// Every wait has a bound: the connect and each warm call the timeout, the stop the three graces.
// What the server writes is bounded by the transports. When ctx ends, SIGTERM
// is sent without waiting, and Run returns when nothing is left, with what was measured so far. Secrets of Target are in no
// profile and no error: env values, headers, and words of the command that look like secrets.
//
// # What is not promised
//
// Nobody can tell every secret in a command line from an ordinary word; env is the place for
// them. When the measuring process is killed, servers that heed the end of their input end,
// others stay. Only Linux can start commands.
package measure
