package daemon

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file of the home is read only if it is one, and only up to its bound.
func TestOnlyRegularFilesAreRead(t *testing.T) {
	dir := t.TempDir()
	good, long := filepath.Join(dir, "good"), filepath.Join(dir, "long")
	for path, text := range map[string]string{good: "x = 1\n", long: "xx = 1\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := readRegular(good, 6); err != nil || string(got) != "x = 1\n" {
		t.Errorf("a good file is read as %q, %v", got, err)
	}
	for path, want := range map[string]string{
		long: "7 bytes", os.DevNull: "no regular file", dir: "no regular file",
	} {
		if _, err := readRegular(path, 6); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is read with %v, want %q", filepath.Base(path), err, want)
		}
	}
	if _, err := readRegular(filepath.Join(dir, "none"), 6); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file is %v, want %v", err, fs.ErrNotExist)
	}
}
