package sim

import (
	"slices"
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// Draw makes one choice: a number from 0 to n-1. What it is for may serve as a label. Numbers
// that are smaller lead to plainer tapes.
type Draw func(what string, n int) int

// The bounds of a draft.
const (
	MaxDraft     = 256 // entries
	draftTenants = 3
	draftServers = 2
	draftNames   = 2
	draftTokens  = 2
)

// Draft is a tape that grows by one drawn decision after the other. Every sequence of choices
// is a tape, and decisions that come to nothing do nothing.
type Draft struct {
	tape  Tape
	mix   *Mix
	fault *Faults
	acts  []Op // those that the mix knows, as often as they weigh
	now   lifecycle.Instant
	born  [draftTenants + 1]bool // at some time; the dead are still asked for something
	holds [draftTenants + 1][draftNames + 1]Target
}

// draftConfig is a configuration whose times are short and differ from one another.
func draftConfig() lifecycle.Config {
	c := lifecycle.DefaultConfig()
	c.IdleTimeout, c.FailedRetry = 20*time.Second, 12*time.Second
	c.ConnectTimeout, c.CallTimeout = 3*time.Second, 4*time.Second
	c.CloseGrace, c.TerminateGrace, c.KillGrace, c.DrainGrace = time.Second, time.Second, time.Second, 2*time.Second
	return c
}

// NewDraft begins a tape. Of the options Seed, Config, Schedule, Mix and Faults are read: what
// weighs nothing in the last two is never drafted, how much else weighs makes no difference.
func NewDraft(o Options) *Draft {
	if o.Config == (lifecycle.Config{}) {
		o.Config = draftConfig()
	}
	d := &Draft{mix: o.Mix, fault: o.Faults}
	if d.mix == nil {
		m := DefaultMix()
		m.Configure = 1
		d.mix = &m
	}
	if d.fault == nil {
		f := DefaultFaults()
		d.fault = &f
	}
	o.Tenants, o.For, o.AuditEvery, o.Swarm = draftTenants, time.Second, 1, false
	o = o.WithDefaults()
	d.tape = Tape{Seed: o.Seed, Tenants: o.Tenants, For: o.For, AuditEvery: 1, Config: o.Config, Schedule: o.Schedule}
	d.tell()
	return d
}

// tell finds out which decisions the mix knows, the plainest first.
func (d *Draft) tell() {
	m := d.mix
	for _, a := range []struct {
		op             Op
		asks, strength int
	}{{OpDispatch, 1, 12}, {OpDial, 1, 6}, {OpDeclare, 1, 3}, {OpBorn, 1, 2}, {OpRelease, m.Release, 2},
		{OpDie, m.Die + m.DieInTurn + m.Reborn, 2}, {OpCancel, m.Cancel, 2}, {OpEnsure, m.Ensure + m.Rotate + m.Upsert, 2},
		{OpReconnect, m.Reconnect, 2}, {OpWriteOff, m.WriteOff, 1}, {OpReload, m.Reload, 1}, {OpConfigure, m.Configure, 1}, {OpRestart, m.Restart, 1},
		{OpDown, d.fault.Flapping, 1}, {OpExpire, d.fault.Expire, 1}, {OpDrain, m.Abrupt, 1}} {
		for range a.strength {
			if a.asks > 0 {
				d.acts = append(d.acts, a.op)
			}
		}
	}
}

// Ops lists the kinds of decisions that the draft may make.
func (d *Draft) Ops() []Op { return slices.Compact(slices.Clone(d.acts)) }

// Full says that no decision fits in any more.
func (d *Draft) Full() bool { return len(d.tape.Entries) >= MaxDraft }

// Tape returns what was drafted. It is the draft's own until the next decision.
func (d *Draft) Tape() *Tape { return &d.tape }

// Any drafts some decision.
func (d *Draft) Any(draw Draw) { d.Add(d.acts[draw("op", len(d.acts))], draw) }

// Add drafts a decision of one kind, some time after the last. Kinds that the mix does not
// know, and what does not fit in any more, are left out.
func (d *Draft) Add(op Op, draw Draw) {
	if d.Full() || !slices.Contains(d.acts, op) || op == OpDrain && draw("drains", 8) < 7 {
		return // nothing comes after a drain
	}
	d.now += lifecycle.Instant(d.wait(draw))
	e := Entry{At: d.now, Op: op}
	switch op {
	case OpDial:
		e.Target, e.Dial = d.dialed(draw), d.dial(draw)
	case OpConfigure:
		e.Set = &Change{d.span("T", draw), draw("live", 4)}
		e.Set.IdleTimeout = max(e.Set.IdleTimeout, MinPeriod)
	case OpRestart:
		e.Kill, e.Span = draw("kill", 2) == 1, d.span("away", draw)
	case OpReload:
		e.Target.Server, e.To = d.server(draw), d.server(draw)
	case OpDown:
		e.Target.Server, e.Span = d.server(draw), d.span("down", draw)
	case OpExpire:
		e.Target = Target{Tenant: 1 + uint32(draw("tenant", draftTenants)), Token: uint32(draw("token", draftTokens))}
	case OpDrain:
	default:
		e.Tenant = 1 + uint32(draw("tenant", draftTenants))
		d.act(&e, draw)
	}
	d.append(&e)
}

func (d *Draft) append(e *Entry) {
	if d.Full() {
		return
	}
	d.tape.Entries = append(d.tape.Entries, *e)
	d.tape.For = max(time.Second, time.Duration(d.now)+d.tape.Config.IdleTimeout)
}

// act completes what a tenant does. Whoever was never born is born first.
func (d *Draft) act(e *Entry, draw Draw) {
	if !d.born[e.Tenant] && e.Op != OpBorn {
		d.append(&Entry{At: d.now, Op: OpBorn, Tenant: e.Tenant})
	}
	d.born[e.Tenant] = true
	if e.Op == OpBorn || e.Op == OpDie {
		d.holds[e.Tenant] = [draftNames + 1]Target{}
		return
	}
	e.Name = 1 + uint8(draw("name", draftNames))
	switch e.Op {
	case OpDispatch:
		d.provide(e, draw)
		e.Call = d.call(draw)
	case OpEnsure, OpReconnect:
		d.provide(e, draw)
	case OpRelease:
		d.holds[e.Tenant][e.Name] = Target{}
	case OpDeclare:
		d.declare(e, draw)
	}
}

// provide mostly makes sure that there is a claim for what a tenant wants.
func (d *Draft) provide(e *Entry, draw Draw) {
	if d.holds[e.Tenant][e.Name] == (Target{}) && draw("unclaimed", 8) < 7 {
		claim := Entry{At: d.now, Op: OpDeclare, Tenant: e.Tenant, Name: e.Name}
		d.declare(&claim, draw)
		d.append(&claim)
	}
}

// dialed is the target whose next incarnation is described: mostly one that is claimed.
func (d *Draft) dialed(draw Draw) Target {
	tenant := 1 + uint32(draw("tenant", draftTenants))
	if held := d.holds[tenant][1+draw("name", draftNames)]; held != (Target{}) {
		return held
	}
	return d.target(draw, uint32(draw("own", 2))*tenant)
}

// declare claims a target. A claim moves only where the mix knows moves.
func (d *Draft) declare(e *Entry, draw Draw) {
	mine := uint32(0)
	if draw("own", 2) == 1 {
		mine = e.Tenant
	}
	held := &d.holds[e.Tenant][e.Name]
	e.Target = d.target(draw, mine)
	if *held != (Target{}) && d.mix.Move+d.mix.Rotate+d.mix.Upsert == 0 {
		e.Target = *held
	}
	*held = e.Target
	if d.mix.Policy > 0 && draw("wish", 4) == 3 {
		e.Policy = &lifecycle.Policy{IdleTimeout: d.wishes(draw), MinUptime: d.wishes(draw), CallTimeout: d.wishes(draw),
			Pinned: draw("pinned", 4) == 3}
	}
}

func (d *Draft) wishes(draw Draw) time.Duration {
	return []time.Duration{0, 5 * time.Second, 40 * time.Second}[draw("wish for", 3)]
}

func (d *Draft) server(draw Draw) uint32 { return 1 + uint32(draw("server", draftServers)) }

func (d *Draft) target(draw Draw, tenant uint32) Target {
	t := Target{Server: d.server(draw), Tenant: tenant}
	if tenant > 0 {
		t.Token = uint32(draw("token", draftTokens))
	}
	return t
}

// wait is the time before a decision: mostly little, at times one of the configuration's own, or
// a nanosecond more or less.
func (d *Draft) wait(draw Draw) time.Duration {
	w := d.span("wait", draw)
	if w < time.Second {
		return w
	}
	return w + []time.Duration{0, 1, -1}[draw("beside", 3)]
}

// span draws a time about those that the subject must keep.
func (d *Draft) span(what string, draw Draw) time.Duration {
	c := &d.tape.Config
	all := []time.Duration{0, time.Millisecond, 100 * time.Millisecond, time.Second, c.CloseGrace, c.ConnectTimeout,
		c.CallTimeout, c.IdleTimeout / 4, c.IdleTimeout, c.IdleTimeout + c.IdleTimeout/4, c.FailedRetry, 2 * time.Minute}
	return all[draw(what, len(all))]
}

// call drafts how a server takes a call.
func (d *Draft) call(draw Draw) CallPlan {
	p := CallPlan{Takes: d.span("takes", draw), End: EndAnswered}
	f := d.fault
	ends := []End{EndAnswered}
	for _, e := range []struct {
		end  End
		asks int
	}{{EndRejected, f.Reject}, {EndTransport, f.Lose}, {EndNever, f.Hang}} {
		if e.asks > 0 {
			ends = append(ends, e.end)
		}
	}
	p.End = ends[draw("end", len(ends))]
	p.Late, p.Twice = d.stray(draw)
	return p
}

// stray drafts whether completions come late or twice.
func (d *Draft) stray(draw Draw) (late, twice bool) {
	n := draw("stray", 4)
	return n&1 != 0 && d.fault.Late > 0, n&2 != 0 && d.fault.Twice > 0
}

// dial drafts the character of an incarnation.
func (d *Draft) dial(draw Draw) *DialPlan {
	f := d.fault
	p := healthy
	p.After, p.StopTakes, p.Tools = d.span("connects after", draw), d.span("stops within", draw), uint16(draw("tools", 4))
	outcomes := []Outcome{Connects}
	if f.Flaky*f.Fail > 0 {
		outcomes = append(outcomes, Fails, Breaks, Exits)
	}
	if f.Hanging*f.Hang > 0 {
		outcomes = append(outcomes, Hangs)
	}
	p.Outcome = outcomes[draw("outcome", len(outcomes))]
	if f.Stubborn > 0 {
		p.Obeys += lifecycle.Stage(draw("obeys", 4)) // the last of which is none
	}
	if f.Crashy > 0 {
		p.Lives = d.span("lives", draw)
		p.LosesOnly, p.Clean = draw("loses", 2) == 1, f.Clean > 0 && draw("clean", 2) == 1
	}
	if f.Relist > 0 {
		p.Relists, p.Retools = d.span("relists after", draw), uint16(draw("retools", 4))
	}
	p.Late, p.Twice = d.stray(draw)
	return &p
}
