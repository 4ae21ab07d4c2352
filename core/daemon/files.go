package daemon

import (
	"errors"
	"fmt"
	"io"
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
	link    func(from, to string) error
	syncDir func(dir string) error
}

func realFiles() files {
	return files{
		write:   func(f *os.File, data []byte) error { _, err := f.Write(data); return err },
		sync:    (*os.File).Sync,
		rename:  os.Rename,
		link:    os.Link,
		syncDir: syncDir,
	}
}

// temporary opens a new file beside a path. Its mode is 0600, since it holds credentials.
func (fsys files) temporary(path string) (*os.File, error) {
	return os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
}

// beside makes a new empty file and returns its path.
func (fsys files) beside(path string) (string, error) {
	f, err := fsys.temporary(path)
	if err != nil {
		return "", err
	}
	return f.Name(), f.Close()
}

// place moves a complete file to where it belongs. When that fails the file is gone.
func (fsys files) place(from, to string) error {
	if err := fsys.rename(from, to); err != nil {
		_ = os.Remove(from) // the error that led here says more
		return err
	}
	return fsys.syncDir(filepath.Dir(to))
}

// keep gives a file a second name, under which it stays when its first one is given to another
// file. Where the file system has no links it is copied.
func (fsys files) keep(path, as string) error {
	err := fsys.link(path, as)
	switch {
	case errors.Is(err, fs.ErrExist):
		return err
	case err != nil:
		return fsys.copy(path, as)
	}
	return fsys.syncDir(filepath.Dir(as))
}

// replace makes data the content of path.
func (fsys files) replace(path string, data []byte) error {
	return fsys.fill(path, func(f *os.File) error { return fsys.write(f, data) })
}

// copy makes the content of one file that of another.
func (fsys files) copy(from, to string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	return fsys.fill(to, func(f *os.File) error {
		_, err := io.Copy(f, src)
		return err
	})
}

func (fsys files) fill(path string, write func(*os.File) error) error {
	f, err := fsys.temporary(path)
	if err != nil {
		return err
	}
	err = write(f)
	if err == nil {
		err = fsys.sync(f)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(f.Name()) // the error that led here says more
		return err
	}
	return fsys.place(f.Name(), path)
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

// readKey reads a secret key, or makes one where there is none.
func (fsys files) readKey(path string, size int, make func() []byte) ([]byte, error) {
	key, err := readRegular(path, maxStoreFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		key = make()
		if err := fsys.replace(path, key); err != nil {
			return nil, fmt.Errorf("cannot store the key of the fingerprints: %w", err)
		}
		return key, nil
	case err != nil:
		return nil, fmt.Errorf("cannot read the key of the fingerprints: %w", err)
	case len(key) != size:
		return nil, fmt.Errorf("the key of the fingerprints %s has %d bytes, not %d; remove it: a new one is made, "+
			"and the ids of all peers change", path, len(key), size)
	}
	return key, nil
}
