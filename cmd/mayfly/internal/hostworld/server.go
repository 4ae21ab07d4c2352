package hostworld

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/mayfly-mcp/mayfly/fakes"
	"github.com/mayfly-mcp/mayfly/scenarios"
)

// tokenVar carries a token. No variable of a scenario can have this name.
const tokenVar = "scenario.token"

// points says which point of a fake server a point of a scenario is.
var points = map[scenarios.Point]fakes.Point{
	scenarios.AtInitialize: fakes.Initialize,
	scenarios.AtList:       fakes.List,
	scenarios.AtCall:       fakes.Call,
}

// dialer is the transport.Dialer of a world: it makes one fake server for each incarnation.
type dialer struct {
	fakes *fakes.Dialer

	mu       sync.Mutex
	programs map[string]*program
	number   int // incarnations of all programs
	expired  map[string]bool
}

type behaviour = fakes.Behaviour

// program is one server of a scenario.
type program struct {
	behaves scenarios.Behaviour
	held    []scenarios.Point
	incs    []*incarnation // every one that ever was, in order of birth
	born    chan struct{}  // closed and replaced when there is another one
}

// incarnation is one run of a program, or the attempt at one.
type incarnation struct {
	key   string
	token string
	srv   *fakes.Server
}

func newDialer() *dialer {
	return &dialer{
		fakes:    fakes.NewDialer(fakes.Config{TokenVar: tokenVar}),
		programs: map[string]*program{},
		expired:  map[string]bool{},
	}
}

// Dial implements transport.Dialer.
func (d *dialer) Dial(ctx context.Context, cfg transport.Config) (transport.Session, error) {
	inc, says := d.bear(cfg)
	if inc != nil {
		cfg.Command = inc.key // else let the fakes say that there is no such server
	}
	s, err := d.fakes.Dial(ctx, cfg)
	if err == nil && says > 0 {
		go inc.speak(s.Done(), says)
	}
	return s, err
}

// speak sends the first message of an incarnation after its time.
func (i *incarnation) speak(done <-chan struct{}, after time.Duration) {
	select {
	case <-time.After(after):
		i.srv.Speak()
	case <-done:
	}
}

// bear makes the fake server of one incarnation, and says how long it is silent. There is none
// for a command that is no server.
func (d *dialer) bear(cfg transport.Config) (*incarnation, time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.programs[cfg.Command]
	if p == nil {
		return nil, 0
	}
	d.number++
	key := cfg.Command + "#" + strconv.Itoa(d.number)
	inc := &incarnation{key: key, token: label(cfg.Env[tokenVar]), srv: d.fakes.Server(key)}
	inc.srv.Set(script(p.behaves))
	d.answer(inc, p.behaves)
	for _, point := range p.held {
		inc.srv.Hold(points[point])
	}
	p.incs = append(p.incs, inc)
	close(p.born)
	p.born = make(chan struct{})
	return inc, p.behaves.Says
}

// answer makes an incarnation answer calls as its program does, if it knows the credential. One
// that does not refuses connects, too.
func (d *dialer) answer(inc *incarnation, b scenarios.Behaviour) {
	expired := d.expired[inc.token]
	if expired {
		b.Answers = scenarios.AnswersReject
	}
	inc.srv.Update(func(old *behaviour) {
		now := script(b)
		now.Call.Late = old.Call.Late
		old.Call, old.Answers = now.Call, now.Answers
		if expired {
			old.Initialize.Do = fakes.Fail
		}
	})
}

// program introduces a server or changes it. What may reach running incarnations does.
func (d *dialer) program(name string, b scenarios.Behaviour) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.programs[name]
	if p == nil {
		p = &program{born: make(chan struct{})}
		d.programs[name] = p
	}
	p.behaves = b
	for _, inc := range p.incs {
		d.answer(inc, b)
	}
}

func (d *dialer) hold(name string, point scenarios.Point) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.programs[name]
	p.held = append(p.held, point)
	for _, inc := range p.incs {
		inc.srv.Hold(points[point])
	}
}

// release ends the hold at a point, or all holds.
func (d *dialer) release(name string, point scenarios.Point) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.programs[name]
	p.held = slices.DeleteFunc(p.held, func(held scenarios.Point) bool {
		if point != "" && held != point {
			return false
		}
		for _, inc := range p.incs {
			inc.srv.Release(points[held])
		}
		return true
	})
}

// await waits until a live incarnation, present or future, has arrived at a point since the
// point is held.
func (d *dialer) await(name string, point scenarios.Point, bound time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	arrived := make(chan struct{}, 1)
	var watchers sync.WaitGroup
	defer watchers.Wait()
	defer cancel()
	for seen := 0; ; {
		incs, born := d.incarnations(name)
		for ; seen < len(incs); seen++ {
			srv := incs[seen].srv
			if c := srv.Counts(); c.Spawns > 0 && c.Live == 0 {
				continue // it has lived
			}
			watchers.Go(func() {
				if srv.WaitReached(ctx, points[point]) == nil {
					select {
					case arrived <- struct{}{}:
					default:
					}
				}
			})
		}
		select {
		case <-arrived:
			return nil
		case <-born:
		case <-ctx.Done():
			return fmt.Errorf("no incarnation of %s arrived at %s within %v", name, point, bound)
		}
	}
}

func (d *dialer) incarnations(name string) ([]*incarnation, <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.programs[name]
	return slices.Clone(p.incs), p.born
}

// of returns the incarnations of a server, those under one token if that is given.
func (d *dialer) of(name, token string) []*incarnation {
	incs, _ := d.incarnations(name)
	return slices.DeleteFunc(incs, func(i *incarnation) bool { return token != "" && i.token != token })
}

func (d *dialer) kill(name, token string) {
	for _, inc := range d.of(name, token) {
		inc.srv.Die()
	}
}

// arrival returns the credential under which a call arrived somewhere.
func (d *dialer) arrival(call string) (token string, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(d.programs)) {
		for _, inc := range d.programs[name].incs {
			for _, rec := range inc.srv.Calls() {
				if string(rec.Args) == string(argsOf(call)) {
					return label(rec.Credential), true
				}
			}
		}
	}
	return "", false
}

func (d *dialer) close() { d.fakes.Close() }

// config is the configuration of a target.
func (d *dialer) config(t scenarios.Target) transport.Config {
	cfg := transport.Config{Command: t.Server}
	if t.Token != "" || len(t.Env) > 0 {
		cfg.Env = map[string]string{}
	}
	for _, e := range t.Env {
		cfg.Env[e.Key] = e.Value
	}
	if t.Token != "" {
		cfg.Env[tokenVar] = secretPrefix + t.Token
	}
	return cfg
}

// secretPrefix makes a secret of a token, so that a label cannot be mistaken for one.
const secretPrefix = "secret of "

func label(secret string) string {
	if len(secret) < len(secretPrefix) {
		return ""
	}
	return secret[len(secretPrefix):]
}

// script translates a behaviour.
func script(b scenarios.Behaviour) fakes.Behaviour {
	out := fakes.Behaviour{
		Tools:       fakes.Tools(b.Tools...),
		Spawn:       fakes.Fault{Delay: b.Spawn},
		Initialize:  fakes.Fault{Delay: b.Connect, Late: b.Late},
		Call:        fakes.Fault{Delay: b.Call, Late: b.Late},
		OnClose:     fakes.Rung{Ignore: b.IgnoresEOF, Delay: b.Stop},
		OnTerminate: fakes.Rung{Ignore: b.IgnoresTerm, Delay: b.Stop},
		OnKill:      fakes.Rung{Ignore: b.IgnoresKill, Delay: b.Stop},
		Answers: func(rec fakes.CallRecord) (*transport.Result, error) {
			return fakes.Text("answer of " + rec.Tool), nil
		},
	}
	switch b.Fails {
	case scenarios.FailsNever:
	case scenarios.FailsSpawn:
		out.Spawn.Do = fakes.Fail
	case scenarios.FailsExit:
		out.Initialize.Do = fakes.Die
	case scenarios.FailsHang:
		out.Initialize.Do = fakes.Hang
	case scenarios.FailsReject:
		out.Initialize.Do = fakes.Fail
	}
	switch b.Answers {
	case scenarios.AnswersOK:
	case scenarios.AnswersReject:
		out.Answers = refuse("the tool says no")
	case scenarios.AnswersError:
		out.Answers = refuse("JSON-RPC error -32602: invalid params")
	case scenarios.AnswersHang:
		out.Call.Do = fakes.Hang
	case scenarios.AnswersExit:
		out.Call.Do = fakes.Die
	case scenarios.AnswersLost:
		out.Call.Do = fakes.Fail
	}
	return out
}

func refuse(msg string) func(fakes.CallRecord) (*transport.Result, error) {
	return func(fakes.CallRecord) (*transport.Result, error) { return nil, fakes.Reject(msg) }
}
