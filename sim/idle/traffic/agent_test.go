package traffic

import (
	"math"
	"slices"
	"testing"
	"time"
)

// sessions plays many agents and sorts their calls by conversation.
func agentSessions(t *testing.T, spec string, days int) (perSession []float64, waits, starts []float64) {
	t.Helper()
	for _, s := range streams(t, spec, 11) {
		calls := play(t, s, time.Duration(days)*24*time.Hour)
		n := 0.0
		for i, c := range calls {
			if i > 0 && c.Conversation != calls[i-1].Conversation {
				perSession, n = append(perSession, n), 0
			}
			if n++; n == 1 {
				starts = append(starts, c.At.Hours())
			} else {
				waits = append(waits, (c.At - calls[i-1].At - calls[i-1].Takes).Seconds())
			}
		}
	}
	return perSession, waits, starts
}

func quantile(v []float64, p float64) float64 {
	slices.Sort(v)
	return v[int(p*float64(len(v)))]
}

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

// TestAgentsHaveThePublishedAggregates draws the parts of sessions as Next does, and compares
// what TraceLab published of them.
func TestAgentsHaveThePublishedAggregates(t *testing.T) {
	a := must(Agents(AgentConfig{}, Population{Tenants: 1})).(*agents)
	s := &must(a.Streams(1))[0]
	stream := (*s).(*agent)
	var requests, perRequest, perSession, waits []float64
	for range 30_000 {
		stream.requests = 0
		stream.think(0)
		n, sum := stream.requests+1, 0.0
		requests = append(requests, float64(n))
		for i := range n {
			if i > 0 {
				waits = append(waits, a.wait.Draw(&stream.g))
				stream.ask()
			}
			perRequest = append(perRequest, float64(stream.calls))
			sum += float64(stream.calls)
		}
		perSession = append(perSession, sum)
	}
	over := 0.0
	for _, w := range waits {
		if w > 300 {
			over++
		}
	}
	for _, c := range []struct {
		what           string
		got, want, tol float64
	}{
		{"median wait", quantile(waits, .5), 86, .03},
		{"p90 wait", quantile(waits, .9), 20.6 * 60, .03},
		{"p99 wait", quantile(waits, .99), 13.9 * 3600, .08},
		{"mean wait", mean(waits), 46.7 * 60, .1},
		{"share of waits above 5 min", over / float64(len(waits)), .25, .02},
		{"requests a session, mean", mean(requests), 9.2, .05},
		{"requests a session, median", quantile(requests, .5), 1, 0},
		{"requests a session, p90", quantile(requests, .9), 18, .06},
		{"requests a session, p99", quantile(requests, .99), 137, .06},
		{"calls a request, mean", mean(perRequest), 10.8, .05},
		{"calls a request, median", quantile(perRequest, .5), 2, 0},
		{"calls a request, p90", quantile(perRequest, .9), 30, .1},
		{"calls a request, p99", quantile(perRequest, .99), 113, .1},
		{"calls a session, mean", mean(perSession), 101.4, .05},
		{"calls a session, median", quantile(perSession, .5), 25, .08},
		{"calls a session, p90", quantile(perSession, .9), 176, .08},
		{"calls a session, p99", quantile(perSession, .99), 1438, .08},
	} {
		t.Logf("%s: %.2f, published %v", c.what, c.got, c.want)
		if math.Abs(c.got-c.want) > c.tol*c.want {
			t.Errorf("%s: %.2f, published %v", c.what, c.got, c.want)
		}
	}
}

// TestAgentsCallAsTheirPartsSay plays whole agents: conversations hold what sessions draw.
func TestAgentsCallAsTheirPartsSay(t *testing.T) {
	perSession, waits, _ := agentSessions(t, "agent:tenants=150,sessions=500/d", 25)
	if len(perSession) < 4_000 {
		t.Fatalf("only %d sessions", len(perSession))
	}
	// Sessions without a call are seen by nobody, and the longest are cut off by the end.
	if got := quantile(perSession, .5); math.Abs(got-25) > 4 {
		t.Errorf("the median conversation has %v calls, want 25", got)
	}
	if got := quantile(perSession, .9); math.Abs(got-176) > 30 {
		t.Errorf("the ninth decile of calls a conversation is %v, want 176", got)
	}
	// Of some 100 gaps within a session 8.2 are human waits, and those of two calls of one
	// round are none.
	none, long := 0.0, 0.0
	for _, w := range waits {
		if w < 1e-9 {
			none++
		}
		if w > 300 {
			long++
		}
	}
	n := float64(len(waits))
	if got := none / n; math.Abs(got-.25) > .04 {
		t.Errorf("%.3f of the gaps are none, want about a quarter", got)
	}
	if got := long / n; got < .018 || got > .035 {
		t.Errorf("%.4f of the gaps within a session are above 5 min, want about 0.25*8.2/100 and some model rounds", got)
	}
}

// TestAgentsTouchPeersByTheirChances counts requests, which human waits and sessions part. With
// a chance of 1 for the first peer every request of enough calls reaches it.
func TestAgentsTouchPeersByTheirChances(t *testing.T) {
	a := must(Agents(AgentConfig{Touch: []float64{1, .5, .2, 0}}, Population{})).(*agents)
	s := must(a.Streams(4))[0].(*agent)
	var wanted [4]float64
	const n = 50_000
	for range n {
		s.ask()
		for i := range wanted {
			if s.wanted>>i&1 == 1 {
				wanted[i]++
			}
		}
		// The first calls go to wanted peers that no call has gone to.
		first := map[uint32]bool{}
		for s.unmet != 0 {
			p := s.peer()
			if first[p] || s.wanted>>p&1 == 0 {
				t.Fatalf("a call goes to peer %d, of wanted %b, which was met before or is not wanted", p, s.wanted)
			}
			first[p] = true
		}
		if p := s.peer(); s.wanted>>p&1 == 0 {
			t.Fatalf("a call goes to peer %d, of wanted %b", p, s.wanted)
		}
	}
	for i, want := range []float64{1, .5, .2, 0} {
		if got := wanted[i] / n; math.Abs(got-want) > .01 {
			t.Errorf("peer %d is wanted by %.3f of the requests, want %v", i, got, want)
		}
	}
}

func TestSharesOfTheAgentsOwnTools(t *testing.T) {
	count := func(spec string) (n float64) {
		for _, s := range streams(t, spec, 2) {
			n += float64(len(play(t, s, 14*24*time.Hour)))
		}
		return n
	}
	all, some := count("agent:tenants=200,sessions=20/d"), count("agent:tenants=200,sessions=20/d,share=0.2")
	if got := some / all; got < .15 || got > .25 {
		t.Errorf("a share of 0.2 has %.3f of the calls", got)
	}
}

// TestSessionsBeginInWorkingHours wants most of them there.
func TestSessionsBeginInWorkingHours(t *testing.T) {
	share := func(spec string) float64 {
		_, _, starts := agentSessions(t, spec, 35)
		n := 0.0
		for _, h := range starts {
			if h := math.Mod(h, 168); h < 120 && math.Mod(h, 24) >= 9 && math.Mod(h, 24) < 18 {
				n++
			}
		}
		return n / float64(len(starts))
	}
	if got := share("agent:tenants=200,hours=work,sessions=6/d"); got < .75 {
		t.Errorf("%.3f of the sessions begin in working hours, want most", got)
	}
	if got := share("agent:tenants=200,sessions=6/d"); math.Abs(got-45.0/168) > .04 {
		t.Errorf("%.3f of the sessions begin in working hours, want %.3f as they are flat", got, 45.0/168)
	}
}

func TestTheWeekGoesRound(t *testing.T) {
	flat, work := must(newClock(Week{})), must(newClock(WorkingHours()))
	for _, at := range []time.Duration{0, time.Hour, 30*time.Hour + 5*time.Minute, 167*time.Hour + 59*time.Minute, 1000 * time.Hour} {
		for _, s := range []float64{0.5, 1800, 86400, 3e6} {
			if got, want := flat.add(at, s), at+span(s); (got - want).Abs() > time.Microsecond {
				t.Errorf("flat: %v after %v s is %v, want %v", at, s, got, want)
			}
		}
		if got, want := work.add(at, 168*3600), at+168*time.Hour; (got - want).Abs() > time.Millisecond {
			t.Errorf("work: a week after %v is %v, want %v", at, got, want)
		}
	}
	if got := flat.add(0, 1e300); got != Forever {
		t.Errorf("an endless wait ends at %v", got)
	}
	only := Week{}
	only[100] = 1
	if got := must(newClock(only)).add(0, 3600*168*1.5); got != 268*time.Hour+30*time.Minute {
		t.Errorf("half into the second busy hour is %v, want 268h30m", got)
	}
}
