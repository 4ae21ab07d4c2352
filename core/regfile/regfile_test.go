package regfile

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

// put writes a file of n bytes.
func put(t *testing.T, n int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, bytes.Repeat([]byte("x"), n), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRead(t *testing.T) {
	const limit = 4000
	for _, n := range []int{0, 1, limit - 1, limit} {
		got, err := Read(put(t, n), limit)
		if err != nil || len(got) != n || strings.Trim(string(got), "x") != "" {
			t.Errorf("a file of %d bytes is read as %d, %v", n, len(got), err)
		}
	}
	for path, want := range map[string]error{
		put(t, limit+1):                       ErrTooLong,
		t.TempDir():                           ErrIrregular,
		os.DevNull:                            ErrIrregular,
		filepath.Join(t.TempDir(), "no file"): fs.ErrNotExist,
	} {
		if got, err := Read(path, limit); !errors.Is(err, want) || !strings.Contains(err.Error(), path) || got != nil {
			t.Errorf("%s is read as %d bytes with %v, want %v and the path", filepath.Base(path), len(got), err, want)
		}
	}
}

func TestALinkIsFollowed(t *testing.T) {
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(put(t, 7), link); err != nil {
		t.Fatal(err)
	}
	if got, err := Read(link, 7); err != nil || len(got) != 7 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// TestAFileThatGrows is not cut: half a file would be taken for all of it.
func TestAFileThatGrows(t *testing.T) {
	text := strings.Repeat("x", 1000)
	for _, size := range []int64{0, 1, 999, 1000} { // what it had when it was asked
		if got, err := all("f", iotest.OneByteReader(strings.NewReader(text)), size, 1000); err != nil || string(got) != text {
			t.Errorf("from %d bytes: %d, %v", size, len(got), err)
		}
		if got, err := all("f", strings.NewReader(text), size, 999); !errors.Is(err, ErrTooLong) || got != nil {
			t.Errorf("from %d bytes, beyond the limit: %d, %v", size, len(got), err)
		}
	}
	if _, err := all("f", iotest.ErrReader(fs.ErrPermission), 1, 9); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("error %v", err)
	}
}
