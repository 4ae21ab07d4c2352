package published

import (
	"fmt"
	"sort"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// daemon is the published algorithm: the handler with its declaration map and owner map, the bridge
// with what runs, and the tasks that wait.
type daemon struct {
	cfg lifecycle.Config
	opt Options
	now lifecycle.Instant

	peers   []*peer // by PeerID; nil at 0
	free    []lifecycle.PeerID
	byFP    map[lifecycle.Fingerprint]*peer // the declaration map is what of it has an entry
	byOwner map[claim]*peer
	owners  map[lifecycle.OwnerID]*owner
	waiting map[lifecycle.Ticket]*op
	calls   map[lifecycle.Ticket]*call

	timers   timers
	reaper   reaper
	draining bool
	drainBy  lifecycle.Instant
	inFlight int
	seq      uint64
	out      lifecycle.Output

	arrivals  uint64   // waits that began
	answering uint64   // the place of the wait whose end is being answered, 0 for what did not wait
	places    []uint64 // by answer of this step
}

// peer is an id: the fingerprint that declarations and processes are filed under.
type peer struct {
	id      lifecycle.PeerID
	fp      lifecycle.Fingerprint
	gen     lifecycle.Generation // of the newest process
	entry   *entry               // nil when nobody declares it
	session *process             // the bridge's connection, nil if it has none
	running []*process           // not exited, oldest first
	waiters []*op                // whose tickets wait for it, in the order in which they came
}

// entry is the PeerEntry: "A PeerEntry is a declaration. It appears when an agent registers the
// config, survives eviction, and is removed only when the last owner unregisters. Whether a process is
// currently running behind it is state.status, and nothing else." (Declaration and process have
// separate lifetimes)
type entry struct {
	refs   []claim // in the order in which they came
	state  lifecycle.State
	reason lifecycle.Reason // of the last failure
	tools  uint32
	since  lifecycle.Instant
	used   lifecycle.Instant // what the reaper looks at
	gate   gate
	reaped bool // a task of the reaper is about to evict it
}

type claim struct {
	owner lifecycle.OwnerID
	name  lifecycle.NameID
}

// owner is what an agent has registered, in order.
type owner struct{ names []lifecycle.NameID }

func newDaemon(cfg lifecycle.Config, opt Options) *daemon {
	return &daemon{
		cfg: cfg, opt: opt,
		peers:   make([]*peer, 1),
		byFP:    map[lifecycle.Fingerprint]*peer{},
		byOwner: map[claim]*peer{},
		owners:  map[lifecycle.OwnerID]*owner{},
		waiting: map[lifecycle.Ticket]*op{},
		calls:   map[lifecycle.Ticket]*call{},
	}
}

// Step implements sim.Subject.
func (d *daemon) Step(now lifecycle.Instant, in lifecycle.Input) lifecycle.Output {
	d.now = now
	d.out.Effects = d.out.Effects[:0]
	d.out.Events = d.out.Events[:0]
	d.out.Replies, d.places = d.out.Replies[:0], d.places[:0]
	d.handle(&in)
	sort.Stable(inOrder{d})
	return d.out
}

// inOrder gives the answers of one step in the order in which their waits began: tasks
// that become ready at one instant have no order in the document.
type inOrder struct{ d *daemon }

func (o inOrder) Len() int           { return len(o.d.places) }
func (o inOrder) Less(i, j int) bool { return o.d.places[i] < o.d.places[j] }
func (o inOrder) Swap(i, j int) {
	d := o.d
	d.places[i], d.places[j] = d.places[j], d.places[i]
	d.out.Replies[i], d.out.Replies[j] = d.out.Replies[j], d.out.Replies[i]
}

func (d *daemon) handle(in *lifecycle.Input) {
	switch in.Kind {
	case lifecycle.InOwnerBorn:
		d.owners[in.Owner] = &owner{}
	case lifecycle.InOwnerDied:
		d.ownerDied(in.Owner)
	case lifecycle.InDeclare:
		d.register(in)
	case lifecycle.InRelease:
		d.release(in)
	case lifecycle.InDispatch, lifecycle.InEnsure, lifecycle.InReconnect:
		d.ask(in)
	case lifecycle.InCancel:
		d.cancel(in.Ticket)
	case lifecycle.InCallDone:
		d.callDone(in.Ticket, in.Done)
	case lifecycle.InConnected, lifecycle.InConnectFailed, lifecycle.InBroken, lifecycle.InExited, lifecycle.InRelisted:
		if p := d.process(in.Peer, in.Gen); p != nil {
			d.completed(p, in)
		}
	case lifecycle.InTimeReached:
		d.timeReached()
	case lifecycle.InConfigure:
		d.configure(in.Config)
	case lifecycle.InDrain:
		d.drain()
	case lifecycle.InWriteOff:
		d.writeOff(in)
	case lifecycle.InStarted, lifecycle.InSpawned: // for budgets and bounds that it does not have
	default:
		panic(fmt.Sprintf("PUBLISHED-INPUT: an input of kind %s", in.Kind))
	}
}

// Deadline implements sim.Subject.
func (d *daemon) Deadline() lifecycle.Instant {
	at := d.timers.next()
	if d.draining {
		if d.inFlight > 0 {
			at = min(at, d.drainBy)
		}
		return at
	}
	if len(d.reaper.ready) > 0 {
		return d.now
	}
	return min(at, d.nextTick())
}

// View implements sim.Subject.
func (d *daemon) View(id lifecycle.PeerID) lifecycle.View {
	v := lifecycle.View{Peer: id, RetryAt: lifecycle.Never}
	if id <= 0 || int(id) >= len(d.peers) || d.byFP[d.peers[id].fp] != d.peers[id] {
		return v
	}
	p := d.peers[id]
	v.Gen, v.State, v.Waiters = p.gen, lifecycle.Disconnected, len(p.waiters)
	if e := p.entry; e != nil {
		v.State, v.Reason, v.Tools, v.Since, v.Claims = e.state, e.reason, e.tools, e.since, len(e.refs)
		v.RetryAt = d.retryAt(e)
	}
	if n := len(p.running); n > 0 && p.running[n-1].gen == p.gen {
		x := p.running[n-1]
		v.Phase, v.Stage, v.InFlight = x.phase, x.stage, len(x.calls)
	}
	return v
}

// peerOf finds the peer of a fingerprint, or makes one.
func (d *daemon) peerOf(fp lifecycle.Fingerprint) *peer {
	if p := d.byFP[fp]; p != nil {
		return p
	}
	var p *peer
	if n := len(d.free); n > 0 {
		p = d.peers[d.free[n-1]]
		d.free = d.free[:n-1]
	} else {
		p = &peer{id: lifecycle.PeerID(len(d.peers))}
		d.peers = append(d.peers, p)
	}
	*p = peer{id: p.id, gen: p.gen, fp: fp}
	d.byFP[fp] = p
	return p
}

// forgetIfGone frees an id behind which nothing is left, and says so to the world.
func (d *daemon) forgetIfGone(p *peer) {
	if p.entry != nil || len(p.running) > 0 {
		return
	}
	d.effect(lifecycle.Effect{Kind: lifecycle.EffectForget, Peer: p.id, Gen: p.gen, FP: p.fp})
	delete(d.byFP, p.fp)
	d.free = append(d.free, p.id)
}

// become changes the state that clients read, and tells every owner: "every owner sees the lifecycle
// events under its own name for that MCP." (Reconnect)
func (d *daemon) become(p *peer, s lifecycle.State, why lifecycle.Reason, tools uint32) {
	e := p.entry
	d.reaper.watch(e.state, s)
	e.state, e.tools, e.since = s, tools, d.now
	if s != lifecycle.Disconnected {
		e.reason = why
	}
	if d.opt.Clock != ClockFromDispatch {
		e.used = d.now
	}
	for _, c := range e.refs {
		d.tell(p, c, false)
	}
}

func (d *daemon) tell(p *peer, c claim, replay bool) {
	ev := lifecycle.Event{State: p.entry.state, Replay: replay}
	switch p.entry.state {
	case lifecycle.Connected:
		ev.Tools = p.entry.tools
	case lifecycle.Failed:
		ev.Reason = p.entry.reason
	case lifecycle.NoState, lifecycle.Disconnected, lifecycle.Connecting:
	}
	d.emit(p, c, ev)
}

func (d *daemon) emit(p *peer, c claim, ev lifecycle.Event) {
	d.seq++
	ev.Seq, ev.At, ev.Owner, ev.Name, ev.Peer, ev.Gen = d.seq, d.now, c.owner, c.name, p.id, p.gen
	d.out.Events = append(d.out.Events, ev)
}

func (d *daemon) effect(e lifecycle.Effect) { d.out.Effects = append(d.out.Effects, e) }

func (d *daemon) reply(r lifecycle.Reply) {
	d.out.Replies = append(d.out.Replies, r)
	d.places = append(d.places, d.answering)
}

// refuse answers a ticket with no; 0 names none.
func (d *daemon) refuse(t lifecycle.Ticket, p *peer, why lifecycle.Reason) {
	if t == 0 {
		return
	}
	r := lifecycle.Reply{Kind: lifecycle.ReplyRefused, Ticket: t, Reason: why, RetryAt: lifecycle.Never}
	if p != nil {
		r.Peer, r.Gen = p.id, p.gen
	}
	if why == lifecycle.ReasonFailed {
		r.Cause, r.RetryAt = p.entry.reason, d.retryAt(p.entry)
	}
	d.reply(r)
}
