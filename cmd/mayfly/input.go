package main

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/mayfly-mcp/mayfly/core/regfile"
)

// inputCode is the exit code for what is wrong with files that a command line names: that one
// cannot be got at is the environment's fault, what is in it is the user's.
func inputCode(err error) int {
	if path := (*fs.PathError)(nil); errors.As(err, &path) || errors.Is(err, regfile.ErrIrregular) {
		return exitHarness
	}
	return exitUsage
}

// noDirectory refuses directories, which can be opened like files. What is wrong with other
// paths is for their reader to say.
func noDirectory(path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return &fs.PathError{Op: "read", Path: path, Err: syscall.EISDIR}
	}
	return nil
}
