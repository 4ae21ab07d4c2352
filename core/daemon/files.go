package daemon

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// files are the steps by which a file is replaced so that a crash leaves the old one or the
// new one, whole. They are a seam: a test lets each of them fail.
type files struct {
	write   func(f *os.File, data []byte) error
	sync    func(f *os.File) error
	rename  func(from, to string) error
	syncDir func(dir string) error
}

func realFiles() files {
	return files{
		write:   func(f *os.File, data []byte) error { _, err := f.Write(data); return err },
		sync:    (*os.File).Sync,
		rename:  os.Rename,
		syncDir: syncDir,
	}
}

// inDoubtError reports that the new file is in place although the replacement failed, so
// that a crash may leave either one.
type inDoubtError struct{ err error }

// Error implements error.
func (e *inDoubtError) Error() string { return e.err.Error() }

// Unwrap returns what failed.
func (e *inDoubtError) Unwrap() error { return e.err }

// replace makes data the content of path. On an error the old content is in place, unless
// it is an *inDoubtError.
func (fsys files) replace(path string, data []byte) error {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-*") // 0600, since it holds credentials
	if err != nil {
		return err
	}
	err = fsys.write(f, data)
	if err == nil {
		err = fsys.sync(f)
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = fsys.rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the error that led here says more
		return err
	}
	if err := fsys.syncDir(dir); err != nil {
		return &inDoubtError{err}
	}
	return nil
}

// syncDir makes a rename durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// clearTemporary removes what a crash in the middle of a replacement left behind.
func clearTemporary(path string) error {
	left, err := filepath.Glob(filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"-*"))
	if err != nil {
		return nil // a home whose name is a broken pattern keeps its leftovers
	}
	var errs []error
	for _, name := range left {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
