package campaign

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"runtime/debug"
)

// Build identifies the program that runs: its module's version and a hash of its executable.
// Two builds of one source are different ones unless they are equal byte for byte.
func Build() (string, error) {
	version := "(devel)"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		version = info.Main.Version
	}
	name, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("the build cannot be identified: %w", err)
	}
	f, err := os.Open(name)
	if err != nil {
		return "", fmt.Errorf("the build cannot be identified: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("the build cannot be identified: %w", err)
	}
	return fmt.Sprintf("%s %x", version, h.Sum(nil)[:12]), nil
}
