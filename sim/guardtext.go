package sim

import (
	"fmt"
	"strings"
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// text tells a step in a line for its input and one for each output. Fingerprints are told as
// the targets that they are.
func (m *moment) text() string {
	if m.in == nil {
		return "  the run has ended"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "  %v %s", time.Duration(m.now), inputText(m.in))
	for i := range m.out.Effects {
		e := &m.out.Effects[i]
		fmt.Fprintf(&b, "\n    → %s peer %d generation %d", e.Kind, e.Peer, e.Gen)
		words(&b, e.Stage != 0, "stage", e.Stage, e.Ticket != 0, "ticket", e.Ticket, e.Reason != 0, "for", e.Reason,
			e.FP != lifecycle.Fingerprint{}, "of", targetOf(&e.FP))
	}
	for i := range m.out.Replies {
		r := &m.out.Replies[i]
		fmt.Fprintf(&b, "\n    → ticket %d", r.Ticket)
		words(&b, r.Kind == lifecycle.ReplyReady, "ready on generation", r.Gen, r.Kind == lifecycle.ReplySettled, "settled", r.State,
			r.Kind == lifecycle.ReplyRefused, "refused", r.Reason, r.Peer != 0, "peer", r.Peer, r.Cause != 0, "for", r.Cause, r.Tools != 0, "tools", r.Tools,
			r.RetryAt != lifecycle.Never, "retry at", time.Duration(r.RetryAt))
	}
	for i := range m.out.Events {
		e := &m.out.Events[i]
		fmt.Fprintf(&b, "\n    → event %d to owner %d m%d: peer %d generation %d %s", e.Seq, e.Owner, e.Name, e.Peer, e.Gen, e.State)
		words(&b, e.Reason != 0, "for", e.Reason, e.Tools != 0, "tools", e.Tools, e.Replay, "replay", e.Replay)
	}
	return b.String()
}

func inputText(in *lifecycle.Input) string {
	var b strings.Builder
	b.WriteString(in.Kind.String())
	words(&b, in.Owner != 0, "owner", in.Owner, in.Name != 0, "name", in.Name, in.Peer != 0, "peer", in.Peer, in.Gen != 0, "generation", in.Gen,
		in.Ticket != 0, "ticket", in.Ticket, in.Done != 0, "done", in.Done, in.Tools != 0, "tools", in.Tools, in.Clean, "clean", in.Clean,
		in.FP != lifecycle.Fingerprint{}, "of", targetOf(&in.FP))
	return b.String()
}

// words appends names with their values, each if the condition before it holds.
func words(b *strings.Builder, all ...any) {
	for i := 0; i < len(all); i += 3 {
		if all[i].(bool) {
			fmt.Fprintf(b, " %v %v", all[i+1], all[i+2])
		}
	}
}
