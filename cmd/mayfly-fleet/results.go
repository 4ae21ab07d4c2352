package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/mayfly-mcp/mayfly/cmd/internal/simflags"
	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/coord"
	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/jobs"
	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/queue"
	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/summary"
	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/worker"
	"github.com/mayfly-mcp/mayfly/sim/campaign"
)

const resultsUsage = `usage: mayfly-fleet results -nats ADDRESSES -out DIR [flags] CAMPAIGN

Makes the directory of a campaign of the results that are there, on any machine. Exit code 4 means that
some are missing; the directory then holds those before the first that is.

`

// runResults is the subcommand results.
func runResults(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var c connection
	fs := simflags.New("mayfly-fleet results", resultsUsage, stderr)
	c.define(fs)
	dir := fs.String("out", "", "`DIR`ectory to make, or to go on with")
	asJSON := fs.Bool("json", false, "print one JSON object")
	html := fs.String("html", "", htmlHelp)
	err := parse(fs, args, 1)
	switch {
	case err != nil:
	case fs.NArg() == 0:
		err = errors.New("name the campaign; \"mayfly-fleet status\" lists them")
	case *dir == "":
		err = errors.New("-out is missing; name the directory to make")
	}
	if err != nil {
		return misused(stderr, "results", err)
	}
	out, err := results(ctx, &c, fs.Arg(0), *dir, *html)
	return conclude(stdout, stderr, out, err, *asJSON, "results", *dir)
}

func results(ctx context.Context, c *connection, id, dir, html string) (*jobs.Outcome, error) {
	if err := summary.Check(html); err != nil {
		return nil, err
	}
	q, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	spec, err := q.Spec(ctx, id)
	if err != nil {
		return nil, err
	}
	build, err := campaign.Build()
	if err != nil {
		return nil, err
	}
	if build != spec.Build {
		return nil, fmt.Errorf("%w: %s is of the build %s and this is %s, and its failures are run again for their tapes; use the program that ran it", worker.ErrOtherBuild, id, spec.Build, build)
	}
	var files []jobs.File
	for _, f := range spec.Files {
		files = append(files, jobs.File(f))
	}
	plan, err := jobs.Parse(spec.Kind, spec.Args, files)
	if err != nil {
		return nil, err
	}
	out, err := coord.Collect(ctx, q, spec, plan, dir)
	if errors.Is(err, queue.ErrMissing) {
		err = fmt.Errorf("%w; what comes before it is in %s; when the campaign has come farther the same command goes on there", err, dir)
	}
	return out, andPage(err, writeHTML(ctx, q, id, html, dir, out))
}
