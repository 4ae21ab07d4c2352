package measure

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/mayfly-mcp/mayfly/core/transport/stdio"
	"github.com/mayfly-mcp/mayfly/core/transport/streamable"
	"github.com/mayfly-mcp/mayfly/sim/idle/profile"
)

// Bounds of a measurement.
const (
	MaxStarts  = 5_000
	MaxWarm    = 1_000
	MaxTimeout = 30 * time.Minute
	MaxSettle  = 10 * time.Minute
	giveUp     = 3 // failures in a row, with no success before
)

// tagVar is the variable by which the processes of one start are found.
const tagVar = "MAYFLY_MEASURE"

// Config says what is measured and how.
type Config struct {
	Class   string           // name of the class; empty is drawn from the target
	Target  transport.Config // the server; it may hold secrets
	Starts  int              // after the first
	Warm    int              // calls per start
	Timeout time.Duration    // of a connect, and of a warm call
	Settle  time.Duration    // between the last warm call and the look at the memory
	Call    string           // tool for warm calls; empty is tools/list
	Args    json.RawMessage  // its arguments; empty is none

	// Progress, if set, is told before every start which one it is; the first one is 0.
	Progress func(start int)
}

// Check reports the first setting that cannot be. It shows no secret.
func (c Config) Check() error {
	within := func(name string, v, least, most int64, format func(int64) string) error {
		if v < least || v > most {
			return fmt.Errorf("%s is %s; it has to be from %s to %s", name, format(v), format(least), format(most))
		}
		return nil
	}
	count := func(v int64) string { return fmt.Sprint(v) }
	span := func(v int64) string { return time.Duration(v).String() }
	errs := []error{
		within("-n", int64(c.Starts), 1, MaxStarts, count),
		within("-warm", int64(c.Warm), 0, MaxWarm, count),
		within("-timeout", int64(c.Timeout), int64(time.Millisecond), int64(MaxTimeout), span),
		within("-settle", int64(c.Settle), 0, int64(MaxSettle), span),
	}
	if c.Class != "" && !profile.ValidClass(c.Class) {
		errs = append(errs, fmt.Errorf("-class %.80q: use letters, digits and . _ + -, at most 64", c.Class))
	}
	return errors.Join(errs...)
}

// Run measures. The error is nil when all starts were made or given up, the cause of ctx when
// it ended, and else says why the server could not even be started, or could not be stopped.
// With an error the profile may be nil.
func Run(ctx context.Context, c Config) (*profile.Profile, error) {
	l := lifecycle.DefaultConfig()
	return measureWith(ctx, c, ladder{
		{transport.StageClose, l.CloseGrace}, {transport.StageTerminate, l.TerminateGrace}, {transport.StageKill, l.KillGrace},
	})
}

// measureWith is Run with a ladder.
func measureWith(ctx context.Context, c Config, l ladder) (*profile.Profile, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	records, err := os.MkdirTemp("", "mayfly-measure-")
	if err != nil {
		return nil, fmt.Errorf("a directory for records: %w", err)
	}
	defer os.RemoveAll(records)
	r := &run{
		Config: c,
		dialer: transport.Mux{Stdio: stdio.New(stdio.Options{Records: records}), HTTP: streamable.New(streamable.Options{})},
		ladder: l,
		timer:  startTimer(),
		veil:   newVeil(c.Target),
	}
	defer r.timer.stop()
	p := r.profile()
	err = r.all(ctx, p)
	p.Measured = time.Now().UTC().Truncate(time.Second)
	p.Machine.LoadAfter = load()
	p.Machine.Timer = r.timer.stop()
	return p, err
}

// run is one measurement.
type run struct {
	Config
	dialer transport.Dialer
	ladder ladder
	timer  *timer
	veil   veil
}

// profile returns a profile without starts.
func (r *run) profile() *profile.Profile {
	p := &profile.Profile{
		Format: profile.Format, Version: profile.Version,
		Class:   r.Class,
		Server:  r.server(),
		Machine: machine(),
		Settings: profile.Settings{Starts: r.Starts, Warm: r.Warm, WarmCall: r.warmCall(),
			TimeoutMS: profile.Millis(r.Timeout), SettleMS: profile.Millis(r.Settle)},
		Starts: []profile.Start{},
	}
	if p.Class == "" {
		p.Class = ClassOf(p.Server)
	}
	return p
}

// server describes the target without its secrets.
func (r *run) server() profile.Server {
	if r.Target.URL != "" {
		s := profile.Server{URL: r.veil.url(r.Target.URL)}
		if r.Target.Auth != "" {
			s.Headers = []string{"Authorization"}
		}
		return s
	}
	return profile.Server{
		Command: append([]string{r.Target.Command}, r.veil.args...),
		Env:     slices.Sorted(maps.Keys(r.Target.Env)),
	}
}

// warmCall names what the warm calls are.
func (r *run) warmCall() string {
	if r.Call == "" {
		return "tools/list"
	}
	return "tools/call " + r.Call
}

// all makes the starts.
func (r *run) all(ctx context.Context, p *profile.Profile) error {
	good := false
	for i := 0; i <= r.Starts && (good || i < giveUp); i++ {
		if r.Progress != nil {
			r.Progress(i)
		}
		s, err := r.one(ctx)
		if err != nil {
			return err
		}
		if i == 0 && s.Phase == callerr.PhaseSpawn.String() {
			return errors.New(s.Failure)
		}
		good = good || s.OK
		if i == 0 {
			p.First = s
		} else {
			p.Starts = append(p.Starts, *s)
		}
	}
	return nil
}

// one makes one start. The error is that of ctx, or of a process that does not end.
func (r *run) one(ctx context.Context) (*profile.Start, error) {
	cfg := r.Target
	if cfg.URL == "" {
		cfg.Env = maps.Clone(cfg.Env)
		if cfg.Env == nil {
			cfg.Env = map[string]string{}
		}
		cfg.Env[tagVar] = strings.ToLower(rand.Text())
	}
	s := &profile.Start{}
	session, err := r.connect(ctx, cfg, s)
	if session != nil {
		if err == nil {
			r.use(ctx, session, s, cfg.Env[tagVar])
		}
		if stuck := r.ladder.stop(ctx, session, s); stuck != nil {
			return nil, stuck
		}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return s, nil
}

// connect does what a dispatch waits for, and times it. A session that was made is returned
// with its error.
func (r *run) connect(ctx context.Context, cfg transport.Config, s *profile.Start) (transport.Session, error) {
	late := fmt.Errorf("no tool list within the timeout of %v", r.Timeout)
	bound, cancel := context.WithTimeoutCause(ctx, r.Timeout, late)
	defer cancel()
	r.timer.begin()
	begin := time.Now()
	session, err := r.dialer.Dial(bound, cfg)
	spawned := time.Since(begin)
	var heard func() time.Duration
	var tools []transport.Tool
	if err == nil {
		heard = listen(session, begin)
		tools, err = session.Initialize(bound)
	}
	took := time.Since(begin)
	s.StallMS = profile.Millis(r.timer.end())
	s.ConnectMS, s.OK, s.Tools = profile.Millis(took), err == nil, len(tools)
	if session != nil {
		s.HeardMS = profile.Millis(min(heard(), took))
	}
	if session != nil && cfg.URL == "" {
		s.SpawnMS = profile.Millis(spawned)
	}
	if err != nil {
		r.failed(s, session, err, errors.Is(context.Cause(bound), late))
	}
	return session, err
}

// listen times the first message. The function that it returns gives the time, or 0 if there was
// none so far.
func listen(session transport.Session, begin time.Time) func() time.Duration {
	reporter, ok := session.(transport.Reporter)
	if !ok {
		return func() time.Duration { return 0 }
	}
	over, at := make(chan struct{}), make(chan time.Duration, 1)
	go func() {
		select {
		case <-reporter.Heard():
			at <- time.Since(begin)
			return
		case <-over:
		}
		select {
		case <-reporter.Heard(): // both at once
			at <- time.Since(begin)
		default:
			at <- 0
		}
	}()
	return func() time.Duration { close(over); return <-at }
}

// failed writes down why a connect failed.
func (r *run) failed(s *profile.Start, session transport.Session, err error, late bool) {
	s.Phase, s.Failure = "connect", r.veil.text(err.Error())
	e, ok := errors.AsType[*callerr.Error](err)
	if ok {
		s.Phase = e.Phase.String()
	}
	switch {
	case late:
		if session == nil {
			s.Phase = "connect" // it could be begun: the machine was slow
		}
		s.Failure = fmt.Sprintf("no tool list within the timeout of %v", r.Timeout)
		if s.HeardMS == 0 {
			s.Failure += ", and no message at all"
		}
		if session != nil {
			s.Failure = r.veil.text(s.Failure + stderrOf(session))
		}
	case ok && e.Hint != "":
		s.Failure = r.veil.text(e.Msg + "; " + e.Hint)
	case ok:
		s.Failure = r.veil.text(e.Msg)
	}
}

// stderrOf is the part of the reason of a session that quotes what the server wrote there.
func stderrOf(session transport.Session) string {
	select {
	case <-session.Down():
	default:
		return ""
	}
	if err := session.Err(); err != nil {
		if _, text, ok := strings.Cut(err.Error(), "; stderr"); ok {
			return "; stderr" + text
		}
	}
	return ""
}

// use makes the warm calls and looks at the memory.
func (r *run) use(ctx context.Context, session transport.Session, s *profile.Start, tag string) {
	for range r.Warm {
		begin := time.Now()
		if err := r.warm(ctx, session); err != nil {
			s.WarmFailure = r.veil.text(err.Error())
			break
		}
		s.WarmMS = append(s.WarmMS, profile.Millis(time.Since(begin)))
	}
	meter, ok := session.(transport.Meter)
	if !ok || !pause(ctx, session, r.Settle) {
		return
	}
	s.RSSMiB, s.PSSMiB, s.Processes = memory(meter, tag)
}

// warm makes one warm call.
func (r *run) warm(ctx context.Context, session transport.Session) error {
	ctx, cancel := context.WithTimeoutCause(ctx, r.Timeout, fmt.Errorf("no answer within the timeout of %v", r.Timeout))
	defer cancel()
	var err error
	if r.Call == "" {
		_, err = session.List(ctx)
	} else {
		_, err = session.Call(ctx, r.Call, r.Args)
	}
	if err != nil && context.Cause(ctx) != nil {
		return context.Cause(ctx)
	}
	return err
}

// pause waits, and is false if there is nothing to wait for any more.
func pause(ctx context.Context, session transport.Session, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-session.Down():
	case <-ctx.Done():
	}
	return false
}
