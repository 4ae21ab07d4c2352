package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/mayfly-mcp/mayfly/cmd/mayfly/internal/measure"
	"github.com/mayfly-mcp/mayfly/core/regfile"
	"github.com/mayfly-mcp/mayfly/core/transport/stdio"
	"github.com/mayfly-mcp/mayfly/sim/idle/profile"
)

const idleMeasureUsage = `usage: mayfly idle measure [flags] -- COMMAND ARGUMENTS...
       mayfly idle measure [flags] URL
       mayfly idle measure -show FILE

Starts an MCP server again and again, as the daemon would, and measures how long a dispatch waits
for it, how fast it answers once it is warm, what memory its processes take and how it stops. The
result is a profile, which the bench of idle timeouts takes for a class of servers. It goes to
standard output, and a table for people to standard error; with -o it goes to a file, and the
table to standard output. There is one start more than -n says: the first one is kept apart.

Nothing is called but tools/list, unless -call says so. Values of -env, -env-from, -header and
-header-from are shown nowhere; those on a command line are seen by others on the machine, so
prefer the -from flags. Words of COMMAND that look like secrets are masked in the profile.

Exit codes: 0 measured, 1 no start succeeded, and the file of -o is left as it was, 2 usage, 3 the server could not even
be started or not be stopped, 4 interrupted: what was measured until then is written, if any was.

`

// measureFlags are the flags of idle measure.
type measureFlags struct {
	measure.Config
	env, envFrom, header, headerFrom words
	args, out, show                  string
	json                             bool
}

func (f *measureFlags) define(fs *flag.FlagSet) {
	fs.IntVar(&f.Starts, "n", 20, "how many starts, after the first")
	fs.IntVar(&f.Warm, "warm", 5, "how many warm calls per start")
	fs.DurationVar(&f.Timeout, "timeout", 30*time.Second, "bound of a connect, and of a warm call")
	fs.DurationVar(&f.Settle, "settle", time.Second, "how long to wait before memory is read")
	fs.StringVar(&f.Class, "class", "", "name of the class of servers (default: drawn from the command or the URL)")
	fs.StringVar(&f.Call, "call", "", "call this `TOOL` when warm, instead of tools/list; it is really called, -warm times per start")
	fs.StringVar(&f.args, "args", "", "its arguments, a `JSON` object")
	fs.Var(&f.env, "env", "`NAME=VALUE` for the environment of the server; may be repeated")
	fs.Var(&f.envFrom, "env-from", "`NAME` of a variable that the server gets from the environment of this command; may be repeated")
	fs.Var(&f.header, "header", "`NAME=VALUE` of a header for the URL; Authorization is the only one that the daemon sends")
	fs.Var(&f.headerFrom, "header-from", "`NAME=VARIABLE`: likewise, with the value of a variable of the environment of this command")
	fs.StringVar(&f.out, "o", "", "write the profile to this `FILE`")
	fs.BoolVar(&f.json, "json", false, "print the profile and no table")
	fs.StringVar(&f.show, "show", "", "measure nothing; print the table of the profile in this `FILE`")
}

// words are the values of a flag that may be repeated. They may be secrets: no value is refused
// here, since the flag package would quote it, and none is shown.
type words []string

func (w *words) String() string { return "" }

func (w *words) Set(s string) error {
	*w = append(*w, s)
	return nil
}

// runIdleMeasure is "idle measure".
func runIdleMeasure(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) int {
	f := &measureFlags{}
	fs := newFlags("mayfly idle measure", idleMeasureUsage, stderr)
	f.define(fs)
	err := fs.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		err = errReported
	case f.show != "" && (fs.NFlag() > 1 || fs.NArg() > 0):
		err = errors.New("-show goes with nothing else")
	case f.show != "":
		return showProfile(f.show, stdout, stderr)
	default:
		err = f.settle(args, fs.Args())
	}
	if err != nil {
		return misused(stderr, fs.Name(), err)
	}
	return f.run(ctx, stdout, stderr)
}

// readProfile reads the profile of a measured server.
func readProfile(path string) (*profile.Profile, error) {
	data, err := regfile.Read(path, profile.MaxBytes)
	if err != nil {
		return nil, err
	}
	p, err := profile.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

func showProfile(path string, stdout, stderr io.Writer) int {
	p, err := readProfile(path)
	if err != nil {
		fmt.Fprintf(stderr, "mayfly idle measure: %v\n", err)
		return inputCode(err)
	}
	p.Write(stdout)
	return exitOK
}

// settle makes a configuration of flags and arguments. No error of it quotes a value.
func (f *measureFlags) settle(all, rest []string) error {
	if len(rest) == 0 {
		return errors.New("say what to measure: -- COMMAND ARGUMENTS..., or a URL")
	}
	command := len(all) > len(rest) && all[len(all)-len(rest)-1] == "--"
	if !command && strings.Contains(rest[0], "://") {
		if len(rest) > 1 {
			return errors.New("words follow the URL; flags come before it, and a command comes after --")
		}
		f.Target.URL = rest[0]
	} else {
		f.Target.Command, f.Target.Args = rest[0], rest[1:]
	}
	return errors.Join(f.settleTarget(), f.settleCall(), f.Check())
}

// settleTarget checks what belongs to a command or to a URL.
func (f *measureFlags) settleTarget() error {
	if f.Target.URL == "" {
		if len(f.header)+len(f.headerFrom) > 0 {
			return errors.New("-header and -header-from are for URLs; a command gets -env and -env-from")
		}
		if f.Target.Command == "" {
			return errors.New("the command is an empty word")
		}
		return f.settleEnv()
	}
	if len(f.env)+len(f.envFrom) > 0 {
		return errors.New("-env and -env-from are for commands; a URL gets -header and -header-from")
	}
	switch u, err := url.Parse(f.Target.URL); {
	case err != nil:
		return errors.New("the URL cannot be parsed; write it as https://host/path")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return fmt.Errorf("the URL has the scheme %.20q and the host %.80q; write it as https://host/path", u.Scheme, u.Host)
	case u.User != nil:
		return errors.New("the URL holds credentials; use -header-from Authorization=VARIABLE")
	}
	return f.settleHeader()
}

func (f *measureFlags) settleEnv() error {
	f.Target.Env = map[string]string{}
	for i, w := range f.env {
		name, value, ok := strings.Cut(w, "=")
		if !ok || name == "" || strings.ContainsRune(w, 0) {
			return fmt.Errorf("value %d of -env is not of the form NAME=VALUE (it is not shown, since it may be a secret)", i+1)
		}
		f.Target.Env[name] = value
	}
	for _, name := range f.envFrom {
		value, ok := os.LookupEnv(name)
		if !ok {
			return fmt.Errorf("-env-from: the environment of this command has no such variable%s", quotedName(name))
		}
		f.Target.Env[name] = value
	}
	return nil
}

// quotedName shows the name of a variable, unless somebody gave a value in its place.
func quotedName(name string) string {
	plain := func(r rune) bool { return r == '_' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' }
	if len(name) > 64 || strings.ContainsFunc(name, func(r rune) bool { return !plain(r) }) {
		return ", or that is no name: give NAME alone"
	}
	return ": " + name
}

func (f *measureFlags) settleHeader() error {
	for i, w := range slices.Concat(f.header, f.headerFrom) {
		name, value, ok := strings.Cut(w, "=")
		switch {
		case !ok || name == "":
			return fmt.Errorf("value %d of -header and -header-from is not of the form NAME=VALUE (it is not shown, since it may be a secret)", i+1)
		case !strings.EqualFold(name, "Authorization"):
			return errors.New("-header: the daemon sends peers no header of its user's but Authorization, and what is measured is what it does")
		case f.Target.Auth != "":
			return errors.New("-header: Authorization is given twice")
		}
		if i >= len(f.header) {
			variable := value
			if value, ok = os.LookupEnv(variable); !ok {
				return fmt.Errorf("-header-from: the environment of this command has no such variable%s", quotedName(variable))
			}
		}
		if value == "" || strings.ContainsAny(value, "\r\n\x00") {
			return errors.New("-header: the value is empty, or has more than one line")
		}
		f.Target.Auth = value
	}
	return nil
}

func (f *measureFlags) settleCall() error {
	if f.args == "" {
		return nil
	}
	if f.Call == "" {
		return errors.New("-args goes with -call, which names the tool")
	}
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(f.args), &object) != nil || object == nil {
		return errors.New(`-args is no JSON object; write it as '{"name":"value"}'`)
	}
	f.Args = json.RawMessage(f.args)
	return nil
}

// run measures and writes what was asked for.
func (f *measureFlags) run(ctx context.Context, stdout, stderr io.Writer) int {
	harness := func(err error) int {
		fmt.Fprintf(stderr, "mayfly idle measure: %v\n", err)
		return exitHarness
	}
	out, err := openOutput(f.out)
	if err != nil {
		return harness(fmt.Errorf("the profile cannot be written: %w", err))
	}
	defer out.drop()
	if _, stop, err := stdio.Subreaper(); err == nil { // else orphans go to the init of the system
		defer stop()
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP) // a closed terminal leaves no server either
	defer stop()
	f.Progress = progressOn(stderr, f.Starts)
	p, err := measure.Run(ctx, f.Config)
	interrupted := err != nil && ctx.Err() != nil
	if err != nil && !interrupted {
		return harness(err)
	}
	if interrupted && (p == nil || p.Succeeded() == 0) {
		fmt.Fprintln(stderr, "mayfly idle measure: interrupted before a start had succeeded; the server was stopped and nothing is written")
		return exitInconclusive
	}
	data, err := p.Encode()
	if err == nil {
		err = f.emit(p, data, out, stdout, stderr)
	}
	if err != nil {
		return harness(err)
	}
	return verdict(p, interrupted, stderr)
}

// emit writes the profile and the table where they belong.
func (f *measureFlags) emit(p *profile.Profile, data []byte, out *output, stdout, stderr io.Writer) error {
	table := stdout
	if f.out == "" {
		table = stderr
	}
	if f.out == "" || f.json {
		if _, err := stdout.Write(data); err != nil {
			return nil // it is settled by the caller, as for every command
		}
	}
	if !f.json {
		p.Write(table)
	}
	if p.Succeeded() == 0 || p.Failed() == 1 {
		return nil // a profile that was there before is worth more
	}
	return out.keep(data)
}

// verdict says what the measurement came to, and returns the exit code.
func verdict(p *profile.Profile, interrupted bool, stderr io.Writer) int {
	switch {
	case interrupted:
		fmt.Fprintf(stderr, "mayfly idle measure: interrupted; the profile has %d of the %d starts\n", len(p.Starts), p.Settings.Starts)
		return exitInconclusive
	case p.Succeeded() == 0:
		phase, why := p.Failure()
		fmt.Fprintf(stderr, "mayfly idle measure: none of %d starts succeeded, the last one failed at %s: %s. %s\n",
			len(p.Starts)+1, phase, strings.TrimRight(why, "."), advice(p, phase, why))
		return exitFailed
	}
	if p.Failed() == 1 {
		_, why := p.Failure()
		fmt.Fprintf(stderr, "mayfly idle measure: the first start succeeded and none of the %d after it, so there is nothing to draw from: %s\n", len(p.Starts), why)
		return exitFailed
	}
	return exitOK
}

// advice says what to look at when nothing succeeded.
func advice(p *profile.Profile, phase, why string) string {
	switch {
	case p.Server.URL != "" && (strings.Contains(why, "401") || strings.Contains(why, "403")):
		return "The server wants credentials, or others: give -header-from Authorization=VARIABLE."
	case p.Server.URL != "":
		return "Is the server running, and is this the URL of its streamable HTTP endpoint?"
	case strings.Contains(why, "timeout"):
		return "Is the command an MCP server that speaks on standard input and output? If it only needs longer, as when npx fetches it, give a longer -timeout."
	case phase == "spawn":
		return "The command cannot be run any more."
	}
	return "Is the command an MCP server that speaks on standard input and output, and does it need -env-from variables?"
}
