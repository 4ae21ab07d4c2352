package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/mayfly-mcp/mayfly/cmd/internal/simflags"
	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/queue"
)

const pauseUsage = `usage: mayfly-fleet pause -nats ADDRESSES [flags] CAMPAIGN

Lets no worker take further jobs of a campaign. What is under way ends, and is kept.

`

const resumeUsage = `usage: mayfly-fleet resume -nats ADDRESSES [flags] CAMPAIGN

Takes a pause back, and lets all jobs out of quarantine.

`

const cancelUsage = `usage: mayfly-fleet cancel -nats ADDRESSES [flags] CAMPAIGN

Ends a campaign before its end. What is under way is dropped, what is done stays until -remove; "mayfly-fleet
run" starts it again.

`

// control changes one campaign.
func control(ctx context.Context, args []string, stdout, stderr io.Writer, name, usage string, change func(context.Context, *queue.Queue, string) (string, error)) int {
	var c connection
	fs := simflags.New("mayfly-fleet "+name, usage, stderr)
	c.define(fs)
	remove := new(bool)
	if name == "cancel" {
		remove = fs.Bool("remove", false, "also forget what it came to")
	}
	err := parse(fs, args, 1)
	if err == nil && fs.NArg() == 0 {
		err = errors.New("name the campaign; \"mayfly-fleet status\" lists them")
	}
	if err != nil {
		return misused(stderr, name, err)
	}
	q, err := c.open(ctx)
	if err != nil {
		return failed(stderr, name, err)
	}
	defer q.Close()
	id := fs.Arg(0)
	_, err = q.Spec(ctx, id)
	state := "removed"
	if err == nil && *remove {
		err = q.Remove(ctx, id)
	} else if err == nil {
		state, err = change(ctx, q, id)
	}
	if err != nil {
		return failed(stderr, name, err)
	}
	fmt.Fprintf(stdout, "campaign %s: %s\n", id, state)
	return exitOK
}

// runPause is the subcommand pause.
func runPause(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return control(ctx, args, stdout, stderr, "pause", pauseUsage, func(ctx context.Context, q *queue.Queue, id string) (string, error) {
		s, err := q.Pause(ctx, id)
		return s.State, err
	})
}

// runResume is the subcommand resume.
func runResume(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return control(ctx, args, stdout, stderr, "resume", resumeUsage, func(ctx context.Context, q *queue.Queue, id string) (string, error) {
		s, err := q.Resume(ctx, id)
		return s.State, err
	})
}

// runCancel is the subcommand cancel.
func runCancel(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return control(ctx, args, stdout, stderr, "cancel", cancelUsage, func(ctx context.Context, q *queue.Queue, id string) (string, error) {
		s, err := q.Cancel(ctx, id)
		return s.State, err
	})
}
