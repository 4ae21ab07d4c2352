package embedded

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/lockfile"
	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/queue"
)

const (
	startBound = 30 * time.Second
	maxPayload = 8 << 20
	user       = "fleet"
)

// Config says where the server keeps its things and listens.
type Config struct {
	Store  string // a directory; "" makes one for the occasion
	Listen string // HOST:PORT; "" means a free port of loopback
}

// Server is a running one.
type Server struct {
	URL   string // without the password
	Creds string // the file with it

	srv       *server.Server
	lock      *os.File
	store     string
	temporary bool
}

// Start starts a server, with JetStream ready.
func Start(cfg Config) (*Server, error) {
	s := &Server{store: cfg.Store}
	if err := s.directory(); err != nil {
		return nil, err
	}
	if err := s.start(cfg.Listen); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Server) start(address string) (err error) {
	host, port := "127.0.0.1", -1 // any free one
	if address != "" {
		if host, port, err = listen(address); err != nil {
			return err
		}
	}
	password := secret()
	s.Creds = filepath.Join(s.store, "worker.creds")
	if err := os.WriteFile(s.Creds, []byte(user+":"+password+"\n"), 0o600); err != nil {
		return fmt.Errorf("the credentials of the embedded server cannot be written: %w", err)
	}
	s.srv, err = server.NewServer(&server.Options{ServerName: "mayfly-fleet", Host: host, Port: port, Username: user, Password: password,
		JetStream: true, StoreDir: s.store, MaxPayload: maxPayload, NoLog: true, NoSigs: true, NoSystemAccount: false})
	if err != nil {
		return fmt.Errorf("the embedded server cannot be made: %w", err)
	}
	s.srv.Start()
	if !s.srv.ReadyForConnections(startBound) || !s.srv.JetStreamEnabled() {
		return fmt.Errorf("the embedded server did not start at %s with its store in %s; see that the port is free and that there is room on the disk", net.JoinHostPort(host, strconv.Itoa(port)), s.store)
	}
	s.URL = "nats://" + s.srv.Addr().String()
	return nil
}

func listen(text string) (host string, port int, err error) {
	host, p, err := net.SplitHostPort(text)
	if err == nil {
		port, err = strconv.Atoi(p)
	}
	if err != nil {
		return "", 0, fmt.Errorf("the embedded server cannot listen on %q; use HOST:PORT, with port 0 for a free one: %w", text, err)
	}
	if port == 0 {
		port = -1
	}
	return host, port, nil
}

// directory makes and locks the store.
func (s *Server) directory() (err error) {
	if s.temporary = s.store == ""; s.temporary {
		s.store, err = os.MkdirTemp("", "mayfly-fleet-")
	} else if s.store, err = filepath.Abs(s.store); err == nil { // whoever joins is in another directory
		if err = os.MkdirAll(s.store, 0o700); err == nil {
			err = os.Chmod(s.store, 0o700)
		}
	}
	if err != nil {
		return fmt.Errorf("the store of the embedded server cannot be made: %w", err)
	}
	if s.lock, err = os.OpenFile(filepath.Join(s.store, "mayfly.lock"), os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return fmt.Errorf("the store of the embedded server cannot be locked: %w", err)
	}
	if err := lockfile.Lock(s.lock); err != nil {
		return errors.Join(fmt.Errorf("another process has the store %s of the embedded server (%w); wait for its end, or use another directory", s.store, err), s.lock.Close())
	}
	return nil
}

// secret is a password that nobody guesses.
func secret() string {
	var b [24]byte
	_, _ = rand.Read(b[:]) // it never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// Queue is how to reach the server from this process.
func (s *Server) Queue() queue.Config {
	return queue.Config{URL: s.URL, Creds: s.Creds, InProcess: s.srv}
}

// Close ends the server.
func (s *Server) Close() {
	if s.srv != nil {
		s.srv.Shutdown()
		s.srv.WaitForShutdown()
	}
	_ = os.Remove(s.Creds) // the password is of no use any more
	_ = s.lock.Close()     // nothing was written to it
	if s.temporary {
		_ = os.RemoveAll(s.store) // it was for the occasion
	}
}
