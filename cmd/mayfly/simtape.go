package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"

	"github.com/mayfly-mcp/mayfly/sim"
)

// readTape reads the tape in a file, or on standard input for "-". A terminal, and a pipe that
// nobody writes to, would keep it waiting for ever, whatever the signal, so that it is left alone
// when ctx ends: the process ends with it.
func readTape(ctx context.Context, path string, stdin io.Reader) (*sim.Tape, error) {
	type outcome struct {
		tape *sim.Tape
		err  error
	}
	read := make(chan outcome, 1)
	go func() {
		tape, err := decodeTape(path, stdin)
		read <- outcome{tape, err}
	}()
	select {
	case r := <-read:
		return r.tape, r.err
	case <-ctx.Done():
		return nil, fmt.Errorf("the tape was not read: %w", &fs.PathError{Op: "wait for", Path: path, Err: ctx.Err()})
	}
}

func decodeTape(path string, stdin io.Reader) (*sim.Tape, error) {
	in, err := openInput(path, stdin)
	if err != nil {
		return nil, fmt.Errorf("the tape cannot be read: %w", err)
	}
	defer in.close()
	return sim.Decode(in.name, in)
}
