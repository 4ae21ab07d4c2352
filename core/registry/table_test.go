package registry_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/core/owner"
	"github.com/mayfly-mcp/mayfly/core/registry"
	"github.com/mayfly-mcp/mayfly/fakes/wait"
)

func TestMain(m *testing.M) { os.Exit(wait.Main(m)) }

type (
	table = registry.Table[string, string]
	entry = registry.Entry[string, string]
	spec  = registry.Spec[string, string]
)

func newTable(max int) *table {
	return registry.New[string, string](registry.Config{Kind: "tool", Max: max})
}

// saying answers with who answers.
func saying(key, answer string) spec {
	return spec{Key: key, Plan: registry.Public(), Body: func(context.Context, string) (string, error) { return answer, nil }}
}

func newOwner(t *testing.T, name string) *owner.Owner {
	t.Helper()
	o := owner.New(t.Context(), name)
	t.Cleanup(o.Close)
	return o
}

func register(t *testing.T, tab *table, o *owner.Owner, s spec) *entry {
	t.Helper()
	e, err := tab.Register(o.Token, s)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func serve(t *testing.T, tab *table, o *owner.Owner, s spec) *entry {
	t.Helper()
	e := register(t, tab, o, s)
	if err := e.Ready(); err != nil {
		t.Fatal(err)
	}
	return e
}

func names(tab *table) string {
	var all []string
	for _, e := range tab.List("", 0) {
		all = append(all, e.Key())
	}
	return strings.Join(all, " ")
}

func call(tab *table, key string) (string, error) {
	e, err := tab.Resolve(key)
	if err != nil {
		return "", err
	}
	return e.Call(context.Background(), registry.Caller{}, "")
}

func checkCall(t *testing.T, tab *table, key, want string) {
	t.Helper()
	if got, err := call(tab, key); err != nil || got != want {
		t.Errorf("call of %s: %q, %v; want %q", key, got, err, want)
	}
}

func checkUnavailable(t *testing.T, tab *table, key string) {
	t.Helper()
	_, err := call(tab, key)
	if d := cmp.Diff(&registry.UnavailableError{Kind: "tool", Key: key}, err); d != "" {
		t.Errorf("call of %s: %v", key, d)
	}
}

// deaths are the ways in which an owner of a start may end (OL-2).
var deaths = map[string]func(*owner.Owner, context.CancelFunc){
	"close":   func(o *owner.Owner, _ context.CancelFunc) { o.Close() },
	"context": func(_ *owner.Owner, cancel context.CancelFunc) { cancel() },
	"return":  func(o *owner.Owner, _ context.CancelFunc) { _ = o.Run(func(context.Context) error { return nil }) },
	"error": func(o *owner.Owner, _ context.CancelFunc) {
		_ = o.Run(func(context.Context) error { return errors.New("x") })
	},
	"panic": func(o *owner.Owner, _ context.CancelFunc) {
		defer func() { _ = recover() }()
		_ = o.Run(func(context.Context) error { panic("x") })
	},
	"goexit": func(o *owner.Owner, _ context.CancelFunc) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = o.Run(func(context.Context) error { goexit(); return nil })
		}()
		<-done
	},
}

// After every manner of death, ready or not, at a full table or not, the dead are
// unobservable: the key and the place are free, without anything in between (OL-9 to OL-13,
// OL-21, OL-22, OL-48, OL-52).
func TestDeathFreesAtOnce(t *testing.T) {
	for name, die := range deaths {
		for _, ready := range []bool{false, true} {
			for _, key := range []string{"search", "other"} {
				t.Run(fmt.Sprintf("%s ready=%v then %s", name, ready, key), func(t *testing.T) {
					for range 20 { // a context tells of its end in a goroutine, sooner or later
						checkDeath(t, die, ready, key)
					}
				})
			}
		}
	}
}

func checkDeath(t *testing.T, die func(*owner.Owner, context.CancelFunc), ready bool, key string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	tab := newTable(1)
	old := owner.New(ctx, "old")
	e := register(t, tab, old, saying("search", "old"))
	if ready {
		if err := e.Ready(); err != nil {
			t.Fatal(err)
		}
	}
	die(old, cancel)
	if n, got := tab.Len(), names(tab); n != 0 || got != "" {
		t.Errorf("%d are held and %q listed after the death", n, got)
	}
	next := newOwner(t, "next")
	e2, err := tab.Register(next.Token, saying(key, "next"))
	if err != nil {
		t.Fatal(err)
	}
	checkUnavailable(t, tab, key) // nothing is inherited
	if err := e2.Ready(); err != nil {
		t.Fatal(err)
	}
	e.Unregister() // a late stop (OL-30)
	if err := e.Ready(); !errors.Is(err, registry.ErrDeadOwner) {
		t.Errorf("a late ready: %v", err)
	}
	checkCall(t, tab, key, "next")
	if got := names(tab); got != key {
		t.Errorf("listed: %q", got)
	}
}

func TestLiveIncumbentStands(t *testing.T) {
	tab := newTable(2)
	a, b := newOwner(t, "a"), newOwner(t, "b")
	serve(t, tab, a, saying("search", "a"))
	for _, o := range []*owner.Owner{a, b} { // OL-7, OL-8
		_, err := tab.Register(o.Token, saying("search", "b"))
		if d := cmp.Diff(&registry.DuplicateError{Kind: "tool", Key: "search"}, err); d != "" {
			t.Errorf("registered again by %v: %s", o, d)
		}
	}
	register(t, tab, b, saying("hidden", "b"))
	if _, err := tab.Register(b.Token, saying("hidden", "b")); !errors.As(err, new(*registry.DuplicateError)) { // OL-26
		t.Errorf("a hidden one blocks nobody: %v", err)
	}
	checkUnavailable(t, tab, "hidden")
	if _, err := tab.Register(b.Token, saying("search", "b")); !errors.As(err, new(*registry.DuplicateError)) { // OL-14
		t.Errorf("a duplicate at a full table: %v", err)
	}
	_, err := tab.Register(b.Token, saying("third", "b"))
	if d := cmp.Diff(&registry.FullError{Kind: "tool", Max: 2}, err); d != "" { // OL-12
		t.Error(d)
	}
	checkCall(t, tab, "search", "a")
	if got := names(tab); got != "search" {
		t.Errorf("listed: %q", got)
	}
}

func TestUnregister(t *testing.T) {
	tab := newTable(1)
	a, b := newOwner(t, "a"), newOwner(t, "b")
	first := serve(t, tab, a, saying("search", "a"))
	found, err := tab.Resolve("search")
	if err != nil {
		t.Fatal(err)
	}
	first.Unregister()
	if _, err := found.Call(t.Context(), registry.Caller{}, ""); !errors.As(err, new(*registry.UnavailableError)) {
		t.Errorf("a call that was resolved before: %v", err)
	}
	second := serve(t, tab, b, saying("search", "b"))
	first.Unregister() // OL-29, OL-31
	(*entry)(nil).Unregister()
	if err := first.Ready(); !errors.Is(err, registry.ErrUnregistered) {
		t.Errorf("ready after that: %v", err)
	}
	checkCall(t, tab, "search", "b")
	if _, err := found.Call(t.Context(), registry.Caller{}, ""); !errors.As(err, new(*registry.UnavailableError)) {
		t.Errorf("the successor's body for a call of the one before: %v", err) // OL-50
	}
	second.Unregister()
	serve(t, tab, a, saying("search", "a again")) // an owner may come back while it lives
	checkCall(t, tab, "search", "a again")
	a.Close()
	checkUnavailable(t, tab, "search")
}

func TestBadSpecsAndOwners(t *testing.T) {
	tab := newTable(1)
	o, gone := newOwner(t, "o"), newOwner(t, "gone")
	gone.Close()
	for want, c := range map[string]struct {
		o *owner.Token
		s spec
	}{
		"the key is empty":        {o.Token, saying("", "")},
		"the key has 4097 bytes":  {o.Token, saying(strings.Repeat("k", registry.MaxKey+1), "")},
		"the key is not UTF-8":    {o.Token, saying("\xff", "")},
		"there is no plan":        {o.Token, spec{Key: "k", Body: saying("k", "").Body}},
		"there is no body":        {o.Token, spec{Key: "k", Plan: registry.Public()}},
		"the owner is not alive:": {nil, saying("k", "")},
		"owner was closed":        {gone.Token, saying("k", "")},
	} {
		if _, err := tab.Register(c.o, c.s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if tab.Len() != 0 {
		t.Error("a refused one was put in")
	}
}

func TestBadConfig(t *testing.T) {
	for want, c := range map[string]registry.Config{
		"Kind is empty":      {Max: 1},
		"Max is 0":           {Kind: "tool"},
		"Max is 1048577; it": {Kind: "tool", Max: registry.MaxEntries + 1},
	} {
		func() {
			defer func() {
				if v := fmt.Sprint(recover()); !strings.Contains(v, want) {
					t.Errorf("%s, want %q", v, want)
				}
			}()
			registry.New[int, int](c)
		}()
	}
}

// Pages give every entry that lives throughout exactly once, whatever else comes and goes
// (OL-23).
func TestPages(t *testing.T) {
	tab := newTable(100)
	stays, goes := newOwner(t, "stays"), newOwner(t, "goes")
	var want, got []string
	for i := range 40 {
		key, o := fmt.Sprintf("k%02d", i), stays
		if i%2 == 1 {
			o = goes
		} else {
			want = append(want, key)
		}
		serve(t, tab, o, saying(key, ""))
	}
	for after := ""; ; {
		page := tab.List(after, 7)
		for _, e := range page {
			if e.Owner() == stays.Token {
				got = append(got, e.Key())
			}
		}
		if len(page) < 7 {
			break
		}
		after = page[6].Key()
		goes.Close()
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// Every visible change is told, and nothing else (OL-54).
func TestChanged(t *testing.T) {
	told := 0
	tab := registry.New[string, string](registry.Config{Kind: "tool", Max: 9, Changed: func() { told++ }})
	check := func(what string, want int) {
		t.Helper()
		if told != want {
			t.Errorf("%s: told %d times, want %d", what, told, want)
		}
		told = 0
	}
	a, b := newOwner(t, "a"), newOwner(t, "b")
	e := register(t, tab, a, saying("x", ""))
	check("a hidden entry", 0)
	_ = e.Ready()
	_ = e.Ready()
	check("ready, twice", 1)
	e.Unregister()
	e.Unregister()
	check("unregister, twice", 1)
	register(t, tab, a, saying("hidden", "")).Unregister()
	check("one that nobody saw", 0)
	serve(t, tab, b, saying("y", ""))
	serve(t, tab, b, saying("z", ""))
	told = 0
	b.Close()
	check("a death", 1)
	a.Close()
	check("a death of one with nothing", 0)
}
