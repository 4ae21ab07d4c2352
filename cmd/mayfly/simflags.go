package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
)

// errReported is a usage error that the flag package has printed already.
var errReported = errors.New("usage")

// parseFlags parses a command line that holds flags and nothing else.
func parseFlags(fs *flag.FlagSet, args []string) error {
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return err
	case err != nil:
		return errReported
	case fs.NArg() > 0:
		return fmt.Errorf("%q is not a flag; %s takes flags only", fs.Arg(0), strings.TrimPrefix(fs.Name(), "mayfly "))
	}
	return nil
}

// misused says what is wrong with a command line, unless that has been said or help was asked
// for, and returns the exit code.
func misused(stderr io.Writer, command string, err error) int {
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if !errors.Is(err, errReported) {
		fmt.Fprintf(stderr, "%s: %v\n", command, err)
	}
	return exitUsage
}
