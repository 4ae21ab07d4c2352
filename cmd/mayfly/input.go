package main

import (
	"errors"
	"fmt"
	"io"
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

// maxSpool bounds what is kept of a pipe to be read twice.
const maxSpool = 1 << 30

// input is a file, or standard input for "-", that can be read twice: what is of absurd size can
// be seen to be before there is room for it.
type input struct {
	io.ReadSeeker
	name  string // for errors
	close func()
}

func openInput(path string, stdin io.Reader) (*input, error) {
	if path == "-" {
		return twice("standard input", stdin, func() {})
	}
	if err := noDirectory(path); err != nil {
		return nil, err
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return twice(path, file, func() { file.Close() })
}

// twice copies what is a pipe to a file.
func twice(name string, r io.Reader, shut func()) (*input, error) {
	if s, ok := r.(io.ReadSeeker); ok {
		if _, err := s.Seek(0, io.SeekCurrent); err == nil {
			return &input{s, name, shut}, nil
		}
	}
	defer shut()
	file, err := os.CreateTemp("", "mayfly-input-")
	if err != nil {
		return nil, err
	}
	in := &input{file, name, func() { _ = errors.Join(file.Close(), os.Remove(file.Name())) }} // it was a copy
	n, err := io.Copy(file, io.LimitReader(r, maxSpool+1))
	if err == nil && n > maxSpool {
		err = fmt.Errorf("%s has more than %d bytes (maxSpool)", name, maxSpool)
	}
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		in.close()
		return nil, err
	}
	return in, nil
}
