package registry_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mayfly-mcp/mayfly/core/owner"
	"github.com/mayfly-mcp/mayfly/core/registry"
)

// The master law (OL-53) against a model of two maps: the dead are not in them.
func TestLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := newLaw(t)
		defer l.close()
		t.Repeat(map[string]func(*rapid.T){
			"":           l.check,
			"birth":      l.birth,
			"death":      l.death,
			"register":   l.register,
			"ready":      l.ready,
			"unregister": l.unregister,
			"call":       l.call,
		})
	})
}

// held is what the model knows of an entry: who owns it, whether it is ready, what it answers
// and whom it admits.
type held struct {
	entry  *entry
	owner  *ownerLaw
	ready  bool
	answer string
	token  string // "" is public
}

type ownerLaw struct {
	*owner.Owner
	cancel context.CancelFunc
}

type law struct {
	max    int
	tab    *table
	alive  []*ownerLaw
	dead   []*ownerLaw
	live   map[string]*held
	past   []*held // entries that are out, for late stops
	starts int
}

func newLaw(t *rapid.T) *law {
	max := rapid.IntRange(1, 4).Draw(t, "max")
	return &law{max: max, tab: newTable(max), live: map[string]*held{}}
}

func (l *law) close() {
	for _, o := range append(l.alive, l.dead...) {
		o.Close()
		o.cancel()
	}
}

var lawKeys = []string{"a", "b", "c", "d", "e", "f"}

func (l *law) birth(*rapid.T) {
	ctx, cancel := context.WithCancel(context.Background())
	l.alive = append(l.alive, &ownerLaw{owner.New(ctx, "o"), cancel})
}

func (l *law) death(t *rapid.T) {
	if len(l.alive) == 0 {
		return
	}
	i := rapid.IntRange(0, len(l.alive)-1).Draw(t, "owner")
	o := l.alive[i]
	l.alive = slices.Delete(l.alive, i, i+1)
	l.dead = append(l.dead, o)
	if rapid.Bool().Draw(t, "by its context") {
		o.cancel() // the hooks run a moment later
	} else {
		o.Close()
	}
	for _, k := range lawKeys {
		if h := l.live[k]; h != nil && h.owner == o {
			l.takeOut(k)
		}
	}
}

func (l *law) takeOut(key string) {
	l.past = append(l.past, l.live[key])
	delete(l.live, key)
}

func (l *law) register(t *rapid.T) {
	key := rapid.SampledFrom(lawKeys).Draw(t, "key")
	o, lives := l.somebody(t)
	if o == nil {
		return
	}
	l.starts++
	h := &held{owner: o, answer: fmt.Sprint(l.starts), token: rapid.SampledFrom([]string{"", "secret"}).Draw(t, "token")}
	e, err := l.tab.Register(o.Token, h.spec(key))
	h.entry = e
	var want any
	switch {
	case !lives:
		if !errors.Is(err, registry.ErrDeadOwner) {
			t.Fatalf("a dead owner registers: %v", err)
		}
		return
	case l.live[key] != nil:
		want = new(*registry.DuplicateError)
	case len(l.live) >= l.max:
		want = new(*registry.FullError)
	default:
		if err != nil {
			t.Fatalf("register %s: %v", key, err)
		}
		l.live[key] = h
		return
	}
	if err == nil || !errors.As(err, want) {
		t.Fatalf("register %s: %v, want a %T", key, err, want)
	}
}

func (h *held) spec(key string) spec {
	s := saying(key, h.answer)
	if h.token != "" {
		s.Plan = registry.Bearer(func(_ context.Context, got string) error {
			if got != h.token {
				return errors.New("no")
			}
			return nil
		})
	}
	return s
}

// somebody is an owner, alive or dead, or nil before the first birth.
func (l *law) somebody(t *rapid.T) (o *ownerLaw, lives bool) {
	all := append(slices.Clone(l.alive), l.dead...)
	if len(all) == 0 {
		return nil, false
	}
	i := rapid.IntRange(0, len(all)-1).Draw(t, "owner")
	return all[i], i < len(l.alive)
}

// any is an entry, in or out, or nil before the first.
func (l *law) any(t *rapid.T) (h *held, key string) {
	var all []*held
	for _, k := range lawKeys {
		if l.live[k] != nil {
			all = append(all, l.live[k])
		}
	}
	if all = append(all, l.past...); len(all) == 0 {
		return nil, ""
	}
	h = rapid.SampledFrom(all).Draw(t, "entry")
	return h, h.entry.Key()
}

func (l *law) ready(t *rapid.T) {
	h, key := l.any(t)
	if h == nil {
		return
	}
	err := h.entry.Ready()
	if in := l.live[key] == h; (err == nil) != in {
		t.Fatalf("ready %s: %v; it is in: %v", key, err, in)
	}
	h.ready = true
}

func (l *law) unregister(t *rapid.T) {
	h, key := l.any(t)
	if h == nil {
		return
	}
	h.entry.Unregister()
	if l.live[key] == h {
		l.takeOut(key)
	}
}

func (l *law) call(t *rapid.T) {
	key := rapid.SampledFrom(lawKeys).Draw(t, "key")
	token := rapid.SampledFrom([]string{"", "secret"}).Draw(t, "token")
	h := l.live[key]
	e, err := l.tab.Resolve(key)
	if listed := h != nil && h.ready; (err == nil) != listed {
		t.Fatalf("resolve %s: %v; listed: %v", key, err, listed)
	}
	if err != nil {
		return
	}
	got, err := e.Call(context.Background(), registry.Caller{Token: token}, "")
	if admitted := h.token == "" || h.token == token; (err == nil) != admitted || err == nil && got != h.answer {
		t.Fatalf("call %s: %q, %v; want %q, admitted: %v", key, got, err, h.answer, admitted)
	}
}

func (l *law) check(t *rapid.T) {
	var want []string
	for _, k := range lawKeys {
		if h := l.live[k]; h != nil && h.ready {
			want = append(want, k)
		}
	}
	if got := names(l.tab); got != strings.Join(want, " ") {
		t.Fatalf("listed: %q, want %q", got, want)
	}
	if got := l.tab.Len(); got != len(l.live) {
		t.Fatalf("%d are held, want %d", got, len(l.live))
	}
}
