package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mayfly-mcp/mayfly/sim"
	"github.com/mayfly-mcp/mayfly/sim/trace"
)

// tracer is the flag -trace: where the run is shown to people, as a page if the name ends with
// .html and as text otherwise.
type tracer struct {
	name string
	file *os.File
	page *trace.Page
	text *trace.Text
}

// open makes the file before the time for the run is spent, and watches the run. The run is
// recorded at once: without it one that breaks a rule is run, and seen, twice.
func (t *tracer) open(o *sim.Options) (err error) {
	if t.name == "" {
		return nil
	}
	if t.file, err = os.Create(t.name); err != nil {
		return fmt.Errorf("the trace cannot be written: %w", err)
	}
	o.Record = true
	if filepath.Ext(t.name) == ".html" {
		t.page = trace.NewPage(0)
		o.Observe = t.page.Step
	} else {
		t.text = trace.NewText(t.file)
		o.Observe = t.text.Step
	}
	return nil
}

// close writes what is left to write.
func (t *tracer) close(res *sim.Result) (err error) {
	switch {
	case t.file == nil:
		return nil
	case t.page != nil:
		err = t.page.Write(t.file, "mayfly sim: "+outcome(res), res)
	default:
		err = t.text.Close(res)
	}
	if err = errors.Join(err, t.file.Close()); err != nil {
		return fmt.Errorf("the trace cannot be written: %w", err)
	}
	return nil
}

func outcome(res *sim.Result) string {
	if res.Violation != nil {
		return res.Violation.ID + " is broken"
	}
	return fmt.Sprintf("run %016x", res.Hash)
}
