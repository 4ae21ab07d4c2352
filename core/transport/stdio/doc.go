// Package stdio runs peers as child processes that speak MCP over their pipes.
//
// The smallest use:
//
//	d := stdio.New(stdio.Options{})
//	s, err := d.Dial(ctx, transport.Config{Command: "npx", Args: []string{"-y", "server"}})
//	tools, err := s.Initialize(ctx)
//	result, err := s.Call(ctx, "echo", json.RawMessage(`{"message":"hi"}`))
//	s.Stop(transport.StageClose) // then Terminate, then Kill, when the caller's patience ends
//	<-s.Done()
//
// # Why not the SDK's command transport
//
// It signals the direct child only and leaves it in our own process group, so the server
// behind npx or sh survives; its Close waits for calls in flight, for ever if need be; one
// stray line on stdout ends its session; and a killed launcher whose child holds stdout
// goes unnoticed. Here the process, the pipes and the reader are ours, and the SDK speaks
// MCP over a connection that it cannot close or block.
//
// # How a tree ends
//
// Every peer leads a process group. Stop performs one rung and returns: close stdin,
// SIGTERM to the group, SIGKILL to the group. Done closes when the leader has exited and
// no live process of the tree is left; the zombie of the leader is kept until then, which
// pins its pid and its group id, so no signal can reach a stranger. A launcher that exits
// first therefore ends nothing: Down closes, Done does not.
//
// Descendants that leave the group, as with setsid, are followed if they were seen: every
// rung begins with a look at what descends from the leader, and every pass over /proc that
// waits for the end looks at what descends from the rest. With Options.Records all processes
// of a peer carry a tag in their environment, so that orphans are known too. A process that is
// just being given its program, or has just given back its memory, does not show a tag; while
// there is one nothing is taken for ended, for more than a second. What left the
// group gets the signals of the rungs one by one, through a pidfd whose process was checked
// by its start time.
//
// Down closes at the end of stdout, at the exit of the direct child, at a frame over the
// bound, at a broken stdin, or when the handshake fails. Before it closes on an exit,
// everything that the child had written is read: an answer that was written before the
// death still counts.
//
// # What a peer gets
//
// Descriptors 0, 1 and 2, the environment of [Environ], the working directory of Options.
// To keep everything else from it, Dial marks all descriptors of this process above 2 as
// closed on exec.
//
// # When the daemon dies
//
// Peers that obey the end of their input end with the daemon, however it dies. For the
// others Options.Records keeps one small file per live peer: written before the peer is
// started, completed after, removed before Done closes. The next daemon calls [Reap] before
// its first Dial. It ends what a dead daemon left behind: SIGTERM at once, SIGKILL after a
// grace of 2 s, and nothing is decided by a pid alone. A record that was cut or spoilt still
// ends its peer, by the tag in its name; what is no record is set aside, and reported. So a stubborn peer outlives its
// daemon until the next start and the grace: with 100 peers that ignore SIGTERM, Reap took
// the grace and 0.4 s on two cores. The files are not synced, since no process outlives the
// kernel that holds them: a record costs 0.3 ms, and syncing it would add 3 ms.
//
// A daemon in a container, or one whose peers leave orphans, calls [Subreaper] and shows
// [Zombies]; [DescriptorBudget] compares the limit of open files with its cap. A Dial that
// meets a limit fails with an error for which errors.Is says EMFILE, ENFILE, EAGAIN or
// ENOMEM, and leaves nothing behind.
//
// # Promises
//
// All methods may be called concurrently. Stop waits for nobody; it reads /proc for as many
// processes as the tree has. Call, List and Initialize
// return when their context ends, also while a write is blocked on a peer that does not
// read. Nothing is kept of a frame over the bound, nothing of stderr beyond the tail; how much
// that was is said in Err, and counted by the Dialer. A
// request is written at most once. After Done no goroutine, descriptor, record or process of
// the session is left, except a goroutine of the SDK that may take a moment to return. Heard
// closes at the first line that is a JSON-RPC message, Changed tells of list_changed once
// until it is read, Clean is true for an exit with status 0 before the first rung. Usage adds up
// what the processes of the tree take now; memory that they share is counted for each.
//
// # What is not promised
//
// A descendant that left the group before anybody looked, and lost its parent, is not found
// without Options.Records; nor is one that was started with another environment. It sees its
// pipes close. Processes whose /proc entry is hidden from us, such as setuid ones under
// hidepid, are not seen. A secret that a peer prints in an encoding of its own is not
// masked. Without [Subreaper] nobody else in this process may wait for our children with
// wait4(-1): their exit status would be lost.
//
// Only Linux is complete. On other systems Dial refuses.
package stdio
