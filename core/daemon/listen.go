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

// endpoints are the two places where clients reach the daemon.
type endpoints struct {
	home   home
	unix   *net.UnixListener
	socket fs.FileInfo // of the socket that is ours
	tcp    net.Listener
}

// listen binds both and then writes the port file.
func listen(ctx context.Context, h home, tcpAddr string) (*endpoints, error) {
	e := &endpoints{home: h}
	if err := e.bindUnix(ctx); err != nil {
		return nil, err
	}
	// Only the default may be replaced: who asked for a port by number wants to hear that it
	// is taken.
	if err := e.bindTCP(ctx, cmp.Or(tcpAddr, DefaultTCPAddr), tcpAddr == ""); err != nil {
		e.close()
		return nil, err
	}
	if err := e.writePort(); err != nil {
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

// bindTCP binds an address or, with orAny, a port that the system chooses.
func (e *endpoints) bindTCP(ctx context.Context, want string, orAny bool) error {
	if want == TCPOff {
		return nil
	}
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", want)
	if err != nil && orAny {
		ln, err = new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	}
	if err != nil {
		return fmt.Errorf("cannot listen on TCP %s: %w; choose another address, 127.0.0.1:0 for any port, or %q", want, err, TCPOff)
	}
	e.tcp = ln
	return nil
}

// writePort tells TCP clients the port. Without TCP a file of an earlier daemon is removed.
func (e *endpoints) writePort() error {
	if e.tcp == nil {
		if err := os.Remove(e.home.port); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot remove the stale port file: %w", err)
		}
		return nil
	}
	port := strconv.Itoa(e.tcp.Addr().(*net.TCPAddr).Port)
	if err := os.WriteFile(e.home.port, []byte(port), 0o600); err != nil {
		return fmt.Errorf("cannot write the port file: %w", err)
	}
	return nil
}

// tcpAddr is the address that was bound, or "off".
func (e *endpoints) tcpAddr() string {
	if e.tcp == nil {
		return TCPOff
	}
	return e.tcp.Addr().String()
}

// close stops accepting and removes what lies in the home, unless the socket there is
// somebody else's by now. A second close does nothing.
func (e *endpoints) close() {
	_ = e.unix.Close() // it is going either way
	if e.tcp != nil {
		_ = e.tcp.Close()
	}
	if now, err := os.Lstat(e.home.socket); err != nil || !os.SameFile(now, e.socket) {
		return
	}
	_ = os.Remove(e.home.socket) // a file that stays is found stale by the next start
	_ = os.Remove(e.home.port)
}
