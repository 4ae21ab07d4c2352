package mutants

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/mayfly-mcp/mayfly/core/daemon"
	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

// timeMutants are wrong about when.
func timeMutants() []Mutant {
	return []Mutant{
		{"reaper-at-0.95-t", "peers are stopped from 0.95 T of idleness on", reaperTooEarly},
		{"tick-0.30-t", "the reaper looks every 0.30 T in place of every 0.25 T", slowTick},
		{"reaps-in-flight", "the idle clock starts at a call, not at its end", reapsInFlight},
		{"never-reaps-failed", "a failure never ages", fixed(defect{config: failedRetry("24h")})},
		{"failed-retried-at-once", "a failure ages at once, and the next call tries again", fixed(defect{config: failedRetry("1ms")})},
		{"steady-calls-postpone-ageing", "refused calls count as use: under a stream of them a failure does not age", steadyCalls},
		{"half-times", "every time is half of what is configured", fixed(scaled(func(d time.Duration) time.Duration { return d / 2 }))},
		{"double-times", "every time is twice what is configured", fixed(scaled(func(d time.Duration) time.Duration { return 2 * d }))},
	}
}

var (
	idleLine = regexp.MustCompile(`idle_timeout = (\d+)`)
	quoted   = regexp.MustCompile(`"(\d[0-9hms.µ]*)"`)
)

// idleOf is T of a configuration.
func idleOf(config string) time.Duration {
	found := idleLine.FindStringSubmatch(config)
	if found == nil {
		return 0
	}
	d, _ := time.ParseDuration(found[1] + "s")
	return d
}

// scaled rewrites every time of a configuration.
func scaled(f func(time.Duration) time.Duration) defect {
	return defect{config: func(text string) string {
		text = idleLine.ReplaceAllString(text, fmt.Sprintf("idle_timeout = %d", int(f(idleOf(text))/time.Second)))
		return scaleOthers(text, f)
	}}
}

// scaleOthers rewrites every time but T.
func scaleOthers(text string, f func(time.Duration) time.Duration) string {
	return quoted.ReplaceAllStringFunc(text, func(s string) string {
		d, err := time.ParseDuration(strings.Trim(s, `"`))
		if err != nil {
			return s
		}
		return fmt.Sprintf("%q", f(d))
	})
}

// failedRetry sets how long a failure takes to age.
func failedRetry(d string) func(string) string {
	return func(text string) string {
		return strings.Replace(text, "[mcp]\n", fmt.Sprintf("[mcp]\nfailed_retry = %q\n", d), 1)
	}
}

// reaperTooEarly runs the daemon on a clock that is fast, and gives it longer times in all but T.
func reaperTooEarly() defect {
	const rate = 1 / 0.95
	return defect{
		clock: newFast(rate),
		config: func(text string) string {
			return scaleOthers(text, func(d time.Duration) time.Duration { return stretch(d, rate) })
		},
	}
}

func stretch(d time.Duration, by float64) time.Duration { return time.Duration(float64(d) * by) }

// fast is a clock that runs at another rate.
type fast struct {
	clockwork.Clock
	origin time.Time
	rate   float64
}

func newFast(rate float64) fast {
	c := clockwork.NewRealClock()
	return fast{c, c.Now(), rate}
}

func (f fast) real(d time.Duration) time.Duration { return stretch(d, 1/f.rate) }

func (f fast) Now() time.Time                         { return f.origin.Add(stretch(f.Clock.Since(f.origin), f.rate)) }
func (f fast) Since(t time.Time) time.Duration        { return f.Now().Sub(t) }
func (f fast) Until(t time.Time) time.Duration        { return t.Sub(f.Now()) }
func (f fast) After(d time.Duration) <-chan time.Time { return f.Clock.After(f.real(d)) }
func (f fast) AfterFunc(d time.Duration, g func()) clockwork.Timer {
	return f.Clock.AfterFunc(f.real(d), g)
}
func (f fast) NewTimer(d time.Duration) clockwork.Timer   { return f.Clock.NewTimer(f.real(d)) }
func (f fast) NewTicker(d time.Duration) clockwork.Ticker { return f.Clock.NewTicker(f.real(d)) }

// slowTick holds the stop of an idle peer back until a tick of the slower reaper. That comes
// after the daemon's own stop in as many cases as the slow tick comes after the quick one.
func slowTick() defect {
	var idle time.Duration
	began := time.Now()
	d := attending(func(s transport.Session, _ transport.Config) transport.Session {
		var mu sync.Mutex
		used := time.Now()
		use := func() {
			mu.Lock()
			defer mu.Unlock()
			used = time.Now()
		}
		held := time.Time{} // when stops are let through
		return &tampered{Session: s,
			initialize: func(ctx context.Context, s transport.Session) ([]transport.Tool, error) {
				defer use()
				return s.Initialize(ctx)
			},
			call: func(ctx context.Context, s transport.Session, tool string, args json.RawMessage) (*transport.Result, error) {
				defer use()
				return s.Call(ctx, tool, args)
			},
			stop: func(s transport.Session, stage transport.Stage) {
				mu.Lock()
				if due := used.Add(idle); idle > 0 && held.IsZero() && !time.Now().Before(due) {
					tick := 3 * idle / 10
					held = began.Add((due.Sub(began) + tick - 1) / tick * tick)
				}
				wait := time.Until(held)
				mu.Unlock()
				if wait <= 0 {
					s.Stop(stage)
					return
				}
				time.AfterFunc(wait, func() { s.Stop(stage) })
			},
		}
	})
	d.config = func(text string) string {
		idle = idleOf(text)
		return text
	}
	return d
}

// reapsInFlight stops a peer T after its latest call began, whatever goes on.
func reapsInFlight() defect {
	var idle time.Duration
	d := attending(func(s transport.Session, _ transport.Config) transport.Session {
		t := time.AfterFunc(time.Hour, func() { s.Stop(transport.StageTerminate) })
		t.Stop()
		return &tampered{Session: s, call: func(ctx context.Context, s transport.Session, tool string, args json.RawMessage) (*transport.Result, error) {
			if idle > 0 {
				t.Reset(idle)
				defer t.Stop()
			}
			return s.Call(ctx, tool, args)
		}}
	})
	d.config = func(text string) string {
		idle = idleOf(text)
		return text
	}
	return d
}

// steadyCalls lets failures age only when no call was refused for T.
func steadyCalls() defect {
	var mu sync.Mutex
	var reload func(text string)
	var text string
	var again *time.Timer
	var seq int
	refused := func() {
		mu.Lock()
		defer mu.Unlock()
		if again != nil {
			again.Stop()
		} else {
			reload(failedRetry("24h")(text))
		}
		seq++
		mine := seq
		again = time.AfterFunc(idleOf(text), func() {
			mu.Lock()
			defer mu.Unlock()
			if mine == seq {
				reload(text)
				again = nil
			}
		})
	}
	d := answering(func(m *pb.ServerMessage) *pb.ServerMessage {
		if m.GetStreamEvent().GetToolResult().GetIsError() {
			refused()
		}
		return m
	})
	d.config = func(t string) string {
		text = t
		return t
	}
	d.opened = func(live *daemon.Daemon, home string) {
		reload = func(text string) {
			_ = os.WriteFile(filepath.Join(home, configFile), []byte(text), 0o600)
			_, _ = live.Reload()
		}
	}
	return d
}
