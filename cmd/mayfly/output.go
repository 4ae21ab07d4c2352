package main

import (
	"encoding/json"
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

// writeJSON prints the JSON form of a report.
func writeJSON(w io.Writer, report any) {
	b, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		panic("SIM-1: a report of plain data does not encode: " + err.Error())
	}
	fmt.Fprintf(w, "%s\n", b)
}
