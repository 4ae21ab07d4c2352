package conformance

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mayfly-mcp/mayfly/scenarios"
	"github.com/mayfly-mcp/mayfly/sim/spec"
)

// oracle says what a sound daemon shows. It follows the specification model in virtual time,
// in which nothing takes any but waiting, and plays the servers. Its words are those of
// scenarios, so that what it says can be asked of a live daemon.
type oracle struct {
	settings scenarios.Settings
	primes   bool // an agent has to have declared something before an upsert of it counts
	model    *spec.Model
	now      time.Duration
	todo     []func() // what follows at this moment, in order
	err      error    // the model refused an input: a bug of this file

	tickets, owners int
	runs            spec.Run
	tries           map[uint64]*try
	programs        []*program
	holders         []*holder // agents that live, in order of introduction
	pursuits        []*pursuit
	newest          map[spec.Run]*incarnation
	quiet           map[string]quietness // by fingerprint
	held            time.Duration        // when the oldest hold that still holds something began
}

// quietness is since when nothing has happened to a peer, as far as its age is concerned.
type quietness struct {
	standing spec.Standing
	since    time.Duration
}

// holder is an agent.
type holder struct {
	name   string
	owner  string
	claims []grip // in declaration order
	primed bool   // it has declared something, ever
	events []string
}

type grip struct {
	mcp    string
	target scenarios.Target
}

// program is a server; an incarnation is one run of it.
type program struct {
	scenarios.Server
	holds  []scenarios.Point
	held   []heldRequest
	runs   []*incarnation
	tokens []string // that were declared for it
}

type heldRequest struct {
	at      scenarios.Point
	of      *incarnation
	proceed func()
}

type incarnation struct {
	program *program
	born    scenarios.Behaviour
	token   string
	run     spec.Run
	live    bool
	came    bool // to life
	arrived int  // calls
}

// pursuit is an operation under way.
type pursuit struct {
	call       string
	op         scenarios.Operation
	agent      *holder
	tries      []*try // in the order in which they are tried
	result     string
	credential string
	sent       bool
	unasked    bool // nobody can tell how it ends: its agent is gone
}

// try is one ticket.
type try struct {
	of       *pursuit
	ticket   uint64
	mcp      string
	open     bool
	admitted bool
	refused  spec.Reason
	status   spec.Status
	on       *incarnation
}

func newOracle(s scenarios.Settings) *oracle {
	return &oracle{settings: s, model: spec.New(spec.Config{
		IdleTimeout: s.IdleTimeout, ConnectTimeout: s.ConnectTimeout, CallTimeout: s.CallTimeout,
		CloseGrace: s.Grace, TerminateGrace: s.Grace, KillGrace: s.Grace, DrainGrace: s.Grace,
		MaxWaiters: 64, MaxQueued: 65536, QueueTimeout: time.Minute,
	}), tries: map[uint64]*try{}, newest: map[spec.Run]*incarnation{}, quiet: map[string]quietness{}}
}

// feed tells the model what happened, and does what it wants done.
func (o *oracle) feed(in spec.Input) {
	if o.err != nil {
		return
	}
	x, err := o.model.Apply(o.now, in)
	if err != nil {
		o.err = err
		return
	}
	for _, e := range x.Events {
		if h := o.owner(e.Owner); h != nil {
			h.events = append(h.events, e.Name+":"+string(e.Status))
		}
	}
	for _, e := range x.Effects {
		o.perform(e)
	}
	for _, r := range x.Replies {
		o.todo = append(o.todo, func() { o.reply(r) })
	}
	for _, fp := range o.model.Peers() {
		s := o.model.Standing(fp)
		if was, ok := o.quiet[fp]; !ok || s.InFlight+was.standing.InFlight > 0 || s.Status != was.standing.Status || s.Run != was.standing.Run {
			o.quiet[fp] = quietness{s, o.now}
		}
	}
}

// settle lets everything happen that follows at this moment.
func (o *oracle) settle() {
	for len(o.todo) > 0 && o.err == nil {
		next := o.todo[0]
		o.todo = o.todo[1:]
		next()
	}
}

func (o *oracle) perform(e spec.Effect) {
	switch e.Kind {
	case spec.Dial:
		o.runs++
		if err := o.model.Dialed(e.Peer, o.runs); err != nil {
			o.err = err
			return
		}
		o.spawn(e.Peer, o.runs)
	case spec.Stop: // servers of an exploration obey
		if i := o.newest[e.Run]; i != nil {
			o.todo = append(o.todo, func() { o.end(i) })
		}
	case spec.AbandonCall:
		o.todo = append(o.todo, func() { o.abandoned(e) })
	case spec.AbandonDial, spec.Forget:
	}
}

// spawn starts an incarnation of what a fingerprint stands for.
func (o *oracle) spawn(fp string, run spec.Run) {
	server, rest, _ := strings.Cut(fp, " ")
	p := o.program(server)
	i := &incarnation{program: p, born: p.Behaviour, run: run, live: true}
	for word := range strings.FieldsSeq(rest) {
		if token, ok := strings.CutPrefix(word, "token="); ok {
			i.token = token
		}
	}
	o.newest[run] = i
	if i.born.Fails == scenarios.FailsSpawn {
		o.todo = append(o.todo, func() {
			o.feed(spec.Input{Kind: spec.ConnectFailed, Run: run})
			o.end(i)
		})
		return
	}
	i.came = true
	p.runs = append(p.runs, i)
	o.todo = append(o.todo, func() { o.arrive(i, scenarios.AtInitialize, func() { o.initialize(i) }) })
}

func (o *oracle) initialize(i *incarnation) {
	if i.born.Fails == scenarios.FailsExit {
		o.end(i)
		return
	}
	o.feed(spec.Input{Kind: spec.Initialised, Run: i.run, Tools: len(i.born.Tools)})
}

// arrive lets a request go on, or makes it wait at its point.
func (o *oracle) arrive(i *incarnation, at scenarios.Point, proceed func()) {
	switch {
	case !i.live:
	case slices.Contains(i.program.holds, at):
		if !o.holding() {
			o.held = o.now
		}
		i.program.held = append(i.program.held, heldRequest{at, i, proceed})
	default:
		proceed()
	}
}

// holding reports whether a request waits somewhere.
func (o *oracle) holding() bool {
	return slices.ContainsFunc(o.programs, func(p *program) bool {
		return slices.ContainsFunc(p.held, func(h heldRequest) bool { return h.of.live })
	})
}

// end is the exit of an incarnation.
func (o *oracle) end(i *incarnation) {
	if i.live {
		i.live = false
		o.feed(spec.Input{Kind: spec.Exited, Run: i.run})
	}
}

func (o *oracle) release(p *program) {
	waiting := p.held
	p.holds, p.held = nil, nil
	for _, h := range waiting {
		if h.of.live {
			o.todo = append(o.todo, h.proceed)
		}
	}
}

func (o *oracle) kill(p *program, token string) {
	for _, i := range slices.Clone(p.runs) {
		if token == "" || i.token == token {
			o.end(i)
		}
	}
}

// fate is what waiting does to a peer.
type fate int

const (
	stays fate = iota
	goes
	unsure
)

// fateOf says whether a peer is evicted, or ages, while d passes. Requests take time, so a peer
// may be older than virtual time says by slack; what lies in between is not asked.
func (o *oracle) fateOf(fp string, d, slack time.Duration) fate {
	s := o.model.Standing(fp)
	t := o.settings.IdleTimeout
	if t == 0 || s.InFlight > 0 || s.Status != spec.Connected && s.Status != spec.Failed {
		return stays
	}
	switch age := o.now + d - o.quiet[fp].since; {
	case age+slack < t:
		return stays
	case age >= t+o.settings.Tick():
		return goes
	}
	return unsure
}

// advance lets time pass. What expired meanwhile did so within its window; when does not matter,
// as nothing else happened.
func (o *oracle) advance(d, slack time.Duration) {
	var gone []string
	for _, fp := range o.model.Peers() {
		if o.fateOf(fp, d, slack) == goes {
			gone = append(gone, fp)
		}
	}
	o.now += d
	for _, fp := range gone {
		kind := spec.Evict
		if o.model.Standing(fp).Status == spec.Failed {
			kind = spec.Age
		}
		o.feed(spec.Input{Kind: kind, Peer: fp})
	}
	o.feed(spec.Input{Kind: spec.TimeReached})
}

func (o *oracle) program(name string) *program {
	i := slices.IndexFunc(o.programs, func(p *program) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return o.programs[i]
}

func (o *oracle) holder(name string) *holder {
	i := slices.IndexFunc(o.holders, func(h *holder) bool { return h.name == name })
	if i < 0 {
		return nil
	}
	return o.holders[i]
}

func (o *oracle) owner(id string) *holder {
	i := slices.IndexFunc(o.holders, func(h *holder) bool { return h.owner == id })
	if i < 0 {
		return nil
	}
	return o.holders[i]
}

func (h *holder) claim(mcp string) *grip {
	i := slices.IndexFunc(h.claims, func(g grip) bool { return g.mcp == mcp })
	if i < 0 {
		return nil
	}
	return &h.claims[i]
}

// standing of what a claim stands for.
func (o *oracle) standing(g *grip) spec.Standing {
	return o.model.Standing(g.target.String())
}

// query answers what a scenario can ask.
func (o *oracle) query(q scenarios.Query) string {
	switch q.Kind {
	case scenarios.Status:
		return string(o.standing(o.holder(q.Agent).claim(q.MCP)).Status)
	case scenarios.Tools:
		return strconv.Itoa(o.standing(o.holder(q.Agent).claim(q.MCP)).Tools)
	case scenarios.Events:
		return cmp.Or(strings.Join(o.holder(q.Agent).events, " "), scenarios.None)
	case scenarios.Spawns, scenarios.Running, scenarios.Arrived:
		return strconv.Itoa(o.program(q.Server).count(q.Kind, q.Token))
	case scenarios.Result:
		return o.pursuit(q.Call).result
	case scenarios.Credential:
		return o.pursuit(q.Call).credential
	}
	panic(fmt.Sprintf("CONF-ORACLE: nobody asks %q", q.Kind))
}

func (p *program) count(k scenarios.Kind, token string) (n int) {
	for _, i := range p.runs {
		switch {
		case token != "" && i.token != token:
		case k == scenarios.Arrived:
			n += i.arrived
		case k == scenarios.Spawns, i.live:
			n++
		}
	}
	return n
}
