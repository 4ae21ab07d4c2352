package adr

import (
	"context"
	"errors"
	"fmt"

	"github.com/mayfly-mcp/mayfly/core/owner"
	"github.com/mayfly-mcp/mayfly/core/registry"
)

// Mayfly is core/registry. Plan and entry are one step there, and so are "resolved dead" and
// "there is none". A drop is the end of the owner's context, a stop closes the owner.
func Mayfly() Semantics {
	return Semantics{"mayfly", func(f Fate) World { return newReal(f) }, nil}
}

const route = "route"

type (
	realTable = registry.Table[string, Actor]
	realEntry = registry.Entry[string, Actor]
)

// real is a world around a table. Its owner's steps are methods.
type real struct {
	Fate
	table   *realTable
	owners  [2]*owner.Owner
	cancels [2]context.CancelFunc
	entries [2]*realEntry
	steps   [2][]func(Actor) string
	asks    int // steps that the caller took
	gone    bool
	call    call
	wrong   Wrong
}

// call is a call that is held by the plan that decides it, and by the body that it runs.
type call struct {
	target  Actor
	decided Actor
	entry   *realEntry
	asked   chan struct{} // the plan has it
	decide  chan struct{} // closed: the plan may say what it decides
	running chan Actor    // the body has it
	finish  chan struct{} // closed: the body may return
	over    chan error    // the caller has its answer
}

func newReal(f Fate) *real {
	r := &real{Fate: f, table: registry.New[string, Actor](registry.Config{Kind: "tool", Max: 1})}
	for o := range r.owners {
		ctx, cancel := context.WithCancel(context.Background())
		r.owners[o], r.cancels[o] = owner.New(ctx, Actor(o).String()), cancel
	}
	r.call = call{target: nobody, decided: nobody, asked: make(chan struct{}, 1), decide: make(chan struct{}),
		running: make(chan Actor, 1), finish: make(chan struct{}), over: make(chan error, 1)}
	r.steps[Incumbent] = append([]func(Actor) string{r.register, r.markReady}, r.end()...)
	switch f.Start {
	case Full:
		r.steps[Starter] = []func(Actor) string{r.register, r.markReady}
	case Fails:
		r.steps[Starter] = []func(Actor) string{r.register, r.stop, r.unregister}
	}
	return r
}

func (r *real) end() []func(Actor) string {
	switch r.End {
	case Stops:
		return []func(Actor) string{r.stop, r.unregister}
	case Drops:
		return []func(Actor) string{r.drop}
	case StopsLate:
		return []func(Actor) string{r.drop, r.unregister}
	}
	return nil
}

func (r *real) Left(a Actor) bool {
	if a == Caller {
		return !r.gone
	}
	return len(r.steps[a]) > 0
}

func (r *real) Do(a Actor) string {
	if a == Caller {
		r.asks++
		return []func() string{r.resolve, r.ask, r.deliver, r.finish}[r.asks-1]()
	}
	s := r.steps[a][0]
	r.steps[a] = r.steps[a][1:]
	return s(a)
}

func (r *real) register(a Actor) string {
	e, err := r.table.Register(r.owners[a].Token, registry.Spec[string, Actor]{
		Key: route, Plan: registry.Bearer(r.plan(a)), Body: r.body(a),
	})
	r.entries[a] = e
	if err == nil {
		return "registers its entry, which has its plan"
	}
	other := Starter - a
	r.wrong.Refused = r.wrong.Refused || !r.owners[other].Alive()
	r.steps[a] = []func(Actor) string{r.stop, r.unregister}
	return fmt.Sprintf("registers its entry: %v; the start fails", err)
}

func (r *real) markReady(a Actor) string {
	if err := r.entries[a].Ready(); err != nil {
		return fmt.Sprintf("marks its entry ready: %v", err)
	}
	return "marks its entry ready"
}

func (r *real) stop(a Actor) string {
	r.owners[a].Close()
	return "its token dies"
}

func (r *real) drop(a Actor) string {
	r.cancels[a]()
	return "is dropped: its token dies"
}

func (r *real) unregister(a Actor) string {
	r.entries[a].Unregister()
	return "unregisters its entry"
}

// probe is the token of a call that only wants to know who decides.
const probe = "probe"

var errNo = errors.New("no")

// plan admits whoever has the owner's name for a token, and holds the call first.
func (r *real) plan(a Actor) registry.Verifier {
	return func(_ context.Context, token string) error {
		r.call.decided = a
		if token == probe {
			return errNo
		}
		r.call.asked <- struct{}{}
		<-r.call.decide
		if token != a.String() {
			return errNo
		}
		return nil
	}
}

func (r *real) body(a Actor) registry.Body[string, Actor] {
	return func(_ context.Context, token string) (Actor, error) {
		if token != probe {
			r.call.running <- a
			<-r.call.finish
		}
		return a, nil
	}
}

func (r *real) resolve() string {
	e, err := r.table.Resolve(route)
	if err != nil {
		r.gone = true
		return fmt.Sprintf("resolves the route: %v", err)
	}
	r.call.entry, r.call.target = e, r.whose(e)
	return fmt.Sprintf("resolves the route: the entry of the %v", r.call.target)
}

func (r *real) whose(e *realEntry) Actor {
	if e.Owner() == r.owners[Starter].Token {
		return Starter
	}
	return Incumbent
}

// ask has the entry's plan asked, which holds the call.
func (r *real) ask() string {
	token := "stranger"
	if r.Known {
		token = Incumbent.String()
	}
	c := &r.call
	go func() {
		_, err := c.entry.Call(context.Background(), registry.Caller{Token: token}, token)
		c.over <- err
	}()
	select {
	case <-c.asked:
		return fmt.Sprintf("the plan of the %v is asked", c.decided)
	case err := <-c.over:
		r.gone = true
		return fmt.Sprintf("is answered before a plan was asked: %v", err)
	}
}

// deliver lets the plan say what it decides, and the gate and the body follow.
func (r *real) deliver() string {
	c := &r.call
	close(c.decide)
	select {
	case ran := <-c.running:
		r.judge(ran)
		return fmt.Sprintf("the body of the %v begins, the plan of the %v has admitted", ran, c.decided)
	case err := <-c.over:
		r.gone = true
		return fmt.Sprintf("is answered: %v", err)
	}
}

func (r *real) judge(ran Actor) {
	switch admits := r.Known && ran == Incumbent; {
	case r.call.decided == nobody:
		r.wrong.Unplanned = true
	case r.call.decided != ran || !admits:
		r.wrong.Foreign = true
	}
	r.wrong.Late = !r.owners[ran].Alive()
}

func (r *real) finish() string {
	close(r.call.finish)
	r.gone = true
	return fmt.Sprintf("the body returns; the answer: %v", <-r.call.over)
}

// Wrong asks whoever lives and is ready whose plan decides over it.
func (r *real) Wrong() Wrong {
	w := r.wrong
	e, err := r.table.Resolve(route)
	if err != nil || r.Left(r.whose(e)) || r.Left(Caller) {
		return w
	}
	r.call.decided = nobody
	_, err = e.Call(context.Background(), registry.Caller{Token: probe}, probe)
	var denied *registry.DeniedError
	w.Survivor = !errors.As(err, &denied) || r.call.decided != r.whose(e)
	return w
}

// Close has all end that began.
func (r *real) Close() {
	for o := range r.owners {
		r.owners[o].Close()
		r.cancels[o]()
	}
	for !r.gone && r.call.entry != nil && r.asks > 1 {
		r.Do(Caller)
	}
	for o := range r.owners {
		_ = r.owners[o].Drain(context.Background()) // cannot fail: its context does not end
	}
}
