package campaign

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/sim"
)

// Shape is the form of a small tape that tapes of one bug have in common, an entry a line: what
// is done in which order, with everybody numbered as they come, and without times. Plans of
// incarnations come last, as where they stand on a tape means nothing.
func Shape(t *sim.Tape) string {
	s := &shaper{numbers: map[any]int{}}
	var lines, dials []string
	for i := range t.Entries {
		e := &t.Entries[i]
		if e.Op != sim.OpDial {
			lines = append(lines, s.entry(e))
		}
	}
	for i := range t.Entries {
		if e := &t.Entries[i]; e.Op == sim.OpDial {
			dials = append(dials, s.target(e.Target)+" "+dial(e.Dial))
		}
	}
	slices.SortStableFunc(dials, func(a, b string) int { // the plans of one target keep their order
		return strings.Compare(strings.Fields(a)[0], strings.Fields(b)[0])
	})
	return strings.Join(append(lines, dials...), "\n") + "\n"
}

// shapeID is a short name for a shape.
func shapeID(shape string) string {
	sum := sha256.Sum256([]byte(shape))
	return fmt.Sprintf("%x", sum[:4])
}

// shaper numbers what it meets.
type shaper struct{ numbers map[any]int }

// The kinds of what is numbered. Names and tokens are numbered for each tenant.
type (
	tenantKey uint32
	serverKey uint32
	servedKey uint8
	nameKey   struct {
		tenant uint32
		name   uint8
	}
	tokenKey struct{ tenant, token uint32 }
	countKey struct {
		kind  string
		among uint32
	}
)

// number returns the number of a thing among those of its kind.
func (s *shaper) number(kind string, among uint32, thing any) string {
	if s.numbers[thing] == 0 {
		count := countKey{kind, among}
		s.numbers[count]++
		s.numbers[thing] = s.numbers[count]
	}
	return fmt.Sprintf("%s%d", kind, s.numbers[thing])
}

func (s *shaper) tenant(n uint32) string { return s.number("t", 0, tenantKey(n)) }
func (s *shaper) server(n uint32) string { return s.number("s", 0, serverKey(n)) }
func (s *shaper) token(tenant, token uint32) string {
	return s.tenant(tenant) + "." + s.number("k", tenant, tokenKey{tenant, token})
}

func (s *shaper) target(t sim.Target) string {
	if t.Tenant == 0 {
		return s.server(t.Server)
	}
	return s.server(t.Server) + "/" + s.token(t.Tenant, t.Token)
}

func (s *shaper) entry(e *sim.Entry) string {
	words := []string{}
	add := func(w ...string) { words = append(words, w...) }
	if e.Tenant > 0 {
		add(s.tenant(e.Tenant))
	}
	add(e.Op.String())
	if e.Op >= sim.OpRegister {
		add(s.number("key", 0, servedKey(e.Name)))
		add(marks(e.Serve.String(), e.Serve > 0)...)
	} else if e.Name > 0 {
		add(s.number("m", e.Tenant, nameKey{e.Tenant, e.Name}))
	}
	switch e.Op {
	case sim.OpDeclare:
		add(s.target(e.Target))
		add(wishes(e.Policy)...)
	case sim.OpDispatch:
		add(e.Call.End.String())
		add(marks("late", e.Call.Late, "twice", e.Call.Twice)...)
	case sim.OpRestart:
		add(marks("kill", e.Kill)...)
	case sim.OpReload:
		add(s.server(e.Target.Server), s.server(e.To))
	case sim.OpDown:
		add(s.server(e.Target.Server))
	case sim.OpExpire:
		add(s.token(e.Target.Tenant, e.Target.Token))
	case sim.OpBorn, sim.OpDie, sim.OpRelease, sim.OpEnsure, sim.OpReconnect, sim.OpCancel, sim.OpDial, sim.OpDrain, sim.OpConfigure:
	}
	return strings.Join(words, " ")
}

func wishes(p *lifecycle.Policy) []string {
	if p == nil {
		return nil
	}
	return marks("idle", p.IdleTimeout > 0, "uptime", p.MinUptime > 0, "start", p.StartTimeout > 0,
		"connect", p.ConnectTimeout > 0, "call", p.CallTimeout > 0, "pinned", p.Pinned)
}

func dial(p *sim.DialPlan) string {
	words := []string{p.Outcome.String(), "obeys=" + p.Obeys.String()}
	return strings.Join(append(words, marks("lives", p.Lives > 0, "relists", p.Relists > 0, "spawns", p.Spawns > 0, "starts", p.Starts > 0,
		"loses", p.LosesOnly, "clean", p.Clean, "late", p.Late, "twice", p.Twice)...), " ")
}

// marks returns the names of those marks that are set.
func marks(pairs ...any) (words []string) {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1].(bool) {
			words = append(words, pairs[i].(string))
		}
	}
	return words
}
