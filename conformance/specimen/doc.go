// Package specimen makes captures up, for tests of what reads them: no daemon was run.
//
//	file := specimen.Capture()                              // a sound run of the whole catalogue
//	file = specimen.Edit(file, "frame-empty", func(line map[string]any) { … })
//	err := os.WriteFile(filepath.Join(dir, conformance.CaptureFile), file, 0o600)
//
// It lives outside of tests since several packages need it, and is imported by tests alone.
// It writes the lines itself, so that a change of the format is noticed.
package specimen
