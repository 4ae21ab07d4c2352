package sim

import (
	"bytes"
	"fmt"
	"io"
)

// maxSettings bounds the lines of a tape that are no entries; there are fewer settings.
const maxSettings = 64

// entriesAtMost counts the lines of a tape that can be read twice, so that one of absurd size is
// refused before there is room for it. It returns 0 for what cannot, and for what is no tape, of which
// the decoder will say so.
func entriesAtMost(r io.Reader) (int, error) {
	s, ok := r.(io.ReadSeeker)
	if !ok {
		return 0, nil
	}
	start, err := s.Seek(0, io.SeekCurrent)
	if err != nil {
		return 0, nil // a pipe
	}
	lines := countLines(s)
	if _, err := s.Seek(start, io.SeekStart); err != nil {
		return 0, fmt.Errorf("cannot be read: %w", err)
	}
	if lines > MaxTape+maxSettings {
		return 0, fmt.Errorf("the tape has more than %d entries (MaxTape)", MaxTape)
	}
	return lines, nil
}

// countLines counts no further than to what is too many, and stops where no tape goes on.
func countLines(r io.Reader) (lines int) {
	first := make([]byte, len(tapeMagic))
	if _, err := io.ReadFull(r, first); err != nil || string(first) != tapeMagic {
		return 0
	}
	buf := make([]byte, 16*maxTapeLine)
	for lines <= MaxTape+maxSettings {
		n, err := r.Read(buf)
		ends := bytes.Count(buf[:n], []byte{'\n'})
		lines += ends
		if err != nil || ends == 0 && n > maxTapeLine {
			break
		}
	}
	return lines
}
