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
//	set failed_retry 3s    how long a Failed peer is left alone. Default 0s, which is T.
//	set start_timeout 9s   bound of the time from the spawn to the server's first message, behind
//	                       which connect_timeout begins. Default 0s: connect_timeout bounds both.
//	set queue_timeout 8s   bound of the wait for room. Default 1m.
//	set kill_grace 2s      time after SIGKILL from which a process counts as stuck. Default 0s,
//	                       which is grace.
//	set drain_grace 2s     what calls in flight get when the daemon stops. Default 5s.
//	set max_live 2         processes that may be alive at a time
//	set max_dialing 2      connects that may be under way at a time
//	set max_spawning 2     processes that may be being created at a time
//	set max_queued 2       connects that may wait for room
//	set max_waiters 2      callers that may wait for one peer
//
// A bound that is left out, or 0, is the daemon's own, which no scenario comes near. A live
// daemon is configured in whole seconds.
//
// # Words that not every world knows
//
// A live daemon knows the first four settings only, since its protocol has no word for the
// others; and so with all that is marked with * below. A file that holds such a word must say
// "only machine host", one that holds a word marked ** "only machine": else it is refused at the
// word's line, so that no world passes over what it cannot do. Only a lifecycle, not a host,
// can be told the same thing twice, be killed, and be asked why it said what it did. Nor does a
// world run a file whose line "only" does not name it.
//
// # Servers
//
//	server S tools=echo,add connect=300ms call=1s fails=exit answers=reject ignores=eof,term
//	server S tools=echo spawn=1s says=2s ignores=eof,term,kill stop=1s strays=late
//	    A server program. All options may be left out; then it is healthy, exports the tool
//	    echo and does everything at once.
//	    connect  delay before it answers initialize
//	    call     delay before it answers a call
//	    fails    never, spawn (no process comes to life), exit (the process exits instead of
//	             answering initialize), hang (initialize is never answered), reject (it is
//	             answered with an error, and the process lives until it is stopped)
//	    answers  ok, reject (a result with isError), error (a JSON-RPC error), hang (never),
//	             exit (the process exits when the call arrives), lost* (the call fails in
//	             transport, and the process lives on)
//	    ignores  nothing, eof (lives on when its input is closed), term (survives SIGTERM), kill*
//	             (hangs in its kernel, and outlives SIGKILL; only the command kill ends it)
//	    spawn*   time until its process exists
//	    says*    time from there to a first message that means nothing. Without it the answer
//	             to initialize is the first that is heard.
//	    stop*    time from the rung of the ladder that ends it to its end
//	    strays   nothing, late* (it answers although the daemon has given up), twice** (its
//	             connects and answers are reported twice)
//	server E tools=echo exec=npx,-y,PACKAGE
//	    A real server: the command line, words with commas in between. Only files with "only
//	    live" may have one. It takes no other option, is not held or changed, and says
//	    nothing of its calls; a process of it runs as long as any of its process group does.
//	change S fails=exit
//	    Changes options. call and answers apply to calls that arrive later, at running
//	    incarnations too; all others to incarnations that start later.
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
//	quit S
//	    * They exit by themselves, with status 0. Also with token=t1.
//	break S
//	    * Their sessions end and their processes live on. Also with token=t1. A host takes up
//	      to 50 ms to tell that from an exit: advance behind it, by 0.1s at least.
//	announce S
//	    * They list the tools that S has now, and say that their list has changed. A host
//	      reads it again within 0.1 s: advance behind it, by more than that.
//	expire t1
//	    * The credential t1 has ended: a connect under it is refused by its server, and a call
//	    under it is answered with no.
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
//	declare a m1 S idle=4s uptime=2s start=9s connect=2s call=2s close=1s terminate=1s pinned
//	                       * Behind the config, what the claim wishes for its peer; all may be
//	                       left out. idle, connect, call, start: in place of the setting; uptime:
//	                       not stopped for want of use before it was Connected for so long;
//	                       close, terminate: grace of the first and of the second rung; pinned:
//	                       while Connected never stopped, neither for want of use nor of room.
//	                       Wishes make no other peer. Of claims that differ the longest holds.
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
//	upsert a m1 S token=t1 Declares and connects eagerly; the answer is the outcome. Takes
//	                       wishes, too.
//	write-off a m1         * An operator gives up what has outlived SIGKILL behind the claim, so
//	                       that the next process may begin beside it.
//	start c1: call a echo  Begins an operation and goes on. start c1..c8: begins eight.
//	await c1..c8           Waits until they have ended.
//	cancel c1              The caller of c1 gives up, which ends c1 for the caller.
//
// An operation alone on its line is awaited. Names of started operations are used once.
//
// # The daemon
//
//	configure idle_timeout 2s
//	                       * A setting of the running daemon changes, as with set.
//	reload S R             * The daemon reads its agents again: what named S names R now.
//	restart                * The daemon shuts down in good order and starts again, with the
//	                       agents and claims that it had, in the order in which they came.
//	                       Operations under way end. restart kill**: it is killed, and what ran
//	                       of it with it.
//	drain                  * The daemon shuts down. Until a restart calls, listings and reconnects
//	                       are refused, and nothing can be declared. It takes time: advance
//	                       behind it.
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
//	refusal c1             * why an operation was refused (see below), or - when it was not. As
//	                       with result, c1 may be left out, or a range. Where a call was refused
//	                       by several peers it is the reason of the first claim that was asked.
//	retry c1               * in what time a call that was refused may try again, from the refusal
//	                       on; - when only a reconnect helps, or nothing
//	claims a m1            * how many claims there are of the peer behind m1, of all agents
//	inflight a m1          * how many calls are in flight on it
//	told a m1              * how many tools agent a was told of for m1 last, 0 for none
//	generation a m1        * the number of its newest incarnation, 0 if there never was one
//	written-off a m1       * how many of its processes were written off and have not ended
//	replays a              * how many of the events of agent a, since agent a, were its standing told
//	                       again and no transition
//	reasons a              ** the reasons in the failed events of agent a, since agent a, as
//	                       MCP:REASON, in the order of events a; - for none
//	order S                ** the started calls in the order in which they arrived at S
//	peers                  * how many peers the daemon remembers, those without a claim included
//
// Results of a call: ok (a result), rejected (the server answered no), transport (it did
// not land, or no answer will come), refused (the daemon answered without reaching a
// server: the peer is Failed or its connect just failed, no claim, no such tool),
// cancelled (the caller gave up), pending (not ended). Of a list: ok, refused, cancelled,
// pending. Of reconnect and upsert: ok (Connected after the attempt), failed (Failed after
// it), refused (no such claim, or none any more), cancelled, pending. Of write-off: ok, refused.
// A call that waits while its claim moves may follow the claim or be refused: do not ask for its
// result.
//
// Refusals: no-claim (also for a tool that no claim has), dead-owner, overloaded (no room, or too
// many wait), released, cancelled, reconnect, draining, not-stuck (nothing to write off), and
// failed:connect, failed:connect-timeout, failed:exited, failed:broken, failed:transport,
// failed:call-timeout, which say how the peer came to be Failed; these are the reasons of events,
// too.
//
// In virtual time an expectation is evaluated once, when all is quiet. In a world that is
// a [Settler] it is asked again until it holds or the world gives up; a value that the
// world passes through for a moment may therefore satisfy it. In real time a question may also
// come so late that a timeout has ended what it asks for: [PaceOf] says how late is late, and a
// [Paced] world can keep account of it.
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
