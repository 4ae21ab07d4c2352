// Package daemon is the reference daemon: it speaks the protocol of core/wire over a unix
// socket and loopback TCP, keeps agents, runs them against a model's endpoint, and hosts
// their MCP servers through package core.
//
//	d, err := daemon.Open(daemon.Config{Home: dir, Logger: log})
//	fmt.Fprintln(os.Stderr, "daemon ready")
//	err = d.Run(ctx) // until ctx ends; every peer is gone when it returns
//
// # Story
//
// An agent is a name, a prompt and a list of MCP servers. Each stored agent is one owner of
// package core, whose claims are its MCPs: they are declared when the daemon starts and with
// every edit, which starts no process. The first run whose model uses the mcp tool does,
// and so do UpsertMcp and ReconnectMcp, which answer after the attempt.
//
// An edit is one unit. It is checked, written to the store, and then declared and shown, in
// this order and one edit at a time; whatever refuses it, a check or a full disk, leaves
// store, claims and listings as they were. Readers never wait for the disk.
//
// # The home
//
//	config.toml             settings, read at the start and by [Daemon.Reload]; may be missing
//	store.db                the agents, mode 0600 since it holds credentials
//	store.db.bak            a copy of it, made at every start and every clean end
//	store.db.replaced-*     stores that [Restore] put aside
//	store.json.imported     what an earlier version kept, after it was taken over, once
//	host.key                the key of the fingerprints, so that ids stay over restarts; 0600
//	run/crabtalk.sock       unix socket, mode 0600 in a directory of mode 0700
//	run/crabtalk.port       TCP port in decimal, absent when TCP is off
//	run/mcp.port            port for clients of MCP in decimal, absent when that is off
//	run/daemon.lock         held by the daemon that runs; the file stays
//	run/peers/              a record of every live process, for the next start
//
// Socket and port file bear the protocol's names and not ours, because that is where its
// clients look. The socket's path may have 107 bytes. A stale socket is replaced only after
// a refused connection proved that nobody listens; a live one is never taken. TCP binds
// 127.0.0.1:6688, or a port that the system chooses when that is taken, and refuses any
// address that is not loopback: the protocol has no authentication.
//
// store.db is a bbolt file; an edit is one transaction, and is acknowledged after it is on
// the disk. Every record has a checksum, and one more covers all of them; the file is
// checked page by page at the start. One that is torn or corrupt stops the daemon from
// starting, with an error that names it and the way back, mayfly serve -restore FILE; it is
// never replaced by an empty one, nor is an older state of it used without a word.
//
// A daemon that was killed leaves behind the peers that ignore the end of their input. The
// next start ends them before it serves: within terminate_grace plus kill_grace (SPEC PR-4).
//
// # The gateway
//
// Clients of MCP are served over streamable HTTP at [Config.MCPAddr], 127.0.0.1:6689 or a free
// port, through package endpoint. Without a token they see what consumers offer to everybody.
// With an agent's token they see that besides:
//
//   - every tool that the agent's MCP servers export, under its own name and as its server
//     describes it; of a name that several export the first declaration's, which is the one that
//     a call goes to while it is able to serve;
//   - the mcp tool, as a model has it, which also reaches tools whose names or schemas MCP does
//     not allow. Those are left out and named in the log, once;
//   - what consumers offer to this agent alone, which takes a process that came by the unix
//     socket.
//
// Of one name the agent's own is called, never what is offered to everybody: while the tools of
// one of its servers are not known, as after a start of the daemon, a call first lists them. Only
// a name of a server that could not be asked, or of a tool that was left out, may be taken for what
// is offered to everybody. A
// consumer that took a name for this agent before the server was listed keeps it, and the log
// says so; mcp is always the daemon's own.
//
// A listing brings the agent's servers up, within list_timeout, and is use; a call starts what
// it needs. A server that was evicted or has failed keeps the tools that it was last known to
// export, so that a call can bring it back or say why not. When a server's tools change, or an
// edit or a reload changes what is declared, clients are told list_changed, if what they would be
// shown is another; that starts nothing.
//
// A result goes through as the server gave it, and so does an error of JSON-RPC. What kept the
// call from being answered is a result with isError and words for a model.
//
// A token is made by an operator's request, see core/wire and mayfly agent-token, on the unix
// socket alone; the store keeps its SHA-256. One that is not known is 401. Another token, or its
// revocation, ends the sessions of those who had the one before: each after the calls that are in
// flight on it. An agent is one owner of package core/owner. With its death its claims are
// released, its entries and its token are void, and its calls in flight are answered.
//
// # config.toml
//
//	[llm]
//	base_url = "http://127.0.0.1:9000"  # origin; a trailing / and /v1 are stripped
//	api_key = "…"                       # literal
//	kind = "anthropic"                  # sends x-api-key; absent is a gateway, a bearer token
//
//	[mcp]
//	idle_timeout = 1800       # whole seconds; 0 never stops an idle peer
//	failed_retry = "0s"       # these are durations; how long a failed peer is left alone; 0 is idle_timeout
//	start_timeout = "0s"      # to a server's first message; 0 is that connect_timeout covers it
//	connect_timeout = "30s"
//	call_timeout = "30s"
//	list_timeout = "15s"      # how long a model's listing of tools waits for peers
//	close_grace = "2s"        # from the end of a peer's input to SIGTERM
//	terminate_grace = "2s"    # from SIGTERM to SIGKILL
//	kill_grace = "5s"         # after SIGKILL, until the peer is called stuck
//	drain_grace = "5s"        # for calls in flight when the daemon stops
//	disabled = []             # names of MCPs that are switched off, in every agent
//	stop_budget = "0s"        # of a whole stop; the drain gets what the graces leave of it
//
//	[limits]
//	max_live = 0              # processes and HTTP sessions; 0 is what the limit of open files allows
//	max_dialing = 0           # attempts under way; 0 is no bound
//	max_spawning = 8          # processes being created; four for each processor
//	max_queued = 65536        # attempts that wait for room
//	queue_timeout = "1m"      # how long they do
//	max_waiters = 4096        # calls that wait for one peer
//	max_connections = 4096    # of the protocol; and as many of clients of MCP
//	max_sessions = 10000
//	max_agents = 100000
//
//	[env]                     # given to servers that ask for a key by name, with inherit_env
//	TOKEN = "…"
//	[env_overlay]
//	backfill = false          # true gives everything to everybody, and warns
//
//	[endpoint]                # for clients of MCP; read at the start
//	hosts = []                # names in the Host header, beside those of loopback
//	origins = []              # of pages in a browser that may call; others are refused
//	max_body = 4194304        # bytes of a request
//	max_tools = 4096          # of one agent; and as many of consumers, for everybody
//
//	[metrics]
//	addr = "127.0.0.1:9090"   # loopback; serves /metrics, /healthz and /readyz; read at the start
//
//	[cache]                   # accepted, without effect
//
// An unknown key is named in the log. A wrong type or value is an error with file, line and
// key. [Effective], and mayfly serve -print-config, show every value and where it was said.
//
// [Daemon.Reload], or SIGHUP, puts a changed file in force as a whole, or, when anything in
// it is wrong, not at all. Peers are not touched, but for those whose effective configuration
// changed because [env] did: what runs for them is stopped, and starts again when it is used.
// What mcp.disabled names from then on is stopped as well.
//
// # A declaration
//
// Beside the protocol's own keys, an MCP's config may have these. Times are durations or
// whole seconds; where the agents that share a peer differ, the longest rules. The answer to
// a listing shows what is in force. A stop of the daemon keeps to its own graces: whoever wishes
// for longer ones is killed when those are over.
//
//	"idle_timeout": "10m", "min_uptime": 60, "start_timeout": "2m", "connect_timeout": "5s",
//	"call_timeout": "90s", "close_grace": "10s", "terminate_grace": "10s", "pinned": true
//	"disabled": true            kept and listed, with the note "disabled", and never started
//	"share": "owner"            "fingerprint" (default), "owner" or "never" (SPEC ID-7)
//	"inherit_env": ["TOKEN"]    keys of [env]; its own env comes first
//
// A variable that is asked for and that nobody has keeps nothing from starting: it is named in
// the log when it is declared, and at every start and reload, and beside every failure of that
// declaration.
//
// What is inherited is part of the effective configuration, so that servers which got
// different secrets are different peers.
//
// A failure ages at the tick after idle_timeout, or failed_retry, that is up to a quarter of it
// later. retry_at names the end of that quarter, when a retry is certain: for 30 minutes it is
// 37 minutes and 30 seconds after the failure, and a call a little earlier may be served already.
//
// # Operation
//
// A listing that asks for usage says for every peer that runs what its processes take. A peer
// with the note "stuck" outlived SIGKILL and blocks its successor; ReconnectMcp with write_off
// is an operator's word, given by mayfly peer write-off, that it is not to be waited for.
//
// The log tells owner, agent, name, peer and generation of whatever happens to a peer. A stop
// saves first, lets calls in flight finish, sends every peer down the stop ladder and takes
// no longer than the stop budget; a second signal, or [Daemon.Escalate], kills at once. With
// [Config.OwnProcess] the daemon adopts the orphans of its peers and waits for them.
//
// # Where it differs from the protocol's other daemon
//
// The protocol was first spoken by another daemon. Where that one falls short of the clauses
// of the specification, this one follows the clauses:
//
//   - MCPs are declared at once, not at the next run, and events carry the time of the
//     transition (CF-3, EV-2).
//   - The [env] overlay reaches only the peers that ask for a key of it by name: one tenant's
//     secret in it would reach all otherwise (SE-2). A peer gets a minimal environment and its
//     own env (SE-1).
//   - Listings mask env values, auth and the values of a url's query as "***": McpInfo always,
//     AgentInfo.config in ListAgents. A url with a user or a password is refused. The answers to GetAgent and to edits show the whole config: the protocol has
//     no authentication, so whoever can open the socket is authorised for every agent, and
//     asks for one by name where the secrets are needed, to edit them; a listing, which ends
//     in screens and logs, is no such place. A mask written back means: keep what is stored
//     (SE-3).
//   - An MCP's name must not be empty or taken within its agent, and an agent must not be
//     renamed onto another one (CL-12, CF-7).
//   - url "" is no url, as if it were absent (ID-6). Wrong types are refused with their key.
//   - A subscriber that lags is told: error 503 "events were lost; subscribe again" (EV-3).
//   - A client that stops reading loses its connection after the frame timeout and delays
//     nobody else (DI-10).
//   - Listing tools counts as use, is in declaration order, ends within list_timeout and names
//     the peers that could not be asked or are still connecting (DI-11, DI-15).
//   - McpInfo has fields of an extension, see package wire, and so have the requests for
//     listings: they can be asked for in pages, since a frame has a bound. Every row of a page is
//     of one moment, two pages are not; what is there throughout is listed exactly once.
//   - A result's structured content is shown when it has no text, and content that is no text
//     is mentioned (CA-12).
//   - Stopping ends every peer through the stop ladder (SH-1).
//
// A session belongs to the socket through which it was begun: a handle means nothing at the
// other one. Behind one socket it is the only key to its session, and it is chosen by the
// client, who draws it at random (wire.NewHandle) if others are there; no answer, event or
// line of the log that somebody else gets has it.
//
// No default agent is seeded; Stats.active_model is the first model that the endpoint
// advertises. Variants outside WIRE.md §7.8, and a StreamMsg with a guest, are refused with
// code 500 and their name. A session's root is accepted and unused. Bounds that are reached,
// and a daemon that stops, answer 503.
//
// # Promises
//
// All methods may be called concurrently. Requests of one connection run at once, at most
// 64; their answers come in any order. Runs of one session come one after the other. A run
// ends with its connection. Edits are acknowledged after they are durable. No secret is
// logged or shown in an error. After Run or Close nothing of the daemon is left, no
// goroutine, descriptor or process.
//
// # Not promised
//
// Sessions live in memory and end with the daemon. A backup is as old as the last start or
// clean end. An edit whose error speaks of "safely" may appear after a crash, unless a later
// one took it back. Tool results are cut at 1 MiB, with a mark. The limit of open files is
// compared with max_live alone, not with max_connections. The lock needs flock; elsewhere the
// probe of the socket alone keeps two daemons apart.
package daemon
