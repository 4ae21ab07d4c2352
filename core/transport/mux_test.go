package transport

import (
	"context"
	"errors"
	"testing"

	"github.com/mayfly-mcp/mayfly/core/callerr"
)

// dialFunc is a Dialer made of a function.
type dialFunc func(Config) error

func (f dialFunc) Dial(_ context.Context, cfg Config) (Session, error) { return nil, f(cfg) }

func TestMuxPicksByURL(t *testing.T) {
	stdio, http := errors.New("stdio"), errors.New("http")
	both := Mux{
		Stdio: dialFunc(func(Config) error { return stdio }),
		HTTP:  dialFunc(func(Config) error { return http }),
	}
	if _, err := both.Dial(t.Context(), Config{Command: "x"}); err != stdio {
		t.Errorf("a command went to %v", err)
	}
	if _, err := both.Dial(t.Context(), Config{Command: "x", URL: "http://h"}); err != http {
		t.Errorf("a URL went to %v", err)
	}
	for _, cfg := range []Config{{Command: "x"}, {URL: "http://h"}} {
		_, err := Mux{}.Dial(t.Context(), cfg)
		e, ok := err.(*callerr.Error)
		if !ok || e.Kind != callerr.Transport || e.Phase != callerr.PhaseSpawn || !e.Definite || e.Hint == "" {
			t.Errorf("without a dialer: %#v", err)
		}
	}
}
