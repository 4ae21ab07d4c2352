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
// no live process of the group is left; the zombie of the leader is kept until then, which
// pins its pid and its group id, so no signal can reach a stranger. A launcher that exits
// first therefore ends nothing: Down closes, Done does not.
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
// # Promises
//
// All methods may be called concurrently. Stop never blocks. Call, List and Initialize
// return when their context ends, also while a write is blocked on a peer that does not
// read. Nothing is kept of a frame over the bound, nothing of stderr beyond the tail. A
// request is written at most once. After Done no goroutine, descriptor or process of the
// session is left, except a goroutine of the SDK that may take a moment to return.
//
// # What is not promised
//
// A descendant that leaves the process group (setsid, setpgid) is not followed: it gets no
// signal, and Done does not wait for it. It sees its pipes close. Processes whose /proc
// entry is hidden from us, such as setuid ones under hidepid, are not seen. A secret that a
// peer prints in another encoding is not masked. Nobody else in this process may wait for
// our children with wait4(-1): their exit status would be lost.
//
// Only Linux is complete. On other systems Dial refuses.
package stdio
