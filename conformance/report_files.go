package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Names of what SaveAll writes besides ReportFile and CaptureFile.
const (
	HTMLFile     = "report.html"
	JUnitFile    = "junit.xml"
	BadgeFile    = "badge.md"
	badgePicture = "badge.svg"
)

// Save writes the report as JSON into a directory, which is made if it is not there. What
// was there before is replaced as a whole.
func (r *Report) Save(dir string) error {
	if err := CheckReportDir(dir); err != nil {
		return err
	}
	out, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return Replace(dir, ReportFile, append(out, '\n'))
}

// SaveAll writes the report in every form, and the capture that it was judged from.
func (r *Report) SaveAll(dir string) error {
	if err := r.Save(dir); err != nil {
		return err
	}
	for _, f := range []struct {
		name  string
		write func(io.Writer) error
	}{{HTMLFile, r.HTML}, {JUnitFile, r.JUnit}, {BadgeFile, r.Badge}, {badgePicture, r.badgeSVG}} {
		var b bytes.Buffer
		if err := f.write(&b); err != nil {
			return fmt.Errorf("cannot write %s: %w", f.name, err)
		}
		if err := Replace(dir, f.name, b.Bytes()); err != nil {
			return err
		}
	}
	if r.capture == nil {
		return nil
	}
	out, err := r.capture.encode()
	if err != nil {
		return err
	}
	return Replace(dir, CaptureFile, out)
}

// Replace writes a file of a report directory. A reader sees the old one or the new one.
func Replace(dir, name string, content []byte) error {
	next := filepath.Join(dir, "."+name+".new")
	if err := os.WriteFile(next, content, 0o644); err != nil {
		_ = os.Remove(next) // half a file, on a disk that is full
		return fmt.Errorf("cannot write the report: %w", err)
	}
	if err := os.Rename(next, filepath.Join(dir, name)); err != nil {
		_ = os.Remove(next)
		return fmt.Errorf("cannot write the report: %w; is there a directory of that name?", err)
	}
	return nil
}

// CheckReportDir makes a report's directory and finds out whether it can be written, which
// is better known before a run than after it.
func CheckReportDir(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("cannot make the report directory: %w; choose another one with -report", err)
	}
	f, err := os.CreateTemp(dir, ".probe")
	if err != nil {
		return fmt.Errorf("cannot write to the report directory: %w; choose another one with -report", err)
	}
	_ = f.Close() // nothing was written
	return os.Remove(f.Name())
}
