package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mayfly-mcp/mayfly/conformance"
)

// npxPrefix names the variable that stands for the flag -npx-prefix, which a CI job may set.
const npxPrefix = "MAYFLY_NPX_PREFIX"

// coldStartFlags say which servers the cold-start check measures besides its own.
type coldStartFlags struct {
	servers servers
	prefix  *string
}

func addColdStartFlags(fs *flag.FlagSet) *coldStartFlags {
	c := &coldStartFlags{}
	fs.Var(&c.servers, "server", "profile timing: measure the cold start of this server, too: `NAME=COMMAND`, whose tools are listed,\n"+
		"or NAME:TOOL=COMMAND, which is called without arguments; may be repeated")
	c.prefix = fs.String("npx-prefix", "", "profile timing: npm prefix of the public servers whose cold start is measured (default $"+npxPrefix+"), made by:\n"+
		"npm install --prefix DIR "+strings.Join(conformance.ColdStartPackages, " "))
	return c
}

// join puts the servers into the cold-start check, if the run has it. That it has not is an error
// where somebody asked for servers.
func (c *coldStartFlags) join(o *conformance.Options, fs *flag.FlagSet) error {
	asked := isSet(fs, "server") || isSet(fs, "npx-prefix")
	prefix := *c.prefix
	if !isSet(fs, "npx-prefix") {
		prefix = os.Getenv(npxPrefix)
	}
	if prefix != "" { // daemons start elsewhere
		abs, err := filepath.Abs(prefix)
		if err != nil {
			return fmt.Errorf("-npx-prefix: %w", err)
		}
		prefix = abs
	}
	checks, err := conformance.WithColdStart(o.Checks, conformance.ColdStart{Prefix: prefix, Servers: c.servers})
	switch {
	case err == nil:
		o.Checks = checks
		return nil
	case asked:
		return fmt.Errorf("-server and -npx-prefix: %w; use -profile timing", err)
	}
	return nil
}

// servers is the value of a flag that may be repeated.
type servers []conformance.Server

// String shows no command, whose words may be secrets. The braces keep it from being veiled.
func (s *servers) String() string {
	var out []string
	for _, x := range *s {
		out = append(out, x.Name+"={command}")
	}
	return strings.Join(out, " ")
}

func (s *servers) Set(spec string) error {
	x, err := conformance.ParseServer(spec)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(*s, func(y conformance.Server) bool { return y.Name == x.Name }) {
		return fmt.Errorf("server %s is named twice", x.Name)
	}
	*s = append(*s, x)
	return nil
}

// runConsumer is "peer consumer".
func runConsumer(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if err := conformance.RunConsumer(ctx, args, stdin, stdout); err != nil {
		fmt.Fprintf(stderr, "mayfly peer consumer: %v\n", err)
		return exitHarness
	}
	return exitOK
}

// runGoServer is "peer go-server".
func runGoServer(ctx context.Context, _ []string, _ io.Reader, _, stderr io.Writer) int {
	if err := conformance.GoServer(ctx); err != nil {
		fmt.Fprintf(stderr, "mayfly peer go-server: %v\n", err)
		return exitHarness
	}
	return exitOK
}
