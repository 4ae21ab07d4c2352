package conformance

import (
	"context"
	"fmt"
	"strings"

	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

// handedOver is a name that its first owner gave up, while it lives on, and that another one has.
func (s *stage) handedOver(ctx context.Context, ready bool) (before, now *served, err error) {
	if before, err = s.newcomer(ctx, "before", tool("t", open()), says("before")); err != nil {
		return nil, nil, err
	}
	if err := s.asked(ctx, "a stop", before.by.Unregister(ctx, before.entry)); err != nil {
		return nil, nil, err
	}
	c, err := s.consumer(ctx, "now")
	if err != nil {
		return nil, nil, err
	}
	if now, err = s.offer(ctx, c, tool("t", guarded("now")), says("now")); err != nil {
		return nil, nil, s.asked(ctx, "a registration of a free name", err)
	}
	if ready {
		err = s.asked(ctx, "ready", c.Ready(ctx, now.entry))
	}
	return before, now, err
}

func ownerLateStop(ctx context.Context, s *stage) (string, error) {
	before, now, err := s.handedOver(ctx, true)
	if err != nil {
		return "", err
	}
	_ = before.by.Unregister(ctx, before.entry) // how it is answered does not matter
	if err := s.intact(ctx, "t", "now", "now", "after a late stop by who had the name before"); err != nil {
		return "", err
	}
	_ = before.by.Close() // its last stop
	if _, err := s.newcomer(ctx, "other", tool("u", open()), says("u")); err != nil {
		return "", err
	}
	if err := s.intact(ctx, "t", "now", "now", "after the death of who had the name before"); err != nil {
		return "", err
	}
	if err := s.asked(ctx, "a stop", now.by.Unregister(ctx, now.entry)); err != nil {
		return "", err
	}
	return "a late stop and a late death changed nothing", s.expectTools(ctx, "after a stop by the owner itself", "u")
}

// intact wants a guarded tool to be listed, called with its token, and refused without.
func (s *stage) intact(ctx context.Context, name, token, text, when string) error {
	list, err := s.tools(ctx)
	if err != nil {
		return err
	}
	n := strings.Count(" "+strings.Join(list, " ")+" ", " "+name+" ")
	if err := s.rec.equal("listings of "+name, "1", fmt.Sprint(n), fmt.Sprintf("%s: %s is listed %d times", when, name, n)); err != nil {
		return err
	}
	for _, wrong := range []string{"", "wrong"} {
		if err := s.expectRefusal(ctx, wrong, name, when+", "+without(wrong)); err != nil {
			return err
		}
	}
	return s.expectCall(ctx, token, name, text, when+", with its token")
}

func without(token string) string {
	if token == "" {
		return "without a token"
	}
	return "with a token that is not its own"
}

func ownerLateReady(ctx context.Context, s *stage) (string, error) {
	before, now, err := s.handedOver(ctx, false)
	if err != nil {
		return "", err
	}
	_ = before.by.Ready(ctx, before.entry) // how it is answered does not matter
	if err := s.expectTools(ctx, "after a late ready by who had the name before"); err != nil {
		return "", err
	}
	if err := s.expectRefusal(ctx, "now", "t", "after a late ready by who had the name before"); err != nil {
		return "", err
	}
	if err := s.asked(ctx, "ready", now.by.Ready(ctx, now.entry)); err != nil {
		return "", err
	}
	return "a late ready changed nothing", s.intact(ctx, "t", "now", "now", "when its owner says ready")
}

func ownerDuplicate(ctx context.Context, s *stage) (string, error) {
	a, err := s.consumer(ctx, "a")
	if err != nil {
		return "", err
	}
	e, err := s.offer(ctx, a, tool("t", guarded("its")), says("a"))
	if err != nil {
		return "", s.asked(ctx, "a registration of a free name", err)
	}
	b, err := s.consumer(ctx, "b")
	if err != nil {
		return "", err
	}
	for _, state := range []string{"not ready", "ready"} {
		if state == "ready" {
			if err := s.asked(ctx, "ready", a.Ready(ctx, e.entry)); err != nil {
				return "", err
			}
		}
		_, err := s.offer(ctx, b, tool("t", guarded("its")), says("x"))
		if err := s.duplicate(ctx, err, "a name whose entry is "+state+" was asked for by another owner"); err != nil {
			return "", err
		}
	}
	return "refused by name, before and after ready", s.intact(ctx, "t", "its", "a", "after two duplicates")
}

func ownerDuplicateOwn(ctx context.Context, s *stage) (string, error) {
	a, err := s.newcomer(ctx, "a", tool("t", guarded("its")), says("a"))
	if err != nil {
		return "", err
	}
	_, err = s.offer(ctx, a.by, tool("t", open()), says("x"))
	if err := s.duplicate(ctx, err, "a name was asked for by its owner itself"); err != nil {
		return "", err
	}
	return "refused by name", s.intact(ctx, "t", "its", "a", "after a duplicate by the owner itself")
}

func ownerStopTwice(ctx context.Context, s *stage) (string, error) {
	a, err := s.newcomer(ctx, "a", tool("t", guarded("its")), says("a"))
	if err != nil {
		return "", err
	}
	e, err := s.serve(ctx, a.by, tool("u", open()), says("u"))
	if err != nil {
		return "", err
	}
	for _, entry := range []uint64{e.entry, e.entry, neverGiven} {
		if err := s.asked(ctx, "a stop, a second one, or one of what never started", a.by.Unregister(ctx, entry)); err != nil {
			return "", err
		}
		if err := s.intact(ctx, "t", "its", "a", "after stops of another entry"); err != nil {
			return "", err
		}
	}
	return "twice, and once for what never started", s.expectTools(ctx, "after stops", "t")
}

// neverGiven is the number of no entry.
const neverGiven = 1 << 40

// duplicate wants a refusal that names the name.
func (s *stage) duplicate(ctx context.Context, err error, what string) error {
	if err == nil {
		return failf("%s, and it was granted", what)
	}
	reason, refused := reasonOf(err)
	if !refused {
		return s.asked(ctx, "a registration", err)
	}
	if reason != pb.ConsumerReason_CONSUMER_REASON_DUPLICATE {
		return failf("%s, and it was refused as %s: %s", what, reason, oneLine(s.say(err.Error())))
	}
	if !strings.Contains(err.Error(), `"t"`) {
		return failf("%s, and the refusal does not name it: %s", what, oneLine(s.say(err.Error())))
	}
	return nil
}

func ownerFailedDuplicate(ctx context.Context, s *stage) (string, error) {
	a, err := s.newcomer(ctx, "a", tool("t", guarded("its")), says("a"))
	if err != nil {
		return "", err
	}
	b, err := s.consumer(ctx, "b")
	if err != nil {
		return "", err
	}
	for _, plan := range []*pb.ConsumerPlan{open(), guarded("other")} {
		e, err := s.offer(ctx, b, tool("t", plan), says("b"))
		if _, refused := reasonOf(err); err != nil && !refused {
			return "", s.asked(ctx, "a registration", err)
		}
		if err == nil { // that is another check's matter; what was granted goes its way
			_ = b.Ready(ctx, e.entry)
		}
		if err := s.intact(ctx, "t", "its", "a", "after a duplicate start"); err != nil {
			return "", err
		}
		if err := s.expectRefusal(ctx, "other", "t", "after a duplicate start, with its token"); err != nil {
			return "", err
		}
	}
	_ = b.Unregister(ctx, 1) // the clean-up of a start that failed, of an entry that it never had
	_ = b.Close()
	if err := s.intact(ctx, "t", "its", "a", "after the death of who failed to start"); err != nil {
		return "", err
	}
	_ = a.by.Close() // it is to be dead
	return "the incumbent is as it was, and nothing is left of who failed", s.awaitTools(ctx, "the death of the incumbent")
}

func ownerGuarded(ctx context.Context, s *stage) (string, error) {
	a, err := s.newcomer(ctx, "a", tool("t", guarded("one", "two")), says("a"))
	if err != nil {
		return "", err
	}
	if _, err := s.serve(ctx, a.by, tool("u", guarded("three")), says("u")); err != nil {
		return "", err
	}
	b, err := s.newcomer(ctx, "b", tool("v", open()), says("v"))
	if err != nil {
		return "", err
	}
	steps := []struct {
		when string
		do   func() error
	}{
		{"at first", func() error { return nil }},
		{"after a duplicate start without a guard", func() error {
			_, err := s.offer(ctx, b.by, tool("t", open()), says("b"))
			if _, refused := reasonOf(err); refused {
				return nil
			}
			return s.asked(ctx, "a registration", err)
		}},
		{"after a stop of the owner's other tool by somebody else", func() error { _ = b.by.Unregister(ctx, a.entry+maxHeld); return nil }},
		{"after the stop of a public tool", func() error { return s.asked(ctx, "a stop", b.by.Unregister(ctx, b.entry)) }},
		{"after the death of another owner", func() error { return b.by.Close() }},
		{"after another owner came", func() error {
			_, err := s.newcomer(ctx, "c", tool("v", open()), says("v"))
			return err
		}},
	}
	for i, x := range steps {
		if err := x.do(); err != nil {
			return "", err
		}
		if err := s.intact(ctx, "t", []string{"one", "two"}[i%2], "a", x.when); err != nil {
			return "", err
		}
		if err := s.expectRefusal(ctx, "three", "t", x.when+", with the token of another tool"); err != nil {
			return "", err
		}
		if err := s.expectRefusal(ctx, "one", "u", x.when+", with the token of another tool"); err != nil {
			return "", err
		}
	}
	if n := a.runs.Load(); n != int64(len(steps)) {
		return "", failf("the body of the guarded tool ran %d times, and %d calls were to be let in", n, len(steps))
	}
	return fmt.Sprintf("guarded through %d changes", len(steps)), nil
}

func ownerNoPlan(ctx context.Context, s *stage) (string, error) {
	c, err := s.consumer(ctx, "a")
	if err != nil {
		return "", err
	}
	for _, plan := range []*pb.ConsumerPlan{nil, {}} {
		e, err := s.offer(ctx, c, tool("t", plan), says("a"))
		if err == nil {
			_ = c.Ready(ctx, e.entry)
			got, err := s.call(ctx, "", "t")
			if err != nil {
				return "", err
			}
			return "", failf("a tool without a plan was taken, and a call without a token gets %s", got)
		}
		if _, refused := reasonOf(err); !refused {
			return "", s.asked(ctx, "a registration", err)
		}
	}
	if err := s.expectTools(ctx, "after registrations without a plan"); err != nil {
		return "", err
	}
	return "refused, and the name is free", func() error {
		_, err := s.serve(ctx, c, tool("t", guarded("its")), says("a"))
		return err
	}()
}
