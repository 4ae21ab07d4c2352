package sim

// Mix says how often tenants and the operator do what. It is plain data, so that a swarm of runs
// can draw it.
type Mix struct {
	Human, Cron, Poisson int // weights of the kinds of traffic

	// Each in a thousand of what the comment names.
	Shared    int // claims on a server without a credential of their own
	Listing   int // turns that begin by listing every claim
	Parallel  int // calls that come with up to three others at the same instant
	Cancel    int // calls followed by giving one up
	Rotate    int // turns that begin with a token rotation
	Upsert    int // turns that begin with other wishes or another token for a claim, and an eager connect
	Move      int // turns that begin with a claim move to another server
	Rename    int // turns that begin with a claim's change of name
	Release   int // turns that begin with a release, and a declaration later
	Reconnect int // turns that begin with a reconnect
	Ensure    int // turns that begin with an eager connect
	Die       int // turns that begin with the owner's death, and a rebirth later
	Reborn    int // turns that begin with the owner's death and rebirth at one instant
	DieInTurn int // calls followed at once by the owner's death
	Ghost     int // dead owners that go on to ask for something
	Abrupt    int // runs that are drained in the midst of everything rather than at rest
	Policy    int // claims that ask for times of their own
	Configure int // turns that begin with a reconfiguration of the daemon
	WriteOff  int // calls of what was killed and has not ended, preceded by an operator who writes it off
	Snipe     int // waits that end exactly at the machine's next deadline, or beside it
	Reload    int // of the operator's looks: every claim is declared again, those on one server elsewhere
	Restart   int // of the operator's looks: the daemon restarts
	Storm     int // of the operator's looks: many tenants rotate their tokens at one instant
	Serve     int // how often tenants serve, look up and call entries of the registry; 0 for never
}

// DefaultMix returns a day in a daemon's life with its troubles made frequent. Its configuration
// stays what it is.
func DefaultMix() Mix {
	return Mix{Human: 800, Cron: 100, Poisson: 100,
		Shared: 550, Listing: 80, Parallel: 120, Cancel: 15, Rotate: 25, Upsert: 10, Move: 20, Rename: 10,
		Release: 15, Reconnect: 20, Ensure: 20, Die: 20, Reborn: 5, DieInTurn: 2, Ghost: 200, Abrupt: 500,
		Policy: 60, WriteOff: 300, Snipe: 10, Reload: 25, Restart: 25, Storm: 25}
}

// parts are the places of a mix under the names of reports, with the strongest that is drawn.
func (m *Mix) parts() []part {
	return []part{{"human traffic", &m.Human, 1000}, {"cron traffic", &m.Cron, 500}, {"poisson traffic", &m.Poisson, 500},
		{"shared claims", &m.Shared, 1000}, {"listings", &m.Listing, 300}, {"parallel calls", &m.Parallel, 600},
		{"cancels", &m.Cancel, 200}, {"rotations", &m.Rotate, 100}, {"upserts", &m.Upsert, 100}, {"moves", &m.Move, 100},
		{"renames", &m.Rename, 100}, {"releases", &m.Release, 100}, {"reconnects", &m.Reconnect, 150},
		{"eager connects", &m.Ensure, 100}, {"deaths", &m.Die, 100}, {"rebirths at once", &m.Reborn, 60},
		{"deaths in turns", &m.DieInTurn, 60}, {"ghosts", &m.Ghost, 400}, {"abrupt drains", &m.Abrupt, 1000},
		{"wishes", &m.Policy, 600}, {"reconfigurations", &m.Configure, 100}, {"write-offs", &m.WriteOff, 1000}, {"snipers", &m.Snipe, 400},
		{"reloads", &m.Reload, 300}, {"restarts", &m.Restart, 250}, {"rotation storms", &m.Storm, 300}, {"served entries", &m.Serve, 1000}}
}

// Faults says how servers misbehave.
type Faults struct {
	Healthy, Slow, Flaky, Crashy, Hanging, Stubborn, Flapping int // weights of the classes of server programs

	// Each in a thousand of what the comment names.
	Heavy  int // servers whose connects have a heavy tail
	Hang   int // connects and calls of hanging servers that get no answer
	Lose   int // calls of crashy and hanging servers that fail in transport
	Fail   int // connects of flaky servers that fail
	Clean  int // deaths that say that all was well
	Stick  int // stops of stubborn servers that not even SIGKILL ends at once
	Reject int // calls that the server answers with a no
	Expire int // tenants whose tokens end by themselves
	Launch int // incarnations that say something before they connect
	Relist int // incarnations whose tools change
	Late   int // completions that still arrive after they were abandoned
	Twice  int // completions that arrive twice
}

// DefaultFaults returns a fleet in which most servers work most of the time.
func DefaultFaults() Faults {
	return Faults{Healthy: 590, Slow: 100, Flaky: 90, Crashy: 90, Hanging: 50, Stubborn: 50, Flapping: 30,
		Heavy: 150, Hang: 300, Lose: 15, Fail: 400, Clean: 400, Stick: 100, Reject: 30, Expire: 100,
		Launch: 300, Relist: 50, Late: 300, Twice: 20}
}

// parts are the places of the faults, as Mix.parts.
func (f *Faults) parts() []part {
	return []part{{"healthy servers", &f.Healthy, 500}, {"slow servers", &f.Slow, 500}, {"flaky servers", &f.Flaky, 500},
		{"crashy servers", &f.Crashy, 500}, {"hanging servers", &f.Hanging, 500}, {"stubborn servers", &f.Stubborn, 500},
		{"flapping servers", &f.Flapping, 300}, {"heavy tails", &f.Heavy, 600}, {"hangs", &f.Hang, 600},
		{"losses", &f.Lose, 100}, {"failures", &f.Fail, 800}, {"clean exits", &f.Clean, 1000}, {"stuck stops", &f.Stick, 500},
		{"rejections", &f.Reject, 200}, {"expiries", &f.Expire, 600}, {"launchers", &f.Launch, 1000},
		{"changes of tools", &f.Relist, 500}, {"late completions", &f.Late, 600}, {"duplicates", &f.Twice, 200}}
}

// part is a place for a Strength.
type part struct {
	name  string
	value *int
	most  int
}

// Strength is how strong a feature or a fault of a run is, under its name in reports.
type Strength struct {
	Name  string
	Value int
	Most  int // the strongest that a swarm draws; far above it a run may take for ever
}

// Strengths lists the features of a mix in the order of reports.
func (m Mix) Strengths() []Strength { return strengths(m.parts()) }

// Strengths lists the faults in the order of reports.
func (f Faults) Strengths() []Strength { return strengths(f.parts()) }

func strengths(parts []part) []Strength {
	var out []Strength
	for _, p := range parts {
		out = append(out, Strength{p.name, *p.value, p.most})
	}
	return out
}
