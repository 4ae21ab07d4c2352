//go:build unix

package regfile

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"
)

// TestAPipeIsNotWaitedFor: nobody will ever write to it.
func TestAPipeIsNotWaitedFor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path, 10); !errors.Is(err, ErrIrregular) {
		t.Errorf("error %v, want %v", err, ErrIrregular)
	}
}
