package trace

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/sim"
)

// Text writes a run as lines: the instant, then what happened (after ">") or what followed.
//
//	1.5s > dispatch t1 m1 #1
//	1.5s   dial s3/t1.0 #1
//	1.5s   told t1 m1: connecting
//	2.7s > connected s3/t1.0 #1, 4 tools
//	2.7s   told t1 m1: connected, 4 tools
//	2.7s   ready t1 m1 #1 on s3/t1.0 #1
type Text struct {
	w *bufio.Writer
	c *scribe
}

// NewText returns a text that is written to w.
func NewText(w io.Writer) *Text { return &Text{bufio.NewWriter(w), newScribe()} }

// Step writes one step.
func (x *Text) Step(s *sim.Step) {
	fmt.Fprintf(x.w, "%s > %s\n", clock(s.Now), x.c.input(s))
	for i := range s.Out.Effects {
		x.line(s, x.c.effect(&s.Out.Effects[i]))
	}
	for i := range s.Out.Events {
		x.line(s, x.c.event(s, &s.Out.Events[i]))
	}
	for i := range s.Out.Replies {
		x.line(s, x.c.reply(s, &s.Out.Replies[i]))
	}
	x.c.settle(s)
}

func (x *Text) line(s *sim.Step, what string) {
	fmt.Fprintf(x.w, "%s   %s\n", clock(s.Now), what)
}

// Close ends the text with the rule that the run broke, if any, and reports whatever could
// not be written.
func (x *Text) Close(res *sim.Result) error {
	if res != nil && res.Violation != nil {
		fmt.Fprintf(x.w, "%s ! %s (SPEC %s): %s: %s\n", clock(res.Violation.At), res.Violation.ID,
			res.Violation.Clause, res.Violation.Text, res.Violation.Detail)
	}
	return x.w.Flush()
}

// Both shows every step to both.
func Both(a, b func(*sim.Step)) func(*sim.Step) {
	return func(s *sim.Step) {
		a(s)
		b(s)
	}
}

// input puts what happened into words, and names what begins with it.
func (c *scribe) input(s *sim.Step) string {
	in := &s.In
	switch in.Kind {
	case lifecycle.InOwnerBorn, lifecycle.InOwnerDied:
		return fmt.Sprintf("%s t%d", in.Kind, s.Tenant(in.Owner))
	case lifecycle.InDeclare:
		return strings.TrimSuffix(fmt.Sprintf("declare t%d m%d %s %s", s.Tenant(in.Owner), in.Name, sim.TargetOf(in.FP), sim.Wishes(in.Policy)), " ")
	case lifecycle.InRelease, lifecycle.InWriteOff:
		return fmt.Sprintf("%s t%d m%d", in.Kind, s.Tenant(in.Owner), in.Name)
	case lifecycle.InDispatch, lifecycle.InEnsure, lifecycle.InReconnect:
		return fmt.Sprintf("%s %s", in.Kind, c.asks(s))
	case lifecycle.InCancel:
		return fmt.Sprintf("cancel %s", c.ticket(in.Ticket))
	case lifecycle.InCallDone:
		return fmt.Sprintf("%s %s", in.Done, c.ticket(in.Ticket))
	case lifecycle.InConnected, lifecycle.InRelisted:
		return fmt.Sprintf("%s %s, %d tools", in.Kind, c.run(in.Peer, in.Gen), in.Tools)
	case lifecycle.InExited:
		if in.Clean {
			return fmt.Sprintf("exited %s, status 0", c.run(in.Peer, in.Gen))
		}
	case lifecycle.InConfigure: // the rest of a configuration stays
		return fmt.Sprintf("configure idle-timeout=%v max-live=%d", in.Config.IdleTimeout, in.Config.MaxLive)
	case lifecycle.InTimeReached, lifecycle.InDrain:
		return in.Kind.String()
	}
	return fmt.Sprintf("%s %s", in.Kind, c.run(in.Peer, in.Gen))
}

func (c *scribe) effect(e *lifecycle.Effect) string {
	switch e.Kind {
	case lifecycle.EffectDial:
		return fmt.Sprintf("dial %s", c.dials(e))
	case lifecycle.EffectStop:
		return fmt.Sprintf("stop %s: %s", c.run(e.Peer, e.Gen), e.Stage)
	case lifecycle.EffectAbandonCall:
		return fmt.Sprintf("abandon-call %s: %s", c.ticket(e.Ticket), e.Reason)
	case lifecycle.EffectForget:
		return fmt.Sprintf("forget %s", sim.TargetOf(e.FP))
	}
	return fmt.Sprintf("%s %s", e.Kind, c.run(e.Peer, e.Gen))
}

func (c *scribe) event(s *sim.Step, e *lifecycle.Event) string {
	more := ""
	switch {
	case e.State == lifecycle.Connected:
		more = fmt.Sprintf(", %d tools", e.Tools)
	case e.State == lifecycle.Failed:
		more = fmt.Sprintf(", %s", e.Reason)
	}
	if e.Replay {
		more += ", again"
	}
	return fmt.Sprintf("told t%d m%d: %s%s", s.Tenant(e.Owner), e.Name, e.State, more)
}

func (c *scribe) reply(s *sim.Step, r *lifecycle.Reply) string {
	who := c.ticket(r.Ticket)
	if _, open := c.tickets[r.Ticket]; !open && r.Ticket == s.In.Ticket { // of what never waits
		who = fmt.Sprintf("t%d m%d", s.Tenant(s.In.Owner), s.In.Name)
	}
	switch r.Kind {
	case lifecycle.ReplyReady:
		return fmt.Sprintf("ready %s on %s", who, c.run(r.Peer, r.Gen))
	case lifecycle.ReplySettled:
		return fmt.Sprintf("settled %s: %s", who, r.State)
	}
	if r.Reason == lifecycle.ReasonFailed {
		return fmt.Sprintf("refused %s: failed, %s", who, r.Cause)
	}
	return fmt.Sprintf("refused %s: %s", who, r.Reason)
}

// settle forgets the tickets that ended in a step.
func (c *scribe) settle(s *sim.Step) {
	if s.In.Kind == lifecycle.InCallDone {
		c.closes(s.In.Ticket)
	}
	for i := range s.Out.Effects {
		if e := &s.Out.Effects[i]; e.Kind == lifecycle.EffectAbandonCall {
			c.closes(e.Ticket)
		}
	}
	for i := range s.Out.Replies {
		if r := &s.Out.Replies[i]; r.Kind != lifecycle.ReplyReady {
			c.closes(r.Ticket)
		}
	}
}
