package summary

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheck: what cannot be written is said early, and looking leaves nothing behind and everything as it is.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	good := filepath.Join(dir, "page.html")
	if err := os.WriteFile(good, []byte("as it was"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"": "", good: "", filepath.Join(dir, "none", "x.html"): "cannot be written", dir: "it is a directory"} {
		err := Check(path)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", path, err, want)
		}
	}
	text, err := os.ReadFile(good)
	left, _ := os.ReadDir(dir)
	if err != nil || string(text) != "as it was" || len(left) != 1 {
		t.Errorf("the page is %q (%v), among %d files; want it as it was, alone", text, err, len(left))
	}
}
