package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mayfly-mcp/mayfly/core/wire"
	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

// hammers is how many callers call at the same time where a death comes between.
const hammers = 8

// refusedPause is how long a caller waits that was refused.
const refusedPause = 2 * time.Millisecond

// hammer calls a tool again and again, from several callers, until stop is called, which waits for
// the calls that are under way.
func (s *stage) hammer(ctx context.Context, name string) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, hammers)
	var over atomic.Bool
	for range hammers {
		go func() {
			for !over.Load() {
				got, err := s.call(ctx, "", name)
				if err == nil && got.class != "" {
					err = pause(ctx, refusedPause)
				}
				if err != nil {
					ended <- err
					return
				}
			}
			ended <- nil
		}()
	}
	return func() (err error) {
		over.Store(true)
		bound := time.AfterFunc(deathBound, cancel) // whether they end is another check's matter
		defer bound.Stop()
		defer cancel()
		for range hammers {
			if one := <-ended; ctx.Err() == nil {
				err = errors.Join(err, one)
			}
		}
		return err
	}
}

// planRaces is how often a public owner dies under calls and a guarded one comes.
const planRaces = 4

func ownerPlanRace(ctx context.Context, s *stage) (string, error) {
	for range planRaces {
		a, err := s.newcomer(ctx, "a", tool("t", open()), says("a"))
		if err != nil {
			return "", err
		}
		stop := s.hammer(ctx, "t")
		b, err := s.afterSome(ctx, a)
		if ended := stop(); err == nil {
			err = ended
		}
		if err != nil {
			return "", err
		}
		if n := b.runs.Load(); n != 1 {
			return "", failf("a guarded body ran %d times: one call had its token, the others had what a dead owner's plan let in", n)
		}
		if err := b.by.Close(); err != nil {
			return "", err
		}
		if err := s.awaitTools(ctx, "the death of the guarded owner"); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%d takeovers by a guarded owner under %d callers without a token: none got through", planRaces, hammers), nil
}

// afterSome lets some calls run, and then the owner die and a guarded one come, which is called
// once with its token.
func (s *stage) afterSome(ctx context.Context, a *served) (*served, error) {
	for a.runs.Load() < hammers {
		if err := pause(ctx, time.Millisecond); err != nil {
			return nil, err
		}
	}
	_ = a.by.Close() // it is to be dead
	b, err := s.takeOver(ctx, "b", tool("t", guarded("its")), says("b"))
	if err != nil {
		return nil, err
	}
	if err := s.asked(ctx, "ready", b.by.Ready(ctx, b.entry)); err != nil {
		return nil, err
	}
	if err := pause(ctx, raceWindow); err != nil {
		return nil, err
	}
	return b, s.expectCall(ctx, "its", "t", "b", "after a takeover, with its token")
}

// raceWindow is for how long callers go on after a takeover.
const raceWindow = 100 * time.Millisecond

// Bounds of the check in which an owner dies under calls.
const (
	callsBefore = 5 * hammers            // that are answered before the death
	afterDeath  = 100 * time.Millisecond // for what was on its way when the daemon learnt of the death
	lateWindow  = time.Second            // for calls that are delivered to the dead
)

// ownerDiesUnderCalls has a consumer that shuts its half of the connection, which is its death,
// and reads on: what the daemon still gives it then, it gives to the dead.
func ownerDiesUnderCalls(ctx context.Context, s *stage) (string, error) {
	a, err := s.rawConsumer(ctx, "a")
	if err != nil {
		return "", err
	}
	if err := a.serve(tool("t", open())); err != nil {
		return "", s.asked(ctx, "a registration of a free name", err)
	}
	stop := s.hammer(ctx, "t")
	defer func() { _ = stop() }() // what calls end with is another check's matter
	for range callsBefore {
		v, err := a.invoked()
		if err != nil {
			return "", err
		}
		if err := a.answer(v.GetCall(), "a"); err != nil {
			return "", err
		}
	}
	if err := a.conn.CloseWrite(); err != nil {
		return "", err
	}
	calls := a.watch()
	if err := s.awaitTools(ctx, "the death of an owner under calls"); err != nil {
		return "", err
	}
	early, err := within(ctx, calls, afterDeath)
	if err != nil {
		return "", err
	}
	if late, err := within(ctx, calls, lateWindow); err != nil || late > 0 {
		return "", orFail(err, "%d calls were delivered to an owner that had been dead for %v", late, afterDeath)
	}
	for range 2 {
		if err := s.expectRefusal(ctx, "", "t", "after the owner's death"); err != nil {
			return "", err
		}
	}
	if late, err := within(ctx, calls, afterDeath); err != nil || late > 0 {
		return "", orFail(err, "a call that was made after an owner's death was delivered to it")
	}
	return fmt.Sprintf("%d callers, %d calls answered before the death and %d under way: none came later", hammers, callsBefore, early), nil
}

// orFail prefers an error of ours.
func orFail(err error, format string, args ...any) error {
	if err != nil {
		return err
	}
	return failf(format, args...)
}

func ownerSuccessor(ctx context.Context, s *stage) (string, error) {
	h := hold("a")
	a, err := s.newcomer(ctx, "a", tool("t", open()), h.body)
	if err != nil {
		return "", err
	}
	var calls []*owedCall
	for range hammers {
		calls = append(calls, s.fly(ctx, "", "t"))
	}
	for range calls {
		if err := h.await(ctx); err != nil {
			return "", err
		}
	}
	_ = a.by.Close() // it is to be dead
	b, err := s.takeOver(ctx, "b", tool("t", open()), says("b"))
	if err != nil {
		return "", err
	}
	if err := s.asked(ctx, "ready", b.by.Ready(ctx, b.entry)); err != nil {
		return "", err
	}
	for _, f := range calls {
		got, err := f.lands(ctx)
		if err != nil {
			return "", err
		}
		if got.class == "" {
			return "", failf("a call that was given to a dead owner is answered %q by another one", got.text)
		}
	}
	if n := b.runs.Load(); n != 0 {
		return "", failf("a successor ran %d calls of a dead owner", n)
	}
	return fmt.Sprintf("%d calls ended with their owner; the successor ran none of them", hammers), s.expectCall(ctx, "", "t", "b", "after the takeover")
}

func ownerDeadIsUnknown(ctx context.Context, s *stage) (string, error) {
	a, err := s.newcomer(ctx, "a", tool("t", open()), says("a"))
	if err != nil {
		return "", err
	}
	if _, err := s.serve(ctx, a.by, resource("test://r", open()), reads("r")); err != nil {
		return "", err
	}
	_ = a.by.Close() // it is to be dead
	if err := s.awaitTools(ctx, "the death of an owner"); err != nil {
		return "", err
	}
	for _, x := range []struct {
		what, dead, unknown string
		ask                 func(context.Context, string, string) (outcome, error)
	}{{"a tool", "t", "never", s.call}, {"a resource", "test://r", "test://never", s.read}} {
		dead, err := x.ask(ctx, "", x.dead)
		if err != nil {
			return "", err
		}
		unknown, err := x.ask(ctx, "", x.unknown)
		if err != nil {
			return "", err
		}
		if unknown.class == "" {
			return "", failf("%s that never was is answered %q", x.what, unknown.text)
		}
		if err := s.rec.equal(x.what+" of the dead", unknown.String(), dead.String(),
			fmt.Sprintf("%s of a dead owner gets %s, and one that never was %s", x.what, dead, unknown)); err != nil {
			return "", err
		}
	}
	return "a dead name and an unknown one get the same class of error", nil
}

// odd are bodies that do not do what they should.
var odd = []struct {
	what string
	body wire.ConsumerBody
}{
	{"no result", func(context.Context, json.RawMessage) (json.RawMessage, error) { return nil, nil }},
	{"a number", func(context.Context, json.RawMessage) (json.RawMessage, error) { return json.RawMessage("7"), nil }},
	{"half a result", func(context.Context, json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage(`{"content":[`), nil
	}},
	{"an error", func(context.Context, json.RawMessage) (json.RawMessage, error) {
		return nil, errors.New("failed as asked")
	}},
	{"an error with a code", func(context.Context, json.RawMessage) (json.RawMessage, error) {
		return nil, &wire.InvokeError{Code: -32050, Message: "failed as asked"}
	}},
}

func ownerMisbehaves(ctx context.Context, s *stage) (string, error) {
	if _, err := s.newcomer(ctx, "sound", tool("t", guarded("its")), says("a")); err != nil {
		return "", err
	}
	c, err := s.consumer(ctx, "odd")
	if err != nil {
		return "", err
	}
	if _, err := s.serve(ctx, c, tool("fine", open()), says("fine")); err != nil {
		return "", err
	}
	for i, x := range odd {
		name := fmt.Sprintf("odd-%d", i)
		if _, err := s.serve(ctx, c, tool(name, open()), x.body); err != nil {
			return "", err
		}
		when := "a body gives " + x.what
		if err := s.expectRefusal(ctx, "", name, when); err != nil {
			return "", err
		}
		if err := s.intact(ctx, "t", "its", "a", when+" elsewhere"); err != nil {
			return "", err
		}
		if err := s.expectCall(ctx, "", "fine", "fine", when+" beside it"); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%d bodies that misbehave cost their callers an error, and nobody else anything", len(odd)), nil
}

// fleeting is how many starts end in the middle.
const fleeting = 4

func ownerFleeting(ctx context.Context, s *stage) (string, error) {
	for i := range fleeting {
		c, err := s.rawConsumer(ctx, "fleeting")
		if err != nil {
			return "", err
		}
		name := fmt.Sprintf("t%d", i)
		frames := c.frame(registering(tool(name, open())))
		if i%2 == 1 {
			frames = append(frames, c.frame(&pb.ConsumerRequest{Msg: &pb.ConsumerRequest_Ready{Ready: &pb.ConsumerReady{Entry: 1}}})...)
		}
		if _, err := c.conn.Write(frames); err != nil {
			return "", err
		}
		_ = c.conn.Close() // it is to be dead before it is answered
	}
	if err := pause(ctx, 3*afterDeath); err != nil { // for a start that goes on without its owner
		return "", err
	}
	if err := s.awaitTools(ctx, "the end of starts in the middle"); err != nil {
		return "", err
	}
	for i := range fleeting {
		if _, err := s.takeOver(ctx, "b", tool(fmt.Sprintf("t%d", i), open()), says("b")); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%d starts that ended in the middle left neither entry nor name", fleeting), nil
}

// rivals is how many want the same at once.
const rivals = 8

func ownerOneWinner(ctx context.Context, s *stage) (string, error) {
	got, err := s.contest(ctx, func(int) string { return "t" }, pb.ConsumerReason_CONSUMER_REASON_DUPLICATE)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d owners at once for the name of a dead one: one got it", rivals),
		s.rec.equal("winners", "1", fmt.Sprint(got), fmt.Sprintf("%d of %d owners got the name of a dead one", got, rivals))
}

// contest lets an owner of the tool t die, and rivals register at once when that is known. It
// counts those who got what they wanted; all others must hear the reason.
func (s *stage) contest(ctx context.Context, name func(i int) string, loses pb.ConsumerReason, left ...string) (winners int64, err error) {
	h := hold("x")
	a, err := s.newcomer(ctx, "a", tool("t", open()), h.body)
	if err != nil {
		return 0, err
	}
	all := make([]*wire.Consumer, rivals)
	for i := range all {
		if all[i], err = s.consumer(ctx, fmt.Sprintf("rival-%d", i)); err != nil {
			return 0, err
		}
	}
	f := s.fly(ctx, "", "t")
	if err := h.await(ctx); err != nil {
		return 0, err
	}
	_ = a.by.Close() // it is to be dead
	if err := s.known(ctx, f, left...); err != nil {
		return 0, err
	}
	var won atomic.Int64
	var wg sync.WaitGroup
	errs := make([]error, rivals)
	for i, c := range all {
		wg.Go(func() {
			_, err := s.offer(ctx, c, tool(name(i), open()), says("x"))
			if err == nil {
				won.Add(1)
			} else if reason, _ := reasonOf(err); reason != loses {
				errs[i] = s.asked(ctx, "one of several registrations at once", err)
			}
		})
	}
	wg.Wait()
	return won.Load(), errors.Join(errs...)
}
