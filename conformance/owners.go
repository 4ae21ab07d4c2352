package conformance

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

// ownerChecks are about consumers, which serve tools through the daemon for as long as they live,
// and about the clients of its endpoint, who must not see anything of the dead.
func ownerChecks() []Check {
	return []Check{
		owned("owner-takeover", "The name of a dead owner is taken at the first attempt, and its successor inherits neither readiness nor plan.",
			time.Second, ownerTakeover, "OL-9", "OL-10", "OL-1", "OL-2", "OL-6", "OL-21"),
		owned("owner-killed", "A consumer that is killed, or panics in a call, is dead, and its name is free.",
			time.Second, ownerKilled, "OL-2", "OL-9"),
		owned("owner-in-flight", "A call whose owner dies ends soon, with its answer or one error.",
			time.Second, ownerInFlight, "OL-46", "OL-49"),
		owned("owner-restart", "A route starts again at the first attempt once its death is known, whatever it was before.",
			time.Second, ownerRestart, "OL-52", "OL-10"),
		owned("owner-hung-keeps", "A consumer that says nothing for seconds keeps its entry, and answers in the end.",
			ownerSilence+time.Second, ownerHungKeeps, "OL-5"),
		owned("owner-list", "All entries of an owner leave the listing when it dies, and those of others stay.",
			time.Second, ownerList, "OL-22", "OL-3"),
		owned("owner-unready", "An entry that is not ready is neither listed nor called, and holds its name.",
			time.Second, ownerUnready, "OL-26", "OL-28"),
		owned("owner-late-stop", "A late stop by who had a name before leaves its new owner's entry and plan alone.",
			time.Second, ownerLateStop, "OL-30", "OL-36"),
		owned("owner-stop-twice", "A stop may come twice, or for what never started.",
			time.Second, ownerStopTwice, "OL-31"),
		owned("owner-late-ready", "A late ready by who had a name before does not make its new owner's entry visible.",
			time.Second, ownerLateReady, "OL-27"),
		owned("owner-duplicate", "A name that a live owner holds is refused to others by name, ready or not.",
			time.Second, ownerDuplicate, "OL-7"),
		owned("owner-duplicate-own", "A name that a live owner holds is refused to the owner itself.",
			time.Second, ownerDuplicateOwn, "OL-8"),
		owned("owner-failed-duplicate", "A start that fails for a duplicate leaves the incumbent listed, called and guarded as before.",
			time.Second, ownerFailedDuplicate, "OL-32", "OL-36"),
		owned("owner-guarded", "A guarded tool stays guarded by its own tokens, through duplicates, late stops and the deaths of others.",
			time.Second, ownerGuarded, "OL-38", "OL-36"),
		owned("owner-plan-race", "No call that a dead owner's plan let in reaches a successor whose plan does not.",
			time.Second, ownerPlanRace, "OL-38", "OL-50"),
		owned("owner-no-plan", "A registration without a plan is refused, and opens nothing.",
			time.Second, ownerNoPlan, "OL-39"),
		owned("owner-dies-under-calls", "When an owner dies under many calls, none is delivered to it afterwards, and who calls it hears an error.",
			2*time.Second, ownerDiesUnderCalls, "OL-45"),
		owned("owner-successor", "A call that was given to an owner ends with it, and its successor never runs it.",
			time.Second, ownerSuccessor, "OL-50", "OL-46"),
		owned("owner-dead-is-unknown", "A name whose owner is dead is answered as one that never was.",
			time.Second, ownerDeadIsUnknown, "OL-48", "OL-21"),
		owned("owner-misbehaves", "A body that gives no result, or nonsense, costs its caller an error and nobody else anything.",
			time.Second, ownerMisbehaves, "OL-49"),
		owned("owner-fleeting", "A start that ends in the middle leaves nothing.",
			time.Second, ownerFleeting, "OL-33", "OL-53"),
		owned("owner-one-winner", "Of many who want a dead owner's name at once exactly one gets it.",
			time.Second, ownerOneWinner, "OL-16"),
		owned("owner-resources", "Resources and templates have names of their own, and die with the same owner.",
			time.Second, ownerResources, "OL-20", "OL-48"),
		owned("owner-empty-list", "A listing of nothing is an empty list, and not null.",
			time.Second, ownerEmptyList, "OL-23"),
		owned("owner-pages", "Pages of a listing that changes show what was there throughout once, and the dead not at all.",
			2*time.Second, ownerPages, "OL-23", "OL-22"),
		owned("owner-list-changed", "A burst of changes is told, and by fewer messages than changes.",
			4*time.Second, ownerListChanged, "OL-54"),
		capped("owner-cap", "Only the living count for the cap: the dead go first, and a full table says so.",
			time.Second, ownerCap, "OL-11", "OL-12"),
		capped("owner-cap-takeover", "A takeover at a full cap needs no free place.",
			time.Second, ownerCapTakeover, "OL-13"),
		capped("owner-cap-duplicate", "At a full cap a name that a live owner holds is refused as a duplicate.",
			time.Second, ownerCapDuplicate, "OL-14"),
		capped("owner-one-place", "Of many who want the one place that a death freed exactly one gets it.",
			time.Second, ownerOnePlace, "OL-17"),
	}
}

// ownerCapOf is the cap of tools under which those checks run that are about it.
const ownerCapOf = 4

// owned is a check that needs consumers and the endpoint.
func owned(id, title string, cost time.Duration, run func(context.Context, *stage) (string, error), clauses ...string) Check {
	return staged(id, title, cost, 0, run, clauses)
}

// capped is one under a small cap.
func capped(id, title string, cost time.Duration, run func(context.Context, *stage) (string, error), clauses ...string) Check {
	return staged(id, title, cost, ownerCapOf, run, clauses)
}

func staged(id, title string, cost time.Duration, most int, run func(context.Context, *stage) (string, error), clauses []string) Check {
	return Check{ID: id, Title: title, Clauses: clauses, cost: cost, run: func(ctx context.Context, p *probe) (string, error) {
		s, err := p.stage(ctx, most)
		if err != nil {
			return "", err
		}
		defer s.leave()
		return run(ctx, s)
	}}
}

// manners are the ways in which a consumer ends its connection.
var manners = []string{"closes", "is cut off in a frame", "closes before it is ready"}

// endsAs is a consumer with a guarded tool, and its end.
func (s *stage) endsAs(ctx context.Context, manner, name string) (owner uint64, end func() error, err error) {
	if manner == "is cut off in a frame" {
		c, err := s.rawConsumer(ctx, "a")
		if err != nil {
			return 0, nil, err
		}
		return 0, func() error {
			half := c.frame(registering(tool("half", open())))
			_, err := c.conn.Write(half[:len(half)/2])
			_ = c.conn.Close() // it is to end either way
			return err
		}, s.asked(ctx, "a registration of a free name", c.serve(tool(name, guarded("its"))))
	}
	c, err := s.consumer(ctx, "a")
	if err != nil {
		return 0, nil, err
	}
	end = func() error { return c.Close() }
	if manner == "closes before it is ready" {
		_, err = s.offer(ctx, c, tool(name, guarded("its")), says("a"))
		return c.Owner(), end, s.asked(ctx, "a registration of a free name", err)
	}
	_, err = s.serve(ctx, c, tool(name, guarded("its")), says("a"))
	return c.Owner(), end, err
}

func ownerTakeover(ctx context.Context, s *stage) (string, error) {
	for i, manner := range manners {
		name := fmt.Sprintf("t%d", i)
		owner, end, err := s.endsAs(ctx, manner, name)
		if err != nil {
			return "", err
		}
		if err := end(); err != nil {
			return "", err
		}
		e, err := s.takeOver(ctx, "b", tool(name, open()), says("b"))
		if err != nil {
			return "", err
		}
		if e.by.Owner() == owner {
			return "", failf("two starts are the same owner %d", owner)
		}
		when := "its owner " + manner + " and another one has taken the name"
		if err := s.expectRefusal(ctx, "", name, when+" without being ready"); err != nil {
			return "", err
		}
		if err := s.asked(ctx, "ready", e.by.Ready(ctx, e.entry)); err != nil {
			return "", err
		}
		if err := s.expectCall(ctx, "", name, "b", when+" with a plan that lets everybody call"); err != nil {
			return "", err
		}
		if n := e.runs.Load(); n != 1 {
			return "", failf("%s: its body ran %d times, and once when it was ready", when, n)
		}
	}
	return fmt.Sprintf("taken over after each of %d ends: %s", len(manners), strings.Join(manners, ", ")),
		s.expectTools(ctx, "after all takeovers", "t0", "t1", "t2")
}

// processes are the deaths of a consumer that is a process: how it is asked, and the last word.
var processes = []string{consumerHangs, consumerPanics}

// fall lets a process serve the tool t, be called and die of it. The call may be under way.
func (s *stage) fall(ctx context.Context, does string) (*owedCall, error) {
	c, err := s.process("t", does)
	if err != nil {
		return nil, err
	}
	if err := s.expectTools(ctx, "a process serves a tool", "t"); err != nil {
		return nil, err
	}
	f := s.fly(ctx, "", "t")
	if err := c.says(consumerCalled); err != nil {
		return nil, err
	}
	if does == consumerHangs {
		c.kill()
	}
	return f, c.ended()
}

func ownerKilled(ctx context.Context, s *stage) (string, error) {
	for _, does := range processes {
		if _, err := s.fall(ctx, does); err != nil {
			return "", err
		}
		e, err := s.takeOver(ctx, "b", tool("t", open()), says("b"))
		if err != nil {
			return "", err
		}
		if err := s.asked(ctx, "ready", e.by.Ready(ctx, e.entry)); err != nil {
			return "", err
		}
		if err := s.expectCall(ctx, "", "t", "b", "after a takeover of a process's name"); err != nil {
			return "", err
		}
		if err := s.asked(ctx, "a stop", e.by.Unregister(ctx, e.entry)); err != nil {
			return "", err
		}
	}
	return "the names of a killed and of a panicking process were taken over", nil
}

func ownerInFlight(ctx context.Context, s *stage) (string, error) {
	for _, does := range processes {
		f, err := s.fall(ctx, does)
		if err != nil {
			return "", err
		}
		got, err := f.lands(ctx)
		if err != nil {
			return "", err
		}
		if got.class == "" {
			return "", failf("a call whose consumer died is answered %q", got.text)
		}
		if err := s.awaitTools(ctx, "the death of a process"); err != nil {
			return "", err
		}
	}
	a, err := s.rawConsumer(ctx, "a")
	if err != nil {
		return "", err
	}
	if err := a.serve(tool("t", open())); err != nil {
		return "", s.asked(ctx, "a registration of a free name", err)
	}
	var calls []*owedCall
	for range hammers { // which it never reads
		calls = append(calls, s.fly(ctx, "", "t"))
	}
	if _, err := a.invoked(); err != nil {
		return "", err
	}
	_ = a.conn.Close() // it is to be dead
	for _, f := range calls {
		if _, err := f.lands(ctx); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("calls of a killed and of a panicking process, and %d that were hardly delivered, each ended within %v", hammers, deathBound), nil
}

// restarts is how often a route starts again.
const restarts = 8

// ownerRestart learns of a death from a call that was in flight, so that the daemon knows of it:
// from then on no attempt may be in vain.
func ownerRestart(ctx context.Context, s *stage) (string, error) {
	for i := range restarts {
		c, err := s.consumer(ctx, fmt.Sprintf("start-%d", i))
		if err != nil {
			return "", err
		}
		h := hold("x")
		if _, err := s.serve(ctx, c, tool("t", open()), h.body); err != nil {
			return "", fmt.Errorf("start %d: %w", i+1, err)
		}
		if i%2 == 1 { // it has another one, which never was ready
			if _, err := s.offer(ctx, c, tool("u", guarded("its")), h.body); err != nil {
				return "", s.asked(ctx, "a registration of a free name", err)
			}
		}
		f := s.fly(ctx, "", "t")
		if err := h.await(ctx); err != nil {
			return "", err
		}
		_ = c.Close() // it is to be dead
		if err := s.known(ctx, f); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%d starts of a route, each at the first attempt after the death before it was known", restarts), nil
}

// ownerSilence is how long a consumer says nothing, far more than a lease would be in a test.
const ownerSilence = 2500 * time.Millisecond

func ownerHungKeeps(ctx context.Context, s *stage) (string, error) {
	hung, err := s.rawConsumer(ctx, "hung")
	if err != nil {
		return "", err
	}
	if err := hung.serve(tool("t", open())); err != nil {
		return "", s.asked(ctx, "a registration of a free name", err)
	}
	f := s.fly(ctx, "", "t")
	v, err := hung.invoked()
	if err != nil {
		return "", err
	}
	if err := pause(ctx, ownerSilence); err != nil {
		return "", err
	}
	when := fmt.Sprintf("its owner has said nothing for %v", ownerSilence)
	if err := s.expectTools(ctx, when, "t"); err != nil {
		return "", err
	}
	other, err := s.consumer(ctx, "other")
	if err != nil {
		return "", err
	}
	_, err = s.offer(ctx, other, tool("t", open()), says("other"))
	if reason, _ := reasonOf(err); reason != pb.ConsumerReason_CONSUMER_REASON_DUPLICATE {
		return "", failf("%s, and a registration of its name is not refused as a duplicate: %v", when, err)
	}
	if err := hung.answer(v.GetCall(), "late"); err != nil {
		return "", err
	}
	got, err := f.lands(ctx)
	if err != nil {
		return "", err
	}
	return when + ": it keeps its entry, and its late answer arrives",
		s.rec.equal("late answer", outcome{text: "late"}.String(), got.String(), fmt.Sprintf("the late answer of a hung owner: its caller gets %s", got))
}

func ownerList(ctx context.Context, s *stage) (string, error) {
	stays, err := s.newcomer(ctx, "stays", tool("m", open()), says("m"))
	if err != nil {
		return "", err
	}
	c, err := s.consumer(ctx, "goes")
	if err != nil {
		return "", err
	}
	for _, name := range []string{"a", "z"} {
		if _, err := s.serve(ctx, c, tool(name, open()), says(name)); err != nil {
			return "", err
		}
	}
	if _, err := s.offer(ctx, c, tool("hidden", open()), says("hidden")); err != nil {
		return "", s.asked(ctx, "a registration of a free name", err)
	}
	if err := s.expectTools(ctx, "two owners serve", "a", "m", "z"); err != nil {
		return "", err
	}
	if _, err := s.offer(ctx, stays.by, tool("n", open()), says("n")); err != nil {
		return "", s.asked(ctx, "a registration of a free name", err)
	}
	_ = c.Close() // it is to be dead
	if err := s.awaitTools(ctx, "the death of an owner", "m"); err != nil {
		return "", err
	}
	return "three entries went with their owner, the other owner's stayed", s.expectCall(ctx, "", "m", "m", "after the death of another owner")
}

func ownerUnready(ctx context.Context, s *stage) (string, error) {
	c, err := s.consumer(ctx, "a")
	if err != nil {
		return "", err
	}
	e, err := s.offer(ctx, c, tool("t", open()), says("a"))
	if err != nil {
		return "", s.asked(ctx, "a registration of a free name", err)
	}
	const when = "an entry is registered and not ready"
	if err := s.expectTools(ctx, when); err != nil {
		return "", err
	}
	if err := s.expectRefusal(ctx, "", "t", when); err != nil {
		return "", err
	}
	other, err := s.consumer(ctx, "b")
	if err != nil {
		return "", err
	}
	if _, err = s.offer(ctx, other, tool("t", open()), says("b")); err == nil {
		return "", failf("%s, and another owner got its name", when)
	}
	if err := s.asked(ctx, "ready", c.Ready(ctx, e.entry)); err != nil {
		return "", err
	}
	if err := s.expectTools(ctx, "the entry is ready", "t"); err != nil {
		return "", err
	}
	return "hidden and held until it was ready", s.expectCall(ctx, "", "t", "a", "the entry is ready")
}
