package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/mayfly-mcp/mayfly/conformance"
	"github.com/mayfly-mcp/mayfly/conformance/adapter"
)

// maxTemplate bounds the file of -template, in bytes.
const maxTemplate = 1 << 20

// targetUsage explains targets, below the flags.
func targetUsage() string {
	return `
Targets:
  embedded                  the reference daemon
  exec:[K=V…] COMMAND…      a command that runs a daemon of the protocol in a home of its own, e.g.
                            'exec:CRABTALK_HOME={home} crabtalkd'; its configuration is made from
                            -template, and it has to listen at -socket, below its home;
                            one that ends in order only on another signal than SIGTERM needs
                            -stop-signal, e.g. INT
  unix:PATH, tcp:HOST:PORT  a daemon that runs already; checks that would end it or need another
                            configuration are left out and say so. With -model its agents can be
                            made to call tools: tell the daemon that its model endpoint is there
  adapter:PROGRAM…          a program that translates, see "mayfly certify adapter-protocol"

Placeholders in commands and templates:
  ` + strings.Join(conformance.Placeholders(), " ") + `
A setting that the target is not told is not asked of it: the checks that need it are
NOT-APPLICABLE. Without -template an exec: target is told:

` + indent(conformance.DefaultTemplate)
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ") + "\n"
}

// targetFlags say what is to be certified.
type targetFlags struct{ spec, template, config, socket, model, stop *string }

func addTargetFlags(fs *flag.FlagSet) targetFlags {
	return targetFlags{
		spec:     fs.String("target", "embedded", "what to certify: embedded, exec:COMMAND, unix:PATH, tcp:HOST:PORT or adapter:PROGRAM"),
		template: fs.String("template", "", "file with the configuration of an exec: target, with placeholders"),
		config:   fs.String("config", "config.toml", "where the configuration of an exec: target goes, below its home"),
		socket:   fs.String("socket", conformance.DefaultSocket, "where an exec: target listens, below its home"),
		stop: fs.String("stop-signal", "TERM", "what asks an exec: target to end in order: "+strings.Join(conformance.StopSignals(), ", ")+
			"; the report says what it does on it, and on which other one it would"),
		model: fs.String("model", "", "HOST:PORT at which the model endpoint of the checks is to listen, for a unix: or tcp: target"),
	}
}

// target is what the flags say, or the exit code and what is wrong.
func (f targetFlags) target(fs *flag.FlagSet) (t conformance.Target, code int, err error) {
	exe, err := os.Executable()
	if err != nil {
		return t, exitHarness, fmt.Errorf("cannot find the executable to run as peer: %w", err)
	}
	if t, err = conformance.ParseTarget(*f.spec, exe); err != nil {
		return t, exitUsage, err
	}
	kind, _, _ := strings.Cut(*f.spec, ":")
	for _, x := range []struct{ flag, kinds string }{
		{"template", "exec"}, {"config", "exec"}, {"socket", "exec"}, {"stop-signal", "exec"}, {"model", "unix tcp"},
	} {
		if isSet(fs, x.flag) && !strings.Contains(x.kinds, kind) {
			return t, exitUsage, fmt.Errorf("-%s does not go with the target %q; it is for %s targets", x.flag, *f.spec, x.kinds)
		}
	}
	t.Model = *f.model
	if kind != "exec" {
		return t, exitOK, nil
	}
	for _, path := range []string{*f.config, *f.socket} {
		if !filepath.IsLocal(path) {
			return t, exitUsage, fmt.Errorf("%q does not lie below the home of a target; give a relative path", path)
		}
	}
	t.Config, t.Socket = *f.config, *f.socket
	if t.Stop, err = conformance.ParseStopSignal(*f.stop); err != nil {
		return t, exitUsage, fmt.Errorf("-stop-signal: %w", err)
	}
	if t.Template, err = f.read(t.Template); err != nil {
		return t, exitHarness, err
	}
	return t, exitOK, nil
}

// read returns the template; the default one if none is named.
func (f targetFlags) read(otherwise string) (string, error) {
	if *f.template == "" {
		return otherwise, nil
	}
	file, err := os.Open(*f.template)
	if err != nil {
		return "", fmt.Errorf("cannot read the template: %w; -template names a file", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxTemplate+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("cannot read the template: %w; -template names a file", err)
	case len(text) > maxTemplate:
		return "", fmt.Errorf("the template %s has more than %d bytes", *f.template, maxTemplate)
	}
	return string(text), nil
}

// printProtocol is "certify adapter-protocol".
func printProtocol(args []string, stdout, stderr io.Writer) int {
	fs := flag.NewFlagSet("mayfly certify adapter-protocol", flag.ContinueOnError)
	fs.SetOutput(stderr)
	if code, done := parsed(fs, args, stderr); done {
		return code
	}
	if _, err := io.WriteString(stdout, adapter.Protocol); err != nil {
		return exitHarness
	}
	return exitOK
}
