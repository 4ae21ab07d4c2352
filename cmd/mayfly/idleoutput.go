package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// output is a file that is there as a whole or not at all.
type output struct {
	file *os.File // nil is no file
	path string
}

// openOutput makes sure that a file can be written, before the work whose result it is to have.
// An empty path is no file.
func openOutput(path string) (*output, error) {
	if path == "" {
		return &output{}, nil
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s exists and is no regular file", path)
	}
	name := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"."+strings.ToLower(rand.Text()[:8]))
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, syscall.ENOENT) {
		return nil, fmt.Errorf("there is no directory for %s", path)
	}
	if err != nil {
		return nil, err
	}
	return &output{file, path}, nil
}

// keep writes the file and gives it its name.
func (o *output) keep(data []byte) error {
	if o.file == nil {
		return nil
	}
	_, err := o.file.Write(data)
	if err = errors.Join(err, o.file.Close()); err == nil {
		err = os.Rename(o.file.Name(), o.path)
	}
	if err != nil {
		return err
	}
	o.file = nil
	return nil
}

// drop removes what was not kept.
func (o *output) drop() {
	if o.file == nil {
		return
	}
	_ = o.file.Close() // a second time, perhaps
	_ = os.Remove(o.file.Name())
}

// progressOn tells which start it is, on a terminal.
func progressOn(w io.Writer, starts int) func(int) {
	file, ok := w.(*os.File)
	if !ok {
		return nil
	}
	if info, err := file.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return nil
	}
	return func(i int) {
		if i == 0 {
			fmt.Fprintln(file, "first start")
		} else if i == 1 || i == starts || i%max(1, starts/10) == 0 {
			fmt.Fprintf(file, "start %d of %d\n", i, starts)
		}
	}
}
