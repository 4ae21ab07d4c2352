package main

import (
	"fmt"
	"io"
)

// sticky remembers the first failed write, so that a command whose output was lost does not
// end as if it had been read.
type sticky struct {
	w   io.Writer
	err error
}

// Write implements io.Writer. After a failure it writes nothing more.
func (s *sticky) Write(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.w.Write(p)
	s.err = err
	return n, err
}

// settle turns success into a harness failure if output was lost.
func (s *sticky) settle(name string, code int, stderr io.Writer) int {
	if s.err == nil || code != exitOK {
		return code
	}
	fmt.Fprintf(stderr, "mayfly %s: the output could not be written: %v\n", name, s.err)
	return exitHarness
}
