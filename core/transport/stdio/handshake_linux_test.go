package stdio

import (
	"errors"
	"strings"
	"testing"

	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/mayfly-mcp/mayfly/fakes/wait"
)

// refuses is a server that answers the first request with an error and lives on.
const refuses = `read -r request; id=${request#*\"id\":}; id=${id%%[,\}]*}
echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"error\":{\"code\":-32000,\"message\":\"the token is stale\"}}"; read -r rest`

// CF-1: a host hears of a handshake that failed in two ways, and whichever is first has to tell
// the reason.
func TestAFailedHandshakeIsWhyTheSessionIsDown(t *testing.T) {
	s, err := New(Options{}).Dial(t.Context(), transport.Config{Command: "/bin/sh", Args: []string{"-c", refuses}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Initialize(wait.Context(t))
	var failed *callerr.Error
	if !errors.As(err, &failed) {
		t.Fatalf("the handshake: %v", err)
	}
	wait.Closed(t, "the end of the session", s.Down())
	if why := s.Err(); why == nil || !strings.Contains(why.Error(), failed.Msg) {
		t.Errorf("the session is down for %q, the handshake failed for %q", why, failed.Msg)
	}
	s.Stop(transport.StageKill)
	wait.Closed(t, "the end of it all", s.Done())
}
