package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/transport"
)

// defect is what is wrong with a mutant of the reference daemon. The zero defect is none.
type defect struct {
	dialer func(transport.Dialer) transport.Dialer
	proxy  *hooks                          // between clients and daemon
	config func(string) string             // the daemon's configuration is another one
	before func(home string)               // before the daemon opens
	after  func(home string, code int) int // when it has ended
}

// moveIn gives the daemon a home of its own below the one that clients know.
func (m defect) moveIn(home, inner string) error {
	config, err := os.ReadFile(filepath.Join(home, "config.toml"))
	if err != nil {
		return err
	}
	text := string(config)
	if m.config != nil {
		text = m.config(text)
	}
	return errors.Join(os.MkdirAll(inner, 0o700), os.WriteFile(filepath.Join(inner, "config.toml"), []byte(text), 0o600))
}

// wrapped is a dialer whose configurations and sessions are tampered with.
type wrapped struct {
	transport.Dialer
	before  func(transport.Config) transport.Config
	session func(transport.Session, transport.Config) transport.Session
}

func (w wrapped) Dial(ctx context.Context, cfg transport.Config) (transport.Session, error) {
	if w.before != nil {
		cfg = w.before(cfg)
	}
	s, err := w.Dialer.Dial(ctx, cfg)
	if err != nil || w.session == nil {
		return s, err
	}
	return w.session(s, cfg), nil
}

// configuring tampers with what a server is started with.
func configuring(f func(transport.Config) transport.Config) defect {
	return defect{dialer: func(d transport.Dialer) transport.Dialer { return wrapped{Dialer: d, before: f} }}
}

// attending tampers with the sessions.
func attending(f func(transport.Session, transport.Config) transport.Session) defect {
	return defect{dialer: func(d transport.Dialer) transport.Dialer { return wrapped{Dialer: d, session: f} }}
}

// throughShell starts a server through a shell script that gets it as "$0" "$@".
func throughShell(script string) defect {
	return configuring(func(c transport.Config) transport.Config {
		c.Args = append([]string{"-c", script, c.Command}, c.Args...)
		c.Command = "/bin/sh"
		return c
	})
}

// caller is a session whose calls are tampered with.
type caller struct {
	transport.Session
	call func(ctx context.Context, s transport.Session, tool string, args json.RawMessage) (*transport.Result, error)
}

func (c caller) Call(ctx context.Context, tool string, args json.RawMessage) (*transport.Result, error) {
	return c.call(ctx, c.Session, tool, args)
}

func calling(f func(ctx context.Context, s transport.Session, tool string, args json.RawMessage) (*transport.Result, error)) defect {
	return attending(func(s transport.Session, _ transport.Config) transport.Session { return caller{s, f} })
}

// starter is a session whose handshake is tampered with.
type starter struct {
	transport.Session
	initialize func(ctx context.Context, s transport.Session) ([]transport.Tool, error)
}

func (s starter) Initialize(ctx context.Context) ([]transport.Tool, error) {
	return s.initialize(ctx, s.Session)
}

// stopper is a session whose rungs are tampered with.
type stopper struct {
	transport.Session
	stop func(s transport.Session, stage transport.Stage)
}

func (s stopper) Stop(stage transport.Stage) { s.stop(s.Session, stage) }

// deserter believes that everything is gone once it has been asked to close.
type deserter struct {
	transport.Session
	once *sync.Once
	over chan struct{}
}

func (d deserter) Stop(transport.Stage)  { d.once.Do(func() { close(d.over) }) }
func (d deserter) Down() <-chan struct{} { return d.over }
func (d deserter) Done() <-chan struct{} { return d.over }
func (d deserter) Err() error            { return errors.New("believed to be gone") }

// telltale says in its errors what it was started with.
type telltale struct {
	transport.Session
	secret string
}

func (t telltale) Err() error { return t.tell(t.Session.Err()) }

func (t telltale) Initialize(ctx context.Context) ([]transport.Tool, error) {
	tools, err := t.Session.Initialize(ctx)
	if err != nil {
		err = t.tell(err)
	}
	return tools, err
}

func (t telltale) tell(err error) error {
	return &callerr.Error{Kind: callerr.Transport, Msg: fmt.Sprintf("%v, started with %s", err, t.secret)}
}

// blind does not see a death that it did not cause.
type blind struct {
	transport.Session
	once *sync.Once
	told chan struct{}
	down chan struct{}
	done chan struct{}
}

func newBlind(s transport.Session, _ transport.Config) transport.Session {
	b := blind{s, &sync.Once{}, make(chan struct{}), make(chan struct{}), make(chan struct{})}
	go func() {
		<-b.told
		<-s.Down()
		close(b.down)
		<-s.Done()
		close(b.done)
	}()
	return b
}

func (b blind) Stop(stage transport.Stage) {
	b.once.Do(func() { close(b.told) })
	b.Session.Stop(stage)
}
func (b blind) Down() <-chan struct{} { return b.down }
func (b blind) Done() <-chan struct{} { return b.done }

// twice spawns every server twice.
type twice struct{ transport.Dialer }

func (t twice) Dial(ctx context.Context, cfg transport.Config) (transport.Session, error) {
	first, err := t.Dialer.Dial(ctx, cfg)
	if err != nil {
		return nil, err
	}
	_, _ = first.Initialize(ctx) // so that it has certainly come to life
	first.Stop(transport.StageKill)
	<-first.Done()
	return t.Dialer.Dial(ctx, cfg)
}

// relabel changes the kind of an error that callers see.
func relabel(err error, from, to callerr.Kind) error {
	e, ok := errors.AsType[*callerr.Error](err)
	if !ok || e.Kind != from {
		return err
	}
	clone := *e
	clone.Kind = to
	return &clone
}

// times rewrites every time of a configuration.
func times(f func(time.Duration) time.Duration) defect {
	seconds, quoted := regexp.MustCompile(`idle_timeout = (\d+)`), regexp.MustCompile(`"(\d[0-9hms.]*)"`)
	return defect{config: func(text string) string {
		text = seconds.ReplaceAllStringFunc(text, func(s string) string {
			d, _ := time.ParseDuration(seconds.FindStringSubmatch(s)[1] + "s")
			return fmt.Sprintf("idle_timeout = %d", int(f(d)/time.Second))
		})
		return quoted.ReplaceAllStringFunc(text, func(s string) string {
			d, err := time.ParseDuration(strings.Trim(s, `"`))
			if err != nil {
				return s
			}
			return fmt.Sprintf("%q", f(d))
		})
	}}
}

var oneAtATime sync.Mutex

// defects are the mutants by name.
var defects = map[string]defect{
	"": {},
	"full-environment": configuring(func(c transport.Config) transport.Config {
		env := map[string]string{}
		for _, entry := range os.Environ() {
			k, v, _ := strings.Cut(entry, "=")
			env[k] = v
		}
		for k, v := range c.Env {
			env[k] = v
		}
		c.Env = env
		return c
	}),
	"shell-in-between":     throughShell(`"$0" "$@"; exit $?`),
	"inherits-descriptors": throughShell(`exec 7</dev/null; exec "$0" "$@"`),
	"mute-to-pings":        throughShell(`grep --line-buffered -v server-ping | "$0" "$@"`),
	"hides-its-end":        throughShell(`(cat; sleep 600) | "$0" "$@"`),
	"one-credential-for-all": configuring(func() func(c transport.Config) transport.Config {
		var mu sync.Mutex
		var first string
		return func(c transport.Config) transport.Config {
			mu.Lock()
			defer mu.Unlock()
			if first == "" {
				first = c.Env["TOKEN"]
			}
			if c.Env["TOKEN"] != "" {
				c.Env["TOKEN"] = first
			}
			return c
		}
	}()),
	"logs-configurations": configuring(func(c transport.Config) transport.Config {
		fmt.Fprintln(os.Stderr, "starting", c)
		return c
	}),
	"secret-in-error": attending(func(s transport.Session, c transport.Config) transport.Session {
		return telltale{s, c.Env["TOKEN"]}
	}),
	"connects-one-by-one": attending(func(s transport.Session, _ transport.Config) transport.Session {
		return starter{s, func(ctx context.Context, s transport.Session) ([]transport.Tool, error) {
			oneAtATime.Lock()
			defer oneAtATime.Unlock()
			return s.Initialize(ctx)
		}}
	}),
	"spawns-twice": {dialer: func(d transport.Dialer) transport.Dialer { return twice{d} }},
	"rejection-is-failure": calling(func(ctx context.Context, s transport.Session, tool string, args json.RawMessage) (*transport.Result, error) {
		res, err := s.Call(ctx, tool, args)
		return res, relabel(err, callerr.Rejected, callerr.Transport)
	}),
	"calls-twice": calling(func(ctx context.Context, s transport.Session, tool string, args json.RawMessage) (*transport.Result, error) {
		if res, err := s.Call(ctx, tool, args); err != nil {
			return res, err
		}
		return s.Call(ctx, tool, args)
	}),
	"one-call-at-a-time": calling(func(ctx context.Context, s transport.Session, tool string, args json.RawMessage) (*transport.Result, error) {
		oneAtATime.Lock()
		defer oneAtATime.Unlock()
		return s.Call(ctx, tool, args)
	}),
	"dies-of-a-lost-call": calling(func(ctx context.Context, s transport.Session, tool string, args json.RawMessage) (*transport.Result, error) {
		res, err := s.Call(ctx, tool, args)
		if err != nil {
			os.Exit(9)
		}
		return res, err
	}),
	"never-cancels": calling(func(ctx context.Context, s transport.Session, tool string, args json.RawMessage) (*transport.Result, error) {
		return s.Call(context.WithoutCancel(ctx), tool, args)
	}),
	"answers-of-others": calling(func() func(context.Context, transport.Session, string, json.RawMessage) (*transport.Result, error) {
		var mu sync.Mutex
		var previous *transport.Result
		return func(ctx context.Context, s transport.Session, tool string, args json.RawMessage) (*transport.Result, error) {
			res, err := s.Call(ctx, tool, args)
			mu.Lock()
			defer mu.Unlock()
			if previous != nil && err == nil {
				res, previous = previous, res
			} else {
				previous = res
			}
			return res, err
		}
	}()),
	"never-kills": attending(func(s transport.Session, _ transport.Config) transport.Session {
		return stopper{s, func(s transport.Session, stage transport.Stage) {
			if stage != transport.StageKill {
				s.Stop(stage)
			}
		}}
	}),
	"deserts-servers": attending(func(s transport.Session, _ transport.Config) transport.Session {
		return deserter{s, &sync.Once{}, make(chan struct{})}
	}),
	"blind-to-death": attending(newBlind),
	"half-times":     times(func(d time.Duration) time.Duration { return d / 2 }),
	"double-times":   times(func(d time.Duration) time.Duration { return 2 * d }),
	"forgets-agents": {before: func(home string) {
		_, _ = os.Remove(filepath.Join(home, "store.db")), os.Remove(filepath.Join(home, "store.db.bak"))
	}},
	"steals-homes": {before: func(home string) { _ = os.RemoveAll(filepath.Join(home, "run")) }},
	"starts-anywhere": {before: func(home string) {
		_ = os.Remove(filepath.Join(home, "run"))
	}},
	"exits-with-1": {after: func(string, int) int { return 1 }},
	"keeps-its-socket": {after: func(home string, code int) int {
		_ = os.WriteFile(filepath.Join(home, "run", "crabtalk.sock"), nil, 0o600)
		return code
	}},
}
