package conformance

// Sources of the clauses. What neither document says is this project's own specification.
const (
	rfcIdentity  = "RFC 0204 § Credentials are identity"
	rfcLifetime  = "RFC 0204 § Declaration and process have separate lifetimes"
	rfcHealth    = "RFC 0204 § Health is state, not a return value"
	rfcReconnect = "RFC 0204 § Reconnect"
	rfcConfig    = "RFC 0204 § Configuration"
	rfcUpdates   = "RFC 0204 § Updates"
	rfcAgainst   = "RFC 0204 § Alternatives"
	rfcTimeout   = "RFC 0204 § Unresolved Questions"
	specIdentity = "SPEC §1 Identity"
	specClaims   = "SPEC §2 Declarations and claims"
	specDispatch = "SPEC §3 Dispatch and the gate"
	specStates   = "SPEC §4 States"
	specReaper   = "SPEC §5 Reaper"
	specCalls    = "SPEC §6 Calls and health"
	specAgain    = "SPEC §7 Reconnect"
	specProcess  = "SPEC §8 Processes"
	specSecrets  = "SPEC §9 Environment and secrets"
	specEvents   = "SPEC §10 Events"
	specEdge     = "SPEC §11 Configuration requests at the edge"
	specShutdown = "SPEC §12 Shutdown"
	specOwners   = "SPEC §13 Owner liveness"
	adrDecision  = "ADR-0068 § Decision"
	adrEffects   = "ADR-0068 § Consequences"
	adrNoLease   = "ADR-0068 § Input 1: lease or heartbeat rejected"
)

// row is a requirement as it is written down. Either seen says how it is observed, and checks
// name the clause, or blind says why nothing outside a daemon can tell; never both.
type row struct{ id, source, text, seen, blind string }

// Reasons that several rows share.
const (
	noHTTP   = "the suite brings servers that are processes; it has no HTTP server of its own to be called"
	noField  = "the listings and declarations of the protocol have no field for it"
	noReload = "the protocol has no request that reloads a configuration"
	noCursor = "a subscription of the protocol has neither snapshot nor sequence nor cursor"
)

// peerRows are about identity, claims, dispatch, states and the reaper.
var peerRows = []row{
	{"ID-1", rfcIdentity, "A peer is identified by command, arguments, environment, URL and authorization as they are in force; its name and auto_restart do not count.",
		"Declarations that differ in one of them, or in the name alone, are called; the servers report which process was called.", ""},
	{"ID-2", rfcIdentity, "Configurations that differ in one credential or one variable never share a process or a session.",
		"The servers report under which credential each call arrived, and how many processes there are.", ""},
	{"ID-3", rfcIdentity, "Equal configurations share one peer, whatever agent or name declares them and in whatever order their variables stand.",
		"The servers count spawns while several agents call.", ""},
	{"ID-5", specIdentity, "No secret, nor anything derived from one without a key, appears in logs, errors, events or listings.",
		"Made-up secrets are looked for in all that the daemon says and answers.", ""},
	{"ID-6", specIdentity, "Absent and empty url, auth and env mean the same; unknown keys are ignored; a wrong type is refused by the key's name.",
		"Requests with such declarations; their answers, and what the listings show afterwards.", ""},
	{"ID-7", specIdentity, "Whether a peer is shared is a policy of the declaration, part of its identity, and shown.", "", noField},

	{"CL-1", rfcLifetime, "Registering records a declaration and starts nothing, however many there are.",
		"The servers report no spawn until the first dispatch; a sibling that spawns afterwards is the fence.", ""},
	{"CL-2", rfcLifetime, "A declaration survives eviction and failure, and goes with its last claim.",
		"Listings after an eviction and after each owner's leave.", ""},
	{"CL-3", rfcLifetime, "When the last claim goes the process is stopped and the declaration forgotten, whatever the idle timeout is.",
		"The end of the process, from the operating system, and the listings.", ""},
	{"CL-4", rfcIdentity, "A claim that moves to another configuration releases the old one; no process outlives its last claim.",
		"The end of the old process, from the operating system, and events.", ""},
	{"CL-5", rfcIdentity, "Changing a token by an upsert is a real reconnect: the answer and all later calls are under the new one.",
		"The answer of the upsert, and the credential under which later calls arrive.", ""},
	{"CL-6", rfcLifetime, "Declaring again what is declared changes nothing and emits nothing.",
		"Events and spawns around a declaration that is repeated.", ""},
	{"CL-7", rfcLifetime, "Who joins a peer is told its standing, alone; who joins a Disconnected one is told nothing.",
		"Events of each owner, with the server held in its connect where that is needed.", ""},
	{"CL-8", rfcLifetime, "A claim that moves or goes during a connect cancels the attempt: its process ends and nobody hears Connected.",
		"The server is held at initialize; its end, and the events.", ""},
	{"CL-9", rfcLifetime, "The owner whose claim moves or goes hears Disconnected if the peer had been anything else, and nothing if it never ran.",
		"Events of each owner.", ""},
	{"CL-10", rfcUpdates, "Renaming an agent moves its claims and starts or stops nothing.",
		"Spawns, running processes and events around a rename.", ""},
	{"CL-11", specClaims, "Operations of one owner take effect in the order of their answers.", "",
		"in which of two overlapping requests an answer came first cannot be told from outside, and those that do not overlap are CL-5"},
	{"CL-12", specClaims, "Double and empty names are refused with a clear error, and a refused request changes nothing.",
		"Answers, and the listings before and after.", ""},
	{"CL-13", specClaims, "The claims of an agent that ended are gone: they keep no peer alive and take no co-owner's down.",
		"Running processes and events after an agent was deleted.", ""},

	{"DI-1", rfcLifetime, "A dispatch brings up the peers that it needs and only then reads their tools.",
		"The first listing or call of an idle agent is served.", ""},
	{"DI-2", rfcLifetime, "Any number of concurrent dispatches on one idle peer cause one spawn, and all get its outcome.",
		"The server is held at initialize while all callers come; it counts its spawns.", ""},
	{"DI-3", rfcLifetime, "Different peers connect at the same time.",
		"Servers that are held at initialize all get there before one is released.", ""},
	{"DI-4", rfcTimeout, "A connect is bounded by the connect timeout; then its process ends and the peer is Failed with a reason.",
		"A server that never answers initialize; an interval from its spawn to its end.", ""},
	{"DI-5", rfcLifetime, "A dispatch does not connect a Failed peer again.",
		"Spawns under calls to a Failed peer whose server would work by now, closed by a fence.", ""},
	{"DI-6", rfcLifetime, "A peer whose failure has aged is connected by the next dispatch.",
		"A spawn at the first call after the peer became Disconnected.", ""},
	{"DI-7", specDispatch, "A call brings up those that could serve it, in the order of declaration; a hung sibling does not delay it.",
		"A call while a sibling is held in its connect.", ""},
	{"DI-8", rfcLifetime, "A tool's name means the first declarer that is able to serve: a Failed one shadows nobody.",
		"The servers report which of them was called.", ""},
	{"DI-9", specDispatch, "Waiters can leave: neither is the shared attempt cut while others wait, nor does the peer stay Connecting.",
		"Callers give up while the server is held at initialize; the outcome of the others, and the status.", ""},
	{"DI-10", specDispatch, "Nobody who is slow, hung or does not read delays anybody else.",
		"Calls, pings and events of others meanwhile.", ""},
	{"DI-11", rfcLifetime, "A listing counts as use.",
		"A peer that is only listed, more often than the idle timeout, is not stopped.", ""},
	{"DI-12", specDispatch, "A dispatch that needs a Failed peer is answered at once, and does not reach the dead incarnation.",
		"The answer's time, and the calls that the servers report.", ""},
	{"DI-13", specDispatch, "Waiting for anything but this server does not count against its connect timeout.",
		"Slow servers that come up side by side within a short timeout.", ""},
	{"DI-14", specDispatch, "The start and connect timeouts belong to the declaration and are shown.", "", noField},
	{"DI-15", specDispatch, "A listing over several peers answers within its bound and names those that are missing.", "",
		"how a listing names what is missing is text for a model, which no document fixes"},

	{"ST-1", rfcLifetime, "The status is the truth about the process: Connected is a live session, Disconnected is that nothing runs.",
		"Listings against the operating system's processes, at rest and around an eviction.", ""},
	{"ST-2", specStates, "News of an older incarnation changes nothing.",
		"Late answers and ends of servers that were replaced or given up.", ""},
	{"ST-3", rfcLifetime, "A peer has one live process at most.",
		"Spawns and ends, on one clock.", ""},
	{"ST-4", specStates, "No state lasts for ever by itself.",
		"Hung and dying servers; every status that they leave comes to an end.", ""},
	{"ST-5", rfcHealth, "Every transition emits one event for each live owner, in their order.",
		"The events of each owner, compared whole.", ""},
	{"ST-6", rfcHealth, "Tools outlive the failure of a peer that was connected; a failed connect has none; eviction clears them.",
		"Counts of tools in the listings.", ""},
	{"ST-7", specStates, "A row of a listing never mixes a new configuration with the old peer's status.", "",
		"the status may change between the change and the listing, so that a mixture and a quick connect look alike"},
	{"ST-8", rfcHealth, "The reason of a failure stays visible when the peer has aged to Disconnected.",
		"The error in the listing before and after the failure has aged.", ""},
	{"ST-9", specStates, "A process that survives SIGKILL is shown, and its successor waits for its end or an operator's word.", "",
		"a process that SIGKILL does not end cannot be made without the help of the kernel"},

	{"RE-1", rfcConfig, "A peer that nobody uses for T is stopped, not before T and not later than T and a tick after its last use.",
		"Intervals between a call's end and the process's end, judged by a sequential test beside a control.", ""},
	{"RE-2", specReaper, "A use lasts until the last call in flight has ended: a call longer than T is not cut.",
		"A call that is held for longer than T, and what happens to its process and status.", ""},
	{"RE-3", rfcAgainst, "Eviction needs no traffic.",
		"The daemon is left alone meanwhile.", ""},
	{"RE-4", rfcLifetime, "A Failed peer that nobody calls is stopped and becomes Disconnected between T and T and a tick after it failed.",
		"The end of a process that hung, and the events, after a time without calls.", ""},
	{"RE-5", rfcLifetime, "Connects that dispatches cause on a failing peer are at least T apart.",
		"Times of spawns under a stream of calls.", ""},
	{"RE-6", rfcConfig, "With T = 0 nothing is evicted.",
		"A peer that is idle for long, and its end when its last claim goes.", ""},
	{"RE-8", specReaper, "A dispatch that meets an eviction waits for the stop, pays a connect and is served.",
		"Calls to a server that is slow to end, and after an eviction.", ""},
	{"RE-9", specReaper, "A tick costs what has expired, and one slow stop delays no other.",
		"Ends of other servers while one ignores the end of its input; the cost is for benchmarks.", ""},
	{"RE-10", specReaper, "Overrides of the idle timeout belong to the declaration; the longest among live claims counts and is shown.", "", noField},
	{"RE-11", rfcLifetime, "Calls to a Failed peer are no use: it ages under them all the same.",
		"Times of spawns and events under a steady stream of calls.", ""},
}
