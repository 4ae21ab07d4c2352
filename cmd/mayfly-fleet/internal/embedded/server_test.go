package embedded

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/queue"
	"github.com/mayfly-mcp/mayfly/fakes/wait"
)

func TestMain(m *testing.M) { os.Exit(wait.Main(m)) }

// TestStart: the server is on loopback, its store and its credentials are its owner's alone, and of a store for the
// occasion nothing is left.
func TestStart(t *testing.T) {
	s, err := Start(Config{})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(s.URL, "nats://127.0.0.1:") {
		t.Errorf("it listens on %s", s.URL)
	}
	for path, want := range map[string]fs.FileMode{filepath.Dir(s.Creds): 0o700 | fs.ModeDir, s.Creds: 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s has mode %v, %v; want %v", path, info.Mode(), err, want)
		}
	}
	for _, cfg := range []queue.Config{s.Queue(), {URL: s.URL, Creds: s.Creds}} {
		q, err := queue.Open(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		q.Close()
	}
	if _, err := queue.Open(t.Context(), queue.Config{URL: s.URL}); !errors.Is(err, queue.ErrRefused) {
		t.Errorf("without credentials: %v", err)
	}
	s.Close()
	if _, err := os.Stat(filepath.Dir(s.Creds)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the store is left: %v", err)
	}
}

// TestStore: one server at a time uses a store.
func TestStore(t *testing.T) {
	dir := t.TempDir()
	s, err := Start(Config{Store: dir})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Start(Config{Store: dir}); err == nil || !strings.Contains(err.Error(), "another process has the store") {
		t.Errorf("a second one: %v", err)
	}
	s.Close()
	if s, err = Start(Config{Store: dir, Listen: "127.0.0.1:0"}); err != nil {
		t.Fatal(err)
	}
	s.Close()
	for _, bad := range []string{"nonsense", "127.0.0.1:x"} {
		if _, err := Start(Config{Listen: bad}); err == nil || !strings.Contains(err.Error(), "use HOST:PORT") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// TestRelativeStore: the credentials can be read from another directory than the one that the server was started in.
func TestRelativeStore(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	s, err := Start(Config{Store: "store"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	t.Chdir(t.TempDir())
	q, err := queue.Open(t.Context(), queue.Config{URL: s.URL, Creds: s.Creds})
	if err != nil {
		t.Fatal(err)
	}
	q.Close()
}

// BenchmarkStart is how long people wait for the default.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		s, err := Start(Config{})
		if err != nil {
			b.Fatal(err)
		}
		q, err := queue.Open(b.Context(), s.Queue())
		if err != nil {
			b.Fatal(err)
		}
		q.Close()
		s.Close()
	}
}
