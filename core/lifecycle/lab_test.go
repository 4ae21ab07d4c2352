package lifecycle

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

const second = Instant(time.Second)

// The two owners of most tests, their one name, and the fingerprints.
const (
	alice OwnerID = 1
	bob   OwnerID = 2
	git   NameID  = 1
	web   NameID  = 2
	big   NameID  = 3 // bob's, where he is in the way
)

var fpA, fpB = Fingerprint{'A'}, Fingerprint{'B'}

// labConfig has times that can be told apart in a golden row. The reaper ticks every 10 s.
func labConfig() Config {
	return Config{IdleTimeout: 40 * time.Second, ConnectTimeout: 30 * time.Second,
		CallTimeout: 100 * time.Second, CloseGrace: 2 * time.Second, TerminateGrace: 3 * time.Second,
		KillGrace: 5 * time.Second, DrainGrace: 7 * time.Second, MaxWaiters: 4}
}

// lab is a machine with a clock, tickets that have names, and outputs that can be read.
type lab struct {
	tb      testing.TB
	m       *Machine
	now     Instant
	tickets Tickets
	names   map[Ticket]string
}

// newLab returns a machine in which alice and bob live.
func newLab(tb testing.TB, cfg Config) *lab {
	l := &lab{tb: tb, m: New(cfg), names: map[Ticket]string{}}
	l.do(OwnerBorn(alice), OwnerBorn(bob))
	return l
}

// ticket returns the ticket of a name, a new one if there is none.
func (l *lab) ticket(name string) Ticket {
	for t, n := range l.names {
		if n == name {
			return t
		}
	}
	t := l.tickets.New()
	l.names[t] = name
	return t
}

func (l *lab) declare(o OwnerID, n NameID, fp Fingerprint) Input { return Declare(0, o, n, fp) }
func (l *lab) asking(o OwnerID, n NameID, fp Fingerprint, p Policy) Input {
	in := Declare(0, o, n, fp)
	in.Policy = &p
	return in
}
func (l *lab) dispatch(name string, o OwnerID) Input  { return Dispatch(l.ticket(name), o, git) }
func (l *lab) ensure(name string, o OwnerID) Input    { return Ensure(l.ticket(name), o, git) }
func (l *lab) reconnect(name string, o OwnerID) Input { return Reconnect(l.ticket(name), o, git) }
func (l *lab) cancel(name string) Input               { return Cancel(l.ticket(name)) }
func (l *lab) done(name string, d DoneKind) Input     { return CallDone(l.ticket(name), d) }

// do feeds inputs and audits.
func (l *lab) do(ins ...Input) {
	l.tb.Helper()
	for _, in := range ins {
		l.step(in)
	}
}

func (l *lab) step(in Input) string {
	l.tb.Helper()
	out := l.say(l.m.Step(l.now, in))
	if v := l.m.Audit(); v != nil {
		l.tb.Fatalf("after %s: %v", in.Kind, v)
	}
	return out
}

// want feeds an input and compares what comes of it.
func (l *lab) want(in Input, want string) {
	l.tb.Helper()
	if got := l.step(in); got != want {
		l.tb.Fatalf("at %v, %s\n gave %q\n want %q", time.Duration(l.now), in.Kind, got, want)
	}
}

// at sets the clock.
func (l *lab) at(seconds Instant) *lab {
	l.now = seconds * second
	return l
}

// say writes an output in one line: effects; events; replies.
func (l *lab) say(out Output) string {
	var words []string
	for _, e := range out.Effects {
		words = append(words, l.sayEffect(e))
	}
	for _, e := range out.Events {
		words = append(words, sayEvent(e))
	}
	for _, r := range out.Replies {
		words = append(words, l.sayReply(r))
	}
	return strings.Join(words, "; ")
}

func (l *lab) sayEffect(e Effect) string {
	switch e.Kind {
	case EffectStop:
		return fmt.Sprintf("stop p%d.%d %s", e.Peer, e.Gen, e.Stage)
	case EffectAbandonCall:
		return fmt.Sprintf("abandon-call %s (%s)", l.names[e.Ticket], e.Reason)
	case EffectDial, EffectAbandonDial, EffectForget:
	}
	return fmt.Sprintf("%s p%d.%d", e.Kind, e.Peer, e.Gen)
}

func sayEvent(e Event) string {
	who := map[OwnerID]string{alice: "alice", bob: "bob"}[e.Owner]
	s := fmt.Sprintf("%s/%d: %s", who, e.Name, e.State)
	if e.State == Failed {
		s += fmt.Sprintf(" (%s)", e.Reason)
	}
	if e.State == Connected {
		s += fmt.Sprintf(" %d tools", e.Tools)
	}
	if e.Replay {
		s += " replayed"
	}
	return s
}

func (l *lab) sayReply(r Reply) string {
	name := l.names[r.Ticket]
	switch r.Kind {
	case ReplyReady:
		return fmt.Sprintf("%s ready on p%d.%d", name, r.Peer, r.Gen)
	case ReplySettled:
		if r.State == Failed {
			return fmt.Sprintf("%s settled failed (%s)", name, r.Reason)
		}
		return fmt.Sprintf("%s settled %s %d tools", name, r.State, r.Tools)
	case ReplyRefused:
	}
	s := fmt.Sprintf("%s refused (%s)", name, r.Reason)
	if r.Reason == ReasonFailed {
		retry := "never"
		if r.RetryAt != Never {
			retry = time.Duration(r.RetryAt).String()
		}
		s += fmt.Sprintf(" cause %s retry %s", r.Cause, retry)
	}
	return s
}

// bugOf runs f and returns the violation it panicked with, or nil.
func bugOf(f func()) (v *Violation) {
	defer func() {
		if r := recover(); r != nil {
			var ok bool
			if v, ok = r.(*Violation); !ok {
				panic(r)
			}
		}
	}()
	f()
	return nil
}
