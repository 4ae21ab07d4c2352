package trace

import (
	"fmt"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/sim"
)

// place is a point on both axes of the page.
type place struct {
	at   lifecycle.Instant
	step uint64
}

// bar is something that lasts, in one lane.
type bar struct {
	from, to place
	class    string // of the style sheet
	title    string
	tenant   uint32 // to whom it matters; 0 for everybody who claims the lane's peer
}

// lane is what happened to one peer or to one tenant.
type lane struct {
	name    string
	tenants map[uint32]bool
	bars    []bar
	open    bar // the state that lasts; its class is empty if there is none
}

// enter ends what lasted and begins something else, unless it is the same.
func (l *lane) enter(p place, class, title string) {
	if l.open.class == class && l.open.title == title {
		return
	}
	l.leave(p)
	l.open = bar{from: p, class: class, title: title}
}

func (l *lane) leave(p place) {
	if l.open.class != "" {
		b := l.open
		b.to = p
		l.bars = append(l.bars, b)
	}
	l.open = bar{}
}

// call is a use of a peer: a bar in its tenant's lane and an arrow to the peer's.
type call struct {
	who      wait
	what     string
	peer     string // whose lane it ran in; "" until it was admitted
	from     place
	admitted place
}

// lanes builds a page's content step by step.
type lanes struct {
	c       *scribe
	peers   map[string]*lane // by target
	tenants map[uint32]*lane
	order   []string // of targets, as they first came
	people  []uint32
	calls   map[lifecycle.Ticket]*call
	arrows  []arrow
	last    place
	began   place // of the page
	kept    int   // bars, counted now and then
	dropped int
}

// arrow leads from a tenant's lane to a peer's, where a call was admitted.
type arrow struct {
	tenant uint32
	peer   string
	at     place
}

func newLanes() *lanes {
	return &lanes{c: newScribe(), peers: map[string]*lane{}, tenants: map[uint32]*lane{}, calls: map[lifecycle.Ticket]*call{}}
}

func (x *lanes) peer(target string) *lane {
	l := x.peers[target]
	if l == nil {
		l = &lane{name: target, tenants: map[uint32]bool{}}
		x.peers[target] = l
		x.order = append(x.order, target)
	}
	return l
}

func (x *lanes) tenant(t uint32) *lane {
	l := x.tenants[t]
	if l == nil {
		l = &lane{name: fmt.Sprintf("t%d", t), tenants: map[uint32]bool{t: true}}
		x.tenants[t] = l
		x.people = append(x.people, t)
	}
	return l
}

// step takes one step in. Names are given in the order of the text form.
func (x *lanes) step(s *sim.Step) {
	p := place{s.Now, s.N}
	x.last = p
	x.kept += 1 + len(s.Out.Effects) + len(s.Out.Events) + len(s.Out.Replies) // at most
	x.input(p, s)
	for i := range s.Out.Effects {
		x.effect(p, &s.Out.Effects[i])
	}
	for i := range s.Out.Events {
		e := &s.Out.Events[i]
		if r, ok := x.c.runs[e.Peer]; ok {
			x.peer(r.target).tenants[s.Tenant(e.Owner)] = true
		}
	}
	for i := range s.Out.Replies {
		x.reply(p, &s.Out.Replies[i])
	}
	x.states(p, s)
	x.c.settle(s)
}

func (x *lanes) input(p place, s *sim.Step) {
	in := &s.In
	switch in.Kind {
	case lifecycle.InOwnerBorn:
		x.tenant(s.Tenant(in.Owner)).enter(p, "alive", fmt.Sprintf("owner %d lives", in.Owner))
	case lifecycle.InOwnerDied:
		x.tenant(s.Tenant(in.Owner)).leave(p)
	case lifecycle.InDispatch, lifecycle.InEnsure, lifecycle.InReconnect:
		x.calls[in.Ticket] = &call{who: x.c.asks(s), what: in.Kind.String(), from: p}
	case lifecycle.InCallDone:
		x.ends(p, in.Ticket, "call-"+in.Done.String(), in.Done.String())
	}
}

func (x *lanes) effect(p place, e *lifecycle.Effect) {
	switch e.Kind {
	case lifecycle.EffectDial:
		x.c.dials(e)
	case lifecycle.EffectAbandonCall:
		x.ends(p, e.Ticket, "call-abandoned", "abandoned: "+e.Reason.String())
	}
}

func (x *lanes) reply(p place, r *lifecycle.Reply) {
	switch r.Kind {
	case lifecycle.ReplyReady:
		if c := x.calls[r.Ticket]; c != nil {
			c.admitted, c.peer = p, x.c.runs[r.Peer].target
			x.arrows = append(x.arrows, arrow{c.who.tenant, c.peer, p})
			x.peer(c.peer).tenants[c.who.tenant] = true
		}
	case lifecycle.ReplySettled:
		x.ends(p, r.Ticket, "call-answered", "settled: "+r.State.String())
	case lifecycle.ReplyRefused:
		x.ends(p, r.Ticket, "call-refused", "refused: "+r.Reason.String())
	}
}

// ends turns an open call into the bars of its tenant's lane: its wait, and its use.
func (x *lanes) ends(p place, t lifecycle.Ticket, class, how string) {
	c := x.calls[t]
	if c == nil {
		return
	}
	delete(x.calls, t)
	title := fmt.Sprintf("%s %s, %s", c.what, c.who, how)
	l := x.tenant(c.who.tenant)
	if c.peer == "" {
		l.bars = append(l.bars, bar{c.from, p, class, title, c.who.tenant})
		return
	}
	if c.admitted != c.from {
		l.bars = append(l.bars, bar{c.from, c.admitted, "waits", title + ", waiting", c.who.tenant})
	}
	l.bars = append(l.bars, bar{c.admitted, p, class, title + " on " + c.peer, c.who.tenant})
}

// states reads the standing of every peer that the step has to do with.
func (x *lanes) states(p place, s *sim.Step) {
	look := func(id lifecycle.PeerID) {
		r, ok := x.c.runs[id]
		if !ok {
			return
		}
		l := x.peer(r.target)
		v := s.View(id)
		if v.State == lifecycle.NoState || s.Target(id).String() != r.target {
			l.leave(p)
			return
		}
		class := v.State.String()
		if v.Phase == lifecycle.Stopping {
			class += " stopping"
		}
		if class == lifecycle.Disconnected.String() {
			l.leave(p) // nothing runs and nobody wants it: an empty stretch says so best
			return
		}
		l.enter(p, class, fmt.Sprintf("%s, %s, %s", r, v.State, v.Phase))
	}
	look(s.In.Peer)
	for i := range s.Out.Effects {
		look(s.Out.Effects[i].Peer)
	}
	for i := range s.Out.Events {
		look(s.Out.Events[i].Peer)
	}
	for i := range s.Out.Replies {
		look(s.Out.Replies[i].Peer)
	}
}
