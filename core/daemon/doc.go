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
//	config.toml         settings, read once at the start; may be missing
//	store.json          the agents, mode 0600 since it holds credentials
//	run/crabtalk.sock   unix socket, mode 0600 in a directory of mode 0700
//	run/crabtalk.port   TCP port in decimal, absent when TCP is off
//	run/daemon.lock     held by the daemon that runs; the file stays
//
// Socket and port file bear the protocol's names and not ours, because that is where its
// clients look. The socket's path may have 107 bytes. A stale socket is replaced only after
// a refused connection proved that nobody listens; a live one is never taken. TCP binds
// 127.0.0.1:6688, or a port that the system chooses when that is taken, and refuses any
// address that is not loopback: the protocol has no authentication.
//
// store.json is replaced as a whole: a temporary file, fsync, rename, fsync of the
// directory. One that cannot be understood stops the daemon from starting, by name; it is
// never replaced by an empty one.
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
//	connect_timeout = "30s"   # these are durations: "1m30s"
//	call_timeout = "30s"
//	close_grace = "2s"        # from the end of a peer's input to SIGTERM
//	terminate_grace = "2s"    # from SIGTERM to SIGKILL
//	kill_grace = "5s"         # after SIGKILL, until the peer is called stuck
//	drain_grace = "5s"        # for calls in flight when the daemon stops
//	failed_retry = "0s"       # how long a failed peer is left alone; 0 is idle_timeout
//	max_spawns = 0            # processes being started at one time; 0 is four for each processor
//
//	[env]                     # read and named in the log, given to nobody; see below
//	[cache]                   # accepted, without effect
//
// An unknown key is named in the log. A wrong type is an error with file, line and key.
//
// # Where it differs from the protocol's other daemon
//
// The protocol was first spoken by another daemon. Where that one falls short of the clauses
// of the specification, this one follows the clauses:
//
//   - MCPs are declared at once, not at the next run, and events carry the time of the
//     transition (CF-3, EV-2).
//   - The [env] overlay reaches no peer: one tenant's secret in it would reach all (SE-2). A
//     peer gets a minimal environment and its own env (SE-1).
//   - Listings mask env values and auth as "***": McpInfo always, AgentInfo.config in
//     ListAgents. The answers to GetAgent and to edits show the whole config, which their
//     caller needs to edit it. A mask written back means: keep what is stored (SE-3).
//   - An MCP's name must not be empty or taken within its agent, and an agent must not be
//     renamed onto another one (CL-12, CF-7).
//   - url "" is no url, as if it were absent (ID-6). Wrong types are refused with their key.
//   - A subscriber that lags is told: error 503 "events were lost; subscribe again" (EV-3).
//   - A client that stops reading loses its connection after the frame timeout and delays
//     nobody else (DI-10).
//   - Listing tools counts as use, is in declaration order, and names the peers that could
//     not be asked (DI-11, DI-15).
//   - A result's structured content is shown when it has no text, and content that is no text
//     is mentioned (CA-12).
//   - Stopping ends every peer through the stop ladder (SH-1).
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
// Sessions live in memory and end with the daemon. A change of config.toml takes effect at
// the next start. The order of an agent's MCPs, where two export one tool, is the order in
// which they were first declared until the daemon restarts, even if an update reorders the
// list. An edit whose error speaks of "safely" may appear after a crash. Tool results are
// cut at 1 MiB, with a mark. The lock needs flock; elsewhere the probe of the socket alone
// keeps two daemons apart.
package daemon
