package spec_test

import (
	"fmt"
	"slices"

	lc "github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/sim/agree"
	"github.com/mayfly-mcp/mayfly/sim/spec"
)

// pair drives a machine and the model with the same inputs. Between the two stands tamper, with
// which a test makes the machine lie.
type pair struct {
	machine *lc.Machine
	agree   *agree.Pair
	model   *spec.Model // of agree
	now     lc.Instant
	tamper  tamper

	fps     map[lc.PeerID]lc.Fingerprint
	runs    []lc.Effect // every dial
	written []lc.View   // what was written off, as it was, exited or not
	tickets lc.Tickets
	opened  []lc.Ticket // every ticket, the newest last
	open    map[lc.Ticket]bool
	born    lc.OwnerID
	log     []string
}

func newPair(cfg lc.Config, t tamper) *pair {
	p := &pair{agree: agree.New(cfg), tamper: t, fps: map[lc.PeerID]lc.Fingerprint{}, open: map[lc.Ticket]bool{}}
	p.model = p.agree.Model()
	p.machine = lc.New(t.config(cfg))
	return p
}

// newTicket opens a ticket; its slot may have been another's.
func (p *pair) newTicket() lc.Ticket {
	t := p.tickets.New()
	p.opened = append(p.opened, t)
	p.open[t] = true
	return t
}

// step feeds both and returns their first disagreement.
func (p *pair) step(in lc.Input) error {
	p.log = append(p.log, fmt.Sprintf("%d %s", p.now, sayInput(in)))
	was := agree.Look(p.machine, &in)
	claimedBefore := p.machine.Claimed(in.Owner, in.Name)
	if v := p.machine.View(claimedBefore); in.Kind == lc.InWriteOff && v.Stage == lc.StageStuck {
		p.written = append(p.written, v)
	}
	given, swallowed := p.tamper.input(p, in)
	var out lc.Output
	if !swallowed {
		out = p.tamper.output(p, p.machine.Step(p.now, given))
	}
	p.learn(in, claimedBefore, out)
	if err := p.agree.Follow(p.now, in, was, out, listed{p.machine, p}); err != nil {
		return err
	}
	p.releaseEnded()
	if v := p.machine.Audit(); v != nil {
		return v
	}
	return p.compareClaims()
}

// listed is the machine with the lists that it shows.
type listed struct {
	*lc.Machine
	of *pair
}

func (l listed) View(id lc.PeerID) lc.View { return l.of.tamper.view(l.of, l.Machine.View(id)) }

// learn notes which slot stands for which fingerprint, and which incarnations there were.
func (p *pair) learn(in lc.Input, before lc.PeerID, out lc.Output) {
	if id := p.machine.Claimed(in.Owner, in.Name); in.Kind == lc.InDeclare && id != before {
		p.fps[id] = in.FP
	}
	for _, e := range out.Effects {
		if e.Kind == lc.EffectDial {
			p.runs = append(p.runs, e)
		}
	}
}

// releaseEnded gives the slots of ended tickets back for reuse.
func (p *pair) releaseEnded() {
	waiting, admitted := p.model.Open()
	still := map[lc.Ticket]bool{}
	for _, id := range append(waiting, admitted...) {
		still[lc.Ticket(id)] = true
	}
	for _, t := range p.opened {
		if p.open[t] && !still[t] {
			delete(p.open, t)
			p.tickets.Release(t)
		}
	}
}

// compareClaims asks for every claim, whatever the step was about.
func (p *pair) compareClaims() error {
	for o := lc.OwnerID(1); o <= p.born; o++ {
		for n := lc.NameID(1); n <= maxNames; n++ {
			got := p.agree.Word(p.machine.Claimed(o, n))
			if want := p.model.Claimed(word(o), word(n)); got != want {
				return fmt.Errorf("CL-4: claim (%d, %d) stands for %q, should for %q", o, n, got, want)
			}
		}
	}
	return nil
}

func word[T ~uint32](id T) string { return fmt.Sprint(id) }

func fpWord(fp lc.Fingerprint) string { return string('A' + rune(fp[0])) }

// tamper makes a machine lie. The zero value is honest.
type tamper struct {
	cfg  func(*lc.Config)
	in   func(*pair, *lc.Input) (swallow bool)
	out  func(*lc.Output)
	lie  func(*pair, *lc.Output)
	look func(*pair, *lc.View)
}

func (t *tamper) config(c lc.Config) lc.Config {
	if t.cfg != nil {
		t.cfg(&c)
	}
	return c
}

func (t *tamper) input(p *pair, in lc.Input) (lc.Input, bool) {
	if t.in == nil {
		return in, false
	}
	swallow := t.in(p, &in)
	return in, swallow
}

func (t *tamper) output(p *pair, out lc.Output) lc.Output {
	if t.out == nil && t.lie == nil {
		return out
	}
	out.Effects, out.Events = slices.Clone(out.Effects), slices.Clone(out.Events)
	out.Replies = slices.Clone(out.Replies)
	if t.out != nil {
		t.out(&out)
	} else {
		t.lie(p, &out)
	}
	return out
}

func (t *tamper) view(p *pair, v lc.View) lc.View {
	if t.look != nil {
		t.look(p, &v)
	}
	return v
}

// sayInput prints the fields that a kind reads.
func sayInput(in lc.Input) string {
	switch in.Kind {
	case lc.InConnected, lc.InConnectFailed, lc.InBroken, lc.InExited, lc.InStarted, lc.InSpawned, lc.InRelisted:
		return fmt.Sprintf("%s peer %d run %d tools %d clean %t", in.Kind, in.Peer, in.Gen, in.Tools, in.Clean)
	case lc.InDeclare:
		return fmt.Sprintf("%s ticket %d owner %d name %d peer %s policy %+v", in.Kind, in.Ticket, in.Owner, in.Name, fpWord(in.FP), in.Policy)
	case lc.InCancel, lc.InCallDone:
		return fmt.Sprintf("%s %d %s", in.Kind, in.Ticket, in.Done)
	case lc.InTimeReached, lc.InDrain:
		return in.Kind.String()
	case lc.InConfigure:
		return fmt.Sprintf("%s %+v", in.Kind, *in.Config)
	}
	return fmt.Sprintf("%s ticket %d owner %d name %d peer %s", in.Kind, in.Ticket, in.Owner, in.Name, fpWord(in.FP))
}
