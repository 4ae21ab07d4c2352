package idle

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/sim/idle/traffic"
)

// script is traffic whose calls are written down, one stream a line. Streams are open: a call is made when it says.
type script [][]traffic.Call

func (s script) Name() string { return "script" }
func (s script) Open() bool   { return true }
func (s script) Streams(uint64) ([]traffic.Stream, error) {
	var all []traffic.Stream
	for i := range s {
		all = append(all, &scripted{calls: s[i]})
	}
	return all, nil
}

type scripted struct{ calls []traffic.Call }

func (s *scripted) Next(time.Duration) (traffic.Call, bool, error) {
	if len(s.calls) == 0 {
		return traffic.Call{}, false, nil
	}
	c := s.calls[0]
	s.calls = s.calls[1:]
	return c, true, nil
}

const sec = time.Second

// at is a call of a tenant to one of its peers.
func at(t time.Duration, tenant, peer uint32) traffic.Call {
	return traffic.Call{At: t, Tenant: tenant, Peer: peer}
}

func taking(d time.Duration, c traffic.Call) traffic.Call { c.Takes = d; return c }

func talking(number uint32, c traffic.Call) traffic.Call { c.Conversation = number; return c }

// machineOf is RFC 0204's configuration, in which calls take as long as they do.
func machineOf(idle time.Duration) lifecycle.Config {
	c := lifecycle.DefaultConfig()
	c.IdleTimeout, c.CallTimeout = idle, 1000*time.Hour
	return c
}

func serversOf(t testing.TB, spec string) Mix {
	t.Helper()
	m, err := ParseServers(spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// scriptOf is a run of written calls on servers that connect at once and hold 100 MiB.
func scriptOf(calls ...[]traffic.Call) Config {
	return Config{Traffic: script(calls), Servers: Mix{{Server: fixed{name: "at once", rss: 100}, Weight: 1}},
		Machine: machineOf(1800 * sec), For: 10 * time.Hour, AuditEvery: 1}
}

func play(t testing.TB, c Config) Result {
	t.Helper()
	r, err := Run(c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func parsed(t testing.TB, spec string) traffic.Traffic {
	t.Helper()
	tr, err := traffic.Parse(spec, traffic.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// near holds a number to an expected one, within an absolute tolerance.
func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if !(math.Abs(got-want) <= within) {
		t.Errorf("%s is %v, want %v within %v", what, got, want, within)
	}
}

// is holds counts to what they must be.
func is[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// moody fails its first connects.
type moody struct {
	fixed
	failures *int
}

func (s moody) Connect(*rand.Rand) (time.Duration, bool) {
	*s.failures--
	return s.d, *s.failures < 0
}

// rule is a policy of one line.
type rule struct {
	idle  func(p Peer, now time.Duration) Decision
	retry func(failures int) (after time.Duration, ok bool)
	seen  *[]time.Duration // gaps that were told, -1 if unknown
}

func (rule) Name() string       { return "rule" }
func (r rule) Start(Env) Keeper { return r }

func (r rule) Called(_ Peer, _, gap time.Duration, known bool) {
	if !known {
		gap = -1
	}
	if r.seen != nil {
		*r.seen = append(*r.seen, gap)
	}
}

func (r rule) Idle(p Peer, now time.Duration) Decision {
	if r.idle == nil {
		return Decision{}
	}
	return r.idle(p, now)
}

func (r rule) Retry(_ Peer, now time.Duration, failures int) (time.Duration, bool) {
	if r.retry == nil {
		return 0, false
	}
	after, ok := r.retry(failures)
	return now + after, ok
}
