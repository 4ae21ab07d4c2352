package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"
)

// probeTimeout bounds the question whether somebody answers on a socket that is there.
const probeTimeout = 5 * time.Second

// endpoints are the places where clients reach the daemon.
type endpoints struct {
	home   home
	unix   *net.UnixListener
	socket fs.FileInfo  // of the socket that is ours
	tcp    net.Listener // nil is off
	mcp    net.Listener // nil is off
}

// listen binds them all and then writes the port files.
func listen(ctx context.Context, h home, tcpAddr, mcpAddr string) (_ *endpoints, err error) {
	e := &endpoints{home: h}
	if err := e.bindUnix(ctx); err != nil {
		return nil, err
	}
	if e.tcp, err = bindTCP(ctx, "TCP", tcpAddr, DefaultTCPAddr); err == nil {
		e.mcp, err = bindTCP(ctx, "MCP", mcpAddr, DefaultMCPAddr)
	}
	if err == nil {
		err = errors.Join(writePort(h.port, e.tcp), writePort(h.mcpPort, e.mcp))
	}
	if err != nil {
		e.close()
		return nil, err
	}
	return e, nil
}

func (e *endpoints) bindUnix(ctx context.Context) error {
	path := e.home.socket
	if err := clearStale(ctx, path); err != nil {
		return err
	}
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return fmt.Errorf("cannot listen on %s: %w", path, err)
	}
	ln.SetUnlinkOnClose(false) // close checks whose socket it is
	e.unix = ln
	err = os.Chmod(path, 0o600)
	if err == nil {
		e.socket, err = os.Lstat(path)
	}
	if err != nil {
		_ = ln.Close()
		return fmt.Errorf("cannot protect the socket %s: %w", path, err)
	}
	return nil
}

// clearStale removes the socket of a daemon that is gone. Only a refused connection proves
// that: whatever else happens, the file stays.
func clearStale(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("cannot look at the socket: %w", err)
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%s is in the way and is not a socket; remove it, or choose another home", path)
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err == nil {
		_ = conn.Close()
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("busy socket %s: a daemon answers on it (%v); stop it, or choose another home", path, answered(err))
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("cannot remove the stale socket: %w", err)
	}
	return nil
}

func answered(err error) string {
	if err == nil {
		return "it accepts connections"
	}
	return err.Error()
}

// bindTCP binds an address, or none. Only a default may be replaced by a port that the system
// chooses: who asked for a port by number wants to hear that it is taken.
func bindTCP(ctx context.Context, what, addr, normal string) (net.Listener, error) {
	if addr == TCPOff {
		return nil, nil
	}
	want := cmp.Or(addr, normal)
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", want)
	if err != nil && addr == "" {
		ln, err = new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	}
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s %s: %w; choose another address, 127.0.0.1:0 for any port, or %q", what, want, err, TCPOff)
	}
	return ln, nil
}

// writePort tells clients the port. Where nobody listens a file of an earlier daemon is removed.
func writePort(path string, ln net.Listener) error {
	if ln == nil {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot remove the stale port file: %w", err)
		}
		return nil
	}
	port := strconv.Itoa(ln.Addr().(*net.TCPAddr).Port)
	if err := os.WriteFile(path, []byte(port), 0o600); err != nil {
		return fmt.Errorf("cannot write the port file: %w", err)
	}
	return nil
}

// addrOf is the address that was bound, or "off".
func addrOf(ln net.Listener) string {
	if ln == nil {
		return TCPOff
	}
	return ln.Addr().String()
}

// close stops accepting and removes what lies in the home, unless the socket there is
// somebody else's by now. A second close does nothing.
func (e *endpoints) close() {
	_ = e.unix.Close() // it is going either way
	for _, ln := range []net.Listener{e.tcp, e.mcp} {
		if ln != nil {
			_ = ln.Close()
		}
	}
	if now, err := os.Lstat(e.home.socket); err != nil || !os.SameFile(now, e.socket) {
		return
	}
	_ = os.Remove(e.home.socket) // a file that stays is found stale by the next start
	_ = os.Remove(e.home.port)
	_ = os.Remove(e.home.mcpPort)
}
