package daemon

import (
	"fmt"
	"os"
	"path/filepath"
)

// maxSocketPath is the longest path that a unix socket address holds: 108 bytes with the
// NUL at its end.
const maxSocketPath = 107

// home is the layout of a daemon's directory. The names of the socket and of the port file
// are the protocol's own, so that its clients find them.
type home struct {
	dir      string
	settings string
	store    string
	legacy   string // the store of an earlier version
	key      string // of the fingerprints
	run      string
	peers    string // records of live processes
	lock     string
	socket   string
	port     string
	mcpPort  string
}

func layout(dir string) home {
	run := filepath.Join(dir, "run")
	return home{
		dir:      dir,
		settings: filepath.Join(dir, "config.toml"),
		store:    filepath.Join(dir, "store.db"),
		legacy:   filepath.Join(dir, "store.json"),
		key:      filepath.Join(dir, "host.key"),
		run:      run,
		peers:    filepath.Join(run, "peers"),
		lock:     filepath.Join(run, "daemon.lock"),
		socket:   filepath.Join(run, "crabtalk.sock"),
		port:     filepath.Join(run, "crabtalk.port"),
		mcpPort:  filepath.Join(run, "mcp.port"),
	}
}

// prepare makes the directories and proves that they can be used.
func (h home) prepare() error {
	if n := len(h.socket); n > maxSocketPath {
		return fmt.Errorf("the socket path %s has %d bytes and a unix socket allows %d; choose a shorter home directory",
			h.socket, n, maxSocketPath)
	}
	if info, err := os.Stat(h.dir); err == nil && !info.IsDir() {
		return fmt.Errorf("the home %s is not a directory; choose another one", h.dir)
	}
	if err := os.MkdirAll(h.run, 0o700); err != nil {
		return fmt.Errorf("cannot use the home %s: %w; choose a directory that can be written", h.dir, err)
	}
	probe, err := os.CreateTemp(h.dir, ".probe-*")
	if err != nil {
		return fmt.Errorf("cannot write to the home %s: %w; choose a directory that can be written", h.dir, err)
	}
	_ = probe.Close()
	return os.Remove(probe.Name())
}

// acquire takes the lock that makes this the only daemon of the home. The lock goes with
// the process, however it ends; the file stays.
func (h home) acquire() (*os.File, error) {
	f, err := os.OpenFile(h.lock, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot open the lock of the home: %w", err)
	}
	if err := lockFile(f); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("busy socket %s: another daemon runs with the home %s (%s: %w); "+
			"stop it, or choose another home", h.socket, h.dir, h.lock, err)
	}
	return f, nil
}
