// Package scenarios is a small language for the life of peers, and a collection of
// scenarios written in it.
//
// A scenario says what tenants do, what servers do, how time passes, and what must be
// true in between. One and the same file runs in three worlds: through the pure lifecycle
// machine in virtual time, through the real host over fake transports in virtual time,
// and against a live daemon with real processes in real time. What the simulator finds it
// writes as such a file, so that a bug found in one world is a check in all of them.
//
//	# The first call starts a server, and idleness stops it.
//	clauses DI-1 RE-1
//	set idle_timeout 4s
//	server S tools=echo,add
//	agent a
//	declare a m1 S            # agent a knows S under the name m1
//	expect spawns S = 0       # a declaration starts nothing
//	call a echo
//	expect result = ok
//	expect events a = m1:connecting m1:connected
//	advance 2s
//	expect running S = 1
//	advance 4s
//	expect running S = 0
//
// Smallest use, with a [World] that somebody provides:
//
//	f, err := scenarios.Parse("first.txtar", src)
//	report, err := scenarios.Run(ctx, f, world)
//	err = report.Err() // the expectations that did not hold, at file:line
//
// # Files
//
// A file is a txtar archive. Its opening part is the script; sections behind it
// ("-- tape --") are attachments, carried along and never interpreted. The script has one
// command per line, words separated by blanks, and comments from a word that begins with
// '#'. The opening comment says in one sentence what the scenario shows. Names are a
// letter followed by letters, digits, '_' and '-'. Durations are written 300ms, 4s, 1m30s.
// Every bound (size, lines, agents, calls of a range, …) is a constant of this package.
//
// # The head
//
// These come before all others, each at most once (set: once for each setting).
//
//	clauses CL-1 DI-1      the clauses that the scenario shows
//	only machine host      the worlds in which it makes sense; all, when left out
//	needs npx              executables without which it cannot run, looked up in PATH
//	set idle_timeout 4s    T; 0s: nothing is evicted. Default 30m. The reaper ticks at every
//	                       multiple of T/4 since the start of the world.
//	set connect_timeout 2s bound of one connect, spawn to tool list. Default 30s.
//	set call_timeout 2s    bound of one call. Default 1m.
//	set grace 1s           time for each rung of the stop ladder: input closed, SIGTERM,
//	                       SIGKILL. Default 5s.
//
// A live daemon is configured in whole seconds.
//
// # Servers
//
//	server S tools=echo,add connect=300ms call=1s fails=exit answers=reject ignores=eof,term
//	    A server program. All options may be left out; then it is healthy, exports the tool
//	    echo and does everything at once.
//	    connect  delay before it answers initialize
//	    call     delay before it answers a call
//	    fails    never, spawn (no process comes to life), exit (the process exits instead of
//	             answering initialize), hang (initialize is never answered)
//	    answers  ok, reject (a result with isError), error (a JSON-RPC error), hang (never),
//	             exit (the process exits when the call arrives)
//	    ignores  nothing, eof (lives on when its input is closed), term (survives SIGTERM)
//	server E tools=echo exec=npx,-y,PACKAGE
//	    A real server: the command line, words with commas in between. Only files with "only
//	    live" may have one. It takes no other option, is not held or changed, and says
//	    nothing of its calls; a process of it runs as long as any of its process group does.
//	change S fails=exit
//	    Changes options. tools, connect, fails and ignores apply to incarnations that start
//	    later; call and answers to calls that arrive later, at running incarnations too.
//	change S heals
//	    The same as change S fails=never answers=ok.
//	hold S initialize
//	    From now on every request of that kind (initialize, list, call), on whatever
//	    incarnation of S, waits when it arrives, before the server's own delay and before it
//	    fails or exits. Hanging at a barrier keeps no process from obeying EOF and SIGTERM.
//	    "list" is the first listing, which belongs to the connect.
//	release S initialize
//	    Ends the hold; what waits goes on, in order of arrival. Without a point it ends all
//	    holds of S.
//	await S initialize
//	    Waits until a live incarnation of S waits at that point.
//	kill S
//	    SIGKILL for the live incarnations of S; with token=t1 only for those under t1. They
//	    are gone at once, and the daemon learns it as it learns any death.
//
// # Agents and claims
//
//	agent a                A new agent without claims: an owner. After remove a the name is
//	                       free again, and agent a is then another owner.
//	declare a m1 S token=t1 env=K:V
//	                       Agent a declares MCP m1 as server S, with a credential and
//	                       variables if given; nothing is started. Equal words behind m1 are
//	                       equal configs (the order of variables does not count), others
//	                       never are. When a has an m1 already, its claim moves.
//	delete a m1            Gives up the claim; done when the claim is gone.
//	remove a               Ends the agent and all its claims with it.
//	rename a b             Agent a is called b from here on.
//
// A token is the label of a credential: each world makes some secret of it that reaches
// the server, which reports the label. Declarations keep their order for tool resolution.
//
// # Operations
//
//	call a echo            Agent a calls a tool by its name, through the daemon.
//	list a                 Agent a lists its tools, through the daemon.
//	reconnect a m1         Stops the peer and connects it again; the answer is the outcome.
//	upsert a m1 S token=t1 Declares and connects eagerly; the answer is the outcome.
//	start c1: call a echo  Begins an operation and goes on. start c1..c8: begins eight.
//	await c1..c8           Waits until they have ended.
//	cancel c1              The caller of c1 gives up, which ends c1 for the caller.
//
// An operation alone on its line is awaited. Names of started operations are used once.
//
// # Time
//
//	advance 5s             Lets that time pass, and no more.
//	fence                  Returns when everything that was caused above would have been
//	                       seen. Virtual time is quiet after every line and needs none; a live
//	                       world lets a peer of its own spawn and end a call. It belongs
//	                       before expectations that nothing happened.
//
// In virtual time a line takes no time, except advance, and whatever waits: await, and
// operations on slow servers. Waiting ends at the very instant of its cause. In real time
// everything takes a little, so a file meant for live keeps an advance away from every
// deadline by a second or so, on both sides, and T between 2 and 4 seconds.
//
// # Expectations
//
//	expect QUERY = VALUE
//
//	status a m1            unknown (no such claim), disconnected, connecting, connected, failed
//	tools a m1             how many tools the listing shows for m1
//	events a               the events of agent a since the last expect events a (or since agent
//	                       a), as MCP:connecting, :connected, :failed, :disconnected, replays
//	                       included; - for none. Ordered by MCP name, then by time, since
//	                       events of different peers have no common order in all worlds.
//	spawns S               how many processes of S have come to life, with token=t1 those under
//	                       t1. fails=spawn brings none to life.
//	running S              how many of them have not ended. A process in its stop ladder runs.
//	calls S                how many tool calls have arrived at them, answered or not
//	result                 how the most recent operation ended; result c1 that one; result c1..c8
//	                       all of them alike. See below.
//	credential             the token with which the most recent call (or call c1, or all of
//	                       c1..c8) arrived at a server; - for none, or when it did not arrive
//
// Results of a call: ok (a result), rejected (the server answered no), transport (it did
// not land, or no answer will come), refused (the daemon answered without reaching a
// server: the peer is Failed or its connect just failed, no claim, no such tool),
// cancelled (the caller gave up), pending (not ended). Of a list: ok, refused, cancelled,
// pending. Of reconnect and upsert: ok (Connected after the attempt), failed (Failed after
// it), refused (no such claim, or none any more), cancelled, pending. A call that waits
// while its claim moves may follow the claim or be refused: do not ask for its result.
//
// In virtual time an expectation is evaluated once, when all is quiet. In a world that is
// a [Settler] it is asked again until it holds or the world gives up; a value that the
// world passes through for a moment may therefore satisfy it.
//
// # Promises and non-promises
//
// [Parse] never panics, takes bounded time on any input, and names file and line of each
// error. [Format] is canonical: formatting what was parsed and parsing it
// again gives the same File and the same bytes. [Run] calls a World from one goroutine.
// Nothing here keeps time, starts goroutines or knows what a daemon is. A scenario shows
// that something happens in one order of events; it proves nothing about other orders,
// which the simulator explores, nor about times to better than the margins of its file,
// which the conformance runner measures.
//
// Scenario texts are public: tokens are labels, and env values are for show.
package scenarios
