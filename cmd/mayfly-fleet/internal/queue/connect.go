package queue

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/mayfly-mcp/mayfly/core/regfile"
)

// The bounds of what is said to the engine.
const (
	// Patience is how long a call is made again while no server can answer it: a cluster that lost its
	// leader has a new one long before.
	Patience = 2 * time.Minute
	// DefaultAckWait is how long a worker may be silent about a job.
	DefaultAckWait = 30 * time.Second
	// MaxWaiting is how many workers may wait for jobs of one campaign at a time.
	MaxWaiting = 4096
	// MaxPending is how many jobs of one campaign may be taken and not done at a time.
	MaxPending = 65_536

	connectTimeout = 3 * time.Second
	callTimeout    = 4 * time.Second  // a leader that died does not answer, the next one does
	longTimeout    = 20 * time.Second // of calls that move much
	maxCredentials = 64 << 10
	duplicates     = 2 * time.Minute // in which a message of the same id is the same message
	retryWait      = 100 * time.Millisecond
	maxRetryWait   = 2 * time.Second
)

// Config says where the engine is and how to speak to it.
type Config struct {
	URL    string // one, or several with commas between them
	Creds  string // a file: NATS credentials, an nkey seed, or one line USER:PASSWORD
	CA     string // a file of certificates to trust, for tls:// and wherever the server asks for TLS
	Cert   string // files of a certificate and its key to show
	Key    string
	Prefix string // of all names; "" means mayfly
	Name   string // of the connection, which the server's operator sees

	Replicas int           // of what is stored; 0 means 3 on a cluster and 1 elsewhere
	AckWait  time.Duration // of new campaigns; 0 means DefaultAckWait
	Patience time.Duration // 0 means Patience

	InProcess nats.InProcessConnProvider // a server in this process, instead of URL
}

// Queue is a connection to the engine.
type Queue struct {
	cfg     Config
	shown   string // the URL without secrets
	conn    *nats.Conn
	js      jetstream.JetStream
	jobs    jetstream.Stream
	results jetstream.Stream
	kv      jetstream.KeyValue // campaigns
	workers jetstream.KeyValue
	share   jetstream.KeyValue
	objects jetstream.ObjectStore

	consumers consumers
	forbidden forbidden
}

var prefixes = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)

// Open connects, and makes what is not there yet. It does not wait for a server that is not there.
func Open(ctx context.Context, cfg Config) (*Queue, error) {
	cfg.Prefix = or(cfg.Prefix, "mayfly")
	if cfg.AckWait == 0 {
		cfg.AckWait = DefaultAckWait
	}
	if cfg.Patience == 0 {
		cfg.Patience = Patience
	}
	if !prefixes.MatchString(cfg.Prefix) {
		return nil, fmt.Errorf("%w: the prefix %q does not do; use 1 to 32 letters, digits, _ and -", ErrUsage, cfg.Prefix)
	}
	q := &Queue{cfg: cfg, shown: shown(cfg.URL)}
	opts, err := q.options()
	if err != nil {
		return nil, err
	}
	if q.conn, err = nats.Connect(cfg.URL, opts...); err != nil {
		return nil, q.unreachable(err)
	}
	if q.js, err = jetstream.New(q.conn, jetstream.WithDefaultTimeout(callTimeout)); err == nil {
		err = q.ensure(ctx)
	}
	if err != nil {
		q.conn.Close()
		return nil, err
	}
	return q, nil
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// Close ends the connection.
func (q *Queue) Close() { q.conn.Close() }

// Where is the engine's address, without secrets.
func (q *Queue) Where() string { return q.shown }

// Prefix is that of all names.
func (q *Queue) Prefix() string { return q.cfg.Prefix }

// options are those of the connection. A connection that is lost is made again for ever: whether to go on
// waiting is up to the calls that need it.
func (q *Queue) options() ([]nats.Option, error) {
	c := &q.cfg
	opts := []nats.Option{nats.Name(or(c.Name, "mayfly-fleet")), nats.Timeout(connectTimeout), nats.MaxReconnects(-1),
		nats.ReconnectWait(retryWait), nats.ReconnectJitter(retryWait, retryWait), nats.PingInterval(5 * time.Second), nats.MaxPingsOutstanding(2),
		nats.ErrorHandler(q.heard)}
	if c.InProcess != nil {
		opts = append(opts, nats.InProcessServer(c.InProcess))
	}
	login, err := credentials(c.Creds)
	if err != nil {
		return nil, err
	}
	opts = append(opts, login...)
	secure, err := c.tls()
	if err != nil {
		return nil, err
	}
	if secure != nil {
		opts = append(opts, nats.Secure(secure))
	}
	return opts, nil
}

// credentials reads a file that says who we are.
func credentials(path string) ([]nats.Option, error) {
	if path == "" {
		return nil, nil
	}
	text, err := regfile.Read(path, maxCredentials)
	if err != nil {
		return nil, fmt.Errorf("%w: the credentials cannot be read: %w", ErrConfig, err)
	}
	line := strings.TrimSpace(string(text))
	switch {
	case strings.Contains(line, "-----BEGIN NATS USER JWT-----"):
		return []nats.Option{nats.UserCredentials(path)}, nil
	case strings.HasPrefix(line, "SU") && !strings.ContainsAny(line, ": \n"):
		opt, err := nats.NkeyOptionFromSeed(path)
		if err != nil {
			return nil, fmt.Errorf("%w: the file of credentials %s holds no nkey of a user", ErrConfig, path)
		}
		return []nats.Option{opt}, nil
	}
	user, password, found := strings.Cut(line, ":")
	if !found || strings.ContainsAny(line, "\n") {
		return nil, fmt.Errorf("%w: the file of credentials %s is none of the forms that are known: a NATS credentials file (JWT and seed), an nkey seed, or one line USER:PASSWORD", ErrConfig, path)
	}
	return []nats.Option{nats.UserInfo(user, password)}, nil
}

// tls is how to speak TLS, nil if nothing is said about it; a tls:// address works without.
func (c *Config) tls() (*tls.Config, error) {
	if c.CA == "" && c.Cert == "" && c.Key == "" {
		return nil, nil
	}
	out := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.CA != "" {
		text, err := os.ReadFile(c.CA)
		if err != nil {
			return nil, fmt.Errorf("%w: the certificates to trust cannot be read: %w", ErrConfig, err)
		}
		out.RootCAs = x509.NewCertPool()
		if !out.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%w: %s holds no certificate in PEM form", ErrConfig, c.CA)
		}
	}
	if c.Cert != "" || c.Key != "" {
		pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
		if err != nil {
			return nil, fmt.Errorf("%w: the certificate %q with the key %q cannot be used: %w", ErrConfig, c.Cert, c.Key, err)
		}
		out.Certificates = []tls.Certificate{pair}
	}
	return out, nil
}

// shown is an address without what is secret in it.
func shown(list string) string {
	var out []string
	for _, one := range strings.Split(list, ",") {
		one = strings.TrimSpace(one)
		u, err := url.Parse(one)
		switch {
		case err == nil && u.Host != "":
			one = u.Scheme + "://" + u.Host
		case strings.Contains(one, "@"):
			one = one[strings.LastIndex(one, "@")+1:]
		}
		out = append(out, one)
	}
	return strings.Join(out, ",")
}

// unreachable says why there is no connection.
func (q *Queue) unreachable(err error) error {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	switch {
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), strings.Contains(err.Error(), "Authorization Violation"):
		return fmt.Errorf("%w: the servers at %s refuse the credentials; give a file with -creds that they know, or ask whoever runs them", ErrRefused, q.shown)
	case errors.As(err, &unknown), errors.As(err, &name), strings.Contains(err.Error(), "certificate"):
		return fmt.Errorf("%w: the servers at %s show a certificate that is not trusted, or want one from us: %w; name the authority with -tls-ca, and our own certificate with -tls-cert and -tls-key", ErrRefused, q.shown, err)
	case errors.Is(err, nats.ErrSecureConnRequired), errors.Is(err, nats.ErrSecureConnWanted):
		return fmt.Errorf("%w: the servers at %s and we do not agree on TLS (%w); use tls:// addresses and -tls-ca if they have it, and neither if not", ErrRefused, q.shown, err)
	}
	return fmt.Errorf("%w: no server answers at %s (%w); see that one runs there with JetStream, and that this machine may reach it, or leave -nats out to run on this machine alone", ErrUnreachable, q.shown, err)
}
