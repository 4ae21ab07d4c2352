package published

// Step is a step of the algorithm that can be read in more than one way.
type Step struct {
	Name     string
	Stated   bool     // the text decides it, and the readings after the first depart from it
	Readings []string // by Reading, the plain one first
	Kindest  Reading
	Text     string
	Quote    string // of the RFC: the sentence, or the nearest that there is
	Section  string // of the RFC
	field    func(*Options) *Reading
}

// Sections of the RFC.
const (
	credentials = "Credentials are identity"
	lifetimes   = "Declaration and process have separate lifetimes"
	health      = "Health is state, not a return value"
	reconnect   = "Reconnect"
	settings    = "Configuration"
)

// Steps lists them.
var Steps = []Step{
	{"death", true, []string{"at-call", "at-once"}, DeathAtOnce,
		"when the end of a process or session is noticed",
		"Only Transport touches peer state.", health,
		func(o *Options) *Reading { return &o.Death }},
	{"mark", false, []string{"always", "if-connected"}, MarkIfConnected,
		"whether a call that failed in transport fails its peer's id in whatever state that is by then",
		"allowed() returns Fingerprint rather than a hex string, so the typed id runs to the edge", health,
		func(o *Options) *Reading { return &o.Mark }},
	{"clock", false, []string{"dispatch", "answer", "in-flight"}, ClockInFlight,
		"what starts the idle clock: the dispatch; every change and answer too; and it stands still during a call",
		"Seconds a peer may sit unused before the reaper stops it.", settings,
		func(o *Options) *Reading { return &o.Clock }},
	{"failed-call", false, []string{"use", "no-use"}, FailedCallIsNoUse,
		"whether a call to a Failed peer is use",
		"It becomes eligible again once the reaper ages it back to Disconnected", lifetimes,
		func(o *Options) *Reading { return &o.Failed }},
	{"evict", false, []string{"state-first", "process-first", "gated"}, EvictGated,
		"whether the state changes before the process is removed or after, or all of it under the gate",
		"Eviction clears them, because by then nothing is running.", health,
		func(o *Options) *Reading { return &o.Evict }},
	{"successor", false, []string{"at-once", "awaits-exit"}, SuccessorAwaitsExit,
		"whether a connect waits for the end of an earlier process under the same id",
		"wait on one spawn instead of racing two processes under the same id", lifetimes,
		func(o *Options) *Reading { return &o.Successor }},
	{"teardown", false, []string{"running", "attempt-too"}, TeardownOfAttemptToo,
		"whether tearing a peer down ends a connect that is under way",
		"last ref out, peer torn down", credentials,
		func(o *Options) *Reading { return &o.Teardown }},
	{"late", false, []string{"by-id", "same-entry"}, LateSameEntry,
		"to what the result of a connect applies when the declaration went meanwhile",
		"removed only when the last owner unregisters", lifetimes,
		func(o *Options) *Reading { return &o.Late }},
	{"sweep", false, []string{"one-by-one", "together"}, SweepTogether,
		"whether the reaper waits for one process before it stops the next",
		"A background task ticks at idle_timeout / 4, so a peer outlives its deadline by at most a quarter of it.", lifetimes,
		func(o *Options) *Reading { return &o.Sweep }},
	{"reaped", false, []string{"collected", "rechecked"}, ReapedRechecked,
		"whether the reaper looks again before it stops what it found expired",
		"A background task ticks at idle_timeout / 4, so a peer outlives its deadline by at most a quarter of it.", lifetimes,
		func(o *Options) *Reading { return &o.Reaped }},
	{"reconnect", false, []string{"ungated", "gated"}, ReconnectGated,
		"whether a reconnect holds the gate while it removes the old process",
		"Connects run concurrently across an agent's MCPs and are serialised per peer by a gate on the entry", lifetimes,
		func(o *Options) *Reading { return &o.Reconnect }},
	{"caller", false, []string{"detached", "dropped"}, CallerDetached,
		"whether a connect goes on when the caller that began it gives up",
		"dispatch_mcp calls ensure_connected before anything else.", lifetimes,
		func(o *Options) *Reading { return &o.Caller }},
}

// reading returns how a step is read, in words.
func (s *Step) reading(o Options) string { return s.Readings[*s.field(&o)] }
