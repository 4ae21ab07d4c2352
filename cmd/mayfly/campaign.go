package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/mayfly-mcp/mayfly/cmd/internal/simflags"
	"github.com/mayfly-mcp/mayfly/sim/campaign"
)

const campaignUsage = `usage: mayfly sim campaign [flags]

Runs many seeds and keeps what they came to in a directory: a line for each seed, and for each
distinct failure its tape, a small one and a scenario. The same command again goes on where the
last one ended, however it ended, and so does one with more -seeds. Results are the same whatever -workers and however often that was.
What is not given is drawn from each seed. Exit code 1 means that a rule was broken, or that a
rare situation never came about; 4 that the campaign was stopped before its end.

`

// campaignFlags are the flags of sim campaign.
type campaignFlags struct {
	simflags.Campaign
	json bool
}

func parseCampaignFlags(args []string, stderr io.Writer) (*campaignFlags, error) {
	f := &campaignFlags{}
	o := &f.Options
	fs := simflags.New("mayfly sim campaign", campaignUsage, stderr)
	f.Define(fs)
	fs.IntVar(&o.Workers, "workers", runtime.GOMAXPROCS(0), "seeds that run at a time")
	fs.StringVar(&o.Dir, "dir", "mayfly-campaign", "directory of the results")
	fs.BoolVar(&f.json, "json", false, "print one JSON object")
	if err := simflags.Parse(fs, args); err != nil {
		return nil, err
	}
	if err := f.Subject.Listed(stderr); err != nil {
		return nil, err
	}
	return f, f.Settle(fs)
}

// runCampaign is the subcommand sim campaign.
func runCampaign(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) int {
	f, err := parseCampaignFlags(args, stderr)
	if err != nil {
		return simflags.Misused(stderr, "mayfly sim campaign", err)
	}
	w := &watch{out: terminal(stderr), began: time.Now()}
	f.Options.Progress = w.see
	r, err := campaign.Run(ctx, f.Options)
	w.end(stderr)
	switch {
	case errors.Is(err, campaign.ErrOptions), errors.Is(err, campaign.ErrRefused):
		fmt.Fprintf(stderr, "mayfly sim campaign: %v\n", err)
		return exitUsage
	case err != nil:
		fmt.Fprintf(stderr, "mayfly sim campaign: %v\n", err)
		return exitHarness
	}
	return f.report(stdout, stderr, r)
}

// report prints what a campaign came to, and returns the exit code.
func (f *campaignFlags) report(stdout, stderr io.Writer, r *campaign.Result) int {
	if r.Cut != "" {
		fmt.Fprintf(stderr, "mayfly sim campaign: %s\n", r.Cut)
	}
	if f.json {
		e := json.NewEncoder(stdout)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		_ = e.Encode(r.Report()) // a lost output is seen by the command
	} else {
		r.Write(stdout)
	}
	switch {
	case r.Done < r.Seeds:
		fmt.Fprintf(stderr, "mayfly sim campaign: stopped, %d of %d seeds remain; the same command again goes on in %s\n", r.Seeds-r.Done, r.Seeds, f.Options.Dir)
		return exitInconclusive
	case r.Failed():
		return exitFailed
	}
	return exitOK
}

// watch tells people how far a campaign is.
type watch struct {
	out         io.Writer // nil if nobody watches
	began, last time.Time
	first, now  campaign.Progress // at the start of this process, and now
	seen        bool
}

// terminal returns a writer if it is a terminal, else nil.
func terminal(w io.Writer) io.Writer {
	if f, ok := w.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			return w
		}
	}
	return nil
}

func (w *watch) see(p campaign.Progress) {
	if w.now = p; !w.seen {
		w.first, w.seen = p, true
	}
	if w.out == nil || time.Since(w.last) < 200*time.Millisecond {
		return
	}
	w.last = time.Now()
	fmt.Fprintf(w.out, "\r\x1b[K%s", w.line(time.Since(w.began)))
}

// line is the line of progress after some time.
func (w *watch) line(d time.Duration) string {
	seconds := max(d.Seconds(), 1e-9)
	rate := float64(w.now.Done-w.first.Done) / seconds
	left := "?"
	if rate > 0 {
		left = time.Duration(float64(w.now.Seeds-w.now.Done) / rate * float64(time.Second)).Round(time.Second).String()
	}
	return fmt.Sprintf("%d of %d seeds, %.0f seeds/s, %.2f M steps/s, %d failures, %d of %d situations, %s left", w.now.Done, w.now.Seeds,
		rate, float64(w.now.Steps-w.first.Steps)/1e6/seconds, w.now.Failures, w.now.Reached, w.now.Situations, left)
}

// end leaves the speed behind, of what this process ran.
func (w *watch) end(stderr io.Writer) {
	if w.out != nil {
		fmt.Fprint(w.out, "\r\x1b[K")
	}
	if !w.seen {
		return
	}
	d := time.Since(w.began)
	n := w.now.Done - w.first.Done
	fmt.Fprintf(stderr, "speed: %d seeds in %v, %.0f seeds/s, %.2f M steps/s\n", n, d.Round(time.Millisecond),
		float64(n)/max(d.Seconds(), 1e-9), float64(w.now.Steps-w.first.Steps)/1e6/max(d.Seconds(), 1e-9))
}
