package conformance

import (
	"strings"
	"testing"
)

// TestRoom: a full disk is not the daemon's fault, and is found before anything is judged.
func TestRoom(t *testing.T) {
	if err := roomFor("dir", minRoom); err != nil {
		t.Errorf("with just enough room: %v", err)
	}
	err := roomFor("dir", minRoom-1)
	if err == nil || !strings.HasPrefix(err.Error(), "dir has 65535 KiB free, and a run wants 65536") {
		t.Errorf("with a byte less: %v", err)
	}
	if err := enoughRoom(); err != nil {
		t.Errorf("here: %v", err)
	}
}
