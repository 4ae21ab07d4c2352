package regfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

var (
	// ErrIrregular is the error for directories, devices, pipes and sockets.
	ErrIrregular = errors.New("is no regular file, and nothing else is read")
	// ErrTooLong is the error for a file of more bytes than the limit.
	ErrTooLong = errors.New("is it the right file?")
)

// Read returns the content of the regular file at path, which has at most limit bytes.
func Read(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if err := fits(path, info, limit); err != nil {
		return nil, err
	}
	// Without O_NONBLOCK a pipe that took the place of the file meanwhile would be waited for.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return nil, err
	}
	if err := fits(path, info, limit); err != nil {
		return nil, err
	}
	return all(path, f, info.Size(), limit)
}

// fits refuses what must not be read.
func fits(path string, info fs.FileInfo, limit int64) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s %w", path, ErrIrregular)
	}
	if info.Size() > limit {
		return tooLong(path, info.Size(), limit)
	}
	return nil
}

// all reads to the end, and no more than one byte beyond the limit: a file can grow, and some
// file systems give no sizes.
func all(path string, r io.Reader, size, limit int64) ([]byte, error) {
	data := make([]byte, 0, size+1) // and one, so that the end is seen without growing
	for {
		room := data[len(data):min(int64(cap(data)), limit+1)]
		n, err := r.Read(room)
		data = data[:len(data)+n]
		switch {
		case int64(len(data)) > limit:
			return nil, tooLong(path, int64(len(data)), limit)
		case errors.Is(err, io.EOF):
			return data, nil
		case err != nil:
			return nil, err
		case len(data) == cap(data):
			data = append(data, 0)[:len(data)]
		}
	}
}

// tooLong names both numbers, since either may be the wrong one.
func tooLong(path string, size, limit int64) error {
	return fmt.Errorf("%s has %d bytes, more than the %d that it may have; %w", path, size, limit, ErrTooLong)
}
