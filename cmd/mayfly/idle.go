package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/mayfly-mcp/mayfly/cmd/internal/idleflags"
	"github.com/mayfly-mcp/mayfly/cmd/internal/simflags"
	"github.com/mayfly-mcp/mayfly/sim/idle"
	"github.com/mayfly-mcp/mayfly/sim/idle/report"
	"github.com/mayfly-mcp/mayfly/sim/idle/traffic"
)

const idleUsage = `usage: mayfly idle [flags]
       mayfly idle -oracles [-gaps N] [-seed N] [-json]
       mayfly idle -list [-json]
       mayfly idle measure [flags] -- COMMAND ARGUMENTS...

What an idle timeout costs and what it saves, for given servers and traffic. It plays days of
traffic before the lifecycle of the daemon itself, once for each timeout and seed, and prints
the frontier: callers who wait for a start on one side, processes kept on the other, and what
one avoided cold start is paid with. With a price it recommends a timeout and says how
sure that is; with -policy it compares other rules than a timeout; with -report DIR it does all
of this and writes a page with plots.

A price is what one cold start is worth to you. -price 2250 says that you would keep a process
for 2250 s, 37.5 minutes, to avoid one: that is 2250 process-seconds per cold start. In money it
is -memory-cost, for a GiB of memory for an hour, with -latency-cost, for an hour of callers'
waiting for starts, both in the same currency.

Your own traffic is a trace, with a line for each call in the order of time, as CSV (or as JSONL
with the same names; gzipped or not):

  time,tenant,peer,duration
  0,alice,github,0.4
  12.5,alice,files,250ms

Times are seconds since the start, or all of them dates like 2026-01-02T03:04:05Z. A peer is a
server of one tenant, and a duration is how long a call takes once the server is there, in seconds
or with a unit. Which class of servers a peer belongs to is drawn by the weights of -servers, for
each seed anew; with one -profile all belong to it. The first seventh is a warm-up, which is
played and not measured: have some days, or many times the timeouts that you ask about.

Nothing but time is needed: no server is started. "mayfly idle measure" measures real ones, for
-profile. Results depend on the flags alone, whatever the number of workers.

Exit codes: 0 fine, 1 a simulated number is not what is known in closed form (-oracles, -report),
2 usage, or input that is wrong, 3 something around it failed, 4 interrupted: nothing is written.

`

// runIdle plays the bench, or hands on to the commands below it.
func runIdle(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) > 0 {
		if c := find(idleCommands(), args[0]); c != nil {
			return c.run(ctx, args[1:], stdin, stdout, stderr)
		}
	}
	f := idleflags.New()
	f.OpenTrace, f.ReadProfile = openTrace, readProfile
	fs := simflags.New("mayfly idle", idleUsage, stderr)
	f.Define(fs)
	if err := simflags.Parse(fs, args); err != nil {
		return simflags.Misused(stderr, fs.Name(), err)
	}
	if f.List {
		if err := f.Alone(fs, "list", "json"); err != nil {
			return simflags.Misused(stderr, fs.Name(), err)
		}
		return listIdle(stdout, f.JSON)
	}
	b, err := f.Settle(ctx, fs)
	if err != nil && ctx.Err() != nil {
		return interrupted(stderr)
	}
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", fs.Name(), err)
		return inputCode(err)
	}
	b.Progress = idleProgress(stderr)
	for _, note := range b.Notes {
		fmt.Fprintf(stderr, "note: %s\n", note)
	}
	return answerIdle(ctx, f, b, stdout, stderr)
}

// idleCommands are the subcommands of idle.
func idleCommands() []command {
	return []command{
		{"measure", "start a real MCP server again and again, and write a profile of it", runIdleMeasure, nil},
	}
}

// answerIdle plays, prints and writes.
func answerIdle(ctx context.Context, f *idleflags.Flags, b *idleflags.Bench, stdout, stderr io.Writer) int {
	harness := func(err error) int {
		if ctx.Err() != nil {
			return interrupted(stderr)
		}
		fmt.Fprintf(stderr, "mayfly idle: %v\n", err)
		return exitHarness
	}
	r, err := b.Play(ctx)
	if errors.Is(err, idleflags.ErrNoCalls) {
		fmt.Fprintf(stderr, "mayfly idle: %v\n", err)
		return exitUsage
	}
	if err != nil {
		return harness(err)
	}
	r.Say()
	if f.Report != "" {
		if err := report.Write(f.Report, r); err != nil {
			return harness(err)
		}
	}
	if f.JSON {
		data, err := r.Encode()
		if err != nil {
			return harness(err)
		}
		_, _ = stdout.Write(data) // settled by the caller, as for every command
	} else {
		r.Text(stdout)
	}
	if f.Report != "" && !f.JSON {
		fmt.Fprintf(stdout, "report: %s\n", filepath.Join(f.Report, report.HTMLFile))
	}
	if !report.Agree(r.Oracles) {
		return exitFailed
	}
	return exitOK
}

func interrupted(stderr io.Writer) int {
	fmt.Fprintln(stderr, "mayfly idle: interrupted; nothing is written")
	return exitInconclusive
}

// idleProgress tells how far the runs are, on a terminal.
func idleProgress(w io.Writer) func(part string) func(done, of int) {
	file, ok := w.(*os.File)
	if ok {
		info, err := file.Stat()
		ok = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	if !ok {
		return func(string) func(int, int) { return nil }
	}
	return func(part string) func(int, int) {
		return func(done, of int) {
			if done == of || done%max(1, of/10) == 0 {
				fmt.Fprintf(file, "%s: run %d of %d\n", part, done, of)
			}
		}
	}
}

// openTrace opens a file that can be read again for every run.
func openTrace(name string) (io.ReadCloser, error) {
	if name == "-" {
		return nil, errors.New("a trace is read again for every run, and standard input cannot be; name a file")
	}
	if err := noDirectory(name); err != nil {
		return nil, err
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is read again for every run, and is no regular file; copy it into one", name)
	}
	return os.Open(name)
}

// serverForms says what the servers are that stand for no class of the mixed fleet.
var serverForms = map[string]string{
	"mixed":              "the classes above by their shares, which is the default",
	"huawei":             "cold starts of Huawei's functions: log-normal, 3.2 s on average, 85 MiB",
	"fixed:TIME":         "connects in that time always, as in fixed:2s, 85 MiB",
	"failing:SHARE":      "that share of connects fails, and all take no time, as in failing:0.3",
	"failing:SHARE:TIME": "likewise, and all take that time, as in failing:0.3:1s",
}

// listIdle prints what specs may name.
func listIdle(w io.Writer, asJSON bool) int {
	if asJSON {
		writeJSON(w, struct {
			Traffic  []traffic.Kind    `json:"traffic"`
			Servers  []string          `json:"servers"`
			Policies []idle.PolicyKind `json:"policies"`
		}{traffic.Kinds(), idle.ServerNames(), idle.PolicyKinds()})
		return exitOK
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "traffic, -traffic SPEC; several with plus signs between them")
	for _, k := range traffic.Kinds() {
		fmt.Fprintf(tw, "  %s\n  \t%s\n", k.Form, k.About)
	}
	fmt.Fprintln(tw, "  every population takes besides")
	for _, text := range traffic.Common() {
		fmt.Fprintf(tw, "  \t%s\n", text)
	}
	fmt.Fprintln(tw, "\nservers, -servers CLASS=WEIGHT,...")
	for _, row := range idleflags.Fleet(idle.DefaultMix(), 30*time.Second) {
		fmt.Fprintf(tw, "  %s\t%.0f %% of mixed: connects in %.2g s on average, %.0f %% fail within 30 s, %.0f MiB\n", row.Name, 100*row.Share, row.Connect, 100*row.Fails, row.MiB)
	}
	for _, name := range idle.ServerNames() {
		if !idleflags.Contains(idle.DefaultMix(), name) {
			fmt.Fprintf(tw, "  %s\t%s\n", name, serverForms[name])
		}
	}
	fmt.Fprintln(tw, "\npolicies, -policy SPEC; additions follow with plus signs")
	for _, k := range idle.PolicyKinds() {
		form := k.Form
		if k.Adds {
			form = "+" + form
		}
		fmt.Fprintf(tw, "  %s\n  \t%s\n", form, k.About)
	}
	_ = tw.Flush() // settled by the caller, as for every command
	return exitOK
}
