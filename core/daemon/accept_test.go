package daemon

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"syscall"
	"testing"

	"github.com/jonboulle/clockwork"
)

// starved is a listener whose process has no descriptor left, until it is closed.
type starved struct {
	net.Listener
	left int
}

func (s *starved) Accept() (net.Conn, error) {
	if s.left--; s.left < 0 {
		return nil, net.ErrClosed
	}
	return nil, syscall.EMFILE
}

// TestAStarvedListenerFillsNoLog: ten failures in a second are one line in a minute, and every
// one of them is counted in some line.
func TestAStarvedListenerFillsNoLog(t *testing.T) {
	const failures = 1000 // in 100 seconds
	clock, log := clockwork.NewFakeClock(), &syncBuffer{}
	ctx, cancel := context.WithTimeout(t.Context(), testBound)
	defer cancel()
	d := &Daemon{log: slog.New(slog.NewTextHandler(log, nil)), cfg: Config{Clock: clock}, drain: ctx}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		d.accept(&starved{left: failures})
	}()
	for range failures {
		if err := clock.BlockUntilContext(ctx, 1); err != nil {
			t.Fatal(err)
		}
		clock.Advance(acceptPause)
	}
	<-ended
	if got := strings.Count(log.String(), "\n"); got != 3 {
		t.Errorf("%d lines:\n%s", got, log)
	}
	for _, want := range []string{"too many open files\" failures_before=0", "failures_before=599", "msg=\"connections could not be accepted\" failures=399"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("no line with %q:\n%s", want, log)
		}
	}
}

// A daemon shows the cap on live peers that is in force, and not only the one that was asked for.
func TestTheCapInForceIsShown(t *testing.T) {
	shown := func(settings string, cfg Config) Setting {
		t.Helper()
		cfg.Home = newHome(t)
		put(t, layout(cfg.Home).settings, settings)
		list, err := Effective(cfg)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range list {
			if s.Key == "limits.max_live" {
				return s
			}
		}
		t.Fatal("there is no limits.max_live")
		return Setting{}
	}
	r := start(t, setup{cfg: func(c *Config) { c.Dialer = nil }})
	if got := shown("", Config{}); got.Value == "0" || got.Origin != "what the limit of open files allows" {
		t.Errorf("%+v", got)
	}
	if got := shown("[limits]\nmax_live = 1\n", Config{}); got.Value != "1" || !strings.HasSuffix(got.Origin, "config.toml:2") {
		t.Errorf("%+v", got)
	}
	if got := shown("", Config{Dialer: r.dialer}); got.Value != "0" || got.Origin != "default" {
		t.Errorf("a dialer that is no process has no such limit: %+v", got)
	}
	want := "key=limits.max_live value=" + shown("", Config{}).Value + ` origin="what the limit`
	r.eventually("the log has the same cap", func() bool { return strings.Contains(r.log.String(), want) })
}
