package daemon

import (
	"fmt"
	"io"
	"os"
)

// readRegular reads a whole file of the home. A device or a pipe has no size to check and may
// have no end; opening it would keep the daemon from starting, and from stopping.
func readRegular(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file; move it away", path)
	case info.Size() > limit:
		return nil, fmt.Errorf("%s has %d bytes, more than the %d that it may have; is it the right file?", path, info.Size(), limit)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}
