package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/mayfly-mcp/mayfly/cmd/internal/simflags"
	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/queue"
)

// connection are the flags that say where the cluster is.
type connection struct {
	cfg queue.Config
}

func (c *connection) define(fs *flag.FlagSet) {
	fs.StringVar(&c.cfg.URL, "nats", "", "addresses of NATS servers with JetStream, with commas between them; tls:// asks for TLS")
	fs.StringVar(&c.cfg.Creds, "creds", "", "`FILE` that says who we are: NATS credentials, an nkey seed, or a line USER:PASSWORD")
	fs.StringVar(&c.cfg.CA, "tls-ca", "", "`FILE` of certificates to trust")
	fs.StringVar(&c.cfg.Cert, "tls-cert", "", "`FILE` of our certificate, for servers that ask for one")
	fs.StringVar(&c.cfg.Key, "tls-key", "", "`FILE` of its key")
	fs.StringVar(&c.cfg.Prefix, "prefix", "mayfly", "of all streams, buckets and subjects")
}

// errNowhere is a command line without a cluster.
var errNowhere = errors.New("-nats is missing; name the servers of the cluster, or the embedded one of \"mayfly-fleet run\", which prints its address")

// open connects to the cluster that the flags name.
func (c *connection) open(ctx context.Context) (*queue.Queue, error) {
	if c.cfg.URL == "" {
		return nil, fmt.Errorf("%w: %w", queue.ErrUsage, errNowhere)
	}
	return queue.Open(ctx, c.cfg)
}

// parse parses the flags of a command that takes so many names after them.
func parse(fs *flag.FlagSet, args []string, most int) error {
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return err
	case err != nil:
		return simflags.ErrReported
	case fs.NArg() > most:
		return fmt.Errorf("%q is too much; %s takes %d names at the most", fs.Arg(most), fs.Name(), most)
	}
	return nil
}

// misused says what is wrong with a command line, and returns the exit code.
func misused(stderr io.Writer, command string, err error) int {
	return simflags.Misused(stderr, "mayfly-fleet "+command, err)
}
