package lifecycle

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// walker drives a machine by names alone, so that two of them can be told the same.
type walker struct {
	m       *Machine
	owner   [2]OwnerID // of the first and the second
	peer    [2]PeerID  // of fingerprints A and B
	tickets [3]Ticket
	serial  uint32
	now     Instant
	coarse  bool // the reasons of failures are not said
}

// act is an input by names.
type act struct {
	kind          InputKind
	owner, fp, at int
}

func randomAct(r *rand.Rand) act {
	kinds := [...]InputKind{InOwnerBorn, InOwnerDied, InDeclare, InDeclare, InRelease, InDispatch, InDispatch, InEnsure, InReconnect,
		InCancel, InCallDone, InConnected, InConnected, InConnectFailed, InBroken, InExited, InExited, InTimeReached, InTimeReached, InRetain}
	return act{kind: kinds[r.IntN(len(kinds))], owner: r.IntN(2), fp: r.IntN(2), at: r.IntN(3)}
}

var walkFPs = [2]Fingerprint{fpA, fpB}

func newWalker(cfg Config) *walker {
	w := &walker{m: New(cfg)}
	w.do(act{kind: InOwnerBorn})
	w.do(act{kind: InOwnerBorn, owner: 1})
	return w
}

// clone returns a walker that goes its own way from here.
func (w *walker) clone() *walker {
	c := *w
	c.m = w.m.Clone()
	return &c
}

func (w *walker) naming(coarse bool) *Naming {
	return &Naming{Owners: w.owner[:], Peers: w.peer[:], Tickets: w.tickets[:], Coarse: coarse}
}

// do feeds the input that an act stands for, if it is legal, and says what came of it by names.
func (w *walker) do(a act) string {
	in, ok := w.input(a)
	if !ok {
		return "-"
	}
	out := w.m.Step(w.now, in)
	if id := w.m.Claimed(w.owner[a.owner], git); in.Kind == InDeclare && id != 0 {
		w.peer[a.fp] = id
	}
	said := w.say(out)
	for _, e := range out.Effects {
		if i := slices.Index(w.peer[:], e.Peer); e.Kind == EffectForget && i >= 0 {
			w.peer[i] = 0
		}
	}
	for i, t := range w.tickets {
		if !w.isOpen(t) {
			w.tickets[i] = 0
		}
	}
	return said
}

func (w *walker) isOpen(t Ticket) bool {
	return t != 0 && t.Slot() < len(w.m.tickets) && w.m.tickets[t.slot()].phase != ticketFree
}

func (w *walker) input(a act) (in Input, ok bool) {
	in = Input{Kind: a.kind, Owner: w.owner[a.owner], Name: git, Peer: w.peer[a.fp], Ticket: w.tickets[a.at], FP: walkFPs[a.fp], Tools: 2}
	alive := in.Owner != 0
	switch a.kind {
	case InOwnerBorn:
		if !alive {
			w.owner[a.owner] = w.m.lastOwner + 1
			in.Owner = w.owner[a.owner]
		}
		return in, !alive
	case InOwnerDied:
		w.owner[a.owner] = 0
		return in, alive
	case InDeclare, InRelease:
		in.Ticket = 0
		return in, alive
	case InDispatch, InEnsure, InReconnect:
		if in.Ticket == 0 && alive {
			w.serial++
			in.Ticket = MakeTicket(uint32(a.at)+1, w.serial)
			w.tickets[a.at] = in.Ticket
			return in, true
		}
		return in, false
	case InCancel:
		return in, in.Ticket != 0
	case InCallDone:
		in.Done = DoneTransport
		return in, w.isOpen(in.Ticket) && w.m.tickets[in.Ticket.slot()].phase == ticketAdmitted
	case InTimeReached:
		w.now = max(w.now, min(w.m.Deadline(), w.now+Instant(1+a.at)*second)) // on the way, or there
		return in, true
	default:
		v := w.m.View(in.Peer)
		in.Gen, in.Until = v.Gen, w.now+Instant(a.at)*second
		return in, v.Phase != Absent
	}
}

// say writes an output by names, without what only counts.
func (w *walker) say(out Output) string {
	var words []string
	p := func(id PeerID) int { return slices.Index(w.peer[:], id) }
	tk := func(t Ticket) int { return slices.Index(w.tickets[:], t) }
	rel := func(at Instant) Instant {
		if at == Never {
			return -1
		}
		return at - w.now
	}
	if w.coarse {
		for i := range out.Events {
			out.Events[i].Reason = NoReason
		}
		for i := range out.Replies {
			if r := &out.Replies[i]; r.Kind == ReplySettled {
				r.Reason = NoReason
			} else {
				r.Cause = NoReason
			}
		}
	}
	for _, e := range out.Effects {
		words = append(words, fmt.Sprint(e.Kind, e.Stage, e.Reason, p(e.Peer), w.m.peers[e.Peer].gen-e.Gen, tk(e.Ticket), e.FP[0]))
	}
	for _, e := range out.Events {
		words = append(words, fmt.Sprint(slices.Index(w.owner[:], e.Owner), e.Name, p(e.Peer), e.State, e.Reason, e.Tools, e.Replay))
	}
	for _, r := range out.Replies {
		words = append(words, fmt.Sprint(r.Kind, r.State, r.Reason, r.Cause, tk(r.Ticket), r.Tools, rel(r.RetryAt)))
	}
	return strings.Join(append(words, fmt.Sprint("until ", rel(w.m.Deadline()))), "; ")
}

// loosely forgets the order of what was said.
func loosely(said string) string {
	words := strings.Split(said, "; ")
	slices.Sort(words)
	return strings.Join(words, "; ")
}

func walkTimes() Config {
	c := labConfig()
	c.IdleTimeout, c.ConnectTimeout, c.CallTimeout = 4*time.Second, 3*time.Second, 2*time.Second
	c.CloseGrace, c.TerminateGrace, c.KillGrace = time.Second, time.Second, time.Second
	return c
}

// TestEqualEncodingsBehaveAlike meets states again by way of other histories, and follows both.
func TestEqualEncodingsBehaveAlike(t *testing.T) {
	bounded := walkTimes()
	bounded.MaxLive, bounded.QueueTimeout = 1, 3*time.Second
	for _, c := range []struct {
		name   string
		cfg    Config
		coarse bool
		least  int
	}{
		{"to the letter", walkTimes(), false, 300},
		{"coarsely", walkTimes(), true, 500},
		{"with bounds", bounded, true, 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			met := map[string]*walker{}
			pairs := 0
			for range 150 {
				w := newWalker(c.cfg)
				w.coarse = c.coarse
				for range 30 {
					w.do(randomAct(r))
					key := string(w.m.AppendStateAs(nil, w.naming(c.coarse)))
					if first := met[key]; first != nil && !sameNumbers(first, w) {
						pairs++
						follow(t, r, first.clone(), w.clone(), c.coarse)
					} else if first == nil {
						met[key] = w.clone()
					}
				}
			}
			if pairs < c.least {
				t.Errorf("only %d pairs of histories led to one state, want %d", pairs, c.least)
			}
		})
	}
}

// sameNumbers says that two walkers are so alike that comparing them shows nothing.
func sameNumbers(a, b *walker) bool {
	return string(a.m.AppendState(nil)) == string(b.m.AppendState(nil)) && a.now == b.now
}

// follow tells two walkers the same, who must answer the same.
func follow(t *testing.T, r *rand.Rand, a, b *walker, coarse bool) {
	t.Helper()
	for range 12 {
		what := randomAct(r)
		x, y := a.do(what), b.do(what)
		if coarse {
			x, y = loosely(x), loosely(y)
		}
		if x != y {
			t.Fatalf("after equal encodings, %s gave\n%s\nand\n%s", what.kind, x, y)
		}
		if p, q := a.m.AppendStateAs(nil, a.naming(coarse)), b.m.AppendStateAs(nil, b.naming(coarse)); string(p) != string(q) {
			t.Fatalf("after equal encodings and %s the encodings differ:\n%v\n%v", what.kind, p, q)
		}
	}
}

// TestEncodingIsRelative: the same history a day later is encoded the same.
func TestEncodingIsRelative(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		a, b := newWalker(walkTimes()), newWalker(walkTimes())
		b.now = Instant(24 * time.Hour)
		b.m.Step(b.now, TimeReached())
		for range 40 {
			what := randomAct(r)
			if x, y := a.do(what), b.do(what); x != y {
				t.Fatalf("%s gave\n%s\nand a day later\n%s", what.kind, x, y)
			}
			if string(a.m.AppendState(nil)) != string(b.m.AppendState(nil)) {
				t.Fatalf("after %s the encodings differ by more than a day", what.kind)
			}
		}
	}
}

// TestNamingMustBeComplete: a state of which a part is left out would be taken for another.
func TestNamingMustBeComplete(t *testing.T) {
	l := newLab(t, labConfig())
	busy(l)
	for what, spoil := range map[string]func(*Naming){
		"peer":   func(n *Naming) { n.Peers = nil },
		"owner":  func(n *Naming) { n.Owners = n.Owners[:1] },
		"ticket": func(n *Naming) { n.Tickets = nil },
	} {
		n := l.m.literal()
		spoil(n)
		func() {
			defer func() {
				if r := recover(); r == nil || !strings.Contains(fmt.Sprint(r), "leaves out") {
					t.Errorf("without a %s: %v", what, r)
				}
			}()
			l.m.AppendStateAs(nil, n)
		}()
	}
}

// TestHeldGenerations: what is on its way is told apart by what it means, not by its number.
func TestHeldGenerations(t *testing.T) {
	l := newLab(t, labConfig())
	dialing(l) // generation 2 of peer 1
	n := l.m.literal()
	l.m.AppendStateAs(nil, n)
	held := func(gens ...Generation) string {
		var hs []Incarnation
		for _, g := range gens {
			hs = append(hs, Incarnation{1, g})
		}
		return string(l.m.AppendHeld(nil, n, hs))
	}
	if held(1) == held(2) {
		t.Error("an old generation is held like the newest")
	}
	l.do(Exited(1, 2))
	l.at(90).do(TimeReached(), l.dispatch("third", alice))
	n = l.m.literal()
	l.m.AppendStateAs(nil, n)
	if held(1) != held(2) {
		t.Error("one old generation is held otherwise than another")
	}
	if held(1, 2) == held(2, 1) || held(1, 2) == held(2, 2) {
		t.Error("two generations are not told apart")
	}
}
