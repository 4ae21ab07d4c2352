package stdio

// Subreaper makes this process the parent of every orphan below it, and waits for them as
// they end (SPEC PR-8). A daemon calls it once, at its start. From then on every child of
// this process belongs to this package: a child that others start, with os/exec say, may be
// waited for here, and its exit status is lost. stop ends that.
//
// The note, if any, is for the log: it says that this process is PID 1, which waits for
// every orphan of its container. The error says that the system does not know subreapers,
// and that the daemon needs an init above it.
//
// Without it, orphans go to the init of the system, which waits for them if it is one.
func Subreaper() (note string, stop func(), err error) { return subreaper() }

// Zombies counts the children of this process that have ended and were not waited for. The
// leader of a peer is one until its whole group has ended; at rest there is none.
func Zombies() int { return zombies() }
